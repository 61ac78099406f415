"""Every format that Spark reads, with the options of its reader. An index serves those queries that read as it was collected."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_skip import DataSkipError, MinMax, Prefix, ValueList
from tests.support import Lake, aged

ROWS = ", ".join(
    (
        "CAST(id AS INT) AS x",
        "concat('s', id) AS s",
        "date_add(DATE'2024-01-01', CAST(id AS INT)) AS d",
        "timestamp_seconds(id * 86400) AS t",
        "id % 2 = 0 AS b",
    )
)


@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("parquet", {}),
        ("parquet", {"compression": "gzip"}),
        ("orc", {}),
        ("avro", {}),
        ("json", {}),
        ("json", {"compression": "gzip", "timestampFormat": "dd/MM/yyyy HH:mm", "dateFormat": "dd.MM.yyyy"}),
        ("csv", {"header": "true", "sep": "|", "nullValue": "nix", "timestampFormat": "dd/MM/yyyy HH:mm"}),
        ("csv", {"compression": "gzip", "quote": "'", "multiLine": "true"}),
    ],
    ids=str,
)
def test_formats(lake: Lake, format: str, options: dict[str, str]) -> None:
    spark = lake.spark
    end = f"{format}.gz" if format in ("csv", "json") and "compression" in options else format
    nested = "" if format == "csv" else ", named_struct('u', id / 2) AS n"
    ids = spark.range(0, 15, 1, 3).selectExpr("id + 95 * (id DIV 5) AS id")
    rows = ids.selectExpr(f"inline(array(struct({ROWS}{nested})))")
    void = ", ".join(f"CAST(NULL AS {type_}) {name}" for name, type_ in fields(format))
    voids = spark.sql(f"SELECT {void} UNION ALL SELECT {void}").coalesce(1)
    late = spark.sql(f"SELECT {void}").selectExpr("999 AS x", "* EXCEPT (x)")
    names = [f"{name}.{end}" for name in ("low", "mid", "high", "void", "new")]
    low, mid, high, void_file, new = names
    written = lake.spark_files(names, rows.unionAll(voids).unionAll(late), format, **options)
    for name in (low, mid, high, void_file):
        written[name].rename(lake.folder / name)
    schema = None if format in ("parquet", "orc", "avro") else ", ".join(f"{n} {t}" for n, t in fields(format))
    field = [MinMax("n.u")] if nested else []
    lake.index(*(MinMax(c) for c in "xdtb"), ValueList("s"), Prefix("s", 3), *field, format=format, schema=schema, options=options)
    lake.view(format=format, schema=schema, **options)
    lake.check("x > 150", read=[high])
    lake.check("s LIKE 's1%'", read=[low, mid])
    lake.check("d >= DATE'2024-04-01' AND t < TIMESTAMP'1970-05-01'", read=[mid])
    lake.check("x IS NULL", read=[void_file])
    lake.check("b AND x < 50", read=[low])
    lake.check("s IS NULL AND d IS NULL", read=[void_file])
    lake.check("s = 's202' OR x = 3", read=[low, high])
    if nested:
        lake.check("n.u = 51.5", read=[mid])
    # The table knows by itself how it was read.
    written[new].rename(lake.folder / new)
    assert lake.skipping.table(str(lake.folder)).refresh().files_collected == 1
    lake.view(format=format, schema=schema, **options)
    lake.check("x > 500", read=[new])


def fields(format: str) -> list[tuple[str, str]]:
    names = ["x int", "s string", "d date", "t timestamp", "b boolean", *([] if format == "csv" else ["n struct<u: double>"])]
    return [(name.split(" ", 1)[0], name.split(" ", 1)[1]) for name in names]


def test_text(lake: Lake) -> None:
    lake.text("a.log", "GET /a\nGET /b\n")
    lake.text("b.log", "POST /a\r\nPUT /c")
    lake.text("empty.log", "")
    lake.index(Prefix("value", 4), ValueList("split(value, ' ')[0]"), format="text")
    lake.view(format="text")
    lake.check("value LIKE 'GET%'", read=["a.log"])
    lake.check("split(value, ' ')[0] = 'PUT'", read=["b.log"])
    lake.check("value IS NULL", read=[])
    for options, where in (({"wholetext": "true"}, "value LIKE '%b%'"), ({"lineSep": "E"}, "value LIKE 'T%'")):
        lake.view(format="text", **options)
        lake.check(where, read=["a.log", "b.log"])  # Spark lists no file of 0 bytes


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_malformed_json(lake: Lake, mode: str) -> None:
    lake.text("bad.json", '{"x": 1}\n{"x": 900\n{"x": "abc"}\n')
    lake.text("types.json", '{"x": 5, "y": "no number"}\n')
    lake.text("good.json", '{"x": 7, "y": 2}\n{"y": 3, "z": 4}\n')
    schema = "x int, y int, _corrupt_record string"
    report = lake.table(format="json", schema=schema, options={"mode": mode}).create_index(MinMax("x"))
    assert report.files_refused == 2
    assert "malformed" in str(report)
    if mode != "FAILFAST":  # whose queries fail over such files, with skipping and without
        lake.view(format="json", schema=schema, mode=mode)
        for where in ("x IS NULL", "x > 100", "x = 5"):
            read = {"bad.json", "types.json"} | ({"good.json"} if where == "x IS NULL" else set())
            lake.check(where, read=read)
            lake.query(f"SELECT x FROM t WHERE {where}", read=read)
        lake.spark.table("t").cache()
        lake.query("SELECT count(*) FROM t WHERE _corrupt_record IS NOT NULL AND x IS NULL")
        lake.spark.table("t").unpersist()
    else:
        lake.spark.read.schema(schema).option("mode", mode).json(str(lake.folder / "good.json")).createOrReplaceTempView("t")
        lake.check("x > 100", read=[])
    lake.view(format="json", schema=schema, mode="PERMISSIVE" if mode != "PERMISSIVE" else "DROPMALFORMED")
    lake.check("x > 100", read=["bad.json", "types.json", "good.json"])


def test_options_that_change_what_json_and_csv_say(lake: Lake) -> None:
    lake.text("a.json", '{"x": "01", "n": 1.5, "t": "2024-01-02"}\n')
    lake.text("b.json", '{"x": "99", "n": 3.5, "t": "2024-02-01"}\n')
    schema = "x string, n double, t timestamp"
    lake.index(MinMax("x"), MinMax("t"), format="json", schema=schema, options={"timestampFormat": "yyyy-MM-dd"})
    lake.view(format="json", schema=schema, timestampFormat="yyyy-MM-dd")
    lake.check("t < TIMESTAMP'2024-01-15'", read=["a.json"])
    for other in ({"timestampFormat": "yyyy-dd-MM"}, {}, {"timestampFormat": "yyyy-MM-dd", "timeZone": "Asia/Tokyo"}):
        lake.view(format="json", schema=schema, **other)
        scan = lake.check("t < TIMESTAMP'2024-01-15'", read=["a.json", "b.json"])
        assert any("collected with" in note for note in scan.notes)
    lake.view(format="json", schema=schema, timestampFormat="yyyy-MM-dd")
    lake.spark.conf.set("spark.sql.session.timeZone", "America/New_York")  # what is written is local time
    try:
        lake.view(format="json", schema=schema, timestampFormat="yyyy-MM-dd")
        lake.check("t = TIMESTAMP'2024-01-02'", read=["a.json", "b.json"])
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", "UTC")
    lake.view(format="json", schema="x string, n decimal(5,1), t timestamp", timestampFormat="yyyy-MM-dd")
    lake.check("x = '99'", read=["a.json", "b.json"])
    lake.view(format="text")
    lake.check("value LIKE '%99%'", read=["a.json", "b.json"])


def test_encodings_and_headers_of_csv(lake: Lake) -> None:
    lake.text("a.csv", "naïve;x\né;1\n", "latin-1")
    lake.text("b.csv", "naïve;x\nz;2\n", "latin-1")
    options = {"header": "true", "encoding": "iso-8859-1", "sep": ";"}
    lake.index(MinMax("`naïve`"), MinMax("x"), format="csv", options=options)
    lake.view(format="csv", **options)
    lake.check("`naïve` = 'é'", read=["a.csv"])
    lake.view(format="csv", schema="`naïve` string, x string", **(options | {"encoding": "utf-8"}))
    lake.check("`naïve` = 'z'", read=["a.csv", "b.csv"])


def test_defaults_of_json_columns(lake: Lake) -> None:
    """A table fills in the default of a column that a record lacks; not so of each that is malformed by what a query asks: no index."""
    spark = lake.spark
    lake.text("a.json", '{"x": 1}\n')
    lake.text("b.json", '{"x": 2, "y": 70}\n')
    try:
        spark.sql(f"CREATE TABLE json_default (x BIGINT) USING json LOCATION '{lake.folder}'")
        spark.sql("ALTER TABLE json_default ADD COLUMN y BIGINT DEFAULT 7")
        with pytest.raises(DataSkipError, match="DEFAULT"):
            lake.skipping.table("json_default").create_index(MinMax("y"))
        lake.skipping.table("json_default").create_index(MinMax("x"))
        lake.query("SELECT * FROM json_default WHERE y = 7 AND x < 2", read=["a.json"])
        lake.view(format="json", schema="x bigint, y bigint")
        lake.check("y IS NULL", read=["a.json", "b.json"])
    finally:
        spark.sql("DROP TABLE IF EXISTS json_default")


def test_settings_that_change_what_parquet_says(lake: Lake) -> None:
    for name, day in (("a", 2), ("b", 20)):
        moments = pa.table({"t": pa.array([datetime.datetime(2024, 1, day, 3)], pa.timestamp("us"))})
        pq.write_table(moments, lake.folder / f"{name}.parquet", use_deprecated_int96_timestamps=True)
        aged(lake.folder / f"{name}.parquet")
    lake.index(MinMax("t"), format="parquet", schema="t timestamp")
    lake.view(schema="t timestamp")
    lake.check("t < TIMESTAMP'2024-01-02 04:00:00'", read=["a.parquet"])
    settings = {"spark.sql.parquet.int96TimestampConversion": "true", "spark.sql.session.timeZone": "Asia/Tokyo"}
    before = {key: lake.spark.conf.get(key) for key in settings}
    try:
        for key, value in settings.items():
            lake.spark.conf.set(key, value)
        lake.view(schema="t timestamp")
        lake.check("t < TIMESTAMP'2024-01-02 04:00:00'", read=["a.parquet", "b.parquet"])
        lake.check("t >= TIMESTAMP'2024-01-20 00:00:00'", read=["a.parquet", "b.parquet"])
    finally:
        for key, value in before.items():
            lake.spark.conf.set(key, value)


def test_unsupported_formats_are_refused(lake: Lake) -> None:
    lake.text("a.bin", "x")
    with pytest.raises(DataSkipError, match=r"'binaryFile' is not supported.*parquet, orc, avro, csv, json, text"):
        lake.table(format="binaryFile")
    lake.view(format="binaryFile")
    lake.check("length > 0 AND path LIKE '%a.bin'", read=["a.bin"])
