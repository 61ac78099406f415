"""A place on an object store, where every question is a request: how it is reached, what was seen, and for how long that is believed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from threading import Thread
from typing import Generic, TypeVar

from deltalake.fs import DeltaStorageHandler

from data_skip.store.clock import now
from data_skip.store.environment import asks_otherwise, foreign_token
from data_skip.store.storage_options import OVERRIDES, Hadoop, StorageOptions, storage_options

ELSEWHERE = "indexes can be kept elsewhere with data_skip.enable(spark, index_root=...)"
_OPTIONS_SECONDS = 60.0  # for which what was told of the store is believed
_LOOK_SECONDS = 60.0  # after which an index is looked at as a whole
_ABSENT_SECONDS = 30.0  # for which a place that was seen to hold no index is not asked again
_UNREADABLE_SECONDS = 60.0  # for which one that cannot be read is not: to find that out may take longer than a query
_DELETE = """
import json, sys
sys.path[:], location, options, names = json.load(sys.stdin)
from deltalake.fs import DeltaStorageHandler
print("begun", flush=True)
for name in names:
    DeltaStorageHandler(location, options).delete_file(name)
print("done")
"""
_DELETE_SECONDS = 60.0  # and as long as deltalake tries, for each file

Answer = TypeVar("Answer")


class Late(Exception):
    """An answer has not come by the time until which it was waited for."""


class Asked(Generic[Answer]):
    """A question to an object store, which may never answer: it is put on a thread of its own, and goes on when nobody waits any more."""

    def __init__(self, question: Callable[[], Answer], believed: float = 0.0) -> None:
        """believed: for how many seconds that is believed which the question may answer with."""
        self._answer: Future[Answer] = Future()
        self._given_up = False
        self._believed, self._asked_at = believed, now()
        Thread(target=self._put, args=(question,), daemon=True, name="data-skip index").start()

    def _put(self, question: Callable[[], Answer]) -> None:
        try:
            self._answer.set_result(question())
        except BaseException as error:  # which is of whoever waits
            self._answer.set_exception(error)

    @property
    def is_running(self) -> bool:
        """Whether there is no answer yet."""
        return not self._answer.done()

    def answers(self, believed: float) -> bool:
        """Whether its answer, which is still to come, is no older than that; where others have waited in vain, nobody asks anew."""
        return self.is_running and (self._given_up or (self._believed <= believed and now() - self._asked_at <= believed))

    def answer(self, until: float) -> Answer:
        """What was answered. Late where it is not, at a moment of time.perf_counter(); or at once, where others have waited in vain."""
        wait([self._answer], 0.0 if self._given_up else max(0.0, until - time.perf_counter()))
        if self.is_running:
            self._given_up = True
            raise Late
        return self._answer.result()


class ObjectPlace:
    """What is known of the index at one place."""

    def __init__(self, uri: str, spark: Hadoop | None) -> None:
        """spark: by which Spark reaches the store; None where that need not be known."""
        self._uri, self._spark = uri, spark
        self.options = StorageOptions({})
        self._options_until = self._absent_until = self._unreadable_until = 0.0
        self._why_unreadable = ""
        self._seen_at = self._looked_at = -math.inf  # when the last snapshot was known to be the last one, and when all was looked at
        self._commit: object | None = None  # as of `looked_at`

    def is_reached_otherwise(self) -> bool:
        """Whether the store is, than when this was asked before: credentials of roles and instances end, and others follow."""
        if now() < self._options_until:
            return False
        options = storage_options(self._uri, self._spark)
        self._options_until = now() + _OPTIONS_SECONDS
        changed = dict(options) != dict(self.options)
        self.options = options
        return changed

    def forget(self) -> None:
        """Nothing that was seen is believed any more."""
        self._options_until = 0.0
        self.written()

    def written(self) -> None:
        """Somebody of this process has written there, or is about to."""
        self._absent_until = self._unreadable_until = 0.0
        self._seen_at = -math.inf

    def looked_at(self, commit: object | None) -> None:
        """All was looked at now. commit: what tells that of the last version from another one, before it was read; None: nobody knows."""
        self._seen_at = self._looked_at = now()
        self._commit = commit

    def asks_nothing(self, known: bool, believed: float) -> bool:
        """Whether what was seen a moment ago answers without a request; known: whether there was an index."""
        moment = now()
        if moment >= self._options_until:
            return False
        return moment - self._seen_at < believed if known else moment < max(self._absent_until, self._unreadable_until)

    def seen_empty(self) -> None:
        """There is no index now."""
        self._absent_until = now() + _ABSENT_SECONDS

    @property
    def is_empty(self) -> bool:
        """Whether there was no index a moment ago."""
        return now() < self._absent_until

    def seen_unreadable(self, error: BaseException) -> None:
        """There is an index, or something else, that cannot be read now."""
        advice = f"it is read with Spark's credentials, or those of {OVERRIDES}*; {ELSEWHERE}"
        token = foreign_token(self.options)
        more = f"; {token} is set in the environment, which deltalake takes for a session token of these keys: unset it" if token else ""
        if not more and (other := asks_otherwise(self.options, self._uri.partition(":")[0])):
            more = f"; {other} is set, which deltalake heeds, and Spark may not"
        self._why_unreadable = f"the index at {self._uri} cannot be read ({self.shown(error)}{more}); {advice}"
        self._unreadable_until = now() + _UNREADABLE_SECONDS

    @property
    def why_unreadable(self) -> str:
        """Why it could not be read a moment ago; "" where it could, and where nobody knows."""
        return self._why_unreadable if now() < self._unreadable_until else ""

    def is_last(self, version: int, believed: float) -> bool:
        """Whether a version, the last one when it was read, is so still; believed: or was, so many seconds ago.

        By one request at most, since versions are numbered without gaps. That an index was deleted, and perhaps made anew, is not seen
        so, unless nothing is to be believed: then by one more. Hence a minute after all was looked at, that is to be done again.
        """
        moment = now()
        if moment - self._seen_at < believed:
            return True
        if self._spark is None or self.options.say_where or moment >= self._looked_at + _LOOK_SECONDS:
            return False
        if believed <= 0 and (self._commit is None or self._commit_of(version) != self._commit):
            return False
        if self._spark.holds(self._commit_uri(version + 1)) is not False:
            return False
        self._seen_at = moment
        return True

    def delete(self, names: Sequence[str], location: str) -> None:
        """Deletes files below the place. OSError where one cannot be deleted. location: of the place, as deltalake wants it.

        By Hadoop; where that may find others there by deltalake, in a process of its own: it stops all threads of this one while it waits.
        """
        if self._spark is not None and self.options.of_hadoop:
            self._spark.delete(self._uri, names)
            return
        asked = json.dumps([sys.path, location, dict(self.options), [*names]])  # by its standard input: there may be secrets in it
        seconds = _DELETE_SECONDS * (1 + len(names))
        try:
            command = [sys.executable or "python3", "-I", "-c", _DELETE]  # of no folder of the user's
            done = subprocess.run(command, input=asked, text=True, capture_output=True, check=False, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise OSError(f"they were not deleted in {seconds:g} s") from None
        except OSError:
            done = None
        if done is None or not done.stdout.startswith("begun"):  # no Python, or one that has no deltalake
            for name in names:
                DeltaStorageHandler(location, dict(self.options)).delete_file(name)
        elif not done.stdout.endswith("done\n"):
            raise OSError((done.stderr.strip().splitlines() or ["no reason was given"])[-1])

    def _commit_uri(self, version: int) -> str:
        return f"{self._uri}/_delta_log/{version:020}.json"

    def _commit_of(self, version: int) -> str | None:
        return None if self._spark is None or self.options.say_where else self._spark.identity(self._commit_uri(version))

    def shown(self, error: BaseException) -> str:
        """What deltalake says of an error, which may be all that was sent and answered: in one line, with no colours and no secrets."""
        return self.options.shown(str(error))
