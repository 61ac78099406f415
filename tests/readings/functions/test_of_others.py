"""Beside the tree of a query: the rules of time zones, the code of functions, and which rows a function is given."""

from __future__ import annotations

import zipfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import data_skip
from data_skip import MinMax, ValueList
from data_skip.spark.bridge import Scan
from data_skip.spark.janino import load
from data_skip.spark.jvm import SOURCES
from data_skip.store.settings import ZONE_RULES
from tests.geo_skip.conftest import with_sedona
from tests.support import Lake, aged, compared, settings_of

__all__ = ["with_sedona"]
MEXICO = {"spark.sql.session.timeZone": "America/Mexico_City"}


@pytest.fixture
def moments(lake: Lake) -> Lake:
    """A file with a moment, its date, and both as text."""
    moment = datetime(2030, 7, 1, 12, tzinfo=timezone.utc)
    lake.file("a", {"ts": pa.array([moment], pa.timestamp("us", "UTC")), "d": [moment.date()], "s": ["2030-07-01 12:00"]})
    return lake


def with_later_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on Java has later rules of time zones, as an update of the same version brings."""
    found = Scan.settings.func

    def settings(scan: Scan) -> list[dict[str, str]]:
        return [{**session, ZONE_RULES: "9999z"} for session in found(scan)]

    monkeypatch.setattr(Scan, "settings", property(settings))


def test_rules_of_time_zones_change(moments: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mexico has had no summer time since 2022: a Java of the same version that did not know yet told other hours of the years after."""
    texts = "to_timestamp(s, 'yyyy-MM-dd HH:mm')", "unix_timestamp(s, 'yyyy-MM-dd HH:mm')"
    with settings_of(moments.spark, MEXICO):
        moments.index(ValueList("hour(ts)"), ValueList("cast(ts AS date)"), *map(MinMax, texts))
        wheres = ("hour(ts) = 30", "cast(ts AS date) = '2000-01-01'", f"{texts[0]} = timestamp'2000-01-01'", f"{texts[1]} = 7")
        assert moments.reads(*wheres) == [set()] * len(wheres)
        with_later_rules(monkeypatch)
        assert moments.reads(*wheres) == [{"a"}] * len(wheres)


def test_zones_that_a_function_names(moments: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = "from_utc_timestamp(ts, 'America/Mexico_City')", "to_utc_timestamp(ts, 'America/Mexico_City')"
    moments.index(*map(MinMax, calls))
    wheres = [f"{call} < timestamp'2000-01-01'" for call in calls]
    assert moments.reads(*wheres) == [set()] * len(wheres)
    with_later_rules(monkeypatch)
    assert moments.reads(*wheres) == [{"a"}] * len(wheres)


def test_moments_that_a_reader_takes_to_another_zone(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """INT96 of Impala and Arrow, once a setting has Spark take them for local times."""
    at = pa.table({"ts": pa.array([datetime(2030, 7, 1, 12)], pa.timestamp("us"))})
    pq.write_table(at, lake.folder / "a", use_deprecated_int96_timestamps=True)
    aged(lake.folder / "a")
    with settings_of(lake.spark, {**MEXICO, "spark.sql.parquet.int96TimestampConversion": "true"}):
        lake.index(MinMax("ts"))
        assert lake.reads("ts > timestamp'2030-07-02'") == [set()]
        with_later_rules(monkeypatch)
        assert lake.reads("ts > timestamp'2030-07-02'") == [{"a"}]


def test_moments_dates_and_utc_have_no_rules(moments: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    moments.index(MinMax("ts"), ValueList("hour(ts)"), ValueList("year(d)"), ValueList("upper(s)"))
    with_later_rules(monkeypatch)
    wheres = ("ts < timestamp'2000-01-01'", "hour(ts) = 30", "year(d) = 2000", "upper(s) = 'X'")
    assert moments.reads(*wheres) == [set()] * len(wheres)


def test_functions_that_are_given_all_rows(with_sedona: SparkSession, tmp_path: Path) -> None:
    """Sedona makes operators of them, by a rule of the optimizer: it runs after ours where it was installed later."""
    from sedona.spark import SedonaContext

    spark = with_sedona.newSession()
    skipping = data_skip.enable(spark)
    SedonaContext.create(spark)
    lake = Lake(spark, skipping, tmp_path / "table")
    for i in range(3):
        lake.spark_file(str(i), spark.sql(f"SELECT id, ST_Point(id * 0.9D, 0D) AS g FROM range({2 * i}, {2 * i + 2})"))
    lake.index(MinMax("id"))
    lake.view()
    assert compared(spark, skipping, [f"SELECT id FROM t WHERE id IN (2, 3) AND {more}" for more in ("ST_X(g) > 1", "rand() < 2")]) == 4
    for of_all in ("ST_DBSCAN(g, 1D, 3, false).isCore", "ST_LocalOutlierFactor(g, 3, false) < 1.2"):  # which take their time
        assert not skipping.jvm.scans(spark.sql(f"SELECT id FROM t WHERE id IN (2, 3) AND {of_all}"))
    spark.catalog.dropTempView("t")
    data_skip.disable(spark)


def class_in_a_jar(spark: SparkSession, path: Path, **more: str) -> Any:
    """A class of a jar that is loaded as those of users are; `more`: what the jar holds besides."""
    java: Any = spark._jvm
    name = "py4j/Base64.class"
    content = java.java.lang.Class.forName("py4j.Base64").getResourceAsStream("Base64.class").readAllBytes()
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(name, bytes(content))
        for entry, text in more.items():
            jar.writestr(entry, text)
    gateway: Any = spark.sparkContext._gateway
    urls = gateway.new_array(java.java.net.URL, 1)
    urls[0] = java.java.io.File(str(path)).toURI().toURL()
    return java.java.net.URLClassLoader(urls, None).loadClass("py4j.Base64")


def test_code_of_the_same_name_in_another_jar(lake: Lake, tmp_path: Path) -> None:
    """A function of Hive's is told by the name of its class, one of Sedona's is its class: an index of the older code is not used."""
    spark = lake.spark
    gateway: Any = spark.sparkContext._gateway
    code = load(gateway, "data_skip", SOURCES).getClassLoader().loadClass("data_skip.Code")
    (of,) = (method for method in code.getMethods() if method.getName() == "of")

    def told(of_class: Any) -> str:
        arguments = gateway.new_array(gateway.jvm.Object, 1)
        arguments[0] = of_class
        return str(of.invoke(None, arguments))

    old, renamed, new = (class_in_a_jar(spark, tmp_path / name, notes=text) for name, text in (("a", "1"), ("b", "1"), ("c", "2")))
    assert told(old) == told(renamed) != told(new)
    assert all(len(told(each)) > 32 for each in (old, new))
    assert [told(gateway.jvm.Class.forName(name)) for name in ("java.lang.Math", "org.apache.spark.sql.catalyst.expressions.Cast")] == [
        "",
        "",
    ]


def test_functions_of_others_are_served(with_sedona: SparkSession, tmp_path: Path) -> None:
    lake = Lake(with_sedona, data_skip.enable(with_sedona), tmp_path / "table")
    for i in range(3):
        lake.file(str(i), {"x": [float(i)]})
    lake.index(MinMax("ST_X(ST_Point(x, 0D))"))
    lake.check("ST_X(ST_Point(x, 0D)) = 1", read=["1"])
    with_sedona.catalog.dropTempView("t")
