"""The functions of `register`, as they run in Spark's Python workers: over Arrow batches, one prepared region for many points."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import shapely
from pyspark.sql.types import BooleanType, DataType, DoubleType

from data_skip.functions import versioned
from geo_skip.geometry import Mask, parse

Floats: TypeAlias = npt.NDArray[np.float64]
Function: TypeAlias = Callable[..., pd.Series]
Ask: TypeAlias = Callable[["_Region", Floats, Floats], Any]


class _Region:
    """A prepared geometry, with the box around it."""

    def __init__(self, value: str | bytes) -> None:
        try:
            self.shape = parse(value)
        except Exception as error:
            raise ValueError(f"a region is WKT or GeoJSON as text, or WKB as binary, not {value[:80]!r}: {error}") from error
        shapely.prepare(self.shape)
        finite = np.isfinite(shapely.get_coordinates(self.shape)).all()
        self.bounds = shapely.bounds(self.shape) if finite else (-np.inf, -np.inf, np.inf, np.inf)  # NaN where it is empty

    def near(self, x: Floats, y: Floats) -> Mask:
        """Which points lie in the box: no other has a point in common with the region."""
        west, south, east, north = self.bounds
        inside: Mask = (x >= west) & (x <= east)
        inside &= (y >= south) & (y <= north)
        return inside


_region = lru_cache(maxsize=64)(_Region)


def _contains(region: _Region, x: Floats, y: Floats) -> Mask:
    found = region.near(x, y)
    found[found] = shapely.contains_xy(region.shape, x[found], y[found])
    return found


def _intersects(region: _Region, x: Floats, y: Floats) -> Mask:
    found = region.near(x, y)
    found[found] = shapely.intersects_xy(region.shape, x[found], y[found])
    return found


def _distance(region: _Region, x: Floats, y: Floats) -> Floats:
    distances: Floats = shapely.distance(region.shape, shapely.points(x, y))
    return distances


def _evaluate(region: pd.Series, lat: pd.Series, lng: pd.Series, ask: Ask, dtype: str) -> pd.Series:
    """What `ask` says of each point and its region; NULL where one of the three is NULL (or a coordinate NaN)."""
    x, y = _coordinates(lng), _coordinates(lat)
    codes, regions = pd.factorize(region)
    known = ~np.isnan(x) & ~np.isnan(y) & (codes >= 0)
    found = np.zeros(len(x), dtype=np.float64 if dtype == "Float64" else bool)
    for code, value in enumerate(regions):
        chosen = known & (codes == code)
        found[chosen] = ask(_region(value if isinstance(value, str) else bytes(value)), x[chosen], y[chosen])
    return pd.Series(pd.array(found, dtype=dtype)).mask(~known)


def _coordinates(numbers: pd.Series) -> Floats:
    return numbers.to_numpy(np.float64, na_value=np.nan)


def _of_three(function: Function) -> Function:
    """The function, with an error that names it as SQL does where a query gives it another number of arguments."""

    @wraps(function)
    def asked(*arguments: pd.Series, **named: pd.Series) -> pd.Series:
        given = len(arguments) + len(named)
        if given != 3:
            name = f"ST_{function.__name__.upper()}"
            raise TypeError(f"{name} takes 3 arguments, not {given}: {name}(region, lat, lng), of a region as WKT, GeoJSON or WKB")
        return function(*arguments, **named)

    return asked


@_of_three
def contains(region: pd.Series, lat: pd.Series, lng: pd.Series) -> pd.Series:
    """Whether points lie inside of regions; not on their borders."""
    return _evaluate(region, lat, lng, _contains, "boolean")


@_of_three
def intersects(region: pd.Series, lat: pd.Series, lng: pd.Series) -> pd.Series:
    """Whether points lie inside of regions or on their borders."""
    return _evaluate(region, lat, lng, _intersects, "boolean")


@_of_three
def distance(region: pd.Series, lat: pd.Series, lng: pd.Series) -> pd.Series:
    """How far points are from regions, in degrees: 0 inside."""
    return _evaluate(region, lat, lng, _distance, "Float64")


# They leave their arguments as they are, and so several of them may be asked in one query: see data_skip.versioned.
_VERSION = f"1, shapely {shapely.__version__}, GEOS {shapely.geos_version_string}"
FUNCTIONS: dict[str, tuple[Callable[[pd.Series, pd.Series, pd.Series], pd.Series], DataType]] = {
    "ST_Contains": (versioned(contains, _VERSION), BooleanType()),
    "ST_Intersects": (versioned(intersects, _VERSION), BooleanType()),
    "ST_Distance": (versioned(distance, _VERSION), DoubleType()),
}
_ASKED: dict[str, Ask] = {"ST_Contains": _contains, "ST_Intersects": _intersects, "ST_Distance": _distance}


def holding(name: str, region: str | bytes) -> tuple[Callable[[pd.Series, pd.Series], pd.Series], DataType]:
    """One of FUNCTIONS of one region, as a function of latitude and longitude, and its type: what ConstantRegions.java pickles."""
    ask, (_, type_) = _ASKED[name], FUNCTIONS[name]

    def of_points(lat: pd.Series, lng: pd.Series) -> pd.Series:
        x, y = _coordinates(lng), _coordinates(lat)
        found = pd.Series(ask(_region(region), x, y))
        unknown = np.isnan(x) | np.isnan(y)
        return found.mask(unknown, None) if unknown.any() else found

    return of_points, type_


WITHIN = ("ST_Contains", "ST_Intersects")  # of FUNCTIONS: true only of points in the box around the region


def bounds(region: str | bytes) -> tuple[float, ...] | None:
    """West, south, east and north of a region; None where it is empty, or no region."""
    try:
        found = tuple(map(float, _region(region).bounds))
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None
