"""Cases of Hudi: TestDataSkippingUtils."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from data_skip import MinMax, Skipping
from tests.held_out.suite import Case, check, write
from tests.support import Lake


def _day(day: int, hour: int = 3) -> datetime:
    return datetime(2022, 3, day, hour, 50, 48, tzinfo=timezone.utc)


NUMBERS = {
    "1_2": [{"A": 1, "B": "aba"}, {"A": 2, "B": "adf"}, {"A": 2, "B": None}],
    "-1_1": [{"A": -1, "B": "adf", "D": "x"}, {"A": 1, "B": "azy", "D": "x"}],
    "-2_-1": [{"A": -2, "B": "aaa"}, {"A": -1, "B": "aba"}],
    "0": [{"A": 0, "B": "abc"}],
    "1": [{"A": 1, "B": "abc123"}, {"A": 1, "B": "abc345"}],
    "no_B": [{"A": 4_294_967_297}, {"A": 100}],
}
ALL = " ".join(NUMBERS)
NUMBER_CASES: list[Case] = [
    ("A = 0", "0", "-1_1", "it lies in the range of the file"),
    ("0 = A AND B > 'abb'", "0", "-1_1", "it lies in the range of the file"),
    ("A != 0", "1_2 -1_1 -2_-1 1 no_B"),
    ("0 != A", "1_2 -1_1 -2_-1 1 no_B"),
    ("A < 0", "-1_1 -2_-1"),
    ("0 > A", "-1_1 -2_-1"),
    ("A > 1", "1_2 no_B"),
    ("1 < A", "1_2 no_B"),
    ("A <= -2", "-2_-1"),
    ("-1 >= A", "-1_1 -2_-1"),
    ("A >= 2", "1_2 no_B"),
    ("2 <= A", "1_2 no_B"),
    ("A is null", ""),
    ("A is not null", ALL),
    ("A in (0, 1)", "1_2 -1_1 0 1"),
    ("A not in (0, 1)", "1_2 -1_1 -2_-1 no_B"),
    ("A = int('0')", "0", "-1_1", "it lies in the range of the file"),
    ("B = D", "", ALL.removesuffix(" no_B"), "D has no index"),
    ("A != 0 AND A != 1", "1_2 -1_1 -2_-1 no_B"),
    ("NOT (A = 0 OR A = 1)", "1_2 -1_1 -2_-1 no_B"),
    ("A != 0 OR B != 'abc'", "1_2 -1_1 -2_-1 1 no_B"),
    ("NOT (A = 0 AND B = 'abc')", "1_2 -1_1 -2_-1 1 no_B"),
    ("A = 0 AND B = 'abc' AND D IS NULL", "0"),
    ("A = 0 OR B = 'abc' OR D IS NULL", "1_2 -2_-1 0 1 no_B", "-1_1", "D has no index"),
    ("A = 1 AND B is not null", "1_2 -1_1 1"),
    ("B is null", "1_2 no_B"),
    ("B <=> null AND A > 50", "no_B"),
    ("A = 100 and B is null", "no_B"),
    ("startswith(B, 'abc')", "0 1", "1_2", "it lies in the range of the file"),
    ("NOT startswith(B, 'abc')", "1_2 -1_1 -2_-1"),
    ("NOT startswith(lower(B), 'abc')", "1_2 -1_1 -2_-1", "1", "lower has no order: 'B' is before 'a', 'b' after it"),
    ("try_cast(A AS INT) > 100", "", "no_B", "beyond int Spark may raise an error"),
    ("CAST(A AS DOUBLE) > 100.0D", "no_B"),
    ("A * -1 > 1", "-2_-1"),
    ("A * 2L < -3", "-2_-1"),
]

MOMENTS = {
    "8_9": [{"C": _day(8), "B": "2022-03-07"}, {"C": _day(9), "B": "2022-03-08"}],
    "7_8": [{"C": _day(7)}, {"C": _day(8, 1)}],
    "7": [{"C": _day(7), "B": "2022-03-06"}],
}
MOMENT_CASES: list[Case] = [
    ("date_format(C, 'MM/dd/yyyy') = '03/07/2022'", "7_8 7"),
    ("'03/07/2022' != date_format(C, 'MM/dd/yyyy')", "8_9 7_8"),
    ("date_format(C, 'MM/dd/yyyy') < '03/08/2022'", "7_8 7"),
    ("'03/08/2022' < date_format(C, 'MM/dd/yyyy')", "8_9"),
    ("date_format(C, 'MM/dd/yyyy') <= '03/07/2022'", "7_8 7"),
    ("'03/09/2022' <= date_format(C, 'MM/dd/yyyy')", "8_9"),
    ("date_format(C, 'MM/dd/yyyy') IN ('03/09/2022')", "8_9"),
    ("date_format(C, 'MM/dd/yyyy') NOT IN ('03/07/2022')", "8_9 7_8"),
    ("date_format(to_timestamp(B, 'yyyy-MM-dd'), 'MM/dd/yyyy') NOT IN ('03/06/2022')", "8_9"),
]


def test_numbers_and_text(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    columns = {"A": pa.int64(), "B": pa.string(), "D": pa.string()}
    check(write(Lake(spark, skipping, tmp_path / "numbers"), NUMBERS, columns, MinMax("A"), MinMax("B")), NUMBER_CASES)


def test_moments(spark: SparkSession, skipping: Skipping, tmp_path: Path) -> None:
    columns = {"C": pa.timestamp("us", "UTC"), "B": pa.string()}
    check(write(Lake(spark, skipping, tmp_path / "moments"), MOMENTS, columns, MinMax("C"), MinMax("B")), MOMENT_CASES)
