"""Arrays: an index over an array serves what a leaf says of some element."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from data_skip import BloomFilter, GapList, Hybrid, Index, MinMax, Prefix, Skipping, Suffix, ValueList
from data_skip.expression import name_of
from data_skip.testing import check_index
from tests.support import Lake, files_read

INTS = pa.list_(pa.int64())
ITEMS = pa.list_(pa.struct({"kind": pa.string(), "price": pa.float64()}))
NESTED = pa.struct({"tags": INTS, "deep": pa.struct({"x": pa.int64()})})
ALL = {"low", "mid", "high", "hole", "none"}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """One file a situation: small, middle and large elements; elements with NULL and empty arrays; no elements at all."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("arrays") / "table")
    a = {
        "low": [[1, 2], [3]],
        "mid": [[40, 60], [50, 50]],
        "high": [[100, 200], [150]],
        "hole": [[1, None, 200], [], [5]],
        "none": [None, None, None],
    }
    s = {
        "low": [["ab", "abc"], ["b"]],
        "mid": [["moon", "noon"], ["soon"]],
        "high": [["xy"], ["yz", "zz"]],
        "hole": [["a", None, "zz"], [], [""]],
        "none": [None, [], None],
    }
    aa = {
        "low": [[[1], [2]], [[3]]],
        "mid": [[[40], [50, 60]], [[45]]],
        "high": [[[100, 200]], [[150]]],
        "hole": [[[1], []], [], [[None, 200]]],
        "none": [None, [None], []],
    }
    items = {
        "low": [[{"kind": "a", "price": 1.0}], [{"kind": "b", "price": 2.0}]],
        "mid": [[{"kind": "m", "price": 50.0}, {"kind": "n", "price": 60.0}], [{"kind": "m", "price": 55.0}]],
        "high": [[{"kind": "y", "price": 100.0}], [{"kind": "z", "price": 200.0}]],
        "hole": [[{"kind": None, "price": 1.0}, None], [], [{"kind": "z", "price": None}]],
        "none": [None, None, []],
    }
    for name in a:
        columns = {
            "k": pa.array(range(len(a[name]))),
            "a": pa.array(a[name], INTS),
            "s": pa.array(s[name], pa.list_(pa.string())),
            "aa": pa.array(aa[name], pa.list_(INTS)),
            "items": pa.array(items[name], ITEMS),
            "n": pa.array([{"tags": tags, "deep": {"x": i}} for i, tags in enumerate(a[name])], NESTED),
            "words": pa.array([None if words is None else ",".join(w or "" for w in words) for words in s[name]], pa.string()),
        }
        lake.file(name, columns)
    lake.index(
        *(MinMax("a"), ValueList("s"), MinMax("aa"), MinMax("items.price"), ValueList("items.kind"), MinMax("size(a)")),
        *(MinMax("n.tags"), MinMax("n.deep.x"), ValueList("split(words, ',')")),
    )
    lake.view()
    yield lake
    spark.catalog.dropTempView("t")


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("array_contains(a, 50)", {"mid", "hole"}),
        ("array_contains(a, 1000)", set()),
        ("array_contains(s, 'moon')", {"mid"}),
        ("array_contains(s, 'moon') OR array_contains(a, 3)", {"low", "mid", "hole"}),
        ("arrays_overlap(a, array(40, 41))", {"mid", "hole"}),
        ("arrays_overlap(s, array('xy', 'b', NULL))", {"low", "high"}),
        ("exists(a, x -> x > 60)", {"high", "hole"}),
        ("exists(a, x -> x > 60 AND x < 90)", {"hole"}),
        ("exists(s, x -> x LIKE '%oon')", {"mid"}),
        ("exists(s, x -> upper(x) = 'XY' OR length(x) = 3)", {"low", "high"}),
        ("exists(a, x -> x IN (41, 3))", {"low", "mid", "hole"}),
        ("exists(a, x -> x IS NULL)", {"hole", "none"}),
        ("exists(a, x -> x + k > 1000)", ALL),
        ("forall(a, x -> x > 500)", {"hole", "none"}),
        ("forall(s, x -> x LIKE '%oon')", {"mid", "hole", "none"}),
        ("NOT forall(a, x -> x < 100)", {"high", "hole"}),
        ("NOT exists(a, x -> x < 100)", {"high", "hole", "none"}),
        ("NOT array_contains(a, 50)", ALL),
        ("NOT arrays_overlap(s, array('xy', 'yz', 'zz'))", {"low", "mid", "hole", "none"}),
        ("a IS NULL", {"hole", "none"}),
        ("size(a) > 0 AND a[0] = 40", {"mid", "hole"}),
        ("get(a, 1) > 100", {"high", "hole"}),
        ("get(a, 0) IS NULL", {"hole", "none"}),
        ("get(a, 5) IS NULL", ALL),
        ("coalesce(get(a, 1), 500) > 300", ALL),
        ("try_element_at(a, -1) BETWEEN 41 AND 99", {"mid", "hole"}),
        ("array_max(a) > 100", {"high", "hole"}),
        ("array_min(a) < 3", {"low", "hole"}),
        ("array_max(a) IS NULL", {"hole", "none"}),
        ("size(a) > 2", {"hole"}),
        ("array_size(a) = 3", {"hole"}),
        ("exists(aa, x -> array_contains(x, 150))", {"high", "hole"}),
        ("exists(aa, x -> exists(x, y -> y BETWEEN 41 AND 59))", {"mid", "hole"}),
        ("get(get(aa, 0), 0) = 45", {"mid", "hole"}),
        ("array_contains(flatten(aa), 45)", ALL),
        ("exists(items, i -> i.price > 100)", {"high"}),
        ("exists(items, i -> i.kind = 'm' AND i.price < 52)", {"mid"}),
        ("exists(items, i -> i.kind = 'm' AND i.price > 100)", set()),
        ("array_contains(items.kind, 'z')", {"high", "hole"}),
        ("get(items, 0).price = 200", {"high"}),
        ("array_max(items.price) > 60", {"high"}),
        ("array_contains(n.tags, 2)", {"low", "hole"}),
        ("n.deep.x = 2", {"hole", "none"}),
        ("array_contains(split(words, ','), 'moon')", {"mid"}),
    ],
)
def test_predicates_about_arrays(lake: Lake, where: str, read: set[str]) -> None:
    lake.check(where, read=read)


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT k, x FROM t LATERAL VIEW explode(a) e AS x WHERE x > 60", {"high", "hole"}),
        ("SELECT k, x FROM t LATERAL VIEW explode(a) e AS x WHERE x > 60 AND x < 90 AND k >= 0", {"hole"}),
        ("SELECT k, x FROM t LATERAL VIEW OUTER explode(a) e AS x WHERE x > 60", {"high", "hole"}),
        ("SELECT k, x FROM t LATERAL VIEW explode(s) e AS x WHERE x RLIKE 'oo'", {"mid"}),
        ("SELECT k, p, x FROM t LATERAL VIEW posexplode(a) e AS p, x WHERE x > 60 AND p = 0", {"high", "hole"}),
        ("SELECT k, x.kind FROM t LATERAL VIEW explode(items) e AS x WHERE x.price > 60", {"high"}),
        ("SELECT k, kind FROM t LATERAL VIEW inline(items) e AS kind, price WHERE price > 60 AND kind = 'y'", {"high"}),
        ("SELECT k FROM t LATERAL VIEW inline(items) e AS kind, price WHERE price > 60 AND kind = 'm'", set()),
        ("SELECT k, y FROM t LATERAL VIEW explode(aa) e AS x LATERAL VIEW explode(x) f AS y WHERE y = 150", {"high", "hole"}),
        ("SELECT w FROM (SELECT x + 0 AS w FROM (SELECT explode(a) AS x FROM t)) WHERE w = 3", None),
        ("SELECT count(*) FROM t, LATERAL explode(a) AS e(x) WHERE e.x = 150", {"high", "hole"}),
        ("SELECT word, count(*) FROM (SELECT explode(split(words, ',')) AS word FROM t) WHERE word LIKE 'xy%' GROUP BY word", {"high"}),
    ],
)
def test_predicates_about_exploded_rows(lake: Lake, sql: str, read: set[str] | None) -> None:
    lake.query(sql, read=read)


def test_rows_that_outer_adds_are_kept(lake: Lake) -> None:
    for where in ("x IS NULL", "coalesce(x, 500) > 300", "NOT (x <=> 3)"):
        sql = f"SELECT k, x FROM t LATERAL VIEW OUTER explode(a) e AS x WHERE {where}"
        lake.query(sql)
        assert not lake.skipping.jvm.scans(lake.spark.sql(sql))


def test_dataframe_explode(lake: Lake) -> None:
    frame = lake.spark.table("t").select("k", F.explode("a").alias("x")).where("x > 60")
    assert frame.count() == 4
    assert lake.skipping.report().scans[-1].files_read == 2


@pytest.mark.parametrize(
    ("where", "files"),
    [
        ("EXISTS (SELECT 1 FROM explode(t.a) AS e(x) WHERE x > 60)", [2, 2]),
        ("EXISTS (SELECT 1 FROM explode_outer(t.a) AS e(x) WHERE x > 60)", [2, 2]),
        ("EXISTS (SELECT 1 FROM LATERAL explode(t.a) AS e(x) WHERE x > 60 AND x % 2 = 0)", [2, 2]),
        ("150 IN (SELECT x FROM explode(t.a) AS e(x))", [2, 2]),
        ("EXISTS (SELECT 1 FROM posexplode(t.s) AS e(p, x) WHERE x LIKE '%oon' AND p = 0)", [1, 1]),
        ("EXISTS (SELECT 1 FROM explode(t.a) AS e(x) WHERE x > 60) AND array_contains(s, 'xy')", [1, 1]),
        ("NOT EXISTS (SELECT 1 FROM explode(t.a) AS e(x) WHERE x > 60)", [2]),
        ("EXISTS (SELECT 1 FROM explode(t.a) AS e(x) WHERE x > 60) OR k = 0", [2]),
        ("EXISTS (SELECT 1 FROM explode(t.n.tags) AS e(x) WHERE x > 60)", [2, 2]),
        ("(SELECT max(x) FROM explode(t.a) AS e(x)) > 60", [4]),
    ],
)
def test_subqueries_about_elements(lake: Lake, where: str, files: list[int]) -> None:
    """Spark joins the table with its own distinct arrays, exploded and filtered."""
    report = lake.query(f"SELECT k FROM t WHERE {where}")
    assert sorted(scan.files_read for scan in report.scans if scan.files_skipped) == files, str(report)


@pytest.mark.long
def test_equal_arrays_that_differ_are_not_taken_for_each_other(lake: Lake) -> None:
    """0.0 and -0.0: of an array of doubles nothing follows from being equal to another."""
    for array, follows in (("a", True), ("items.price", False)):
        sql = f"SELECT k FROM t WHERE EXISTS (SELECT 1 FROM explode(t.{array}) AS e(x) WHERE x > 60)"
        lake.query(sql)
        scans = lake.skipping.jvm.scans(lake.spark.sql(sql))
        assert any(name_of(part) == "ArrayExists" for scan in scans for part in scan.predicate.walk()) == follows


def test_columns_of_the_dataframe_api(lake: Lake) -> None:
    a, s, items = F.col("a"), F.col("s"), F.col("items")
    for column, read in (
        (F.array_contains(a, 50), {"mid", "hole"}),
        (F.arrays_overlap(s, F.array(F.lit("xy"), F.lit("b"))), {"low", "high"}),
        (F.exists(a, lambda x: x > 60), {"high", "hole"}),
        (F.forall(s, lambda x: x.like("%oon")), {"mid", "hole", "none"}),
        (~F.exists(a, lambda x: x < 100), {"high", "hole", "none"}),
        ((F.size(a) > 0) & (a[0] == 40), {"mid", "hole"}),
        (F.get(a, F.lit(1)) > 100, {"high", "hole"}),
        (F.try_element_at(a, F.lit(-1)).between(41, 99), {"mid", "hole"}),
        (F.array_max(a) > 100, {"high", "hole"}),
        (F.size(a) > 2, {"hole"}),
        (F.exists(items, lambda i: (i["kind"] == "m") & (i["price"] < 52)), {"mid"}),
        (items["price"].isNotNull() & F.array_contains(items["kind"], "z"), {"high", "hole"}),
        (F.col("n.deep.x") == 2, {"hole", "none"}),
        (F.col("n").getField("deep").getField("x") == 2, {"hole", "none"}),
    ):
        assert files_read(lake.skipping, lake.spark.table("t").where(column), lake.folder) == read, column


def test_c13_two_leaves_may_be_met_by_different_elements(lake: Lake) -> None:
    lake.check("exists(a, x -> x > 150) AND exists(a, x -> x < 5)", read=["hole"])
    lake.check("array_contains(s, 'ab') AND array_contains(s, 'abc')", read=["low"])
    lake.check("array_contains(s, 'moon') AND exists(s, x -> x <> 'moon')", read=["mid"])
    lake.check("exists(a, x -> x = 40 AND exists(a, y -> y = 60))", read=["mid", "hole"])
    lake.check("exists(a, x -> exists(a, y -> x = 40 AND y = 60))")
    assert lake.check("get(a, 0) = 40 AND get(a, 1) = 60").rows_kept > 0
    assert lake.spark.sql("SELECT * FROM t WHERE exists(a, x -> exists(a, y -> x = 40 AND y = 60))").count() == 1


@pytest.mark.parametrize(
    "index", [MinMax("a"), GapList("a"), ValueList("a"), Hybrid("a", threshold=2), BloomFilter("a", fpp=1e-4)], ids=str
)
def test_every_index_of_numbers(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory, index: Index) -> None:
    rows = pa.table({"a": pa.array([[1, 2], [3, None], [], None, [100, 2], [50], [50, 51, 52], [None], [7] * 20, [-1]], INTS)})
    predicates = ["array_contains(a, 3)", "exists(a, x -> x = 50)", "get(a, 0) = 100", "arrays_overlap(a, array(1, 51))", "a IS NULL"]
    checked = check_index(index, rows, [*predicates, "NOT array_contains(a, 50)", "forall(a, x -> x = 7)"], spark)
    assert all(checked.skipped[p] for p in [*predicates, "forall(a, x -> x = 7)"]), checked


@pytest.mark.parametrize("index", [Prefix("s", 2), Suffix("s", 2), Prefix("s"), BloomFilter("s"), ValueList("s")], ids=str)
def test_every_index_of_strings(spark: SparkSession, index: Index) -> None:
    rows = pa.table({"s": pa.array([["abc", "abd"], ["xyz"], [], None, [None, ""], ["a"], ["zzz", "abc"]], pa.list_(pa.string()))})
    predicates = ["array_contains(s, 'xyz')", "get(s, 0) = 'xyz'", "exists(s, x -> x IN ('xyz', 'q'))"]
    checked = check_index(index, rows, [*predicates, "NOT exists(s, x -> x LIKE 'a%')", "exists(s, x -> x LIKE 'x%z')"], spark)
    assert all(checked.skipped[p] for p in predicates), checked


def test_reports_tell_lambda_functions_as_they_are_written(lake: Lake) -> None:
    report = lake.check("exists(a, x -> x > 60 AND x < 90)")
    assert report.predicates[0].predicate == "exists(t.a, x -> ((x > 60L) AND (x < 90L)))"
    assert report.clause == "MinMax(a) admits exists(t.a, x -> ((x > 60L) AND (x < 90L)))"
