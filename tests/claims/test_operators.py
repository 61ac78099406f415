"""What the driver evaluates while planning is what a job gives: of operators of which Spark's registry has no example, at values where
generated code and interpretation came apart, or might.

Constants stand beside columns, and what is never NULL beside what may be: each is another branch of the code that Spark generates.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from data_skip import Skipping
from tests.claims.registry import Registry
from tests.support import settings_of

ROWS = 200
_DOUBLES, _WHOLE = [f"{number}.0D" for number in range(12)], [*map(str, range(12))]
_NAN = "double('NaN')"
_LISTS = {  # of more than ten constants Spark makes an InSet
    "double0": [_DOUBLES, _DOUBLES[:2], [*_DOUBLES, _NAN], [_NAN, "0.0D"]],
    "float0": [_DOUBLES, _DOUBLES[:2]],
    "int0": [_WHOLE, _WHOLE[:2]],
    "coalesce(int0, 7)": [_WHOLE, _WHOLE[:2]],
    "string0": [[f"'{text}'" for text in ("a", *_WHOLE)], ["'a'", "'b'"]],
}
_SECONDS = "cast(int0 * 4294.967296 AS decimal(16, 6))"
ASKED = [
    *(f"{item} IN ({', '.join([*listed, *null])})" for item, lists in _LISTS.items() for listed in lists for null in ([], ["NULL"])),
    *(
        f"array_join(array({item}, 'b'), {by}, {null})"
        for item in ("string0", "'a'")
        for by in ("','", "string1")
        for null in ("string2", "'z'")
    ),
    *(f"levenshtein({a}, 'abd', {most})" for a in ("string0", "'abc'") for most in ("int0", "coalesce(int0, 2)", "3")),
    *(
        f"size(slice({items}, {start}, {length}))"
        for items in ("split(string0, '')", "array(1, 2, 3)")
        for start in ("1", "2", "-1")
        for length in ("int0", "2147483647", "2")
    ),
    "cast(map(coalesce(double0, 9D), 1) AS string)",
    "cast(map_from_arrays(array(coalesce(double0, 9D)), array(1)) AS string)",
    *(f"{name}(2020, 1, 1, 0, 0, {_SECONDS})" for name in ("make_timestamp", "try_make_timestamp", "try_make_timestamp_ntz")),
    *(f"string0 LIKE {kind} ({patterns})" for kind in ("ALL", "ANY") for patterns in ("'%a%', '%1%'", "'%a%', NULL")),
    *(f"width_bucket({x}, 0D, 5D, {count})" for x in ("double0", "1D") for count in ("int0", "3")),
    "CASE WHEN double0 > 1 THEN int0 WHEN int0 IS NULL THEN 7 END",
    "greatest(double0, 0.0D, double1)",
    "nullif(double0, double1)",
    "nanvl(double0, double1)",
    "double0 <=> double1",
    "array_contains(array(double0, 1D), double1)",
    "array_position(array(double0, 1D), double1)",
    "elt(int0, string0, 'b', string1)",
    "int0 div int1",
    "try_divide(int0, int1)",
    "make_date(2020, int0, int1)",
    "concat_ws(string0, 'a', string1, NULL)",
    "substring_index(string0, 'a', int0)",
    "translate(string0, string1, 'ab')",
    "conv(string0, int0, 16)",
    "round(double0, 2)",
    "bround(decimal_9_2_0, 1)",
]


@pytest.mark.parametrize("ansi", ["false", "true"])
def test_operators_are_evaluated_as_a_job_does(spark: SparkSession, skipping: Skipping, tmp_path: Path, ansi: str) -> None:
    with settings_of(spark, {"spark.sql.ansi.enabled": ansi, "spark.sql.subexpressionElimination.enabled": "false"}):
        registry = Registry(spark, skipping, tmp_path / "values", Random(f"operators {ansi}"), ROWS)
        found = {sql: registry.compare([sql]) for sql in ASKED}
    assert [text for unlike, _ in found.values() for text in unlike] == []
    served = [sql for sql, (_, values) in found.items() if values]
    assert len(served) > len(ASKED) / 2
