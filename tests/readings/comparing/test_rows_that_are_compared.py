"""Rows that two parts of one query have by what goes by the order of rows: whether there are any is compared as well."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from data_skip.planning.callback import Callback
from tests.readings.comparing.support import NUMBERED, SUMS, ordered
from tests.support import Lake

__all__ = ["ordered"]  # fixtures
SUMS_AND_MORE = "SELECT k, sum(x) AS s, max(id) AS m FROM ordered GROUP BY k"
FIRST = f"SELECT row_number() OVER (PARTITION BY id % 7 ORDER BY k) AS m FROM ({NUMBERED}) WHERE {{where}}"
ONCE = "WITH c AS (SELECT k, sum(x) AS s, rand() FROM ordered GROUP BY k)"


def sums(ordered: Lake) -> tuple[float, float]:
    """The sum of k = 5 as it is where all files are read, and where that one is: they differ in the last digits."""
    (one,) = ordered.spark.sql("SELECT sum(x) AS s FROM ordered WHERE k = 5").collect()
    with ordered.skipping.disabled():
        (every,) = ordered.spark.sql("SELECT s FROM (SELECT k, sum(x) AS s FROM ordered GROUP BY k) WHERE k + 0.5D = 5.5D").collect()
    assert one.s != every.s
    return one.s, every.s


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1, k FROM ({sums}) WHERE k = 5 AND s {is_one} UNION ALL SELECT 2, k FROM ({sums}) WHERE NOT (k = 5 AND s {is_one})",
        "SELECT a.k FROM ({sums} HAVING s {is_one}) a JOIN ({more} HAVING NOT s {is_one}) b ON a.k = abs(b.k) WHERE a.k = 5",
    ],
)
def test_a_sum_chooses_rows(ordered: Lake, sql: str) -> None:
    """A row was lost, or one more was there."""
    one, every = sums(ordered)
    is_one = f"{'>' if one > every else '<'} {every!r}D"
    read_all(ordered, sql.format(sums=SUMS, more=SUMS_AND_MORE, is_one=is_one))


def read_all(ordered: Lake, sql: str) -> None:
    report = ordered.query(sql)
    assert report.scans and all(scan.files_read == 7 for scan in report.scans)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT 1 WHERE (SELECT count(*) FROM ({SUMS}) WHERE k = 5 AND s > 1)"
        f" = (SELECT count(*) FROM ({SUMS_AND_MORE}) WHERE NOT k < 5 AND s > 1)",
        f"SELECT 1 WHERE (SELECT count(*) FROM ({FIRST.format(where='k > 3 AND n = 1')}) WHERE m = 1)"
        f" = (SELECT count(*) FROM ({FIRST.format(where='k + 0.5D > 3.5D AND n = 1')}) WHERE m = 1)",
        f"SELECT a.c FROM (SELECT s, count(*) AS c FROM ({SUMS} HAVING k > 3) GROUP BY s) a"
        f" JOIN (SELECT s, count(*) AS c FROM ({SUMS_AND_MORE}) GROUP BY s) b ON a.c = b.c",
        f"SELECT id FROM ({NUMBERED}) WHERE k = 4 AND n <= 50 UNION ALL SELECT id FROM ({NUMBERED}) WHERE k + 0.5D = 4.5D AND n > 50",
        f"SELECT a.k FROM ({NUMBERED}) a JOIN ({NUMBERED}) b ON a.k = b.k + 0.5D - 0.5D"
        " WHERE a.k = 4 AND a.n = 1 AND a.id < 90000 AND b.n = 1 AND b.id >= 90000",
        f"SELECT t.k FROM ordered t JOIN ({SUMS}) a ON t.k = a.k + 0.5D - 0.5D WHERE t.k = 5 GROUP BY t.k HAVING sum(t.x) = max(a.s)",
        f"{ONCE} SELECT b.k FROM (SELECT max(k) AS m FROM c) CROSS JOIN c a JOIN ({SUMS_AND_MORE}) b ON a.s = b.s WHERE b.k = 5",
    ],
)
def test_rows_that_go_by_the_order_are_counted_or_compared(ordered: Lake, sql: str) -> None:
    read_all(ordered, sql)


BOTH = f"({SUMS}) a JOIN ({SUMS_AND_MORE}) b ON a.k = abs(b.k) WHERE a.k = 5"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(DISTINCT s) FROM (SELECT s FROM ({SUMS}) WHERE k = 5 UNION ALL SELECT s FROM ({SUMS_AND_MORE}))",  # 7 for 6
        f"SELECT size(collect_set(s)) FROM (SELECT s FROM ({SUMS}) WHERE k = 5 UNION ALL SELECT s FROM ({SUMS_AND_MORE}))",
        f"SELECT array_position(array(a.s), b.s), a.s - b.s FROM {BOTH}",
        f"SELECT floor(a.s / b.s) FROM {BOTH}",
        f"SELECT CAST(100 * a.s / b.s AS INT) FROM {BOTH}",
        f"SELECT floor(100 * (a.s / b.s)) FROM {BOTH}",  # 99 for 100
        f"SELECT floor(max(r)) FROM (SELECT a.k, coalesce(a.s / b.s, 0) AS r FROM {BOTH}) GROUP BY k",
        f"SELECT a.s / b.s - 1 FROM {BOTH}",
        f"SELECT a.s / b.s + -1 FROM {BOTH}",
        f"SELECT a.s + -1 * b.s FROM {BOTH}",
        f"SELECT a.s + (a.k - 6) * b.s FROM {BOTH}",
        f"SELECT a.s + b.s FROM {BOTH}".replace("sum(x) AS s, max", "sum(x * (k - 6)) AS s, max"),
        f"SELECT floor(exp(a.s / b.s) - exp(1)), b.m FROM {BOTH}",
        f"SELECT a.s + sign * b.s FROM VALUES (-1), (-2) v(sign) CROSS JOIN {BOTH}",  # nothing but rows tells
        f"SELECT array_distinct(array(a.s, b.s)) FROM {BOTH}",
        "SELECT k, count(*) OVER (PARTITION BY CAST(s AS STRING)) AS n"  # 1 for 2
        f" FROM (SELECT k, s FROM ({SUMS}) WHERE k = 5 UNION ALL SELECT k, s FROM ({SUMS_AND_MORE}))",
    ],
)
def test_what_compares_is_no_boolean(ordered: Lake, sql: str) -> None:
    read_all(ordered, sql)


def test_what_is_shown_side_by_side_skips(ordered: Lake) -> None:
    shown = "round(a.s / b.s, 6), round(coalesce(a.s, b.s), 6), concat_ws('-', round(a.s, 6), round(b.s, 6)), format_number(a.s / b.s, 6)"
    shown += ", to_json(struct(round(a.s, 6) AS s, round(b.s, 6) AS t)), round(sqrt(abs(a.s / b.s)), 6), round(greatest(a.s, b.s), 6)"
    report = ordered.query(f"SELECT {shown}, round(a.s + b.s, 6) FROM {BOTH} AND a.k - 7 < -1 AND b.m > -1")
    assert sorted(scan.files_read for scan in report.scans) == [1, 7]


def test_what_keeps_a_ratio_skips_as_well(ordered: Lake) -> None:
    """And a difference of whole numbers that is only shown negates no fraction."""
    ratio = "a.s / b.s"
    shown = [f"round(power({ratio}, 0.5), 6)", f"round(exp({ratio}), 6)", f"round(nanvl({ratio}, 0), 6)"]
    shown += [f"CAST(round(100 * {ratio}) AS INT)", f"to_char(CAST({ratio} AS DECIMAL(12, 4)), '99999.9999')"]
    report = ordered.query(f"SELECT a.k, {', '.join(shown)}, round(a.s + b.s, 6), b.m - a.k, -b.m FROM {BOTH} ORDER BY 1 LIMIT 3")
    assert sorted(scan.files_read for scan in report.scans) == [1, 7]


def test_with_what_was_drawn_or_added_before(ordered: Lake) -> None:
    """For a cache, or at a checkpoint, which may have been filled when the table had no index."""
    with ordered.skipping.disabled():
        drawn = ordered.spark.sql("SELECT id, monotonically_increasing_id() AS n FROM ordered WHERE k = 5").cache()
        drawn.count()
        kept = ordered.spark.sql(SUMS).localCheckpoint()
    drawn.createOrReplaceTempView("drawn")
    kept.createOrReplaceTempView("kept")
    try:
        again = "SELECT id, g, monotonically_increasing_id() AS n FROM ordered WHERE k = 5"
        read_all(ordered, f"SELECT count(*) FROM ({again}) a JOIN drawn b ON a.id = b.id AND a.n = b.n")
        read_all(ordered, f"SELECT a.k FROM ({SUMS_AND_MORE}) a JOIN kept ON a.s = kept.s WHERE a.k = 5")
    finally:
        drawn.unpersist()


def test_the_same_is_skipped_of_both_where_it_is_decided_of_one(ordered: Lake) -> None:
    decide = Callback._decide
    failed: list[Any] = []

    def decide_but_once(self: Callback, *told: Any) -> str:
        if not failed:
            failed.append(told)
            raise TimeoutError
        return decide(self, *told)

    with patch.object(Callback, "_decide", decide_but_once):
        ordered.query(f"SELECT a.k, b.m FROM ({SUMS}) a JOIN ({SUMS_AND_MORE}) b ON a.s = b.s WHERE a.k = 5 AND b.k = 5")
    assert failed


def test_tables_that_are_read_otherwise(ordered: Lake) -> None:
    """Of the one an index may be used, and not of the other."""
    ordered.view("merged", mergeSchema="true")
    merged = SUMS_AND_MORE.replace("ordered", "merged")
    read_all(ordered, f"SELECT a.k FROM ({SUMS}) a JOIN ({merged}) b ON a.s = b.s WHERE a.k = 5 AND b.k = 5")
