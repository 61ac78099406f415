"""Checks each kind of index by itself, so that what one of them skips does not hide the mistake of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from data_skip import MinMax, ValueList
from data_skip.planning.catalog import Knowledge
from tests.support import Lake, files_read

ZONE = "spark.sql.session.timeZone"


def check(lake: Lake, where: str, read: str | None = None, **by_kind: str | None) -> None:
    """Same rows with skipping as without; and each kind of index, alone, reads no file but `read`, a letter each.

    Files that hold matching rows must be read: so where `read` names just those, it says exactly what is read.
    by_kind: what one kind may read that knows less, as `MinMax="abc"`; None: anything.
    """
    holding = lake.holding(where)
    if holding is None or not lake.ran:
        sql = f"SELECT CAST(struct(*) AS STRING) AS text, input_file_name() AS file FROM t WHERE {where}"
        with lake.skipping.disabled():
            expected = lake.spark.sql(sql).collect()
        frame = lake.spark.sql(sql)
        assert Counter(frame.collect()) == Counter(expected), f"skipping changed the rows of {where}"
        holding = {str(row["file"]).rpartition("/")[2] for row in expected}
        lake.ran = True
        errors = [error for scan in lake.skipping.report().scans for error in scan.errors]
        assert errors == []
    else:
        frame = lake.spark.sql(f"SELECT * FROM t WHERE {where}")
    for kind, kept in read_by_kind(lake, frame).items():
        assert holding <= kept, f"{kind} skips {holding - kept}, which hold rows for {where}"
        wanted = by_kind.get(kind, read)
        if wanted is not None:
            assert kept <= set(wanted), f"{kind} reads {sorted(kept)} for {where}; {sorted(wanted)} would do"


def read_by_kind(lake: Lake, frame: Any) -> dict[str, set[str]]:
    """The files that a DataFrame reads where Spark prunes by one kind of index at a time."""
    if not lake.skipping.jvm.scans(frame):  # Spark decided the predicate without looking at the table
        return {"Spark": {path.rpartition("/")[2] for path in frame.inputFiles()}}
    ((_, snapshot),) = lake.skipping.catalog.find([f"file:{lake.folder.resolve()}"])
    found = {}
    for kind in sorted({definition.kind for definition in snapshot.definitions.values()}):
        with only(lake, kind):
            found[kind] = files_read(lake.skipping, frame, lake.folder, errors=False)
    return found


@contextmanager
def only(lake: Lake, kind: str) -> Iterator[None]:
    """Within, the session knows no other kind of index."""
    known = lake.skipping.catalog.knowledge
    lake.skipping.catalog.knowledge = Knowledge({kind: known.kinds[kind]}, known.filters)
    try:
        yield
    finally:
        lake.skipping.catalog.knowledge = known


def files(lake: Lake, table: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes a file for each entry."""
    for name, columns in table.items():
        lake.file(name, columns)


def column(lake: Lake, type_: pa.DataType, rows: dict[str, list[Any]], name: str = "x") -> None:
    """A file for each list; MinMax and ValueList."""
    files(lake, {file: {name: pa.array(values, type_)} for file, values in rows.items()})
    lake.index(MinMax(name), ValueList(name))
    lake.view()


def times(lake: Lake, type_: str, rows: dict[str, list[str]], name: str = "t", **settings: str) -> None:
    """A file for each list of texts that Spark casts to a type: times that Python cannot hold."""
    for file, texts in rows.items():
        values = ", ".join(f"({text})" if text == "NULL" else f"('{text}')" for text in texts)
        frame = lake.spark.sql(f"SELECT CAST(v AS {type_}) AS {name} FROM VALUES {values} AS r(v)")
        lake.spark_file(file, frame)
    lake.index(MinMax(name), ValueList(name))
    lake.view()
