"""The outlines of the world's countries."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import shapely

from sample_data.files import COUNTRIES, Written, write_tables


def read_countries(path: Path = COUNTRIES) -> dict[str, str]:
    """The outline of each country as WKT, by its name."""
    features = json.loads(path.read_text("utf-8"))["features"]
    return {feature["properties"]["name"]: shapely.from_geojson(json.dumps(feature["geometry"])).wkt for feature in features}


def write_countries(folder: Path) -> Written:
    """One Parquet file: name, outline (WKT)."""
    countries = read_countries()
    return write_tables({"countries": pa.table({"name": list(countries), "outline": list(countries.values())})}, folder)
