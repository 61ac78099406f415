"""With indexes, plans keep what Spark saves without: a query's exchanges used again, sub-queries too, partitions pruned by joins.

The queries are of the kinds that lost some of it in TPC-DS; `benchmarks/plans.py` runs all of those.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from benchmarks.plans import run
from data_skip import MinMax, Skipping
from tests.support import Lake, aged, settings_of

TABLES = {
    "plans_sales": "SELECT id, id % 10 AS day, id % 4 AS item, id % 5 AS store, id DIV 100 AS half, id % 7 AS price FROM range(200)",
    "plans_returns": "SELECT id, id % 10 AS day, id % 4 AS item, id % 5 AS store, id DIV 100 AS half, 1 AS price FROM range(200)",
    "plans_days": "SELECT id AS day, id DIV 3 AS month, concat('d', id) AS name FROM range(10)",
    "plans_stores": "SELECT id AS store, concat('s', id) AS name FROM range(5)",
}
YEARLY = """WITH c AS (
    SELECT item, store, month, sum(price) AS total FROM plans_sales s JOIN plans_days d ON s.day = d.day WHERE month < 2 GROUP BY 1, 2, 3)
"""
MEANS = "SELECT item, store, avg(price) AS mean FROM plans_sales WHERE price > 1 GROUP BY item, store"
RARE = "(SELECT count(*) FROM plans_sales WHERE id > 100 AND price > (SELECT avg(price) + 2 FROM plans_returns WHERE id < 50))"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("plans")
    for name, sql in TABLES.items():
        writer = spark.sql(sql).coalesce(1).write
        parts = ["day", "half"] if "half" in sql else []
        writer.partitionBy(*parts).parquet(str(folder / name))
        for file in (folder / name).rglob("*.parquet"):
            aged(file)
        frame = spark.read.parquet(str(folder / name))
        frame.createOrReplaceTempView(name)
        skipping.table(str(folder / name)).create_index(*(MinMax(c) for c, t in frame.dtypes if t == "bigint" and c not in parts))
    yield Lake(spark, skipping, folder / "none")
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        pytest.param(
            "SELECT sum(price) FROM plans_sales s JOIN plans_days d ON s.day = d.day WHERE month = 2", {"pruned"}, id="pruned by a join"
        ),
        pytest.param(
            "SELECT sum(s.price) FROM plans_sales s JOIN plans_days d ON s.day = d.day JOIN plans_stores t ON s.store = t.store"
            " WHERE month = 2 AND s.id < 150 AND t.store < 3",
            {"pruned"},
            id="pruned by one of two joins",
        ),
        pytest.param(
            "SELECT name, (SELECT max(price) FROM plans_sales s JOIN plans_days d ON s.day = d.day WHERE month = 2) FROM plans_stores",
            {"pruned"},
            id="pruned in a sub-query",
        ),
        pytest.param(
            YEARLY + "SELECT a.item, a.total, b.total FROM c a JOIN c b ON a.item = b.item AND a.store = b.store AND a.month + 1 = b.month",
            {"exchanges", "pruned"},
            id="a CTE twice",
        ),
        pytest.param(
            YEARLY + "SELECT item, total FROM c JOIN plans_stores t ON c.store = t.store"
            " WHERE total > (SELECT avg(total) FROM c) AND t.name = 's2'",
            {"exchanges", "pruned"},
            id="a CTE in a sub-query as well",
        ),
        pytest.param(
            YEARLY + "SELECT * FROM c a WHERE total > (SELECT avg(b.total) FROM c b WHERE a.store = b.store)",
            {"exchanges", "pruned"},
            id="a CTE in a correlated sub-query as well",
        ),
        pytest.param(
            f"WITH c AS ({MEANS}) SELECT a.mean, b.mean FROM c a JOIN c b ON a.item = b.item AND a.store = b.store"
            " JOIN plans_stores t ON a.store = t.store AND t.name = 's2' JOIN plans_stores u ON b.store = u.store AND u.name < 's4'",
            {"exchanges"},
            id="another filter at run time above each",
        ),
        pytest.param(
            f"SELECT name, {RARE} AS n FROM plans_stores WHERE store < {RARE}",
            {"subqueries"},
            id="a sub-query twice",
        ),
        pytest.param(
            "SELECT item, sum(price) FROM plans_sales s JOIN plans_days d ON s.day = d.day WHERE month = 1 GROUP BY item"
            " UNION ALL SELECT item, sum(price) FROM plans_returns s JOIN plans_days d ON s.day = d.day WHERE month = 1 GROUP BY item",
            {"exchanges", "pruned"},
            id="one dimension for two facts",
        ),
    ],
)
def test_with_indexes_nothing_is_lost(tables: Lake, sql: str, kept: set[str]) -> None:
    # Adaptive execution uses again what is ready by then: which exchanges, differs from run to run.
    for adaptive in ("false", "true") if kept == {"pruned"} else ("false",):
        with settings_of(tables.spark, {"spark.sql.adaptive.enabled": adaptive}):
            with tables.skipping.disabled():
                rows, plain = run(tables.spark.sql(sql))
            found, ran = run(tables.spark.sql(sql))
        assert found == rows
        assert ran.files <= plain.files, (plain, ran)
        for saved in ("exchanges", "subqueries", "pruned"):
            assert getattr(ran, saved) >= getattr(plain, saved), (saved, plain, ran)
            assert saved not in kept or getattr(plain, saved), f"plain Spark has no {saved}: {plain}"


def test_pruned_by_what_is_broadcast_of_the_other_side(tables: Lake) -> None:
    """Since Spark 4.3, where that is set: by one side of the join that the other side is."""
    sql = (
        "SELECT /*+ MERGE(o) */ s.price FROM plans_sales s JOIN (SELECT /*+ BROADCAST(d) */ d.day, r.price FROM plans_days d"
        " JOIN plans_returns r ON d.day = r.id WHERE month < 2 AND r.price < 9) o ON s.day = o.day"
    )
    projection = "spark.sql.optimizer.dynamicPartitionPruning.broadcastProjection.enabled"
    with settings_of(tables.spark, {"spark.sql.adaptive.enabled": "false", projection: "true"}):
        with tables.skipping.disabled():
            rows, plain = run(tables.spark.sql(sql))
        found, ran = run(tables.spark.sql(sql))
    assert found == rows
    assert ran.pruned == plain.pruned == int(tables.spark.version >= "4.3")
    assert ran.files <= plain.files, (plain, ran)
