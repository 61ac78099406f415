"""Expressions of one query that Spark takes for each other: it evaluates the first for all, in a filter, a projection, or a join."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from data_skip import DataSkipError, MinMax, ValueList
from tests.readings.comparing.support import plan_of
from tests.support import Lake, settings_of

SUM, OTHER = "a + b + c", "c + b + a"  # of 0.1, 0.2 and 0.3
LARGER, SMALLER = "0.6000000000000001D", "0.6D"
TRIED, OTHER_TRIED = "try_add(try_add(i, j), h)", "try_add(try_add(h, j), i)"  # NULL, and 2147483643
LAST = "aggregate(e, 0, (s, x) -> s + int(({}) * 10000000000000000 % 1000))"
ELEMENTS, OTHER_ELEMENTS = LAST.format("x + b + a"), LAST.format("a + b + x")
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
JOINS = {"spark.data_skip.join.leastBytes": "0"}


@pytest.fixture
def sums(lake: Lake) -> Lake:
    for i, by in enumerate([1, 16.5, 32.5, 64.5]):
        large, one, small = (pa.array([value], pa.int32()) for value in (2147483647, 5 if i else 1, -100 - i if i else -5))
        columns = {"a": [0.1 * by], "b": [0.2 * by], "c": [0.3 * by], "i": large, "j": one, "h": small, "e": [[77.0 + i if i else 0.3]]}
        lake.file(f"{i}", columns | {"k": [i], "s": [[0.6000000000000001, 0.6, 14.0, 21.0][i]], "pad": [list(range(80000))]})
    for expression in (SUM, OTHER, TRIED, OTHER_TRIED, ELEMENTS, OTHER_ELEMENTS, "k", "s"):
        lake.index(ValueList(expression))
    lake.index(MinMax("a"))
    lake.view()
    return lake


@pytest.mark.parametrize(
    "where",
    [
        f"{SUM} = {LARGER} AND {OTHER} IN ({LARGER}, 55D) AND exists(e, x -> x > 0)",  # of which Spark generates no code for a whole stage
        f"{OTHER} = {SMALLER} AND {SUM} IN ({SMALLER}, 55D) AND exists(e, x -> x > 0)",
        f"{TRIED} IS NULL AND coalesce({OTHER_TRIED}, -1) = -1",
        f"{OTHER_TRIED} = 2147483643 AND coalesce({TRIED}, -1) > 3",
        f"{ELEMENTS} = 0 AND {OTHER_ELEMENTS} + 1 = 1",
    ],
)
def test_parts_of_one_filter(sums: Lake, where: str) -> None:
    for settings in ({}, INTERPRETED):
        with settings_of(sums.spark, settings):
            report = sums.query(f"SELECT k FROM t WHERE {where}")
            assert any("take expressions of this query for each other" in note for note in report.scans[-1].notes)


def test_what_is_not_taken_for_another_is_used(sums: Lake) -> None:
    whole = "k + i + j = 2147483648 AND j + k + i > 0 AND k = 0"
    for where in (f"{SUM} = {LARGER}", f"coalesce({SUM}, 0) < 1 AND a + b < 1 AND b + a < 1", whole):
        sums.query(f"SELECT x.k FROM (SELECT * FROM t WHERE {where}) x WHERE coalesce(x.a + b + c, 1) < 2", {"0"})
    sums.query(f"SELECT sum({SUM}), sum({SUM}) + 1 FROM t WHERE k = 2 HAVING sum({SUM}) > 0", {"2"})


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT p, q, size(pad) FROM (SELECT {{0}} AS p, {{1}} AS q, pad FROM t) JOIN dim ON q IN ({SMALLER}, {LARGER}) AND q = dim.x",
        "SELECT k, p, q, size(pad) FROM t JOIN (SELECT {0} AS p, {1} AS q FROM dim) d ON s = q",
        f"SELECT k, size(pad) FROM t JOIN (SELECT n FROM dim WHERE {{0}} > {SMALLER}) d ON k = d.n"
        f" JOIN (SELECT n FROM dim WHERE {{1}} > {SMALLER}) e ON k = e.n",
        "SELECT t.k, size(t.pad) FROM t JOIN (SELECT {0} AS p FROM dim) d ON t.s = d.p JOIN (SELECT {1} AS p FROM dim) e ON t.s = e.p",
    ],
)
def test_sides_of_joins(sums: Lake, tmp_path: Path, sql: str) -> None:
    small = Lake(sums.spark, sums.skipping, tmp_path / "dim")
    for i, row in enumerate([(0.6000000000000001, 0.1, 0.2, 0.3, 0), (5.0, -0.1, 0.2, 0.3, 2)]):
        small.file(f"{i}", {name: [value] for name, value in zip("xabcn", row, strict=True)})
    small.view("dim")
    with settings_of(sums.spark, JOINS):
        for one, other in ((SUM, OTHER), (OTHER, SUM)):
            sums.query(sql.format(one, other))
        assert max(scan.files_skipped for scan in sums.query("SELECT k, size(pad) FROM t JOIN dim ON k = n").scans) == 2
    sums.spark.catalog.dropTempView("dim")


def test_what_spark_runs_once_for_two_scans(sums: Lake) -> None:
    """Exchanges that it takes for equal: the second is given the sums of the first, though its own are asked for."""
    sides = "(SELECT k, {0} AS p FROM t DISTRIBUTE BY k) x JOIN (SELECT k, {1} AS p FROM t DISTRIBUTE BY k) y ON x.k = y.k"
    dims = "JOIN (SELECT n FROM VALUES ({2}) AS d(n)) d ON x.p = d.n JOIN (SELECT n FROM VALUES ({2}) AS e(n)) e ON y.p = e.n"
    with settings_of(sums.spark, JOINS):
        for one, other, value in ((SUM, OTHER, LARGER), (OTHER, SUM, SMALLER)):
            report = sums.query(f"SELECT x.k, x.p, y.p FROM {sides} {dims}".format(one, other, value))
            assert all(any("for each other" in note for note in scan.notes) for scan in report.scans)
            same = sums.query(f"SELECT x.k, x.p, y.p FROM {sides} {dims}".format(one, one, value))
            assert {scan.files_skipped for scan in same.scans} == {3}


def test_what_spark_runs_once_though_its_plan_has_other_names(sums: Lake) -> None:
    """Those of exploded rows: what is run has them no more."""
    side = "(SELECT k, p FROM (SELECT k, v, {0} AS p FROM t LATERAL VIEW explode(e) {1} AS v) DISTRIBUTE BY k) {1}"
    sql = f"SELECT x.k, x.p, y.p FROM {side.format('{0}', 'x')} JOIN {side.format('{1}', 'y')} ON x.k = y.k"
    dims = "JOIN (SELECT n FROM VALUES ({2}) AS d(n)) d ON x.p <=> d.n JOIN (SELECT n FROM VALUES ({2}) AS e(n)) e ON y.p <=> e.n"
    with settings_of(sums.spark, JOINS | {"spark.sql.adaptive.enabled": "false"}):
        for one, other, value in ((SUM, OTHER, LARGER), (OTHER, SUM, SMALLER)):
            sums.query(f"{sql} {dims}".format(one, other, value))
        of_one = f"{sql.replace('=', '<')} JOIN (SELECT n FROM VALUES (1), (2) AS d(n)) d ON x.k = d.n".format(SUM, SUM)
        sums.query(of_one)
        assert "ReusedExchange" in plan_of(sums.spark.sql(of_one))


def test_operators_that_are_made_one_late(sums: Lake) -> None:
    """Where the user leaves out the rule that does so, Spark's planner does, after files are chosen."""
    one, other = "SELECT k, p + c AS q FROM (SELECT k, c, a + b AS p FROM t)", "SELECT k, p + a AS q FROM (SELECT k, a, c + b AS p FROM t)"
    sql = "SELECT x.k, x.q, y.q FROM ({0} DISTRIBUTE BY k) x JOIN ({1} DISTRIBUTE BY k) y ON x.k = y.k"
    dims = "JOIN (SELECT n FROM VALUES ({2}) AS d(n)) d ON x.q <=> d.n JOIN (SELECT n FROM VALUES ({2}) AS e(n)) e ON y.q <=> e.n"
    rule = "org.apache.spark.sql.catalyst.optimizer.CollapseProject"
    with settings_of(sums.spark, JOINS | {"spark.sql.adaptive.enabled": "false", "spark.sql.optimizer.excludedRules": rule}):
        for first, second, value in ((one, other, LARGER), (other, one, SMALLER)):
            sums.query(f"{sql} {dims}".format(first, second, value))


def test_none_is_indexed_that_holds_both(sums: Lake) -> None:
    for expression in (f"coalesce({TRIED}, {OTHER_TRIED})", f"{ELEMENTS} = {OTHER_ELEMENTS}"):
        with pytest.raises(DataSkipError, match="takes for each other"):
            sums.index(ValueList(expression))


def test_a_folder_that_two_sessions_read(lake: Lake, tmp_path: Path) -> None:
    """Spark takes the scans for equal, and a broadcast of the one for that of the other: with times of its zone."""
    for i in range(4):
        hour = pa.array([i * 3_600_000_000], pa.timestamp("us", "UTC"))
        lake.file(f"{i}", {"u": hour, "v": hour, "k": [i], "pad": [list(range(80000))]})
    lake.index(ValueList("u"), ValueList("v"))
    lake.view()
    (moments := tmp_path / "moments.json").write_text('{"m": "1970-01-01T02:00:00"}\n')
    other = lake.spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    other.read.schema("m TIMESTAMP").json(str(moments)).createOrReplaceGlobalTempView("theirs")
    lake.spark.read.schema("m TIMESTAMP").json(str(moments)).createOrReplaceTempView("mine")
    sql = "SELECT k, size(pad) FROM t JOIN {} d ON t.u = d.m JOIN {} e ON t.v = e.m"
    with settings_of(lake.spark, JOINS | {"spark.sql.session.timeZone": "UTC"}):
        for views in (("mine", "global_temp.theirs"), ("global_temp.theirs", "mine")):
            lake.query(sql.format(*views))
        assert max(scan.files_skipped for scan in lake.query(sql.format("mine", "mine")).scans) == 3
    lake.spark.catalog.dropGlobalTempView("theirs")
    lake.spark.catalog.dropTempView("mine")


INSIDE = "CAST(zip_with(a, b, (x, y) -> exists(c, z -> z > {})) AS STRING)"
FIRST, SECOND = INSIDE.format("x"), INSIDE.format("y")  # Spark takes the one for the other
KNOWN = "exists(a, x -> exists(c, z -> z > x))"  # of one variable around there is no other
ODD = '"a\\\\",",x",y'  # from_csv takes it apart in another way than the first one that it is given


@pytest.fixture
def arrays(lake: Lake) -> Lake:
    for i, (a, b) in enumerate([(1, 5), (5, 1), (5, 5), (1, 1)]):
        lake.file(f"{i}", {"a": [[a]], "b": [[b]], "c": [[3]], "k": [f"[{a < 3}]".lower()], "pad": [list(range(3000))]})
    lake.view()
    return lake


def test_functions_in_functions_of_several_variables(arrays: Lake) -> None:
    for expression in (FIRST, SECOND):
        with pytest.raises(DataSkipError, match="not deterministic"):
            arrays.index(ValueList(expression))
    arrays.index(ValueList("a"), ValueList("b"), ValueList("c"), ValueList(KNOWN))
    for where in (f"{SECOND} = '[true]' AND {FIRST} LIKE '[t%'", f"{FIRST} = '[true]' AND {SECOND} LIKE '[t%'"):
        arrays.query(f"SELECT k FROM t WHERE {where}")
    arrays.query(f"SELECT * FROM (SELECT {FIRST} AS p, {SECOND} AS q FROM t) WHERE q = '[true]'")
    arrays.query(f"SELECT * FROM t WHERE {KNOWN}", {"0", "3"})


def _joined(lake: Lake, folder: Path, dim: dict[str, list[object]], on: str) -> int:
    """How many files a join skips."""
    for name, row in dim.items():
        (small := Lake(lake.spark, lake.skipping, folder)).file(name, {key: [value] for key, value in zip("sabc", row, strict=True)})
    small.view("dim")
    report = lake.query(f"SELECT k FROM t JOIN dim ON {on}")
    lake.spark.catalog.dropTempView("dim")
    return max(scan.files_skipped for scan in report.scans)


@pytest.mark.parametrize(
    "on",
    [
        f"{FIRST} = k",
        "substr(hex(aes_encrypt(s, '0000111122223333')), 1, 6) = k",
        "from_csv(s, 'a STRING, b STRING, c STRING').b = k",
    ],
)
def test_no_small_side_is_run_for_their_sake(lake: Lake, tmp_path: Path, on: str) -> None:
    for i, key in enumerate(["[true]", "[false]", "z", 'x"']):
        lake.file(f"{i}", {"k": [key], "pad": [list(range(40000))]})
    lake.index(ValueList("k"))
    lake.view()
    first = "0,0," + "".join(chr(97 + i * i % 26) for i in range(3000))  # the larger file is read first
    dim: dict[str, list[object]] = {"0": [first, [1], [5], [3]], "1": [ODD, [1], [5], [3]]}
    on = on.replace("(a, b,", "(dim.a, dim.b,")
    assert _joined(lake, tmp_path / "dim", dim, on) == 0
    assert _joined(lake, tmp_path / "dim", dim, "s = k") > 0


SUMS = ("a + b + c", "c + b + a", "a * b * c", "c * b * a")


def test_expressions_that_spark_takes_for_each_other_are_not_collected_side_by_side(lake: Lake) -> None:
    """It adds fractions in any order, whose last digits depend on it."""
    rows = [tuple(step * (i + 1) for step in (0.1, 0.2, 0.3)) for i in range(4)]
    for i, row in enumerate(rows):
        lake.file(f"{i}", {name: [value] for name, value in zip("abc", row, strict=True)})
    lake.index(*map(ValueList, SUMS))
    lake.view()
    for expression in SUMS:
        for i, (a, b, c) in enumerate(rows):
            value = eval(expression, {"a": a, "b": b, "c": c})
            lake.query(f"SELECT a FROM t WHERE {expression} = {value!r}D", {f"{i}"})
    with pytest.raises(DataSkipError, match="takes for each other"):
        lake.index(ValueList("(a + b + c) - (c + b + a)"))
    lake.index(ValueList("a + b > 0.5 AND b + a < 0.7 OR a > b"))
