"""The contract `bounded(seconds)`: the files are those of an index that is no older than that when a query asks for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from threading import Lock, Thread, current_thread
from typing import Any

from data_skip.building.index_report import IndexReport
from data_skip.errors import DataSkipError
from data_skip.spark.errors import is_cancelled
from data_skip.store.clock import now

Refresh = Callable[[], IndexReport]
_LONG = 1.0  # seconds: a refresh that took no longer before it failed is tried by each query
_AGAIN, _MOST_AGAIN = 20, 60.0  # so many times as long as another one took until it failed, and seconds at most, none is tried
_CONTRACT = re.compile(r"bounded\((\d+(?:\.\d+)?)\)")


def seconds_of(contract: str) -> float | None:
    """Of `bounded(60)`, 60; None of another text."""
    found = _CONTRACT.fullmatch(contract.replace(" ", ""))
    return float(found[1]) if found else None


class Bounded:
    """One index that is kept so; any thread may ask."""

    def __init__(self, seconds: float, look: Callable[[], tuple[Any, ...] | None] = lambda: None) -> None:
        """look: what the last snapshot says, as of Snapshot; None where there is none."""
        self._seconds, self._look = seconds, look
        self._refreshes: dict[str, Refresh] = {}  # by how the table is asked for
        self._as_of = -math.inf  # the moment whose files the index has
        self._put_back = 0  # how often it was seen that it may have been
        self._said: tuple[Any, ...] | None = None  # of the last snapshot
        self._lock = Lock()
        self._running: Thread | None = None
        self._error: BaseException | None = None
        self._tried_again = -math.inf  # the moment before which no refresh is tried after one that failed

    def refreshed_by(self, asked: str, refresh: Refresh) -> None:
        """By which the index is brought up to date. Those who read it share its age: where one's refresh fails, another's is tried.

        asked: how the table is asked for, of which it is known again. refresh: DataSkipError where that is another table by now.
        """
        with self._lock:
            if asked not in self._refreshes:
                self._refreshes[asked] = refresh
                self._tried_again = -math.inf  # this one may do

    def was_put_back(self, said: tuple[Any, ...]) -> bool:
        """Whether a snapshot may not follow the one of before, as of an index that was put back from a copy: then it is of any age.

        It does where it has all that the one before had. One that was rewritten may be of a copy, and is refreshed once more.

        said: as of Snapshot.
        """
        with self._lock:
            last, self._said = self._said, said
            if last is None or said == last or (said[1] == last[1] and said[0] > last[0] and said[2] >= last[2]):
                return False
            self._as_of = -math.inf
            self._put_back += 1  # what a refresh that runs has committed may be gone
            return True

    def bring_up_to_date(self) -> None:
        """Waits until the index is young enough; one that is, and more than half as old as it may be, is refreshed in the background.

        DataSkipError where it cannot be brought up to date.
        """
        asked = now()
        while (age := asked - self._as_of) > self._seconds / 2:  # again, where what another query waits for began too long ago
            if asked < self._tried_again:
                if age <= self._seconds:
                    return
                raise self._refused()
            with self._lock:
                running = self._running
                if running is None:
                    # Spark runs no query from within a callback, on the thread that plans another one: that is done on a thread of its own.
                    running = self._running = Thread(target=self._run, daemon=True, name="data-skip refresh")
                    running.start()
            if age <= self._seconds or running is current_thread():  # a query of the refresh itself
                return
            running.join()
            if self._error is not None:
                raise self._refused()

    def _refused(self) -> DataSkipError:
        error = DataSkipError(f"it is older than {self._seconds:g} s and cannot be refreshed: {self._error}")
        error.__cause__ = self._error
        return error

    def _run(self) -> None:
        started, put_back = now(), self._put_back
        try:
            self._refresh_by_one()
            said = self._look()
            with self._lock:
                if put_back == self._put_back:
                    self._as_of, self._said = started, said or self._said  # which is as old: what a query saw before is not
            self._error = None
        except BaseException as error:  # which is the query's, not this thread's; a panic of deltalake's Rust is no Exception
            self._error = error
            took = 0.0 if is_cancelled(error) else now() - started  # by its user, which says nothing of another one
            self._tried_again = now() + (min(took * _AGAIN, _MOST_AGAIN) if took > _LONG else 0.0)
        finally:
            with self._lock:
                self._running = None

    def _refresh_by_one(self) -> None:
        with self._lock:
            refreshes = [*self._refreshes.items()]
        for asked, refresh in refreshes:
            try:
                if not refresh().indexes:  # then nothing was listed
                    raise DataSkipError("this session knows none of its indexes: enable their plugins, or read by another contract")
            except DataSkipError:
                if asked == refreshes[-1][0]:
                    raise
            else:
                with self._lock:
                    self._refreshes = {asked: refresh, **self._refreshes}  # the first from now on
                return
