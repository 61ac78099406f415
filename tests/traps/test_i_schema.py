"""TRAPS, section I: schemas that differ, names, nested data, partition columns."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from data_skip import DataSkipError, DataSkipWarning, MinMax, Prefix, ValueList
from tests.support import Lake, aged, settings_of


@pytest.fixture
def case_sensitive(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


def test_i1_file_without_the_column(lake: Lake) -> None:
    lake.file("old.parquet", {"x": [1, 2]})
    lake.file("new.parquet", {"x": [3, 4], "y": [7, 8]})
    lake.index(MinMax("y"), ValueList("y"), schema="x bigint, y bigint", format="parquet")
    lake.view(schema="x bigint, y bigint")
    lake.check("y IS NULL", read=["old.parquet"])
    lake.check("coalesce(y, 500) > 300", read=["old.parquet"])
    lake.check("y <=> NULL OR y = 7", read=["old.parquet", "new.parquet"])
    lake.check("y = 7", read=["new.parquet"])
    lake.check("y > 8", read=[])
    lake.check("NOT (y = 7)", read=["new.parquet"])


def test_i2_default_of_a_column_that_older_files_lack(lake: Lake) -> None:
    spark = lake.spark
    spark.sql("DROP TABLE IF EXISTS i2")
    spark.sql(f"CREATE TABLE i2 (x BIGINT) USING parquet LOCATION '{lake.folder}'")
    try:
        lake.file("old.parquet", {"x": [1, 2]})
        lake.skipping.table("i2").create_index(MinMax("x"))
        spark.sql("ALTER TABLE i2 ADD COLUMN y BIGINT DEFAULT 7")
        lake.file("new.parquet", {"x": [3, 4], "y": [70, 80]})
        lake.skipping.table("i2").create_index(MinMax("y"), ValueList("y"))
        spark.sql("REFRESH TABLE i2")
        lake.query("SELECT * FROM i2 WHERE y = 7", read=["old.parquet"])
        lake.query("SELECT * FROM i2 WHERE y IS NULL", read=[])
        lake.query("SELECT * FROM i2 WHERE y > 7", read=["new.parquet"])
        # The default applies to this table only: by its path the column is NULL in the same files.
        lake.view("i2_files", schema="x bigint, y bigint")
        lake.query("SELECT * FROM i2_files WHERE y IS NULL", read=["old.parquet", "new.parquet"])
        lake.query("SELECT * FROM i2_files WHERE x > 2", read=["new.parquet"])
    finally:
        spark.sql("DROP TABLE i2")


@pytest.mark.parametrize(
    ("value", "narrow", "wide", "where"),
    [
        (pa.array([2147483647], pa.int32()), "int", "bigint", "v > 2147483646"),
        (pa.array([0.1], pa.float32()), "float", "double", "v > 0.1"),
        (pa.array([1], pa.int32()), "int", "double", "v < 1.5"),
        (pa.array([1], pa.int32()), "int", "decimal(12,2)", "v < 1.5"),
    ],
)
def test_i3_types_that_widen(lake: Lake, value: pa.Array, narrow: str, wide: str, where: str) -> None:
    lake.file("a.parquet", {"v": value})
    lake.index(MinMax("v"), ValueList("v"), format="parquet", schema=f"v {narrow}")
    lake.view(schema=f"v {wide}")
    report = lake.check(where, read=["a.parquet"])
    assert any("collected with columns v " in note and ", the query reads v " in note for note in report.notes), report.notes
    lake.view(schema=f"v {narrow}")
    lake.check("v > 2147483647" if narrow == "int" else "v > 1", read=[])


def test_i4_names_differ_in_case(lake: Lake) -> None:
    lake.file("a.parquet", {"Temp": [1, 2], "s": [{"T": 1}, {"T": 2}]})
    lake.file("b.parquet", {"temp": [100, 200], "S": [{"t": 100}, {"t": 200}]})
    schema = "temp bigint, s struct<t: bigint>"
    lake.index(MinMax("TEMP"), MinMax("S.T"), format="parquet", schema=schema)
    lake.view(schema=schema)
    lake.check("Temp = 100", read=["b.parquet"])
    lake.check("tEMP < 50", read=["a.parquet"])
    lake.check("s.T > 150 AND S.t IS NOT NULL", read=["b.parquet"])
    lake.check("temp IS NULL", read=[])
    lake.view(schema="TEMP bigint, S struct<T: bigint>")
    for where in ("temp = 100", "temp = 1", "s.t = 200", "s.t IS NULL"):
        lake.check(where)


def test_i5_names_that_differ_only_in_case(lake: Lake, case_sensitive: None) -> None:
    lake.file("a.parquet", {"x": [1, 2], "X": [100, 200]})
    lake.file("b.parquet", {"x": [100, 200], "X": [1, 2]})
    lake.index(MinMax("x"), MinMax("X"), Prefix("string(x)", 1), Prefix("string(X)", 1))
    lake.view()
    lake.check("X = 100", read=["a.parquet"])
    lake.check("x = 100", read=["b.parquet"])
    lake.check("x < 50 AND X < 50", read=[])
    lake.check("string(X) LIKE '1%' AND X > 50", read=["a.parquet"])
    # Without case sensitivity another column of the file may be meant: nothing is known.
    lake.file("c.parquet", {"x": [1]})
    lake.spark.conf.set("spark.sql.caseSensitive", "false")
    lake.spark.read.parquet(str(lake.folder / "c.parquet")).createOrReplaceTempView("t")
    report = lake.check("x = 1", read=["c.parquet"])
    assert any("caseSensitive" in note for note in report.notes)


def test_i6_column_with_a_dot_is_no_field(lake: Lake) -> None:
    lake.file("1.parquet", {"a.b": [5, 6], "a": [{"b": 100}, {"b": 200}]})
    lake.file("2.parquet", {"a.b": [100, 200], "a": [{"b": 5}, {"b": 6}]})
    lake.index(MinMax("`a.b`"), MinMax("a.b"), ValueList("`a.b`"), ValueList("a.b"))
    lake.view()
    lake.check("`a.b` = 5", read=["1.parquet"])
    lake.check("a.b = 5", read=["2.parquet"])
    lake.check("a.b = 5 AND `a.b` = 5", read=[])
    lake.check("a.b = 5 OR `a.b` = 5", read=["1.parquet", "2.parquet"])


def test_i7_names_with_blanks_quotes_and_accents(lake: Lake) -> None:
    names = ["p%q", "température", "a b", "it's", 'qu"ote', "select", "x;y", "a,b", "(c)", "tick`s", "名前", "=", "a\nb"]
    lake.file("low.parquet", {name: [1, 2] for name in names})
    lake.file("high.parquet", {name: [10, 20] for name in names})
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    lake.index(*(MinMax(name) for name in quoted))
    lake.view()
    for name in quoted:
        lake.check(f"{name} > 5", read=["high.parquet"])
    assert lake.table().metadata().count() == 2
    lake.table().drop_index(MinMax("`a b`"))
    lake.check("`a b` > 5", read=["low.parquet", "high.parquet"])
    lake.check("`a,b` > 5", read=["high.parquet"])


def test_i8_i9_arrays_and_their_elements(lake: Lake) -> None:
    ints = pa.list_(pa.int64())
    lake.file("empty.parquet", {"a": pa.array([[], []], ints)})
    lake.file("nulls.parquet", {"a": pa.array([[None, 5], None], ints)})
    lake.file("high.parquet", {"a": pa.array([[600, 700], [800]], ints)})
    lake.index(MinMax("size(a)"), MinMax("get(a, 0)"), ValueList("array_max(a)"), MinMax("array_min(a)"))
    lake.view()
    for where in (
        "forall(a, e -> e > 500)",
        "NOT exists(a, e -> e < 500)",
        "NOT array_contains(a, 5)",
        "array_contains(a, 5) IS NULL",
        "exists(a, e -> e > 500) IS NULL",
        "a IS NULL",
        "a = array(800)",
        "size(a) = -1",
    ):
        lake.check(where)
    lake.check("size(a) = 0", read=["empty.parquet"])
    lake.check("get(a, 0) > 500", read=["high.parquet"])
    lake.check("get(a, 0) IS NULL", read=["empty.parquet", "nulls.parquet"])
    lake.check("array_max(a) % 100 = 5", read=["nulls.parquet"])
    with pytest.raises(DataSkipError, match="no order"):
        lake.table().create_index(MinMax("named_struct('a', a)"))


def test_i10_maps_by_key(lake: Lake) -> None:
    type_ = pa.map_(pa.string(), pa.int64())
    lake.file("k.parquet", {"m": pa.array([[("k", 1)], [("k", 2)]], type_)})
    lake.file("other.parquet", {"m": pa.array([[("j", 1)], []], type_)})
    lake.index(MinMax("m['k']"), MinMax("element_at(m, 'j')"))
    lake.view()
    lake.check("m['k'] = 1", read=["k.parquet"])
    lake.check("m['k'] IS NULL", read=["other.parquet"])
    lake.check("element_at(m, 'j') = 1", read=["other.parquet"])
    lake.check("m['z'] IS NULL", read=["k.parquet", "other.parquet"])
    lake.check("map_contains_key(m, 'k')")


def test_i11_same_name_for_another_column(lake: Lake) -> None:
    """Fields told apart by their Parquet ids: a column that was dropped and added again is another one."""

    def schema(id_: int) -> StructType:
        field = {"name": "x", "type": "long", "nullable": True, "metadata": {"parquet.field.id": id_}}
        return StructType.fromJson({"type": "struct", "fields": [field]})

    def with_id(name: str, id_: int) -> pa.Field:
        return pa.field(name, pa.int64(), metadata={b"PARQUET:field_id": str(id_).encode()})

    columns = pa.schema([with_id("x", 1), with_id("x_new", 2)])
    lake.file("a.parquet", pa.table([[1, 2], [100, 200]], schema=columns))
    lake.file("b.parquet", pa.table([[100, 200], [1, 2]], schema=columns))
    lake.spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    try:
        lake.index(MinMax("x"), format="parquet", schema=schema(1))
        lake.view(schema=schema(1))
        lake.check("x > 50", read=["b.parquet"])
        lake.view(schema=schema(2))
        lake.check("x > 50", read=["a.parquet", "b.parquet"])
    finally:
        lake.spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")


def test_i11_looking_up_by_id_changes_nothing_without_ids(lake: Lake) -> None:
    """Delta's extension of Spark sets it for its session: the index serves all sessions, and comes from footers."""
    lake.file("low.parquet", {"x": [1, 2]})
    lake.file("high.parquet", {"x": [100, 200]})
    with settings_of(lake.spark, {"spark.sql.parquet.fieldId.read.enabled": "true"}):
        lake.index(MinMax("x"))
    lake.check("x > 50", read=["high.parquet"])


def test_i12_many_columns(lake: Lake) -> None:
    lake.file("low.parquet", {f"c{i}": [i] for i in range(60)})
    lake.file("high.parquet", {f"c{i}": [1000 + i] for i in range(60)})
    lake.index(*(MinMax(f"c{i}") for i in range(0, 60, 3)))
    lake.view()
    lake.check("c57 > 900", read=["high.parquet"])
    lake.check("c58 > 900", read=["low.parquet", "high.parquet"])
    lake.check("c33 < 900 AND c58 > 900", read=["low.parquet"])


def test_i13_i16_partition_columns_come_from_the_path(lake: Lake) -> None:
    lake.file("p=1/a.parquet", {"x": [1, 2]})
    lake.file("p=1/b.parquet", {"x": [50, 60]})
    lake.file("p=2/a.parquet", {"x": [50, 51]})
    lake.file("p=2/b.parquet", {"x": [1, 3]})
    lake.index(MinMax("x"))
    with pytest.raises(DataSkipError, match="partition column"):
        lake.table().create_index(MinMax("p"))
    with pytest.raises(DataSkipError, match="partition column"):
        lake.table().create_index(MinMax("x + p"))
    lake.view()
    report = lake.check("p = 1 AND x = 50")
    assert (report.files_total, report.files_read) == (2, 1)
    lake.check("p = 1 OR x = 50")
    lake.check("p IS NULL OR x = 50")
    assert lake.check("p > 1").files_read == 2
    lake.check("(p = 1 AND x > 55) OR (p = 2 AND x < 2)")
    assert lake.check("x = 50", read=["p=1/b.parquet", "p=2/a.parquet"]).files_total == 4
    # A partition read as a table of its own is still the same files.
    lake.spark.read.parquet(str(lake.folder / "p=2")).createOrReplaceTempView("t")
    assert lake.check("x = 50", read=["p=2/a.parquet"]).files_total == 2


def test_i14_partition_column_inside_the_file(lake: Lake) -> None:
    lake.file("p=1/a.parquet", {"x": [1], "p": [99]})
    lake.file("p=2/a.parquet", {"x": [50], "p": [99]})
    with pytest.raises(DataSkipError, match="partition column"):
        lake.index(MinMax("p"))
    lake.index(MinMax("x"))
    lake.view()
    lake.check("p = 99")
    lake.check("p = 1 AND x = 1", read=["p=1/a.parquet"])
    # Read by itself, the folder has another column p: an index made there is not one of the table.
    inside = lake.skipping.table(str(lake.folder / "p=1"))
    with pytest.warns(DataSkipWarning, match="is a partition of a table that has an index"):
        inside.create_index(MinMax("p"))
    lake.spark.read.parquet(str(lake.folder / "p=1")).createOrReplaceTempView("t")
    lake.check("p = 99", read=["p=1/a.parquet"])
    lake.check("p = 1", read=[])
    lake.spark.read.option("basePath", str(lake.folder)).parquet(str(lake.folder / "p=1")).createOrReplaceTempView("t")
    lake.check("p = 1", read=["p=1/a.parquet"])


def test_i15_partition_values_that_are_inferred_null_or_encoded(lake: Lake) -> None:
    for folder in ("p=01", "p=2", "p=__HIVE_DEFAULT_PARTITION__"):
        lake.file(f"{folder}/low.parquet", {"x": [1]})
        lake.file(f"{folder}/high.parquet", {"x": [100]})
    lake.index(MinMax("x"))
    lake.view()
    for where in ("p IS NULL AND x > 50", "p = 1 AND x > 50", "p = 2 AND x > 50"):
        report = lake.check(where)
        assert (report.files_total, report.files_read) == (2, 1)
    other = Lake(lake.spark, lake.skipping, lake.folder.parent / "encoded")
    for folder in ("s=a%20b", "s=a b", "s=x%2Fy", "s=ü", "s=a%3Db"):
        for name, value in (("low", 1), ("high", 100)):
            other.file(f"{folder}/{name}.parquet", {"x": [value]})
    other.index(MinMax("x"))
    other.view()
    assert other.check("x > 50").files_read == 5
    assert other.check("s = 'x/y' AND x > 50").files_read == 1
    assert other.check("s = 'ü' AND x < 50").files_read == 1


def test_i17_fields_of_one_struct(lake: Lake) -> None:
    lake.file("1.parquet", {"s": [{"t": {"u": 1, "v": 100}, "w": 5}]})
    lake.file("2.parquet", {"s": [{"t": {"u": 100, "v": 1}, "w": None}]})
    lake.file("3.parquet", {"s": pa.array([None], pa.struct({"t": pa.struct({"u": pa.int64(), "v": pa.int64()}), "w": pa.int64()}))})
    lake.index(MinMax("s.t.u"), MinMax("s.T.V"), MinMax("s.w"))
    lake.view()
    lake.check("s.T.U = 100", read=["2.parquet"])
    lake.check("s.t.v = 100", read=["1.parquet"])
    lake.check("s.t.u IS NULL", read=["3.parquet"])
    lake.check("s.w IS NULL", read=["2.parquet", "3.parquet"])
    lake.query("SELECT s.w FROM t WHERE s.t.u = 1", read=["1.parquet"])  # with the nested schema pruned
    lake.query("SELECT s.t.v FROM t WHERE s.t.v = 1 AND s.w IS NULL", read=["2.parquet"])


def test_i18_oracle_needs_no_pushdown_for_dotted_names(lake: Lake) -> None:
    assert lake.spark.conf.get("spark.sql.parquet.filterPushdown") == "false"
    lake.file("a.parquet", {"a.b": [5], "a": [{"b": 100}]})
    lake.index(MinMax("`a.b`"))
    lake.view()
    assert lake.check("`a.b` = 5", read=["a.parquet"]).files_read == 1
    assert len(lake.spark.sql("SELECT * FROM t WHERE `a.b` = 5").collect()) == 1
    aged(lake.folder / "a.parquet", 9000)
    lake.view()
    lake.check("`a.b` = 100", read=["a.parquet"])  # stale: read
    assert json.loads(lake.spark.read.parquet(str(lake.folder)).schema.json())["fields"][0]["name"] == "a.b"
