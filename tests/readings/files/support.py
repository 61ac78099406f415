"""What is read by the files of an index, beside what Spark reads by itself; and indexes of earlier versions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from data_skip import MinMax
from data_skip.planning import bounded, callback
from data_skip.store import FileKey
from data_skip.table import Table
from tests.support import Lake, rows_of

SNAPSHOT = {"spark.data_skip.freshness": "snapshot"}


def passing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Once what it gives is called, all that is bounded is too old."""
    moment = 0.0
    monkeypatch.setattr(bounded, "now", lambda: moment)

    def passes() -> None:
        nonlocal moment
        moment += 10_000

    return passes


@pytest.fixture
def parted(lake: Lake) -> Any:
    lake.file("p=1/a.parquet", {"x": [1]})
    lake.file("p=2/b.parquet", {"x": [2]})
    for name, parts in {"all_parts": (1, 2), "one_part": (2,)}.items():
        lake.spark.sql(f"CREATE TABLE {name} (x BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{lake.folder}'")
        for part in parts:
            lake.spark.sql(f"ALTER TABLE {name} ADD PARTITION (p={part})")
    lake.index(MinMax("x"))
    yield lake
    for name in ("all_parts", "one_part"):
        lake.spark.sql(f"DROP TABLE {name}")


def same(lake: Lake, where: str = "true", format: str = "parquet", schema: str | None = None, **options: str) -> DataFrame:
    """Columns and rows by the index's files are those that Spark's own reader gives."""
    frame = lake.table(format=format, schema=schema, options=options).read("snapshot")
    reader = lake.spark.read.format(format).options(**options)
    plain = (reader.schema(schema) if schema else reader).load(str(lake.folder))
    assert frame.schema == plain.schema
    assert rows_of(frame.where(where)) == rows_of(plain.where(where))
    return frame


def refreshed_after_the_first_scan(lake: Lake, table: Table, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on the first scan that asks for the last version is told one, and another file is added right after; who asked first."""
    last = callback._last_snapshot
    asked: list[str] = []

    def refreshed(root: str, java: Any, catalog: Any) -> str:
        told = last(root, java, catalog)
        if not asked:
            asked.append(root)
            lake.file("b.parquet", {"x": [2]})
            beside = threading.Thread(target=table.refresh)
            beside.start()
            beside.join()
        return told

    monkeypatch.setattr(callback, "_last_snapshot", refreshed)
    return asked


def add_generation(table: Table, later: int, generation: int) -> None:
    """A row that says only of which generation a version of the table's file is."""
    snapshot = table._snapshot()
    assert snapshot is not None
    file = snapshot.files[0]
    key = FileKey(file.path, file.size, file.modification_time + later)
    nothing = {field: pa.nulls(1, field.type) for field in snapshot.fields.values()}
    table._store._found()[0].append([key], [None], nothing, False, [generation], [False])


def earlier(table: Table) -> None:
    """As a data-skip wrote it that did not say which files are gone."""
    location = table.describe().location
    store = deltalake.DeltaTable(location)
    kept = [field for field in pa.schema(store.schema().to_arrow()) if field.name not in ("generation", "collected")]
    rows = store.to_pyarrow_table()
    columns = pa.Table.from_arrays([rows[field.name] for field in kept], schema=pa.schema(kept))
    deltalake.write_deltalake(location, columns, mode="overwrite", schema_mode="overwrite")
