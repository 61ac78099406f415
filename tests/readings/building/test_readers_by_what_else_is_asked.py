"""What a reader gives by what else a query asks for: defaults of Parquet, fields and maps of ORC, malformed records of JSON."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from data_skip import DataSkipError, MinMax, ValueList
from tests.support import Lake, aged, settings_of

SEVEN = {"CURRENT_DEFAULT": "7", "EXISTS_DEFAULT": "7"}
PLAIN = StructType([StructField("a", IntegerType(), True, SEVEN), StructField("b", LongType())])
BY_ROWS = [
    ({"spark.sql.parquet.enableVectorizedReader": "false"}, PLAIN),
    ({"spark.sql.parquet.enableNestedColumnVectorizedReader": "false"}, StructType([*PLAIN, StructField("c", StructType([*PLAIN]))])),
]


@pytest.mark.parametrize(("settings", "schema"), BY_ROWS)
def test_no_index_over_a_default_that_parquet_reads_row_by_row(lake: Lake, settings: dict[str, str], schema: StructType) -> None:
    """It held 7, and a query that reads b as well has NULL there: Spark fills in the columns behind as many as the file has."""
    lake.file("0.parquet", {"b": [1]})
    lake.file("1.parquet", {"b": [2]})
    with settings_of(lake.spark, settings):
        with pytest.raises(DataSkipError, match="has a DEFAULT: in queries that read Parquet row by row"):
            lake.index(MinMax("a"), schema=schema)
        lake.index(MinMax("b"), schema=schema)
        lake.view(schema=schema)
        assert len(lake.spark.sql("SELECT * FROM t WHERE a IS NULL").collect()) == 2
        lake.query("SELECT * FROM t WHERE a IS NULL AND b = 2", read=["1.parquet"])


def test_what_was_collected_of_such_a_default_is_not_used(lake: Lake) -> None:
    lake.file("0.parquet", {"b": [1]})
    lake.index(MinMax("a"), schema=PLAIN)
    lake.view(schema=PLAIN)
    lake.query("SELECT * FROM t WHERE a > 7", read=[])
    with settings_of(lake.spark, {"spark.sql.parquet.enableVectorizedReader": "false"}):
        lake.query("SELECT * FROM t WHERE a IS NULL", read=["0.parquet"])


FEW = {"spark.sql.codegen.maxFields": "3"}  # as a hundred columns do, beyond which Spark reads ORC row by row: maps as TreeMaps


def test_a_default_of_parquet_in_a_small_side(lake: Lake) -> None:
    """For the key alone it is what the file holds, 5, and 9 for the query, which asks for a column before it that the file lacks."""
    for k in (5, 9):
        lake.file(f"{k}.parquet", {"k": [k] * 400, "pad": [f"{k * 97 + i * 2654435761 % 2**64:x}" for i in range(400)]})
    side = Lake(lake.spark, lake.skipping, lake.folder.parent / "defaults")
    side.file("0.parquet", {"c": [5]})
    nine = {"CURRENT_DEFAULT": "9", "EXISTS_DEFAULT": "9"}
    side.view("defaults", schema=StructType([StructField("a", LongType()), StructField("c", LongType(), True, nine)]))
    with settings_of(lake.spark, {"spark.sql.parquet.enableVectorizedReader": "false", "spark.data_skip.join.leastBytes": "0"}):
        lake.index(MinMax("k"))
        lake.view()
        report = lake.query("SELECT t.k, defaults.* FROM t JOIN defaults ON t.k = c")
        assert "the other side was run first" in str(report)
        assert [scan.files_read for scan in report.scans if not scan.table.endswith("defaults")] == [1]


def write_orc(lake: Lake, name: str, columns: dict[str, pa.Array]) -> None:
    orc.write_table(pa.table(columns), str(lake.folder / name))
    aged(lake.folder / name)


def test_no_index_over_orc_whose_fields_are_found_by_their_places(lake: Lake) -> None:
    """Of s.q alone Spark reads the first field of s."""
    for i in range(2):
        write_orc(lake, f"{i}.orc", {"s": pa.array([{"p": i, "q": 10 * i}], pa.struct([("p", pa.int64()), ("q", pa.int64())]))})
    level = {"orc.force.positional.evolution": "true", "orc.force.positional.evolution.level": "2"}
    with pytest.raises(DataSkipError, match="by their places among those that a query asks for"):
        lake.index(ValueList("s.q"), format="orc", options=level)
    lake.index(ValueList("s.q"), format="orc", options={"orc.force.positional.evolution": "true"})
    lake.view(format="orc", **level)
    lake.query("SELECT * FROM t WHERE s.q = 10", read=["0.orc", "1.orc"])


def test_a_map_of_orc_in_a_small_side(lake: Lake) -> None:
    """For the key alone b was found first, and a by the query of many columns, for which Spark sorts the entries of maps."""
    for key in "abc":
        lake.file(f"{key}.parquet", {"k": [key] * 400, "pad": [f"{ord(key) * 97 + i * 2654435761 % 2**64:x}" for i in range(400)]})
    lake.index(ValueList("k"))
    lake.view()
    side = Lake(lake.spark, lake.skipping, lake.folder.parent / "maps")
    entries = pa.array([[("b", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))
    write_orc(side, "0.orc", {"m": entries, **{name: pa.array([1]) for name in "xyz"}})
    side.view("maps", format="orc")
    with settings_of(lake.spark, {"spark.sql.codegen.maxFields": "3", "spark.data_skip.join.leastBytes": "0"}):
        report = lake.query("SELECT t.k, maps.* FROM t JOIN maps ON t.k = map_keys(m)[0]")
        assert "the other side was run first" in str(report)
        assert [scan.files_read for scan in report.scans if not scan.table.endswith("maps")] == [1]


def write_map(lake: Lake, name: str, entries: list[tuple[str, int]]) -> None:
    write_orc(lake, name, {"m": pa.array([entries], pa.map_(pa.string(), pa.int64())), **{name: pa.array([1]) for name in "xyz"}})


@pytest.mark.parametrize("expression", ["map_keys(m)[0]", "CAST(m AS STRING)", "m['k']", "size(m)"])
def test_no_index_over_a_map_of_orc(lake: Lake, expression: str) -> None:
    """It held b, and a query of many columns finds a first: of other writers than Spark, which sorts keys, and leaves none twice."""
    write_map(lake, "a.orc", [("b", 1), ("a", 2)])
    write_map(lake, "b.orc", [("k", 1), ("k", 2)])
    with pytest.raises(DataSkipError, match="a map of ORC"):
        lake.index(ValueList(expression), format="orc")
    lake.index(MinMax("x"), format="orc")
    lake.view(format="orc")
    with settings_of(lake.spark, FEW):
        for where in ("map_keys(m)[0] = 'a'", "m['k'] = 2", "size(m) = 1 AND x = 1"):
            assert lake.spark.sql(f"SELECT * FROM t WHERE {where}").count() == 1


def test_no_index_over_the_column_of_malformed_json(lake: Lake) -> None:
    """Where Spark's reader has a filter on a key that is there twice, the record is malformed: it was none while it was indexed."""
    lake.lines("a.json", '{"a": 1, "b": 1, "a": 5}')
    lake.lines("b.json", '{"a": 2, "b": 2}')
    schema = "a INT, b INT, _corrupt_record STRING"
    for expression in ("_corrupt_record", "length(_CORRUPT_RECORD)"):
        with pytest.raises(DataSkipError, match="the column of malformed records"):
            lake.index(MinMax(expression), format="json", schema=schema)
    lake.index(MinMax("a"), format="json", schema=schema)
    lake.view(format="json", schema=schema)
    assert lake.spark.sql("SELECT * FROM t WHERE a > 0 AND _corrupt_record IS NOT NULL").count() == 1
    lake.query("SELECT * FROM t WHERE a > 2 AND _corrupt_record IS NOT NULL", read=["a.json"])


def test_no_index_over_a_default_of_json(lake: Lake) -> None:
    """It held 7, and a query with a filter on a key that is there twice has NULL: to Spark's reader the record is malformed then."""
    lake.lines("a.json", '{"a": 1, "a": 5}')
    lake.lines("b.json", '{"a": 2, "c": 3}')
    schema = StructType([StructField("a", IntegerType()), StructField("c", IntegerType(), True, SEVEN)])
    for expression in ("c", "a + C"):
        with pytest.raises(DataSkipError, match="column c, whose DEFAULT a record that has a key twice is not given"):
            lake.index(ValueList(expression), format="json", schema=schema)
    lake.index(ValueList("a"), format="json", schema=schema)
    lake.view(format="json", schema=schema)
    assert lake.spark.sql("SELECT * FROM t WHERE a > 0 AND c IS NULL").count() == 1, "the recipe shows nothing"
    lake.query("SELECT * FROM t WHERE a = 5 AND c IS NULL", read=["a.json"])


@pytest.mark.parametrize("type_", ["void", "struct<p: void>", "map<string, array<void>>"])
def test_no_index_of_json_with_a_column_of_void(lake: Lake, type_: str) -> None:
    """Of b, 5 was collected, which is a field of a, and a query that leaves out a has 1."""
    lake.lines("a.json", '{"a": {"b": 5}, "b": 1}')
    lake.lines("b.json", '{"a": null, "b": 2}')
    with pytest.raises(DataSkipError, match="column a is of VOID"):
        lake.index(ValueList("b"), format="json", schema=f"a {type_}, b int")
    lake.index(ValueList("b"), format="json", schema="b int, void int")
    lake.view(format="json", schema="a void, b int")
    lake.query("SELECT b FROM t WHERE b = 1", read=["a.json", "b.json"])
    lake.query("SELECT * FROM t WHERE b = 5", read=["a.json", "b.json"])


TEXT = {"CURRENT_DEFAULT": r"'a\\b'", "EXISTS_DEFAULT": r"'a\\b'"}


@pytest.mark.parametrize("expression", ["c", "upper(c)"])
def test_a_default_is_text_that_the_query_parses(lake: Lake, expression: str) -> None:
    """It was of three characters, and is of four where a backslash in SQL is itself."""
    for name in "ab":
        lake.file(name, {"a": [1]})
    schema = StructType([StructField("a", LongType()), StructField("c", StringType(), True, TEXT)])
    lake.index(ValueList(expression), schema=schema)
    lake.view(schema=schema)
    lake.query(f"SELECT * FROM t WHERE length({expression}) = 4", read=[])
    with settings_of(lake.spark, {"spark.sql.parser.escapedStringLiterals": "true"}):
        lake.view(schema=schema)
        lake.query(f"SELECT * FROM t WHERE length({expression}) = 4", read=["a", "b"])
        assert lake.spark.sql(f"SELECT * FROM t WHERE length({expression}) = 4").count() == 2, "the recipe shows nothing"


def test_json_as_one_variant(lake: Lake) -> None:
    """Spark takes no schema then: it was told one that nobody had given, and the error named that."""
    lines = {"a": ['{"x": 1}', '{"x": 2}'], "b": ['{"x": 3}'], "twice": ['{"x": 4, "x": 5}'], "bad": ['{"x": 6}', "{x"]}
    for name, written in lines.items():
        lake.lines(f"{name}.json", *written)
    reader: dict[str, Any] = {"format": "json", "options": {"singleVariantColumn": "v"}}
    x = "variant_get(v, '$.x', 'int')"
    assert lake.table(**reader).create_index(ValueList(x)).files_refused == 2
    lake.view("t", "json", singleVariantColumn="v")
    lake.query(f"SELECT * FROM t WHERE {x} = 2", read=["a.json", "bad.json", "twice.json"])
    lake.lines("new.json", '{"x": 7}')
    assert lake.table().refresh().files_collected == 1
    assert len(lake.table(**reader).files(f"{x} = 7")) == 3
    assert lake.table(**reader).read("snapshot").where(f"{x} = 7").count() == 1
