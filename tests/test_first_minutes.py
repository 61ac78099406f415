"""What people try in their first minutes: refused with a sentence that helps, or done as they meant it."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import data_skip
from data_skip import DataSkipError, DataSkipWarning, Hybrid, Index, MinMax, Skipping, Suffix, ValueList, filters
from data_skip.cli import doctor
from data_skip.cli.asked import Asked
from geo_skip import GeoBox
from log_skip import Formatted, register
from tests.support import Lake, aged, settings_of


def test_parameters_that_an_index_does_not_have() -> None:
    with pytest.raises(ValueError, match="MinMax takes no bins"):
        MinMax("lat", bins=3)
    with pytest.raises(ValueError, match="whole number of at least 1, not '5'"):
        ValueList("city", limit="5")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="whole number of at least 1, not '5'"):
        Hybrid("city", threshold="5")  # type: ignore[arg-type]


@pytest.fixture
def places(lake: Lake) -> Lake:
    for i in range(3):
        columns = {"temp": [i], "city": [f"c{i}"], "agent": ["curl/7.1"], "points": [[{"lat": 1.0, "lng": 2.0}]]}
        lake.file(f"{i}.parquet", columns)
    return lake


def test_dropping_one_of_two(places: Lake) -> None:
    table = places.index(Suffix("city", 1), Suffix("city", 2))
    with pytest.raises(DataSkipError, match=r"has Suffix\(city, length=1.* and Suffix\(city, length=2.*; say which"):
        table.drop_index(Suffix("city"))
    table.drop_index(Suffix("city", 1))
    table.drop_index(Suffix("city"))
    assert table.describe().rows == []


def test_the_same_index_in_other_words(places: Lake) -> None:
    table = places.index(MinMax("temp"), MinMax("temp + 1"))
    with pytest.raises(DataSkipError, match=r"has MinMax\(temp\), which is the same as MinMax\(TEMP\)"):
        table.create_index(MinMax("TEMP"))
    with pytest.raises(DataSkipError, match=r"has MinMax\(temp \+ 1\), which is the same"):
        table.create_index(MinMax("temp+1"))
    with pytest.raises(DataSkipError, match="which is the same"):
        table.create_index(ValueList("city"), ValueList("CITY"))


def test_a_path_of_pathlib(places: Lake, skipping: Skipping) -> None:
    assert skipping.table(places.folder).name == str(places.folder)


def test_boxes_of_arrays(places: Lake) -> None:
    with pytest.raises(DataSkipError, match="a coordinate of type array<double> is no number"):
        places.table().create_index(GeoBox("points.lat", "points.lng"))


def test_extractors_by_the_names_of_the_paper(places: Lake) -> None:
    register(places.spark)
    places.index(Formatted("agent", "getAgentName"))
    places.check("getAgentName(agent) = 'Firefox'", read=set())
    places.check("get_agent_name(agent) = 'curl'", read={"0.parquet", "1.parquet", "2.parquet"})
    with pytest.raises(DataSkipError, match="exists already"):
        places.table().create_index(Formatted("agent", "get_agent_name"))


SIGNS = [("Hudi", ".hoodie/hoodie.properties"), ("Iceberg", "metadata/v1.metadata.json"), ("Iceberg", "../metadata/1.metadata.json")]


@pytest.mark.parametrize(("system", "sign"), SIGNS)
def test_folders_of_other_systems(lake: Lake, skipping: Skipping, system: str, sign: str) -> None:
    lake.folder = lake.folder / "data"
    lake.file("0.parquet", {"x": [1]})
    (lake.folder / sign).parent.mkdir(exist_ok=True)
    (lake.folder / sign).write_text("{}")
    with pytest.raises(DataSkipError, match=f"is a table of {system}.*Be warned: format='parquet' would read"):
        skipping.table(str(lake.folder))


def test_a_folder_of_delta(skipping: Skipping, tmp_path: Path) -> None:
    folder = tmp_path / "delta"
    deltalake.write_deltalake(str(folder), pa.table({"x": [1]}))
    aged(next(folder.glob("*.parquet")))
    (check,) = doctor._table(skipping, str(folder), Asked())
    assert (check.state, check.todo) == (doctor.FAILED, "as it says")  # no rights that could be mended
    with pytest.raises(DataSkipError, match="is a table of Delta"):
        skipping.table(str(folder))
    skipping.table(str(folder), format="parquet").create_index(MinMax("x"))
    with pytest.raises(DataSkipError, match="is a table of Delta"):
        skipping.table(str(folder))


def test_dropping_nothing(places: Lake) -> None:
    table = places.table()
    for wrong in ((), ("lat",)):
        with pytest.raises(DataSkipError, match=r"drop_index takes indexes, as MinMax\('temp'\), not"):
            table.drop_index(*wrong)  # type: ignore[arg-type]


def test_a_file_is_no_table(lake: Lake, skipping: Skipping, tmp_path: Path) -> None:
    file = lake.file("a.parquet", {"x": [1]})
    elsewhere = data_skip.enable(lake.spark.newSession(), index_root=str(tmp_path / "indexes"))
    try:
        with pytest.raises(DataSkipError, match="an index belongs to a folder; give that of the files"):
            elsewhere.table(str(file)).create_index(MinMax("x"))
    finally:
        data_skip.disable(elsewhere.spark)


def test_what_is_no_session() -> None:
    for wrong in (None, "spark"):
        with pytest.raises(DataSkipError, match=f"takes a running, classic SparkSession, not {wrong!r}"):
            data_skip.enable(wrong)  # type: ignore[arg-type]


def test_workers_that_lack_the_package(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where a script is run by an environment's python that is not activated: workers run the first python3 of PATH."""
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec env -u PYTHONPATH {sys._base_executable} -I -S "$@"\n')  # type: ignore[attr-defined]
    bare.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare))
    session = spark.newSession()
    advice = f"PYSPARK_PYTHON={sys.executable} before .* os.environ after"
    with pytest.warns(DataSkipWarning, match=f"workers run {bare}, which lacks data_skip.*{advice}"):
        data_skip.enable(session)
    data_skip.disable(session)


def test_a_join_that_is_not_run_first_says_why(lake: Lake) -> None:
    """Nothing else is known of the rows: yet it is the last query, and its report says that it skipped nothing."""
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    lake.view("numbers")
    lake.spark.createDataFrame(lake.spark.sparkContext.parallelize([(1,)]), ["y"]).createOrReplaceTempView("few")
    assert lake.spark.sql("SELECT * FROM numbers JOIN few ON x < y").count() == 1
    (scan,) = lake.skipping.report().scans
    assert (scan.files_total, scan.files_read, scan.files_skipped) == (3, 3, 0)
    assert any("the other side: an RDD may give other rows each time: write it to files" in note for note in scan.notes), scan.notes


@pytest.mark.parametrize(
    "key, value, says",
    [
        ("decideSeconds", "soon", "=soon is no time"),
        ("enabled", "maybe", "=maybe is neither true nor false"),
        ("enable", "true", " is no setting; these are: spark.data_skip.enabled, "),
    ],
)
def test_settings_that_cannot_be_read(lake: Lake, caplog: pytest.LogCaptureFixture, key: str, value: str, says: str) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.index(MinMax("x"))
    lake.view()
    with settings_of(lake.spark, {f"spark.data_skip.{key}": value}):
        for _ in range(2):
            lake.query("SELECT * FROM t WHERE x = 1")
        report = lake.check("x = 2", read=set())
    assert caplog.text.count(f"spark.data_skip.{key}{says}") == 1, "it is told once a session"
    assert any(f"spark.data_skip.{key}{says}" in note for note in report.notes)
    with settings_of(lake.spark, {"spark.data_skip.storage.allow_http": "false", "spark.data_skip.join.maxSeconds": "1"}):
        assert not lake.check("x = 2", read=set()).notes


def test_what_notebooks_show(places: Lake) -> None:
    table = places.table()
    assert repr(table) == f"Table({table.name!r} at {table.root!r})"
    assert repr(table.describe()) == str(table.describe())
    assert repr(places.skipping.report()) == str(places.skipping.report())


def test_a_name_that_is_none(places: Lake, skipping: Skipping) -> None:
    with pytest.raises(DataSkipError, match=r"Path does not exist.*; nor has the catalog a table of that name"):
        skipping.table("no_such_table")
    with pytest.raises(DataSkipError, match=r"; with format, schema or options it is a path: leave them out for a table of the catalog$"):
        skipping.table("no_such_table", "csv")
    with pytest.raises(DataSkipError, match=r"~ is a name like any other to Spark: give pathlib.Path\(...\).expanduser\(\)"):
        skipping.table("~/no/such/folder")
    with pytest.raises(DataSkipError, match=r"by its path, or by its name in the catalog, not by DataFrame\["):
        skipping.table(places.spark.range(1))  # type: ignore[arg-type]
    with pytest.raises(DataSkipError, match=r"^options are a dictionary, as \{'header': 'true'\}, not a str$"):
        skipping.table("no_such_table", "csv", options="fs.s3a.secret.key=x")  # type: ignore[arg-type]
    for options, what in (({1: "x"}, "str by 1"), ({"header": ["x"]}, "list by 'header'")):
        with pytest.raises(DataSkipError, match=f"^options are texts, numbers and booleans by their names, .*, not a {what}$"):
            skipping.table("no_such_table", "csv", options=options)  # type: ignore[arg-type]
    for format_ in ("", 1, ["csv"]):
        with pytest.raises(DataSkipError, match=r"^format=.* is no name of a format, as 'parquet' or 'csv'$"):
            skipping.table("no_such_table", format_)  # type: ignore[arg-type]


def test_a_reader_that_is_told_nonsense_is_no_matter_of_the_format(places: Lake, skipping: Skipping) -> None:
    for schema in ("lat dubble", "lat: (", 1, ["lat"]):
        with pytest.raises(
            DataSkipError, match=r"^schema=.* is not understood: .*; give it as 'id bigint, city string', or as a StructType$"
        ):
            skipping.table(str(places.folder), schema=schema)
    for options in ({"modifiedAfter": "yesterday"}, {"pathGlobFilter": "[["}, {"basePath": "/nowhere"}):
        with pytest.raises(DataSkipError, match="cannot be read: ") as caught:
            skipping.table(str(places.folder), options=options)
        assert "give format" not in str(caught.value)


def test_a_folder_of_json_that_is_read_as_parquet(lake: Lake, skipping: Skipping) -> None:
    folder = str(lake.folder)
    with pytest.raises(DataSkipError, match=r"there is no file that it would read: write one first, or give the folder") as caught:
        skipping.table(folder).create_index(MinMax("x"))
    assert "give format" not in str(caught.value)
    lake.text("0.json", '{"x": 1}')
    with pytest.raises(DataSkipError, match=r"0\.json is not a Parquet file .*; give format=\.\.\. if its files are not Parquet"):
        skipping.table(folder).create_index(MinMax("x"))


def test_a_where_that_spark_does_not_compute(places: Lake) -> None:
    for ask in (places.table().files, places.table().indicators):
        with pytest.raises(DataSkipError, match=r"^Spark does not understand .temp > 'x'. on .*CAST_INVALID_INPUT"):
            ask("temp > 'x'")


def test_indexes_that_are_none_are_not_fitted(places: Lake) -> None:
    for indexes in ((), ("temp",)):
        with pytest.raises(DataSkipError, match=r"^fitted takes indexes, as MinMax\('temp'\), not"):
            places.table().fitted(*indexes)  # type: ignore[arg-type]


def test_a_view_with_the_name_of_its_folder(places: Lake, skipping: Skipping, monkeypatch: pytest.MonkeyPatch) -> None:
    name = places.folder.name
    places.view(name)
    with pytest.raises(DataSkipError, match=f"or the folder of the files, as './{name}' if that is one"):
        skipping.table(name)
    asked: list[str] = []
    monkeypatch.setattr(data_skip.session.Table, "open", lambda *given: asked.append(given[3]))
    skipping.table(Path(name))  # below the folder in which the JVM runs, which is another one here
    assert asked == [f"./{name}"]
    places.spark.catalog.dropTempView(name)


def test_a_session_that_was_stopped(places: Lake, skipping: Skipping, monkeypatch: pytest.MonkeyPatch) -> None:
    table = places.table()
    monkeypatch.setattr("data_skip.spark.jvm.stopped", lambda _: True)
    for ask in (table.describe, table.refresh, table.read, lambda: skipping.table("t"), lambda: data_skip.enable(places.spark)):
        with pytest.raises(DataSkipError, match=r"was stopped; make another .*, data_skip.enable\(\) it, and ask that for its tables"):
            ask()


def test_a_column_with_a_space_in_its_name(lake: Lake) -> None:
    """Of `Airport Name` Spark makes the column Airport, by the name Name: an index of another column, if there is one."""
    lake.file("0.parquet", {"Airport": [1], "Airport Name": ["x"]})
    for index in (MinMax("Airport Name"), Suffix("Airport Name"), MinMax("Airport + 1 AS next")):
        with pytest.raises(DataSkipError, match=r"Spark takes the end of '.*' for a name .*; write a column of that name in backticks, `"):
            lake.table().create_index(index)
    lake.index(MinMax("Airport + 1"), Suffix("`Airport Name`", 1))


def test_functions_that_nobody_registered(places: Lake) -> None:
    for index in (Suffix("no_such_function(city)"), MinMax("no_such_function(city)")):
        with pytest.raises(DataSkipError, match=r"Cannot resolve routine .*known after its register\(spark\), as log_skip's"):
            places.table().create_index(index)


class NoFields(Index):
    pass


class Misnamed(Index):
    fields = {"longest": pa.int32()}

    def collect(self, values: pa.Array) -> dict[str, int]:
        return {"longst": pc.max(pc.utf8_length(values)).as_py()}


def test_fields_of_an_index_of_ones_own(places: Lake) -> None:
    with pytest.raises(DataSkipError, match=r"NoFields\(city\) cannot be built: its records have no fields; NoFields.fields names them"):
        places.table().create_index(NoFields("city"))
    report = places.table().create_index(Misnamed("city"))
    assert report.unknown == {"Misnamed(city)": "a record has 'longst', and its fields are longest"}
    with pytest.raises(TypeError, match=r"as @filters.on\('GreaterThan'\) above a function, not <function"):
        filters.on(test_functions_that_nobody_registered)  # type: ignore[arg-type]


def test_many_indexes_that_do_not_serve_a_predicate(places: Lake) -> None:
    places.index(*(Suffix("city", 1 + i) for i in range(7)))
    report = places.check("city LIKE '%c%'", read={"0.parquet", "1.parquet", "2.parquet"})
    assert re.search(r"no filter of (Suffix\(city, length=\d\), ){3}Suffix\(city, length=\d\) and 3 others serves it", str(report))


def test_an_index_that_means_something_else_by_now_does_not_stop_the_others(lake: Lake) -> None:
    def row(number: int) -> dict[str, Any]:
        return {"x": [number], "at": pa.array([datetime(2024, 1, 1, number, tzinfo=timezone.utc)], pa.timestamp("us", "UTC"))}

    for i in range(2):
        lake.file(f"{i}.parquet", row(i))
    table = lake.index(MinMax("x"), ValueList("hour(at)"))
    lake.file("2.parquet", row(2))
    with settings_of(lake.spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        with pytest.warns(
            DataSkipWarning, match=r"^ValueList\(hour\(at\)\) was collected with spark.sql.session.timeZone.* stays as it is"
        ):
            assert table.refresh().indexes == ["MinMax(x)"]
        lake.check("x = 2", read=["2.parquet"])
        lake.check("hour(at) = 9 AND x >= 0")
    lake.check("hour(at) = 1", read=["1.parquet", "2.parquet"])
    table.refresh()
    lake.check("hour(at) = 1", read=["1.parquet"])
    table.drop_index(MinMax("x"))
    lake.file("3.parquet", row(3))
    with settings_of(lake.spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}), pytest.raises(DataSkipError, match="was collected with"):
        table.refresh()


def test_nothing_is_told_of_fields_that_a_query_does_not_read(lake: Lake) -> None:
    for i in range(2):
        lake.file(f"{i}.parquet", {"st": [{"a": i, "b": {"c": i}}]})
    lake.index(ValueList("st.a"), ValueList("st.b.c"))
    lake.view()
    assert lake.query("SELECT st.a FROM t WHERE st.a = 1", read=["1.parquet"]).scans[-1].notes == []
    assert lake.query("SELECT st.b FROM t WHERE st.b.c = 1", read=["1.parquet"]).scans[-1].notes == []
    lake.check("st.b = named_struct('c', 1L)")


def test_an_index_of_a_partition(lake: Lake) -> None:
    lake.file("day=1/hour=2/0.parquet", {"x": [1]})
    lake.skipping.table(lake.folder / "day=1").create_index(MinMax("x"))
    lake.index(MinMax("x"))
    with pytest.warns(DataSkipWarning, match="day=1/hour=2 is a partition of a table that has an index: queries of .*/table use that one"):
        lake.skipping.table(lake.folder / "day=1" / "hour=2").create_index(MinMax("x"))


def test_a_sub_query_of_a_catalogs_table(lake: Lake) -> None:
    for i in range(3):
        lake.file(f"{i}.parquet", {"x": [i]})
    lake.index(MinMax("x"))
    lake.view()
    lake.spark.sql("CREATE TABLE visits (pay LONG, day INT) USING parquet PARTITIONED BY (day)")
    try:
        lake.spark.sql("INSERT INTO visits VALUES (1, 1), (2, 2)")
        why = "it reads a catalog's table, of which the files of partitions are listed as it runs"
        assert why in str(lake.query("SELECT * FROM t WHERE x = (SELECT max(pay) FROM visits)"))
        assert why not in str(lake.query("SELECT * FROM t WHERE x = (SELECT max(pay) FROM visits WHERE day > 0)"))
    finally:
        lake.spark.sql("DROP TABLE visits")
