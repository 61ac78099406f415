"""The most common mistake with coordinates: longitude first."""

from __future__ import annotations

import warnings

from data_skip import DataSkipWarning, Index
from data_skip.sampling import Sample


def warn_if_swapped(index: Index, sample: Sample) -> None:
    """A DataSkipWarning where a sample of a table has latitudes beyond 90 degrees. The index is right all the same, for what is there."""
    if len(index.expressions) != 2:
        return
    lat, lng = index.expressions
    beyond = f"(abs(CAST({lat} AS DOUBLE)) > 90 AND NOT isnan(CAST({lat} AS DOUBLE)))"
    if True in sample.values(f"coalesce({beyond}, false)")["v0"].to_pylist():
        message = (
            f"{index}: some latitudes in {lat} are beyond 90 degrees; if {lat} and {lng} were swapped by mistake, write them the other way"
        )
        warnings.warn(message, DataSkipWarning, stacklevel=2)
