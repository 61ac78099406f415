"""How indexes are built and kept, read an eleventh time: each test is a recipe that once failed, or left something else behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping, ValueList, upkeep
from data_skip.building import one_pass
from tests.support import Lake, settings_of

PART_SIZE = "spark.sql.files.maxPartitionBytes"
OPEN_COST = "spark.sql.files.openCostInBytes"


def test_a_session_is_left_as_it_is_while_its_files_are_cut_to_be_indexed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a header may move, files are cut as small as may be. The session's other threads are not to see that: one that creates an
    index would note it as how its files are read, and one that reads would read other rows."""
    spark, other = lake.spark, Lake(lake.spark, lake.skipping, lake.folder.parent / "other")
    reader: dict[str, Any] = {"format": "csv", "schema": "x INT", "options": {"header": "true", "comment": "#"}}
    for one in (lake, other):
        one.text("a.csv", "x\n" + "1\n" * 20_000)
        one.text("b.csv", "x\n" + "2\n" * 20_000)
    seen: list[str] = []
    collect = one_pass.collect

    def beside(*args: Any) -> Any:
        if not seen:
            seen.append(spark.conf.get(PART_SIZE))
            other.index(MinMax("x"), **reader)
        return collect(*args)

    monkeypatch.setattr(one_pass, "collect", beside)
    with settings_of(spark, {OPEN_COST: str(1 << 14)}):
        before = spark.conf.get(PART_SIZE)
        lake.index(MinMax("x"), **reader)
        assert seen == [before] == [spark.conf.get(PART_SIZE)]
        for one in (lake, other):
            one.view(format="csv", schema="x INT", header="true", comment="#")
            one.query("SELECT DISTINCT x FROM t WHERE x = 1", read=["a.csv"])


@pytest.fixture
def work_place(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The folder to which paths are relative, in Spark."""
    files = spark._jvm.org.apache.hadoop.fs.FileSystem.get(spark._jsparkSession.sessionState().newHadoopConf())  # type: ignore[union-attr]
    before = files.getWorkingDirectory()
    files.setWorkingDirectory(spark._jvm.org.apache.hadoop.fs.Path(str(tmp_path)))  # type: ignore[union-attr]
    yield tmp_path
    files.setWorkingDirectory(before)


@pytest.mark.parametrize("name", ["web-logs", "of two words", "a.b.c.d", "x;y"])
def test_a_folder_whose_name_no_table_can_have(lake: Lake, skipping: Skipping, work_place: Path, name: str) -> None:
    """The catalog does not say that it has no such table: it fails."""
    lake.folder.rename(work_place / name)
    lake.folder = work_place / name
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    assert skipping.table(name).create_index(MinMax("x")).files_collected == 2
    lake.check("x = 1", read=["a.parquet"])


def test_an_index_of_many_small_files_is_put_together(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each refresh that finds a new file adds one to the index: a new session opened them all, a thousand in a third of a second."""
    monkeypatch.setattr(upkeep, "_MOST_PARTS", 3)
    lake.file("0.parquet", {"x": [0]})
    indexed = lake.index(MinMax("x"))
    for i in range(1, 6):
        lake.file(f"{i}.parquet", {"x": [i]})
        indexed.refresh()
        assert len(DeltaTable(indexed.describe().location).file_uris()) <= 3
    lake.view()
    lake.check("x = 1", read=["1.parquet"])


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_columns_that_have_the_names_of_those_by_which_files_are_told_apart(lake: Lake, format: str) -> None:
    for i in (1, 2):
        folder = f"data_skip_line={i}"
        if format == "parquet":
            lake.file(f"{folder}/a", {"data_skip_file": [str(i)]})
        else:
            (lake.folder / folder).mkdir()
            lake.lines(f"{folder}/a", str(i))
    reader = {"format": format, "schema": "data_skip_file STRING, data_skip_line INT"}
    lake.index(ValueList("data_skip_file"), **reader)
    lake.view(**reader)
    lake.query("SELECT * FROM t WHERE data_skip_file = '1'", read=["data_skip_line=1/a"])
