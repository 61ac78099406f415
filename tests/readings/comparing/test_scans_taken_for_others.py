"""Scans that Spark takes for equal, though their files were chosen by other conditions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from tests.support import Lake, settings_of
from tests.test_plans_of_tpcds import run

SORTED = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.enabled": "false"}
FILES = [f"{i}.parquet" for i in range(6)]


@pytest.fixture
def sides(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> Iterator[Lake]:
    """`t`: files that each hold one `a`; `small`: one row."""
    small = Lake(spark, skipping, tmp_path / "small")
    small.file("0.parquet", {"k": pa.array([1], pa.int32()), "v": pa.array([7], pa.int32())})
    large = Lake(spark, skipping, tmp_path / "large")
    for i, name in enumerate(FILES):
        pad = [f"{(i * 997 + j) * 2654435761 % 2**64:x}" for j in range(400)]
        k, a = pa.array([1, 2] * 200, pa.int32()), pa.array([i] * 400, pa.int32())
        large.file(name, {"id": pa.array(range(i * 400, i * 400 + 400)), "k": k, "a": a, "pad": pad})
    large.index(MinMax("a"), MinMax("k"))
    small.view("small")
    large.view()
    yield large
    for view in ("small", "earlier", "later", "t"):
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize(
    "condition",
    [
        "exists(zip_with(array(t.a), array(10 - t.a), (x, y) -> exists(array(1), z -> z + {} > d.v)), w -> w)",
        "exists(zip_with(array(t.a), array(10 - t.a), (x, y) -> exists(array(d.v), z -> {} > z)), w -> w)",
        "aggregate(zip_with(array(t.a), array(10 - t.a), (x, y) -> aggregate(array(d.v), 0, (m, z) -> {} - z)), 0, (m, z) -> m + z) > 0",
    ],
)
def test_conditions_that_spark_mistakes_for_each_other(sides: Lake, condition: str) -> None:
    """The variables of the outer function have one number in Spark's canonical form of the inner one: by neither, files are skipped."""
    of_x, of_y = (f"SELECT t.id FROM t JOIN small d ON t.k = d.k AND {condition.format(variable)}" for variable in "xy")
    with settings_of(sides.spark, SORTED):
        sides.query(f"{of_x} UNION ALL {of_y}")
        sides.query(f"{of_y} UNION ALL {of_x}")
        for sql in (of_x, of_y, f"{of_y} UNION ALL {of_y}"):
            assert sum(scan.files_skipped for scan in sides.query(sql).scans) == 0, sql


def test_small_sides_that_spark_mistakes_for_each_other(sides: Lake) -> None:
    """Spark runs the one for both: what the other says is not what its join is given."""
    small = Lake(sides.spark, sides.skipping, sides.folder.parent / "small")
    small.file("0.parquet", {"k": pa.array([1, 5], pa.int32()), "v": pa.array([3, 4], pa.int32())})
    small.view("small")
    of_x, of_y = (
        f"(SELECT v FROM small WHERE exists(zip_with(array(k), array(6 - k), (x, y) -> exists(array(1), z -> z + {variable} > 4)), w -> w))"
        for variable in "xy"
    )
    with settings_of(sides.spark, {"spark.sql.adaptive.enabled": "false"}):
        for one, other in ((of_x, of_y), (of_y, of_x)):
            sides.query(f"SELECT id FROM t JOIN {one} d ON t.a = d.v UNION ALL SELECT -id FROM t JOIN {other} d ON t.a = d.v WHERE id > 0")


@pytest.mark.parametrize("broadcast", ["-1", "10485760"])
def test_a_folder_that_was_listed_at_two_moments(sides: Lake, broadcast: str) -> None:
    """Spark gives the rows of the one reading for those of the other: it knows them by their folder."""
    small = Lake(sides.spark, sides.skipping, sides.folder.parent / "small")
    small.view("earlier")
    small.file("1.parquet", {"k": pa.array([2], pa.int32()), "v": pa.array([3], pa.int32())})
    small.view("later")
    with settings_of(sides.spark, {**SORTED, "spark.sql.autoBroadcastJoinThreshold": broadcast}):
        for one, other in (("earlier", "later"), ("later", "earlier")):
            joined = [
                f"SELECT {i} AS q, id + {i} AS id FROM t JOIN {name} d ON t.a = d.v WHERE id > 0" for i, name in enumerate((one, other))
            ]
            sides.query(" UNION ALL ".join(joined))
            sides.query(f"{joined[0]} AND id < (SELECT count(*) * 10000 FROM t JOIN {other} d ON t.a = d.v)")
        assert sum(scan.files_skipped for scan in sides.query("SELECT id FROM t JOIN later d ON t.a = d.v").scans) > 0
        small.view("earlier")  # of the same files: another reading is not another moment
        again = " UNION ALL ".join(f"SELECT id FROM t JOIN {name} d ON t.a = d.v" for name in ("earlier", "later"))
        assert sum(scan.files_skipped for scan in sides.query(again).scans) > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT k, max(a) FROM t WHERE a > (SELECT min(v) - 4 FROM small) GROUP BY k", "WHERE (SELECT min(v) - 4 FROM small) < a"),
        ("SELECT k, max(a) FROM t WHERE k < a AND a > 3 GROUP BY k", "WHERE 3 < a AND a > k"),
        ("SELECT t.k, max(a) FROM t JOIN small d ON t.a = d.v - 2 WHERE a < 9 GROUP BY t.k", "JOIN small d ON d.v - 2 = t.a WHERE 9 > a"),
    ],
    ids=["sub-query", "filter", "join"],
)
def test_what_spark_runs_once_though_it_is_written_in_two_ways(sides: Lake, one: str, other: str) -> None:
    start = one.index("JOIN" if "JOIN" in other else "WHERE")
    with settings_of(sides.spark, SORTED):
        sql = f"{one} UNION ALL {one[:start]}{other}{one[one.index(' GROUP') :]}"
        with sides.skipping.disabled():
            rows, plain = run(sides.spark.sql(sql))
        found, ran = run(sides.spark.sql(sql))
    assert found == rows
    assert plain.exchanges
    assert ran.exchanges >= plain.exchanges
    assert ran.files <= plain.files


def test_what_is_known_of_a_side_that_pruning_repeats(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    """Of a side of a join below a group what the join above knows of it is used, though the side stands in pruning once more."""
    facts, sides, few = (Lake(spark, skipping, tmp_path / name) for name in ("facts", "sides", "few"))
    for i in range(6):
        pad = [f"{(i * 997 + j) * 2654435761 % 2**64:x}" for j in range(400)]
        facts.file(f"p={i}/0.parquet", {"k": pa.array([i] * 400, pa.int32()), "pad": pad})
        sides.file(f"{i}.parquet", {"p": pa.array([i] * 400, pa.int32()), "k": pa.array(range(400), pa.int32()), "pad": pad})
    few.file("0.parquet", {"p": pa.array([3, 4], pa.int32()), "k": pa.array([3, 4], pa.int32())})
    sides.index(MinMax("p"))
    for name, lake in (("plans_facts", facts), ("plans_sides", sides), ("plans_few", few)):
        lake.view(name)
    sql = (
        "SELECT a.k FROM plans_facts a JOIN (SELECT p FROM plans_sides WHERE k < 300 GROUP BY p) d ON a.p = d.p"
        " JOIN plans_few e ON e.p = d.p AND e.k = 3"
    )
    with settings_of(spark, {"spark.sql.adaptive.enabled": "false"}):
        plan = spark.sql(sql)._jdf.queryExecution().optimizedPlan().toString()
        assert "dynamicpruning" in plan
        report = facts.query(sql)
        assert [scan.files_read for scan in report.scans if "sides" in scan.table] == [1], report
    for name in ("plans_facts", "plans_sides", "plans_few"):
        spark.catalog.dropTempView(name)
