"""What Spark says to be deterministic, and is not: which of two functions it runs for both, or what a record gives after another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from data_skip import DataSkipError, ValueList
from tests.support import Lake

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
