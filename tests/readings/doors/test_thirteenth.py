"""Recipes of a thirteenth reading: names that no text of a type can hold, many conditions of one row, a log without its last commit."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark import SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import data_skip
from data_skip import DataSkipWarning, MinMax, ScanReport, ValueList
from data_skip.building.collect import collect, expressions_of, told_of
from data_skip.planning import callback
from data_skip.store.definition import Definition
from data_skip.store.delta import DeltaStore
from data_skip.store.layout import BASE, FileKey, definition_field, said
from geo_skip import GeoBox
from tests.support import Lake, settings_of

ODD = ("x y", "a`b", "``", "l\nf", "k:int,l")
RECORD = pa.struct({"min": pa.int64()})


def _odd(i: int, *but: str) -> dict[str, pa.Array]:
    names = [name for name in ODD if name not in but]
    struct = pa.struct([(name, pa.int64()) for name in names])
    value = dict.fromkeys(names, i)
    columns = {"s": pa.array([value], struct), "r": pa.array([[value]], pa.list_(struct))}
    return {**columns, "m": pa.array([[("k", value)]], pa.map_(pa.string(), struct)), "a``b": pa.array([[{"x": i}]])}


def test_fields_whose_names_are_no_sql(lake: Lake) -> None:
    """The text of a type has them as they are: Spark cannot read it again, and no index of the table was made."""
    for i in range(4):
        lake.file(f"{i}.parquet", _odd(i))
    lake.file("lacks.parquet", _odd(5, *ODD[:4]))
    schema = lake.spark.read.parquet(str(lake.folder / "0.parquet")).schema
    served = ("get_json_object(to_json(s), '$.k:int,l')", "`a````b`[0].x")
    lake.index(*map(ValueList, [*served, "m['k'].`x y`", "r.`x y`", "size(r)", "transform(r, e -> e.`l\nf`)[0]"]), schema=schema)
    lake.view(schema=schema)
    for expression in served:
        report = lake.query(f"SELECT * FROM t WHERE {expression} = 2")
        assert report.scans[-1].files_skipped >= 3, report
    transformed = "transform(r, e -> e.`l\nf`)[0] = 2"  # Spark 4.3 reads less of the array for the index than for `*`
    for where in (
        transformed,
        "m['k'].`x y` = 2",
        "m['k'].`x y` IS NULL",
        "r.`x y` IS NULL",
        "array_contains(r.`x y`, 2)",
        "size(r) = -1",
        "s IS NULL",
    ):
        for columns in ("*", "1"):
            lake.query(f"SELECT {columns} FROM t WHERE {where}")


def test_more_conditions_than_one_number_holds(lake: Lake) -> None:
    lake.file("0.parquet", {"x": list(range(0, 130, 7))})
    frame = lake.spark.read.parquet(str(lake.folder)).withColumn("number", F.lit(3))
    held = [F.col("x") == i for i in range(130)]
    rows = frame.select(*told_of(frame, "number", None, None, held), *expressions_of([MinMax("x")]))
    found = collect(rows, [MinMax("x")], {})
    assert {number: file.held for number, file in found.items()} == {3: sum(1 << i for i in range(0, 130, 7))}


def test_what_was_planned_before_skipping_was_off(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    planned = lake.view().where("x = 1")
    planned._jdf.queryExecution().optimizedPlan()
    asked: list[str] = []
    monkeypatch.setattr(callback.Callback, "apply", lambda self, question, java: asked.append(question))
    with lake.skipping.disabled():
        assert planned.collect() == [(1,)]
    assert asked == []


@pytest.mark.parametrize("value", ["1" * 400, "1.2.3", "9999999999999999999999d"])
def test_a_time_without_end(lake: Lake, value: str) -> None:
    """A number of hundreds of digits is infinite to Java: JSON has no word for it, and nothing was skipped."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    with settings_of(lake.spark, {"spark.data_skip.decideSeconds": value}):
        lake.view()
        report = lake.query("SELECT * FROM t WHERE x = 1", read={"1.parquet"})
    assert any("is no time" in note for note in report.scans[-1].notes), report


def test_an_index_whose_log_was_cleaned_up_is_known_by_its_checkpoint(tmp_path: Path) -> None:
    """Its last commit may be in a checkpoint alone. Deleted and made anew with fewer versions, it was taken for what it was before."""
    place = str(tmp_path / "index")
    definition = Definition("MinMax", ("x",), {}, 1, (), {"format": "parquet", "options": {}, "columns": [], "session": {}})

    def add(name: str) -> None:
        column = definition_field("min_max__x", RECORD, definition)
        DeltaStore(place).append([FileKey(name, 1, 1)], [1], {column: pa.array([{"min": 1}], RECORD)})

    for name in ("a", "b", "c"):
        add(name)
    DeltaTable(place).create_checkpoint()
    for commit in (tmp_path / "index" / "_delta_log").glob("*.json"):
        commit.unlink()
    store = DeltaStore(place)
    known = store.snapshot()
    assert known is not None and len(known.files) == 3
    assert store.snapshot() is known  # nothing changed: it is not read again
    shutil.rmtree(place)
    add("d")
    again = store.snapshot()
    assert again is not None and [file.path for file in again.files] == ["d"]


def test_an_index_of_which_no_commit_is_found_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(tmp_path / "index")
    DeltaTable.create(place, schema=BASE)
    store = DeltaStore(place)
    monkeypatch.setattr(DeltaStore, "_commit_of", lambda *_: ())
    known = store.snapshot()
    shutil.rmtree(place)
    made = DeltaTable.create(place, schema=BASE)
    again = store.snapshot()
    assert known is not None and again is not None and known.said != again.said == said(made)


def test_a_report_tells_one_thing_a_line() -> None:
    report = ScanReport("t", clause="MinMax(`a\nb`) admits", notes=["t.`a\nb` = 1 is not used"], errors=["of `a\nb`"])
    assert len(str(report).split("\n")) == len(str(ScanReport("t", clause="c", notes=["n"], errors=["e"])).split("\n"))


def test_workers_that_are_sent_the_package(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By `spark.executorEnv.PYTHONPATH` or `addPyFile`: they lack nothing, and were said to."""
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec {sys._base_executable} -S "$@"\n')  # type: ignore[attr-defined]
    bare.chmod(0o755)
    context, where = spark.sparkContext, str(Path(data_skip.__file__).parents[1])
    monkeypatch.setattr(context, "pythonExec", str(bare))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path)

    def said() -> list[str]:
        session = spark.newSession()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data_skip.enable(session)
        data_skip.disable(session)
        return [str(warning.message) for warning in caught if "lacks data_skip" in str(warning.message)]

    assert len(said()) == 1
    with monkeypatch.context() as sent:
        sent.setitem(context.environment, "PYTHONPATH", where)
        assert said() == []
    monkeypatch.setattr(context, "_python_includes", [os.path.relpath(where, SparkFiles.getRootDirectory())])
    assert said() == []


def test_a_warning_that_is_raised_is_itself(lake: Lake) -> None:
    lake.file("0.parquet", {"lng": [100.0], "lat": [1.0]})
    with pytest.raises(DataSkipWarning, match="if lng and lat were swapped by mistake"):
        lake.index(GeoBox("lng", "lat"))


def test_what_is_kept_of_scans_without_an_index_holds_no_list_of_files(lake: Lake) -> None:
    """Beside a table with one. Of each of the last hundred queries the list was kept for its report, until somebody looked at it."""
    lake.file("0.parquet", {"x": [1, 2]})
    lake.index(MinMax("x"))
    lake.view()
    bare = Lake(lake.spark, lake.skipping, lake.folder.parent / "bare")
    bare.file("0.parquet", {"id": [1, 2]})
    jvm: Any = lake.spark._jvm
    kept = []
    for _ in range(5):
        frame = bare.view("bare").where("id > 0").join(lake.spark.table("t").where("x > 1"), F.expr("x = id"))
        location = frame._jdf.queryExecution().analyzed().collectLeaves().head().relation().location()
        kept.append(jvm.java.lang.ref.WeakReference(location))
        assert frame.count() == 1
        del frame, location
    lake.spark.catalog.dropTempView("bare")
    for _ in range(10):  # what Python lets go of, the JVM is told after a while
        gc.collect()
        jvm.System.gc()
        if (alive := sum(reference.get() is not None for reference in kept)) <= 2:
            break
        time.sleep(0.1)
    assert alive <= 2
    report = lake.skipping.report()
    assert any("no index at" in note for scan in report.scans for note in scan.notes), report
