"""Readers: a record belongs to a file as one reader sees it, by its format, options and settings."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from pyspark.sql.types import StructType

import data_skip
from data_skip import DataSkipError, MinMax, ScanReport, ValueList
from data_skip.building import recent
from data_skip.store import FileKey
from data_skip.store.definition import Definition
from data_skip.store.layout import keys_of
from data_skip.store.reader import difference
from data_skip.store.settings import OF_ALL, OF_EXPRESSIONS, OF_FORMATS, SQL, WITHOUT_EFFECT, matches_any, matters, unclassified
from tests.support import Lake, aged, settings_of


def unused(scan: ScanReport, why: str) -> None:
    assert any("is not used" in note and why in note for note in scan.notes), scan


def test_every_setting_of_this_spark_is_classified_by_a_rule(lake: Lake) -> None:
    gateway: Any = lake.spark.sparkContext._gateway
    entries = getattr(getattr(gateway.jvm.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$").getConfigEntries().toArray()
    keys = sorted({entry.key() for entry in entries})
    assert len(keys) > 500
    assert unclassified(keys) == [], "say of each whether it can change what a reader or an expression gives, and why (store/settings.py)"
    names = [key.removeprefix(SQL) for key in keys]
    tables = (WITHOUT_EFFECT, OF_EXPRESSIONS, OF_FORMATS, OF_ALL)
    for reason, patterns in [item for table in tables for item in table.items()]:
        assert any(matches_any(name, patterns) for name in names), f"no setting is under {reason!r}"
    assert matters(f"{SQL}of.tomorrow", "parquet", False), "what no rule names matters"
    assert not matters(f"{SQL}adaptive.enabled", "json", True)
    assert not matters(f"{SQL}json.enableExactStringParsing", "parquet", False)


# For each: format, schema, lines; the index, settings at its creation and at the query; a predicate that holds of a row then.
SETTINGS = {
    f"{SQL}json.enableExactStringParsing": ("json", "s string", '{"s": {"a": 1.0 }}', "s", {}, "false", "s = '{\"a\":1.0}'"),
    f"{SQL}legacy.csv.enableDateTimeParsingFallback": ("csv", "d date, n int", "2024-01-02,1", "d", {}, "false", "d IS NULL"),
    f"{SQL}columnNameOfCorruptRecord": ("json", "a int, c string", '{"a": 1, "c": "x"}', "c", {}, "c", "c IS NULL"),
    f"{SQL}legacy.castComplexTypesToString.enabled": (
        *("json", "a array<int>", '{"a": [1, null]}', "cast(a AS string)", {}, "true", "cast(a AS string) = '[1,]'"),
    ),
    f"{SQL}jsonGenerator.ignoreNullFields": (
        *("json", "a int, b int", '{"a": 1}', "to_json(struct(a, b))", {}, "false", "to_json(struct(a, b)) LIKE '%null%'"),
    ),
}


@pytest.mark.parametrize("key", SETTINGS)
def test_settings_that_no_list_had(lake: Lake, key: str) -> None:
    format_, schema, line, expression, options, value, where = SETTINGS[key]
    before = {f"{SQL}legacy.csv.enableDateTimeParsingFallback": "true"} if "csv" in key else {}
    options = {"dateFormat": "dd/MM/yyyy"} if "csv" in key else {}
    lake.lines("a.txt", line)
    lake.lines("b.txt", line)
    with settings_of(lake.spark, before):
        lake.index(ValueList(expression), format=format_, schema=schema, options=options)
        lake.view(format=format_, schema=schema, **options)
        lake.check(f"{expression} = '1970-01-01'", read=[])  # otherwise it serves
    with settings_of(lake.spark, {key: value}):
        lake.view(format=format_, schema=schema, **options)
        scan = lake.check(where, read=["a.txt", "b.txt"])
        assert len(lake.spark.sql(f"SELECT * FROM t WHERE {where}").collect()) == 2, "the recipe shows nothing"
    unused(scan, key)


def test_settings_that_cannot_matter_leave_an_index_in_use(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [100]})
    lake.index(MinMax("x"))
    others = {
        f"{SQL}adaptive.enabled": "false",
        f"{SQL}parquet.filterPushdown": "true",
        f"{SQL}session.timeZone": "Asia/Tokyo",
        f"{SQL}ansi.enabled": "false",
        f"{SQL}json.enableExactStringParsing": "false",
        f"{SQL}legacy.sizeOfNull": "false",
        f"{SQL}parquet.int96TimestampConversion": "FALSE",  # the default, written otherwise
        "my.variable": "1",
        "parquet.block.size": "1000",
    }
    with settings_of(lake.spark, others):
        lake.view()
        lake.check("x > 50", read=["b.parquet"])
    with settings_of(lake.spark, {f"{SQL}of.tomorrow": "1"}):
        lake.view()
        unused(lake.check("x > 50", read=["a.parquet", "b.parquet"]), "of.tomorrow")


def test_options_that_no_list_had(lake: Lake) -> None:
    lake.lines("a.csv", "2024-01-02")
    schema = "t timestamp"
    lake.index(MinMax("t"), format="csv", schema=schema, options={"preferDate": "true"})
    lake.view(format="csv", schema=schema, preferDate="false")
    unused(lake.check("t IS NULL", read=["a.csv"]), "preferdate")
    lake.view(format="csv", schema=schema, preferDate="true")
    lake.check("t IS NULL", read=[])


def test_hadoops_settings_of_avro(lake: Lake) -> None:
    lake.spark_file("a.avro", lake.spark.sql("SELECT 5 AS x"), "avro")
    aged(lake.spark_file("b", lake.spark.sql("SELECT 5 AS x"), "avro"))
    with settings_of(lake.spark, {"avro.mapred.ignore.inputs.without.extension": "true"}):
        lake.index(ValueList("x"), format="avro")
        lake.view(format="avro")
        lake.check("x = 6", read=[])
    lake.view(format="avro")
    unused(lake.check("x = 5", read=["a.avro", "b"]), "avro.mapred.ignore.inputs.without.extension")


def test_avro_by_position_and_by_a_schema_elsewhere_is_refused(lake: Lake) -> None:
    lake.spark_file("a.avro", lake.spark.sql("SELECT 1 AS x, 2 AS y"), "avro")
    schema = lake.folder.parent / "schema.avsc"
    fields = [{"name": name, "type": "int"} for name in "xy"]
    schema.write_text(json.dumps({"type": "record", "name": "topLevelRecord", "fields": fields}))
    with pytest.raises(DataSkipError, match="positionalFieldMatching"):
        lake.index(MinMax("p"), format="avro", schema="p int, q int", options={"positionalFieldMatching": "true"})
    with pytest.raises(DataSkipError, match="avroSchemaUrl"):
        lake.index(MinMax("x"), format="avro", options={"avroSchemaUrl": str(schema)})
    lake.index(MinMax("x"), format="avro")
    lake.view(format="avro", avroSchemaUrl=str(schema))
    unused(lake.check("x = 7", read=["a.avro"]), "avroSchemaUrl")


def test_the_column_of_corrupt_records_is_no_data(lake: Lake) -> None:
    lake.lines("a.json", '{"a": 1, "_corrupt_record": "x"}')
    lake.lines("b.json", '{"a": 2}')
    schema = "a int, _corrupt_record string"
    lake.index(ValueList("a"), format="json", schema=schema)
    lake.view(format="json", schema=schema)
    lake.check("_corrupt_record IS NULL", read=["a.json", "b.json"])
    lake.check("_corrupt_record IS NULL AND a = 1", read=["a.json"])
    lake.check("_corrupt_record = 'x' AND a > 1", read=["b.json"])
    other = {"columnNameOfCorruptRecord": "bad"}
    lake.view(format="json", schema=schema, **other)  # now it is a column of the files
    unused(lake.check("_corrupt_record = 'x' AND a = 1", read=["a.json", "b.json"]), "columnnameofcorruptrecord")


def test_the_column_of_corrupt_records_does_not_shift_others(lake: Lake) -> None:
    lake.lines("a.csv", "1,5")
    lake.lines("b.csv", "2,6")
    lake.lines("bad.csv", "x,7")
    schema = "a int, _corrupt_record string, b int"
    report = lake.table(format="csv", schema=schema).create_index(MinMax("b"), ValueList("a"))
    assert report.files_refused == 1
    lake.view(format="csv", schema=schema)
    lake.check("b = 5", read=["a.csv", "bad.csv"])
    lake.check("a = 2 OR _corrupt_record IS NOT NULL", read=["a.csv", "b.csv", "bad.csv"])


@pytest.mark.parametrize("name", ["_corrupt_record", ""])
def test_the_column_of_corrupt_records_may_have_an_empty_name(lake: Lake, name: str) -> None:
    """Then `_corrupt_record` is a column of the files: it was taken for none, and what lies in it for the next one's."""
    lake.lines("a.csv", "1,2", "3,4")
    lake.lines("b.csv", "1,x,5")
    schema = StructType().add("a", "integer").add(name, "string").add("b", "integer")
    options = {"columnNameOfCorruptRecord": ""}
    lake.index(ValueList("b"), format="csv", schema=schema, options=options)
    lake.view(format="csv", schema=schema, **options)
    for where in ("b IS NULL", "b = 2", "b = 5"):
        lake.query(f"SELECT a, b FROM t WHERE {where}")


def test_orc_by_position(lake: Lake) -> None:
    lake.spark_file("a.orc", lake.spark.sql("SELECT 1 AS _col0, 100 AS _col1"), "orc")
    lake.spark_file("b.orc", lake.spark.sql("SELECT 2 AS _col0, 200 AS _col1"), "orc")
    lake.index(MinMax("a"), format="orc", schema="a int, b int")
    lake.view(format="orc", schema="a int, b int")
    lake.check("a > 1", read=["b.orc"])
    lake.view(format="orc", schema="b int, a int")
    unused(lake.check("a > 50", read=["a.orc", "b.orc"]), "columns")


def test_orc_forced_by_position(lake: Lake) -> None:
    lake.spark_file("a.orc", lake.spark.sql("SELECT 1 AS a, 100 AS b"), "orc")
    lake.index(MinMax("a"), format="orc", schema="b int, a int")
    with settings_of(lake.spark, {"orc.force.positional.evolution": "true"}):
        lake.view(format="orc", schema="b int, a int")
        unused(lake.check("a = 100", read=["a.orc"]), "columns")


def test_columns_that_were_added_are_named(lake: Lake) -> None:
    """It said that the index was "collected with columns , the query reads c integer"."""
    lake.lines("a.csv", "1,x")
    lake.index(MinMax("a"), format="csv", schema="a int, b string")
    lake.view(format="csv", schema="a int, b string, c int")
    report = lake.query("SELECT * FROM t WHERE a = 2", read=["a.csv"])
    assert "collected without columns c integer, the query reads with them" in str(report)
    with pytest.raises(DataSkipError, match="collected without columns c integer, the table is now read with them"):
        lake.table(format="csv", schema="a int, b string, c int").refresh()


def test_two_partitions_at_one_location(lake: Lake) -> None:
    spark = lake.spark
    lake.file("one/a.parquet", {"x": [10]})
    lake.file("two/b.parquet", {"x": [50]})
    spark.sql(f"CREATE TABLE twice (x BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{lake.folder}'")
    try:
        for p, folder in ((1, "one"), (5, "one"), (7, "two")):
            spark.sql(f"ALTER TABLE twice ADD PARTITION (p={p}) LOCATION '{lake.folder / folder}'")
        report = lake.skipping.table("twice").create_index(MinMax("x"), ValueList("x"))
        assert (report.files_collected, report.rows) == (2, 2)
        lake.query("SELECT * FROM twice WHERE p = 1 OR x = 50", read=["one/a.parquet", "two/b.parquet"])
        lake.query("SELECT * FROM twice WHERE p = 5 OR x = 50", read=["one/a.parquet", "two/b.parquet"])
        lake.query("SELECT * FROM twice WHERE p = 8 OR x = 50", read=["one/a.parquet", "two/b.parquet"])
        lake.query("SELECT * FROM twice WHERE x = 50", read=["two/b.parquet"])
        lake.query("SELECT * FROM twice WHERE p < 7 AND x = 50", read=[])
    finally:
        spark.sql("DROP TABLE twice")


def test_a_view_of_another_session_is_read_with_the_settings_of_both(lake: Lake) -> None:
    lake.lines("a.json", '{"t": "2024-01-01 00:00:00"}')
    lake.lines("b.json", '{"t": "2024-03-01 00:00:00"}')
    other = lake.spark.newSession()
    with settings_of(lake.spark, {}):
        for key in (f"{SQL}parquet.filterPushdown", f"{SQL}orc.filterPushdown"):
            other.conf.set(key, lake.spark.conf.get(key))
    other.conf.set(f"{SQL}session.timeZone", "Asia/Tokyo")
    other.read.schema("t timestamp").json(str(lake.folder)).createOrReplaceGlobalTempView("theirs")
    try:
        lake.index(MinMax("t"), format="json", schema="t timestamp")
        theirs = "SELECT * FROM global_temp.theirs WHERE t "
        scan = lake.query(theirs + "= TIMESTAMP'2023-12-31 15:00:00'", read=["a.json", "b.json"]).scans[-1]
        unused(scan, "Asia/Tokyo (table), UTC (query)")
        other.conf.set(f"{SQL}session.timeZone", "UTC")
        lake.query(theirs + "> TIMESTAMP'2024-02-01 00:00:00'", read=["b.json"])
    finally:
        lake.spark.catalog.dropGlobalTempView("theirs")
        data_skip.disable(other)


def test_a_format_that_extends_parquets_is_another(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1]})
    table = lake.index(MinMax("x"))
    state = table._state()
    description = state.scan.description
    assert description["format"] == "parquet"
    gateway: Any = lake.spark.sparkContext._gateway
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(gateway.jvm.Thread.currentThread().getContextClassLoader())
    compiler.cook("public class Extended extends org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat {}")
    extended = compiler.getClassLoader().loadClass("Extended").getDeclaredConstructor(gateway.new_array(gateway.jvm.Class, 0))
    format_ = extended.newInstance(gateway.new_array(gateway.jvm.Object, 0))
    assert format_.shortName() == "parquet"
    assert lake.skipping.jvm.format_name(format_) == "Extended"


def test_a_data_column_called_metadata(lake: Lake) -> None:
    lake.file("a.parquet", {"_metadata": ["k"], "x": ["u"]})
    lake.file("b.parquet", {"_metadata": ["l"], "x": ["v"]})
    lake.index(ValueList("x"), ValueList("_metadata"))
    lake.view()
    lake.check("x = 'u'", read=["a.parquet"])
    lake.check("_metadata = 'l'", read=["b.parquet"])


def test_the_clock_of_a_store_need_not_be_the_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(recent, "sleep", waited.append)
    now = time.time() * 1000
    recent.let_clocks_pass(keys_of([FileKey("s3://a", 1, int(now - 86_400_000))]), now)
    assert waited == []
    recent.let_clocks_pass(
        keys_of([FileKey("s3://a", 1, int(now - 5_000) // 1000 * 1000)]), now
    )  # of a clock five seconds behind, in seconds
    recent.let_clocks_pass(keys_of([FileKey("s3://a", 1, int(now - 5_000) // 1000 * 1000 + 1)]), now)
    assert waited == [1.0, 0.01]


def test_definitions_of_earlier_versions() -> None:
    def old(format_: str, **settings: str) -> dict[str, Any]:
        reader = {"format": format_, "options": {}, "columns": [[["x"], "long", None, None]], "settings": settings}
        fields = {"kind": "MinMax", "expressions": ["x"], "parameters": {}, "version": 1, "trees": []}
        return Definition.from_json(json.dumps({**fields, "reader": reader})).reader

    now = {"format": "parquet", "options": {}, "columns": [[["x"], "long", None, None]], "session": {}}
    defaults = {f"{SQL}caseSensitive": "false", f"{SQL}readSideCharPadding": "true", f"{SQL}parquet.datetimeRebaseModeInRead": "CORRECTED"}
    assert difference(old("parquet", **defaults), now) == ""
    assert f"{SQL}caseSensitive" in difference(old("parquet", **{f"{SQL}caseSensitive": "true"}), now)
    assert f"{SQL}caseSensitive" in difference(old("parquet", **defaults), {**now, "session": {f"{SQL}caseSensitive": "true"}})
    assert "earlier data-skip" in difference(old("json", **defaults), {**now, "format": "json"})
    assert "earlier data-skip" in difference(old("parquet", **{f"{SQL}ansi.enabled": "true"}), now)
