"""What Spark's `equals` takes for the same, and its maps do not; what it plans alike, and runs once; and what stands in a cache."""

from __future__ import annotations

import pytest

from data_skip import MinMax, ValueList
from tests.readings.comparing.support import SORTED, how_often, plan_of
from tests.support import Lake, settings_of


@pytest.fixture
def zeros(lake: Lake) -> Lake:
    for i, text in enumerate(["0.0x", "-0.0x", "other"]):
        lake.file(f"{i}", {"k": [i], "x": [i + 1.0], "s": [text], "pad": [[j * j % 97 for j in range(9000)]]})
    lake.index(ValueList("x"), ValueList("s"), ValueList("k"))
    lake.view()
    return lake


def test_what_differs_in_the_sign_of_a_zero_is_not_asked_of_both_sides(zeros: Lake) -> None:
    """Each scan was asked for its own zero, so that Spark read the table twice, and shuffled it twice: it was `equal`, and is not."""
    part = "SELECT t.k FROM t JOIN (SELECT * FROM VALUES ({}D, 0), (5D, 9) v(y, k)) v ON t.k = v.k AND CAST(t.x * v.y AS STRING) = '-0.0'"
    sql = f"{part.format('0.0')} UNION ALL {part.format('-0.0')}"
    with settings_of(zeros.spark, SORTED):
        zeros.query(sql)
        plain, skipping = how_often(zeros, sql, "ReusedExchange")
        assert plain > 0 and skipping == plain


SUMS = "(SELECT x, count(*) AS n FROM t WHERE k < 2 GROUP BY x)"
SOME = "(SELECT x FROM t WHERE k < 2 LIMIT 5)"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT x FROM {SUMS} UNION ALL SELECT x FROM {SUMS} TABLESAMPLE (50 PERCENT) REPEATABLE (7)",
        f"SELECT x FROM {SUMS} UNION ALL SELECT x - rand(7) FROM {SUMS} UNION ALL SELECT x + rand(7) FROM {SUMS}",
        f"SELECT x FROM {SOME} UNION ALL SELECT x FROM {SOME} TABLESAMPLE (50 PERCENT) REPEATABLE (7)",
    ],
)
def test_what_is_sampled_is_run_once_with_what_is_not(zeros: Lake, sql: str) -> None:
    """Below the sample no file was skipped, and beside it some were, so that Spark read the table twice, and shuffled it twice."""
    with settings_of(zeros.spark, SORTED):
        assert how_often(zeros, sql, "FileScan") == (1, 1)
        assert len(zeros.spark.sql(sql).collect()) >= 2  # those beside the sample


def test_equal_parts_beside_another_sample_are_skipped(zeros: Lake) -> None:
    sql = f"SELECT x FROM {SUMS} UNION ALL SELECT x FROM {SUMS} UNION ALL SELECT k + 9.0D FROM t TABLESAMPLE (100 PERCENT) WHERE k < 2"
    with settings_of(zeros.spark, SORTED):
        assert sum(scan.files_skipped for scan in zeros.query(sql).scans) > 0


@pytest.mark.parametrize("column", ["t.{}", "coalesce(t.{}, 9)"])
def test_what_differs_in_pruning_that_spark_leaves_out_is_run_once(lake: Lake, column: str) -> None:
    """Without a broadcast nothing prunes partitions, and both scans are equal: one had fewer files, so that Spark read the table twice.

    Of `coalesce(...)` Spark infers no IS NOT NULL: the pruning is all of a filter, which is left out with it.
    """
    for i in range(4):
        lake.file(f"day={i}/f", {"k": [i], "pad": [[j * j % 7919 for j in range(9000)]]})
    lake.index(MinMax("k"))
    lake.view()
    days = Lake(lake.spark, lake.skipping, lake.folder.parent / "days")
    days.file("f", {"day": range(4), "k": range(4), "name": ["a", "a", "b", "b"]})
    days.view("days")
    part = f"SELECT t.k FROM t JOIN days d ON {column.format('day')} = d.day AND {column.format('k')} = d.k"
    some = f"{part} WHERE d.name = 'a'"
    with settings_of(lake.spark, SORTED):
        assert sum(scan.files_skipped for scan in lake.query(some).scans) == 2
        sql = f"{some} UNION ALL {part}"
        lake.query(sql)
        assert how_often(lake, sql, "ReusedExchange") == (1, 1)


@pytest.mark.parametrize("part", ["SELECT k, max(x) AS x FROM ({}) GROUP BY k", "{}"])
@pytest.mark.parametrize(("columns", "others"), [("x, k", "k, x"), ("pad, s, x, k", "*")])
def test_what_differs_in_the_order_of_columns_is_run_once(zeros: Lake, part: str, columns: str, others: str) -> None:
    """Spark goes by no such order below a join or an aggregate, and runs both once: one had fewer files, so that it was read twice."""
    some = f"SELECT t.x FROM ({part.format(f'SELECT {columns} FROM t')}) t JOIN VALUES (1) AS v(k) ON t.k = v.k"
    all_of_them = f"SELECT t.x FROM ({part.format(f'SELECT {others} FROM t')}) t JOIN VALUES (0), (1), (2) AS v(k) ON t.k = v.k"
    with settings_of(zeros.spark, SORTED):
        assert sum(scan.files_skipped for scan in zeros.query(some).scans) == 2
        sql = f"{some} UNION ALL {all_of_them}"
        zeros.query(sql)
        assert how_often(zeros, sql, "FileScan") == (1, 1)


NUMBERS = "(SELECT CAST(id AS INT) AS k, CAST(id AS DOUBLE) AS y FROM range(3))"
GROUPED = "SELECT k, max(x) AS n FROM t GROUP BY k"
QUERY = "(SELECT max(k) + 9 FROM (SELECT b.k FROM (SELECT {} FROM t) b JOIN t c ON b.k = c.k AND b.x = c.x UNION ALL SELECT k FROM t))"


def two(one: str, other: str) -> str:
    """Of the first part the rows of one file, of the second all."""
    some = f"SELECT a.n FROM ({one}) a JOIN VALUES (1) AS v(k) ON a.k = v.k"
    return f"{some} UNION ALL SELECT a.n FROM ({other}) a JOIN VALUES (0), (1), (2) AS v(k) ON a.k = v.k"


def grouped(part: str) -> str:
    return f"SELECT k, max(n) AS n FROM (SELECT k, x AS n FROM t UNION ALL {part}) GROUP BY k"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (grouped(f"SELECT k, y FROM {NUMBERS} CROSS JOIN range(2)"), grouped(f"SELECT k, y FROM {NUMBERS}, range(2)")),
        (grouped(f"SELECT /*+ REPARTITION(k) */ * FROM ({GROUPED})"), grouped(GROUPED)),
        (f"SELECT k, x AS n FROM t WHERE x < {QUERY.format('x, k')}", f"SELECT k, x AS n FROM t WHERE x < {QUERY.format('k, x')}"),
        (f"SELECT k, x + {QUERY.format('x, k')} AS n FROM t", f"SELECT k, x + {QUERY.format('k, x')} AS n FROM t"),
    ],
)
def test_what_another_part_of_a_union_or_a_sub_query_plans_alike_is_run_once(zeros: Lake, one: str, other: str) -> None:
    """The first part was given fewer files, so that Spark read and shuffled the table for each.

    By CartesianProductExec, EnsureRequirements, and RemoveRedundantProjects of a sub-query.
    """
    with settings_of(zeros.spark, SORTED):
        assert sum(scan.files_skipped for scan in zeros.query(two(one, other).split(" UNION ALL SELECT a.n")[0]).scans) >= 2
        zeros.query(two(one, other))
        assert how_often(zeros, two(one, other), "ReusedExchange")[0] > 0
        plain, skipping = how_often(zeros, two(one, other), "FileScan")
        assert skipping == plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (grouped(f"SELECT k, max(y) FROM {NUMBERS} GROUP BY k"), grouped("SELECT k, max(y) FROM VALUES (1, 2D) AS v(k, y) GROUP BY k")),
        (grouped(f"SELECT k, max(y) FROM {NUMBERS} GROUP BY k"), "SELECT k, x AS n FROM t"),
    ],
)
def test_what_spark_plans_apart_is_skipped(zeros: Lake, one: str, other: str) -> None:
    with settings_of(zeros.spark, SORTED):
        with zeros.skipping.disabled():
            assert "ReusedExchange" not in plan_of(zeros.spark.sql(two(one, other)))
        assert sum(scan.files_skipped for scan in zeros.query(two(one, other)).scans) == 2


@pytest.mark.parametrize(("folder", "where"), [("day=1/", ""), ("", "WHERE x > 0")])
def test_where_a_scan_has_more_columns_than_are_asked_for_their_order_counts(lake: Lake, folder: str, where: str) -> None:
    """Spark leaves no projection out there (a scan always has the columns of partitions) and runs both parts: no file was skipped."""
    for i in range(3):
        lake.file(f"{folder}{i}", {"k": [i], "n": [i], "x": [1.0], "pad": [[j * j % 97 for j in range(9000)]]})
    lake.index(MinMax("k"))
    lake.view()
    sql = two(f"SELECT k, n FROM t {where}", f"SELECT n, k FROM t {where}")
    with settings_of(lake.spark, SORTED):
        with lake.skipping.disabled():
            assert "ReusedExchange" not in plan_of(lake.spark.sql(sql))
        assert sum(scan.files_skipped for scan in lake.query(sql).scans) == 2


def test_the_smallest_number_of_a_cache_may_be_either_zero_as_well(zeros: Lake) -> None:
    """It may be computed again, by which the other one is found first. The same without the cache was not believed."""
    sql = "SELECT k FROM t JOIN v ON s LIKE concat(CAST(y AS STRING), '%')"
    extreme = zeros.spark.sql("SELECT max(y) AS y FROM VALUES (0.0D), (-0.0D) AS v(y)")
    with settings_of(zeros.spark, SORTED):
        extreme.createOrReplaceTempView("v")
        assert [scan.files_read for scan in zeros.query(sql).scans] == [3]
        cached = extreme.cache()
        try:
            assert [scan.files_read for scan in zeros.query(sql).scans] == [3]
        finally:
            cached.unpersist(blocking=True)
