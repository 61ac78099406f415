"""Python functions that are asked of values, or not: what they raise, what others of a batch change, questions for nothing."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
import pytest

from data_skip import DataSkipError, MinMax, ValueList, versioned
from tests.support import Lake, files_read, settings_of


def test_a_function_that_raises_an_error_for_null(lake: Lake, tmp_path: Path) -> None:
    """By each error Spark ends a worker, which imports all anew: it is asked of NULL once, and of the values at once."""
    called = tmp_path / "called"
    for name in ("a", "b", "c"):
        lake.file(name, {"s": [f"{name}{i}" for i in range(20)]})
    lake.file("null", {"s": pa.array([None], pa.string())})
    lake.index(ValueList("s"))
    found: dict[str, Any] = {"__name__": "__main__", "called": str(called), "salt": os.urandom(4)}
    exec(
        "def measured(s):\n    with open(called, 'a') as log: log.write(f'{s}\\n')\n    return f'{s[0]}{len(s)}' if salt else ''",
        found,
    )
    lake.spark.udf.register("measured", F.udf(found["measured"], "string", useArrow=False))
    frame = lake.view()
    for asked_of_null in (True, False):
        called.write_text("")
        assert files_read(lake.skipping, frame.where("measured(s) = 'b2'"), lake.folder) == {"b", "null"}
        lines = called.read_text().splitlines()
        assert ("None" in lines) == asked_of_null and len(lines) < 200


def test_a_vectorised_function_that_raises_an_error_beside_null(lake: Lake, tmp_path: Path) -> None:
    """It is not asked again and again, each time for as long as it may take."""
    called = tmp_path / "called"
    for name in ("a", "b", "c"):
        lake.file(name, {"s": [f"{name}{i}" for i in range(20)]})
    lake.index(ValueList("s"))
    found: dict[str, Any] = {"__name__": "__main__", "called": str(called), "salt": os.urandom(4)}
    exec(
        "def measured(s):\n    with open(called, 'a') as log: log.write('called\\n')\n"
        "    return s.map(lambda t: f'{t[0]}{len(t)}' if salt else '')",
        found,
    )
    lake.spark.udf.register("measured", F.pandas_udf(found["measured"], "string"))  # type: ignore[call-overload]
    frame = lake.view()
    counts = []
    for _ in range(2):
        called.write_text("")
        assert files_read(lake.skipping, frame.where("measured(s) = 'b2'"), lake.folder) == {"a", "b", "c"}
        counts.append(len(called.read_text().splitlines()))
    assert counts[1] < 3 < counts[0]  # a task of the first may still be ending


def test_a_function_that_raised_errors_of_another_column(lake: Lake) -> None:
    """It was asked of none again, as long as Spark ran."""
    for i in range(12):
        lake.file(f"{i:02}", {"good": [str(10 * i + j) for j in range(5)], "bad": [f"x{10 * i + j}" for j in range(5)]})
    lake.index(ValueList("good"), ValueList("bad"))
    found: dict[str, Any] = {"__name__": "__main__", "salt": os.urandom(4)}
    exec("def as_number(x): return int(x) if salt else 0", found)
    lake.spark.udf.register("as_number", F.udf(found["as_number"], "int", useArrow=False))
    frame = lake.view()
    assert files_read(lake.skipping, frame.where("as_number(good) = 31"), lake.folder) == {"03"}
    with pytest.raises(Exception, match="invalid literal"):
        frame.where("as_number(bad) = 31").collect()
    assert files_read(lake.skipping, frame.where("as_number(good) = 42"), lake.folder) == {"04"}


def test_a_function_by_which_nothing_is_gained(lake: Lake, tmp_path: Path) -> None:
    """It was asked of all values by each query, for as long as it took."""
    called = tmp_path / "called"
    for i in range(4):
        lake.file(f"{i}", {"s": [f"{i}{j}" for j in range(5)]})
    lake.index(ValueList("s"))
    found: dict[str, Any] = {"__name__": "__main__", "called": str(called), "salt": os.urandom(4)}
    exec("def kept(s, t=salt):\n    with open(called, 'a') as log: log.write(f'{s}\\n')\n    return s and s[1:]", found)
    lake.spark.udf.register("kept", F.udf(found["kept"], "string", useArrow=False))
    frame = lake.view()
    counts = []
    for where in ("kept(s) = '3'", "kept(s) = '3'", "kept(s) = '9'", "kept(s) = '9'"):
        called.write_text("")
        frame.where(where).collect()
        counts.append(len(called.read_text().splitlines()))
        assert lake.skipping.report().scans[0].files_read == (4 if "3" in where else 0)
    assert counts == [41, 20, 21, 21]  # 20 values, and NULL; 20 rows


def test_a_function_that_gains_nothing_beside_others(lake: Lake, tmp_path: Path) -> None:
    """It was asked again by each query by which anything else skipped files; and by no other, once it had gained nothing in an OR."""
    called = tmp_path / "called"
    for i in range(4):
        lake.file(f"{i}", {"s": [f"{i}{j}" for j in range(5)], "x": [10 * i + j for j in range(5)]})
    lake.index(ValueList("s"), MinMax("x"))
    found: dict[str, Any] = {"__name__": "__main__", "called": str(called), "salt": os.urandom(4)}
    exec("def kept(s, t=salt):\n    with open(called, 'a') as log: log.write(f'{s}\\n')\n    return s and s[1:]", found)
    lake.spark.udf.register("kept", F.udf(found["kept"], "string", useArrow=False))
    frame = lake.view()
    values = 21  # and NULL
    for where, rows, asked, read in (
        ("x > 12 AND (kept(s) = '3' OR x = 100)", 12, values, 3),
        ("x > 12 AND (kept(s) = '3' OR x = 100)", 12, 0, 3),
        ("x > 13 AND kept(s) = '2'", 11, values, 3),
        ("x > 12 AND kept(s) = '2'", 12, 0, 3),  # as before, whatever the rest is compared with
        ("kept(s) = '9' OR x IN (1, 11, 21, 31)", 20, values, 4),
        ("kept(s) = '9' OR x IN (1, 11, 21, 31)", 20, 0, 4),
        ("kept(s) = '9'", 0, values, 0),
        ("x > 12 AND kept(s) = '9'", 0, values, 0),
        ("x > 12 AND kept(s) = '9'", 0, values, 0),
    ):
        called.write_text("")
        frame.where(where).collect()
        scan = lake.skipping.report().scans[0]
        assert (scan.files_read, len(called.read_text().splitlines())) == (read, rows + asked), where


def test_results_that_are_others_beside_those_of_other_rows(lake: Lake) -> None:
    """PySpark makes one Series of a batch: beside None a large number is rounded, and beside the year 9999 a time is not of the zone."""
    for name, function, type_ in (
        ("as_number", lambda s: int(s) if s and s.isdigit() else None, "bigint"),
        ("year_end", lambda s: datetime(int(s), 12, 31) if s and len(s) == 4 else None, "timestamp"),
        ("as_int", lambda s: int(s) if s and s.isdigit() else None, "int"),
    ):
        lake.spark.udf.register(name, F.udf(versioned(function, 1), type_, useArrow=True))
    for file, s in (("large", "9007199254740993"), ("word", "x"), ("now", "2020"), ("ever", "9999")):
        lake.file(file, {"s": [s]})
    lake.index(ValueList("s"))
    rounding = {"spark.sql.execution.pandas.convertToArrowArraySafely": "false"}  # the default of Spark 4.0
    with settings_of(lake.spark, {"spark.sql.session.timeZone": "America/New_York", **rounding}):
        lake.check("as_number(s) = 9007199254740993")
        lake.check("year_end(s) = timestamp'2020-12-31 00:00:00'")
        lake.check("as_int(s) = 1")  # of 9007199254740993
        for index in ("as_number(s)", "as_int(s)"):
            with pytest.raises(DataSkipError, match="by Arrow, which is another one in a batch with what pandas makes of other rows"):
                lake.table().create_index(ValueList(index))


@pytest.mark.parametrize("kind", ["pandas", "rows by Arrow"])
def test_a_null_of_the_small_side_of_a_join(lake: Lake, tmp_path: Path, kind: str) -> None:
    """Beside it pandas makes 1.0 of a 1, which was put to the function by itself."""
    pandas = F.pandas_udf(lambda k, s: k.astype(str) == s, "boolean")  # type: ignore[call-overload]
    rows = F.udf(lambda k, s: str(k) == s, "boolean", useArrow=True)
    lake.spark.udf.register("same_text", pandas if kind == "pandas" else rows)
    for s in ("1.0", "1", "x", "y"):
        lake.file(s, {"s": [s], "pad": [os.urandom(200_000).hex()]})
    lake.index(ValueList("s"))
    lake.view()
    pq.write_table(pa.table({"k": [1, None]}), tmp_path / "small")
    lake.spark.read.parquet(str(tmp_path / "small")).createOrReplaceTempView("reading_small")
    with settings_of(lake.spark, {"spark.data_skip.join.leastBytes": "0"}):
        lake.query("SELECT k, s, length(pad) FROM t JOIN reading_small ON same_text(k, s)")
    lake.spark.catalog.dropTempView("reading_small")


def test_a_function_that_is_not_asked_keeps_every_file(lake: Lake) -> None:
    for city in ("Oslo", "Rome"):
        lake.file(city, {"city": [city]})
    lake.index(ValueList("city"))
    lake.spark.udf.register("same", F.udf(lambda text: text, "string", useArrow=False))
    before = lake.spark.conf.get("spark.data_skip.python.maxSeconds")
    lake.spark.conf.set("spark.data_skip.python.maxSeconds", "0")
    try:
        lake.check("same(city) = 'Oslo'", read=["Oslo", "Rome"])
    finally:
        lake.spark.conf.set("spark.data_skip.python.maxSeconds", before)
    lake.check("same(city) = 'Oslo'", read=["Oslo"])
