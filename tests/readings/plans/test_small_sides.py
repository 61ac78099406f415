"""What is run first for a join or a sub-query gives the very rows that the query meets later, or is not used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping, ValueList
from tests.geo_skip.conftest import sedona, with_sedona  # noqa: F401  # fixtures
from tests.support import Lake, settings_of

TEXTS = ["Zeta", "zeta", "0.0x", "-0.0x", "other", "k7", "k8"]
VIEWS = {
    "letters": "SELECT p COLLATE UTF8_LCASE AS p FROM VALUES ('Z'), ('z') AS v(p)",
    "zeros": "SELECT * FROM VALUES (0.0D, 1), (-0.0D, 1) AS v(x, g)",
    "numbers": "SELECT * FROM VALUES (2.0D, 3), (4.0D, 5) AS v(x, g)",
    "keys": "SELECT concat('K', id) COLLATE UTF8_LCASE AS s FROM range(150) WHERE id <> 8",
    "days": "SELECT * FROM VALUES ('1 day') AS v(p)",
    "decimals": "SELECT CAST(g AS DECIMAL(38, 0)) AS d FROM VALUES (1), (2) AS v(g)",
}


@pytest.fixture(scope="module")
def facts(spark: SparkSession, skipping: Skipping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A file for each of TEXTS: s, the same as c under UTF8_LCASE, its place k, and v = k - 2.0."""
    lake = Lake(spark, skipping, tmp_path_factory.mktemp("small_sides") / "facts")
    for k, text in enumerate(TEXTS):
        lake.file(text, {"s": [text], "c": [text], "k": [k], "v": [k - 2.0], "pad": ["".join(chr(33 + i * i % 90) for i in range(9000))]})
    schema = "s STRING, c STRING COLLATE UTF8_LCASE, k BIGINT, v DOUBLE, pad STRING"
    lake.index(ValueList("s"), ValueList("c"), MinMax("k"), MinMax("v"), schema=schema)
    lake.view("facts", schema=schema)
    for name, sql in VIEWS.items():
        spark.sql(sql).createOrReplaceTempView(name)
    yield lake
    for view in ("facts", *VIEWS):
        spark.catalog.dropTempView(view)


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT k, p FROM facts, letters WHERE s LIKE concat(p COLLATE UTF8_BINARY, '%')", {"Zeta", "zeta"}),
        ("SELECT k FROM facts WHERE EXISTS (SELECT 1 FROM letters WHERE s LIKE concat(p COLLATE UTF8_BINARY, '%'))", {"Zeta", "zeta"}),
        ("SELECT k, x FROM facts, zeros WHERE s LIKE concat(CAST(x AS STRING), '%')", {"0.0x", "-0.0x"}),
        ("SELECT k FROM facts WHERE EXISTS (SELECT 1 FROM zeros WHERE s LIKE concat(CAST(x AS STRING), '%'))", {"0.0x", "-0.0x"}),
        ("SELECT k FROM facts JOIN zeros ON v = x", {"0.0x"}),
        ("SELECT k FROM facts JOIN keys ON c = keys.s", {"k7"}),
        ("SELECT k FROM facts WHERE v >= (SELECT max(x) FROM numbers)", {"k8"}),
        ("SELECT k FROM facts WHERE v > (SELECT 2 * max(x) - 5 FROM numbers)", {"k8"}),
        ("SELECT k FROM facts JOIN (SELECT g, max(x) AS x FROM numbers GROUP BY g) ON v = x AND k > g", {"other", "k8"}),
    ],
)
def test_values_that_are_equal_and_not_the_same(facts: Lake, sql: str, read: set[str]) -> None:
    scan = facts.query(sql).scans[-1]
    assert scan.files_read == len(read), f"{sql}\n{scan}"


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT k FROM facts WHERE k >= 0 AND s >= (SELECT max(p) FROM letters) COLLATE UTF8_BINARY", "order of rows"),
        (
            "SELECT k FROM facts, (SELECT DISTINCT p FROM letters) WHERE k >= 0 AND s LIKE concat(p COLLATE UTF8_BINARY, '%')",
            "any of equal texts",
        ),
        ("SELECT k FROM facts WHERE k >= 0 AND v >= (SELECT 1 / min(x) FROM numbers)", "the smallest of 0.0 and -0.0"),
        ("SELECT k FROM facts WHERE k >= 0 AND v >= (SELECT sum(x) FROM numbers)", "order of rows"),
        ("SELECT k FROM facts WHERE k >= 0 AND k >= (SELECT sum(d) FROM decimals)", "order of rows"),
        ("SELECT k FROM facts WHERE k >= 0 AND k >= (SELECT try_sum(g) FROM numbers)", "order of rows"),
    ],
)
def test_what_may_be_another_value_the_next_time_is_not_used(facts: Lake, sql: str, why: str) -> None:
    scan = facts.query(sql).scans[-1]
    assert any("is not used" in note and why in note for note in scan.notes), scan.notes


def test_the_smallest_zero_may_have_either_sign(facts: Lake) -> None:
    scan = facts.query("SELECT k FROM facts WHERE s LIKE concat(CAST((SELECT min(x) FROM zeros) AS STRING), '%') AND k >= 0").scans[-1]
    assert scan.files_read == len(TEXTS)


def test_neighbours_of_a_knn_join_are_those_among_all_rows(sedona: Lake) -> None:  # noqa: F811
    """Keys and conditions that the join has besides would take candidates away, and other rows would be the nearest."""
    padding = np.random.default_rng(1).bytes(100_000)  # a small side may read a tenth of what the other does
    for i in range(4):
        sedona.file(
            f"{i}",
            {"id": [i], "x": [float(i)], "pad": [padding[i:]]},
        )
    sedona.index(MinMax("id"), MinMax("x"))
    sedona.view("objects").selectExpr("id", "ST_Point(x, 0D) AS g").createOrReplaceTempView("objects")
    asked = str(sedona.folder.parent / "asked")
    sedona.spark.sql("SELECT * FROM VALUES (0.1D, 3L) AS v(x, top)").write.parquet(asked)
    sedona.spark.read.parquet(asked).selectExpr("top", "ST_Point(x, 0D) AS g").createOrReplaceTempView("asked")
    for more in ("", " AND top - 1 < id", " AND top - 2 <= id"):
        sedona.query(f"SELECT id FROM asked JOIN objects ON ST_KNN(asked.g, objects.g, 2, false){more}")


FIVE = "coalesce(levenshtein('a', p, if(p = '', 1, NULL)), 5)"  # by generated code; else -1
FIVE_TOO = "pmod(hash(CAST({} AS INTERVAL)), 7) + 1"  # as above; else 2


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT k FROM facts JOIN days ON k BETWEEN {FIVE} AND {FIVE} + 1",
        f"SELECT k FROM facts JOIN days ON k - {FIVE} = 0",
        f"SELECT k FROM facts JOIN days ON k BETWEEN {FIVE_TOO.format('p')} AND {FIVE_TOO.format('p')}",
        f"SELECT k FROM facts WHERE EXISTS (SELECT 1 FROM days WHERE k BETWEEN {FIVE} AND {FIVE})",
        f"SELECT k FROM facts WHERE k = {FIVE_TOO.format('(SELECT max(p) FROM days)')}",
    ],
)
def test_what_jobs_make_of_the_other_side(facts: Lake, sql: str) -> None:
    """Rows were lost: what functions give of the values of the other side was asked of their interpreted form."""
    facts.query(sql)
    assert facts.spark.sql(sql).first()["k"] == 5


SHARP = "(SELECT lower(substring('ẞ', 1 + id)) AS t FROM range(1))"  # upper(t) is SS; of the capital letter it is that
ALMOST_1 = "(SELECT CAST(concat('0.9999999999999999', 9 - id) AS DECIMAL(18, 17)) AS c FROM range(1)) d"  # an INT 0 where it is read
LETTERS = f"(SELECT length(upper(t)) AS n, length(t) AS m, concat(t, t) AS u, t FROM {SHARP}) d"
PARSED = """(SELECT from_json(if(id = 0, '{"a": "x"}', ''), 'a INT, _corrupt_record STRING') AS j FROM range(1)) d"""
PAIRS = "(SELECT map('a', id, if(id > 0, 'b', 'a'), id + 5) AS m FROM range(1)) d"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT k, d.t FROM facts JOIN {SHARP} d ON k = length(upper(d.t))",
        f"SELECT k, d.* FROM facts JOIN {LETTERS} ON k = d.n",
        f"SELECT k, d.* FROM facts JOIN {LETTERS} ON k BETWEEN d.n AND d.m + 1",
        f"SELECT k, d.c FROM facts JOIN {ALMOST_1} ON k = CAST(d.c AS INT)",
        f"SELECT /*+ BROADCAST(facts) */ k, d.c FROM facts JOIN {ALMOST_1} ON k - CAST(d.c AS INT) = 0",
        f"SELECT k, d.j FROM facts JOIN {PARSED} ON k <=> length(d.j._corrupt_record) - 5",
        f"SELECT k, d.m FROM facts JOIN {PAIRS} ON k = d.m['a']",
        f"SELECT k FROM facts JOIN days ON k = {FIVE_TOO.format('p')}",
    ],
)
def test_what_the_optimizer_puts_together(facts: Lake, sql: str) -> None:
    """Rows were lost: of a side that was run for its keys alone, Spark made other keys than in the query, which shows more of it."""
    with settings_of(facts.spark, {"spark.sql.mapKeyDedupPolicy": "LAST_WIN"}):
        facts.query(sql)
        assert len(facts.spark.sql(sql).collect()) == 1


def test_a_column_that_both_sides_have_is_of_neither(facts: Lake) -> None:
    """Ids of attributes tell the sides apart: what one of them is made of must not be taken for a value of the other."""
    gateway: Any = facts.spark.sparkContext._gateway
    join = facts.spark.sql("SELECT * FROM facts JOIN zeros ON v = x")._jdf.queryExecution().analyzed().children().head()
    filters = facts.skipping.jvm._shim.getClass().getClassLoader().loadClass("data_skip.RuntimeFilter")
    of_join = next(found for found in filters.getMethods() if found.getName() == "ofJoin")
    given = gateway.new_array(gateway.jvm.Object, 3)
    given[0], given[1], given[2] = gateway.jvm.java.util.Collections.singletonList(join.condition().get()), join.left(), join.right()
    runtime_filter = of_join.invoke(None, given)
    assert runtime_filter.about(join.left().outputSet()) is not None
    assert runtime_filter.about(join.outputSet()) is None
