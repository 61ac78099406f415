"""A clock for what is believed for some seconds."""

from __future__ import annotations

import time

# On Linux, time.monotonic() stands still while the machine sleeps: what was believed before would be believed for as long after.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)


def now() -> float:
    """Seconds since some moment, which nobody can set back, and which pass also while the machine sleeps."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
