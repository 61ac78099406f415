"""Where the real files lie, and how the made ones are written."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
COUNTRIES = HERE / "countries.geojson"
AIRPORTS = HERE / "airports.csv.gz"
ACCESS_LOG = HERE / "apache_access.log.gz"

_MADE_HERE = ".made-by-sample-data"  # Spark ignores names that begin with a dot


@dataclass(frozen=True)
class Written:
    """What a generator wrote."""

    folder: Path
    files: int
    rows: int
    bytes: int


def empty_folder(folder: Path) -> Path:
    """Make `folder`, or empty it if a generator made it; a folder that holds anything else is refused, not deleted."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / _MADE_HERE).exists():
            raise FileExistsError(f"{folder} holds other files: name a new or an empty folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MADE_HERE).touch()
    return folder


def write_tables(tables: dict[str, pa.Table], folder: Path) -> Written:
    """Write each table as `<folder>/<name>.parquet`, into an empty folder."""
    empty_folder(folder)
    size = 0
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        pq.write_table(table, path, compression="snappy")
        size += path.stat().st_size
    return Written(folder, len(tables), sum(table.num_rows for table in tables.values()), size)
