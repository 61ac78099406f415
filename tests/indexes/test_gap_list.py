"""GapList: gaps are open at stored values, whatever the type, and however a file was cut into batches."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_skip import GapList, MinMax
from data_skip.indexes import gap_list
from data_skip.testing import check_index
from tests.support import Lake

INF, NAN = float("inf"), float("nan")


def test_skips_what_lies_inside_a_gap_and_reads_what_touches_its_ends(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [1, 2, 100, 101]})
    lake.file("b.parquet", {"x": [50, 51]})
    lake.index(GapList("x"))
    lake.check("x BETWEEN 3 AND 49", read=[])
    lake.check("x BETWEEN 2 AND 49", read=["a.parquet"])  # TRAPS K1
    lake.check("x > 2 AND x < 50", read=[])
    lake.check("x > 2 AND (x < 50 OR x = 70)", read=[])
    lake.check("x = 50", read=["b.parquet"])
    lake.check("x IN (3, 50, 99)", read=["b.parquet"])
    lake.check("x >= 100", read=["a.parquet"])
    lake.check("x > 101 OR x < 1 OR x = 60", read=[])
    lake.check("NOT (x < 51) AND NOT (x > 99)", read=["b.parquet"])


def test_long_in_lists_are_met_by_bisection(lake: Lake) -> None:
    lake.file("a.parquet", {"x": [0, 1000]})
    lake.file("b.parquet", {"x": [0, 500, 1000]})
    lake.index(GapList("x"))
    lake.check(f"x IN ({', '.join(map(str, range(1, 1000, 2)))})", read=[])
    lake.check(f"x IN ({', '.join(map(str, range(100, 900, 2)))})", read=["b.parquet"])


def test_keeps_the_widest_gaps_of_the_file_and_no_more(lake: Lake) -> None:
    values = [*range(0, 100), *range(1000, 1100), *range(1150, 1200), 5000]
    lake.file("a.parquet", {"x": values})
    table = lake.index(GapList("x", gaps=2))
    (record,) = (row[4] for row in table.metadata().collect())
    assert (record["starts"], record["ends"]) == ([0, 1000, 5000], [99, 1199, 5000])
    lake.check("x BETWEEN 100 AND 999", read=[])
    lake.check("x BETWEEN 1200 AND 4999", read=[])
    lake.check("x BETWEEN 1101 AND 1149", read=["a.parquet"])  # the third widest


def test_the_widest_gaps_are_found_whatever_the_order_of_the_rows(lake: Lake) -> None:
    values = [*range(20_000), *range(30_000, 50_000), *range(52_000, 60_000)]
    Random(1).shuffle(values)  # batches of 10,000 rows hold thousands of gaps each
    lake.file("a.parquet", {"x": values})
    lake.index(GapList("x", gaps=2))
    lake.check("x BETWEEN 20500 AND 29500", read=[])
    lake.check("x BETWEEN 50500 AND 51500", read=[])


def test_null_nan_and_infinity(lake: Lake) -> None:
    lake.file("nan.parquet", {"x": [1.0, NAN]})
    lake.file("null.parquet", {"x": [1.0, None]})
    lake.file("infinite.parquet", {"x": [-INF, INF]})
    lake.file("zero.parquet", {"x": [-0.0, -5.0]})
    lake.file("only-null.parquet", {"x": pa.nulls(2, pa.float64())})
    lake.file("only-nan.parquet", {"x": [NAN]})
    lake.index(GapList("x"))
    lake.check("x > 5", read=["nan.parquet", "only-nan.parquet", "infinite.parquet"])
    lake.check("x = double('NaN')", read=["nan.parquet", "only-nan.parquet"])
    lake.check("x IS NULL", read=["null.parquet", "only-null.parquet"])
    lake.check("x = 0", read=["zero.parquet"])
    lake.check("x BETWEEN -4 AND -1", read=[])
    lake.check("x BETWEEN -1e308 AND -6", read=[])
    lake.check("x < -1e308", read=["infinite.parquet"])
    lake.check("x <=> NULL OR x = -5", read=["null.parquet", "only-null.parquet", "zero.parquet"])


@pytest.mark.parametrize(
    ("type_", "low", "inside", "high", "sql"),
    [
        (pa.int8(), -128, 0, 127, "CAST({} AS TINYINT)"),
        (pa.int64(), -(2**63), 2**53 + 1, 2**63 - 1, "{}L"),
        (pa.float32(), -1.5, 0.1, 3.25, "CAST({} AS FLOAT)"),
        (pa.decimal128(38, 10), Decimal("-1e20"), Decimal("0.0000000001"), Decimal("1e20"), "{:f}BD"),
        (pa.string(), "a", "b\U0001f600", "\uff21", "'{}'"),
        (pa.binary(), b"\x01", b"\x7f", b"\xff\xff", "{}"),
        (pa.date32(), date(1582, 10, 4), date(2000, 2, 29), date(9999, 12, 31), "DATE'{}'"),
        (pa.timestamp("us"), datetime(1, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1), datetime(2024, 1, 1, 0, 0, 0, 2), "TIMESTAMP_NTZ'{}'"),
    ],
    ids=str,
)
def test_every_ordered_type(lake: Lake, type_: pa.DataType, low: object, inside: object, high: object, sql: str) -> None:
    lake.file("ends.parquet", {"x": pa.array([low, high], type_)})
    lake.file("inside.parquet", {"x": pa.array([inside], type_)})
    lake.index(GapList("x"))
    constant = f"X'{inside.hex()}'" if isinstance(inside, bytes) else sql.format(inside)
    lake.check(f"x = {constant}", read=["inside.parquet"])
    lake.check(f"x >= {constant}", read=["inside.parquet", "ends.parquet"])
    lake.check(f"x <> {constant}", read=["ends.parquet"])


def test_booleans_and_monotone_functions(lake: Lake) -> None:
    lake.file("a.parquet", {"b": [True, None], "d": [date(2020, 5, 1), date(2024, 5, 1)]})
    lake.file("b.parquet", {"b": [True, False], "d": [date(2022, 5, 1), None]})
    lake.index(GapList("b"), GapList("d"))
    lake.check("NOT b", read=["b.parquet"])
    lake.check("b", read=["a.parquet", "b.parquet"])
    lake.check("year(d) = 2022", read=["b.parquet"])
    lake.check("year(d) = 2021", read=[])


def test_text_that_is_shortened_keeps_bounds(lake: Lake) -> None:
    top = "\U0010ffff"
    lake.file("a.parquet", {"s": ["a" * 200, "z"]})
    lake.file("b.parquet", {"s": ["a" * 199 + "b", "b", top * 200]})
    table = lake.index(GapList("s"))
    assert all(len(end) <= 128 or end == top * 200 for row in table.metadata().collect() for end in row[4]["ends"])
    lake.check(f"s = '{'a' * 200}'")
    lake.check(f"s > '{'a' * 199}b'")
    lake.check(f"s >= '{top * 200}'", read=["b.parquet"])
    lake.check("s LIKE 'c%'", read=[])
    lake.check("s LIKE 'b%'", read=["b.parquet"])


def test_skips_more_than_min_max_on_clustered_values(lake: Lake) -> None:
    random = Random(7)
    for i in range(8):
        centres = random.sample(range(0, 1000, 10), 5)
        lake.file(f"{i}.parquet", {"x": [centre + random.randrange(10) for centre in centres for _ in range(20)]})
    lake.index(GapList("x"), MinMax("x"))
    report = lake.check("x BETWEEN 402 AND 404 OR x = 777")
    assert report.files_skipped >= 4


@pytest.mark.parametrize("gaps", [0, -1, True, 2.0, None])
def test_refuses_numbers_of_gaps_that_are_none(gaps: object) -> None:
    with pytest.raises(ValueError, match="gaps is how many"):
        GapList("x", gaps=gaps)  # type: ignore[arg-type]


@pytest.mark.long
def test_numbers_are_sound() -> None:
    rows = [{"x": x} for x in (1.5, None, NAN, -0.0, 0.0, INF, -INF, 7.0, 7.5, 1e300, -3.0, 5e-324, 100.0, 101.0)]
    predicates = ["x = 0", "x BETWEEN 2 AND 6", "x > 7.5", "NOT (x < 101)", "x IN (2, 8, 100)", "x IS NULL", "x <=> 7", "NOT (x <=> NULL)"]
    checked = check_index(GapList("x", gaps=2), rows, [*predicates, "x = 50 OR x IS NULL", "NOT (x = 7 OR x > 50)"])
    assert all(checked.skipped[predicate] for predicate in predicates), str(checked)


def test_text_is_sound() -> None:
    words = ["", "a", "ab", "b" * 300, "b" * 299 + "c", None, "z", "\uff21", "\U0001f600", "\U0010ffff" * 200, "zebra", "m"]
    predicates = ["s = 'm'", "s LIKE 'ab%'", "s > 'y'", "s IN ('', 'n')", "s IS NULL", "NOT (s LIKE 'a%')", "s >= '\uff21'"]
    checked = check_index(GapList("s", gaps=1), [{"s": word} for word in words], [*predicates, "s = 'zz' OR s < 'a'"])
    assert all(checked.skipped[predicate] for predicate in predicates), str(checked)


NUMBERS = st.one_of(
    st.lists(st.integers(-50, 50), min_size=1),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
    st.lists(st.floats(allow_nan=False), min_size=1),
)


@given(NUMBERS, st.data())
def test_runs_of_numbers_are_merged_as_those_of_all_else(numbers: list[Any], data: st.DataObject) -> None:
    """Numbers are merged by numpy: the runs are those that are found one by one, and hold every value."""
    type_ = pa.int64() if isinstance(numbers[0], int) else pa.float64()
    index = GapList("x", gaps=data.draw(st.integers(1, 3)))
    parts = [part for part in np.array_split(pa.array(numbers, type_).to_numpy(), data.draw(st.integers(1, 4))) if len(part)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gap_list, "_IN_FLIGHT", 8)
        records = [index.collect(pa.array(part, type_)) for part in parts]
        merged = reduce(index.merge, records)
        if len(records) == 2:
            slow = sorted(run for record in records for run in zip(record["starts"], record["ends"], strict=True))
            assert {**merged, **index._fields(slow)} == merged
    runs = list(zip(merged["starts"], merged["ends"], strict=True))
    assert all(any(start <= number <= end for start, end in runs) for number in numbers)
    assert all(left[1] < right[0] for left, right in pairwise(runs))
    assert {value for run in runs for value in run} <= set(numbers) and merged["value_count"] == len(numbers)
