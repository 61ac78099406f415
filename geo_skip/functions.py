"""The functions of `register`, as they run in Spark's Python workers: over Arrow batches, one prepared region for many points."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import shapely
from pyspark.sql.types import BooleanType, DataType, DoubleType

from geo_skip.geometry import parse

Floats: TypeAlias = npt.NDArray[np.float64]


@lru_cache(maxsize=64)
def _region(value: str | bytes) -> Any:
    try:
        shape = parse(value)
    except Exception as error:
        raise ValueError(f"a region is WKT or GeoJSON as text, or WKB as binary, not {value[:80]!r}: {error}") from error
    shapely.prepare(shape)
    return shape


def _evaluate(region: pd.Series, lat: pd.Series, lng: pd.Series, ask: Callable[[Any, Floats, Floats], Any], dtype: str) -> pd.Series:
    """What `ask` says of each point and its region; NULL where one of the three is NULL (or a coordinate NaN)."""
    x, y = lng.to_numpy(np.float64, na_value=np.nan), lat.to_numpy(np.float64, na_value=np.nan)
    codes, regions = pd.factorize(region)
    known = ~np.isnan(x) & ~np.isnan(y) & (codes >= 0)
    found = np.zeros(len(x), dtype=np.float64 if dtype == "Float64" else bool)
    for code, value in enumerate(regions):
        chosen = known & (codes == code)
        found[chosen] = ask(_region(value if isinstance(value, str) else bytes(value)), x[chosen], y[chosen])
    return pd.Series(pd.array(found, dtype=dtype)).mask(~known)


def contains(region: pd.Series, lat: pd.Series, lng: pd.Series) -> pd.Series:
    """Whether points lie inside of regions; not on their borders."""
    return _evaluate(region, lat, lng, shapely.contains_xy, "boolean")


def intersects(region: pd.Series, lat: pd.Series, lng: pd.Series) -> pd.Series:
    """Whether points lie inside of regions or on their borders."""
    return _evaluate(region, lat, lng, shapely.intersects_xy, "boolean")


def distance(region: pd.Series, lat: pd.Series, lng: pd.Series) -> pd.Series:
    """How far points are from regions, in degrees: 0 inside."""
    return _evaluate(region, lat, lng, lambda shape, x, y: shapely.distance(shape, shapely.points(x, y)), "Float64")


FUNCTIONS: dict[str, tuple[Callable[[pd.Series, pd.Series, pd.Series], pd.Series], DataType]] = {
    "ST_Contains": (contains, BooleanType()),
    "ST_Intersects": (intersects, BooleanType()),
    "ST_Distance": (distance, DoubleType()),
}
