"""Files that may be written again within the tick of a clock, and then look the same: size and modification time tell nothing of it."""

from __future__ import annotations

import os
from time import sleep
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data_skip.building.lifting import is_local, local_path
from data_skip.clause import Mask

_HOUR = 3_600_000
_ZONES = 15 * _HOUR  # by which clocks may be apart that mean to be right
_TICK, _SECOND = 10, 1000  # of clocks that give modification times, in milliseconds


def too_recent(files: pa.Table, now: float) -> Mask:
    """Which files, as of Listing.files, may be written again within the same tick: now, in milliseconds.

    A time far in the future is no sign of youth. Of each file by itself: folders of a table may lie on several file systems, as where old
    ones are mounted from elsewhere.
    """
    times = files["modification_time"].to_numpy()
    recent: Mask = (now - _SECOND <= times) & (times <= now + _HOUR)
    coarse = recent & _may_be_seconds(times)
    for i in np.flatnonzero(coarse).tolist():
        coarse[i] = not _tells_more(files["path"][i].as_py())
    return recent & (coarse | (now - _TICK <= times))


def let_clocks_pass(files: pa.Table, now: float) -> None:
    """Waits until no listed file can be written again within the tick of its modification time, by whatever clock that was taken.

    The clock of a store may be another than the driver's, by a zone even, so `too_recent` may be wrong about files of this day. But
    they were listed, so their time has come: after one tick of any clock, whoever writes them again gives them another. Stores that tell
    no more than seconds and are asked by HTTP refuse clocks that are farther apart than minutes.
    """
    times = files["modification_time"].to_numpy()
    near: Mask = np.abs(now - times) <= _ZONES
    whole = np.flatnonzero(near & _may_be_seconds(times)).tolist()
    if any(not _tells_more(files["path"][i].as_py()) for i in whole):
        sleep(_SECOND / 1000)
    elif near.any():
        sleep(_TICK / 1000)


def _may_be_seconds(times: npt.NDArray[Any]) -> Mask:
    """Which times may be of a clock that tells no more than seconds; of another, one in a thousand."""
    seconds: Mask = times % _SECOND == 0
    return seconds


def _tells_more(uri: str) -> bool:
    """Whether a file lies where modification times are known more finely than in milliseconds."""
    try:
        return is_local(uri) and os.stat(local_path(uri)).st_mtime_ns % 1_000_000_000 != 0
    except OSError:
        return False
