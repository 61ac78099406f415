"""One commit to the log of an index, tried until it is there or is refused.

An answer may be lost: what failed may have been written, and what is sent again meets its own commit, as another writer's. deltalake would
then commit it a second time, on top of whatever came between. So each commit has a name, which the log tells, and is made on the version
that was read and no other: what failed is looked for in the versions since, before it is tried again or given up.
"""

from __future__ import annotations

import itertools
import random
import re
import time
import uuid
from collections.abc import Callable

from deltalake import CommitProperties
from deltalake.exceptions import CommitFailedError, DeltaError

from data_skip.store.layout import StoreError

AS_READ = CommitProperties(max_commit_retries=0)  # a commit that fails where there is any newer version
FAILURES = (DeltaError, OSError)  # of deltalake
_NAME = "data_skip.commit"  # in what a commit says of itself
_SENT = re.compile(r"PUT \S+/_delta_log/")  # as deltalake tells of it
_AGAIN = re.compile(r"\bafter [1-9]\d* retries\b")  # what was sent before may be under way
_STATUS = re.compile(r"\b\d\d\d [A-Z<]")  # the first: what a body says after it is another's
_REFUSED = re.compile(r"4(?!08)\d\d [A-Z]")  # not 408, nor those that a gateway makes up
# Another writer was faster, or is about to be: S3 refuses the second of two that create a version while none has been created yet, which
# deltalake then looks for.
_FASTER = re.compile(r"already exists|Invalid table version")
_TRIES = 20
_MOST_PAUSE = 32  # before the next one, in as long as the last one took


class Commit:
    """One commit, however often it is tried."""

    def __init__(self, log: Callable[[int], bytes]) -> None:
        """log: reads what a version says; FileNotFoundError where there is none."""
        self._log = log
        self.name = str(uuid.uuid4())
        self._since: int | None = None  # the version on which it was tried first

    @property
    def properties(self) -> CommitProperties:
        """What deltalake is told of it."""
        return CommitProperties(custom_metadata={_NAME: self.name}, max_commit_retries=0)

    def is_done_before(self, version: int) -> bool:
        """Whether it need not be tried on a version, since an attempt before took effect, perhaps after its failure was told."""
        if self._since is not None:
            return self.is_there()
        self._since = version
        return False

    def is_there(self) -> bool:
        """Whether one of the versions since it was tried first is this commit."""
        if self._since is None:
            return False
        try:
            return any(self.name.encode() in self._log(version) for version in itertools.count(self._since + 1))
        except FileNotFoundError:
            return False


def retried(write: Callable[[], None], commit: Commit) -> tuple[Exception, bool] | None:
    """Writes, and again where another writer was faster; None once it is done.

    Else why not, and whether it is known that nothing was written, nor will be. What is no failure of deltalake's is raised, if it is not
    of what comes once the commit is there.
    """
    for attempt in range(_TRIES):
        begun = time.monotonic()
        try:
            write()
            return None
        except StoreError:  # by our own doing: what is there by then is not what was meant
            raise
        except Exception as error:
            try:
                if commit.is_there():
                    return None
            except FAILURES:
                return error, False
            if not isinstance(error, FAILURES):
                raise
            if attempt == _TRIES - 1 or not (isinstance(error, CommitFailedError) or _FASTER.search(str(error))):
                return error, not _may_come(error)
            time.sleep(random.uniform(0, min(2**attempt, _MOST_PAUSE)) * (time.monotonic() - begun))
    raise AssertionError


def _may_come(error: Exception) -> bool:
    """Whether a commit that is not there may be yet: it was sent to an object store, which has not said that it refuses it."""
    text = str(error)
    sent = _SENT.search(text)
    if sent is None or _AGAIN.search(text):
        return sent is not None
    status = _STATUS.search(text, sent.end())
    return status is None or _REFUSED.fullmatch(status[0]) is None
