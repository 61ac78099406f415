"""What a reader of how indexes are kept and trusted found: options of writers in a table, and answers that end a thread."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest

from data_skip import MinMax, ValueList
from data_skip.planning import callback
from data_skip.store.definition import Definition
from tests.support import Lake, rows_of

OF_WRITERS = {"partitionOverwriteMode": "dynamic", "parquet.compression": "zstd", "maxRecordsPerFile": "9"}  # the first of all of Hive


@pytest.mark.parametrize("indexed_with", [{}, OF_WRITERS], ids=["by the path", "by the table"])
def test_options_by_which_a_table_is_written(lake: Lake, indexed_with: dict[str, str]) -> None:
    """An index that was made by the path served no query of the table, nor the other way; and tasks did not read its files themselves."""
    for i in range(3):
        lake.file(f"f{i}.parquet", {"x": [10 * i, 10 * i + 1]})
    report = lake.table(format="parquet", options=indexed_with).create_index(ValueList("x"))
    assert not report.why_by_spark
    for options in ({}, OF_WRITERS, {**OF_WRITERS, "parquet.compression": "snappy"}):
        lake.view(**options)
        lake.check("x = 11", ["f1.parquet"])


def test_options_of_writers_that_an_index_has_noted(lake: Lake) -> None:
    """As indexes of tables of Hive did: they serve, and are brought up to date."""
    lake.file("f0.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    [(_, snapshot)] = lake.skipping.catalog.find([table.root])
    (now,) = snapshot.definitions.values()
    then = Definition(
        now.kind, now.expressions, now.parameters, now.version, now.trees, {**now.reader, "options": {"partitionoverwritemode": "DYNAMIC"}}
    )
    assert then.reader != now.reader
    assert Definition.from_json(then.to_json()) == now


class Panic(BaseException):
    """As what PyO3 makes of a panic."""


def test_what_ends_a_thread_keeps_the_files(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a panic in the Rust of a plugin's filter: the query failed, or waited for ever, where another thread than its own answers."""
    for i in range(2):
        lake.file(f"f{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))

    def panicked(*_: Any, **__: Any) -> Any:
        raise Panic("index out of bounds")

    frame = lake.view().where("x = 1")
    found: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(callback, "judge", panicked)
        query = Thread(target=lambda: found.extend(rows_of(frame)), daemon=True)
        query.start()
        query.join(60)
    assert len(found) == 1
    lake.check("x = 1", ["f1.parquet"])
