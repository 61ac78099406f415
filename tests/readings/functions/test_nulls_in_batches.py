"""pandas makes one Series of a batch: a NULL, or another odd value in it, makes others of the values beside it."""

from __future__ import annotations

import re

import pandas as pd
import pyspark
import pyspark.sql.functions as F
import pytest

from data_skip import DataSkipError, ValueList, versioned
from data_skip.building import binding
from tests.readings.functions.support import OF_LATER_VERSIONS, ONE_TASK
from tests.support import Lake, settings_of


def as_text(numbers: pd.Series) -> pd.Series:
    return numbers.astype(str)


def test_a_null_makes_other_numbers_of_a_batch(lake: Lake) -> None:
    """pandas has no whole numbers where one is NULL: 1 becomes 1.0, and beyond 2^53 digits change."""
    lake.file("null", {"n": [1, None]})
    lake.file("one", {"n": [1]})
    lake.file("two", {"n": [2]})
    lake.file("large", {"n": [2**53 + 1]})
    lake.index(ValueList("n"))
    lake.spark.udf.register("as_text", F.pandas_udf(as_text, "string"))  # type: ignore[call-overload]
    lake.spark.udf.register("rows_by_arrow", F.udf(lambda n: str(n), "string", useArrow=True))
    lake.check("as_text(n) = '1.0'")
    lake.check("as_text(n) = '2'")
    lake.check("as_text(n) LIKE '%992.0'")  # without the NULL of one file, the other is as before
    lake.check("rows_by_arrow(n) = '1.0'")
    lake.check("as_text(coalesce(n, 0)) = '7'", read=[])  # of what is never NULL nothing is changed


def test_another_value_makes_null_of_an_argument(lake: Lake) -> None:
    """Not the column has a NULL, but what is made of it."""
    lake.file("word", {"s": ["1", "x"]})
    lake.file("other", {"s": ["7"]})
    lake.index(ValueList("s"))
    lake.spark.udf.register("as_text", F.pandas_udf(as_text, "string"))  # type: ignore[call-overload]
    lake.check("as_text(try_cast(s AS INT)) = '1.0'")
    lake.check("as_text(try_cast(s AS INT)) = '7.0'")


def series_as_text(numbers: pd.Series) -> pd.Series:
    return numbers.astype(str)


@pytest.mark.parametrize("kind", ["pandas", "rows by Arrow"])
def test_an_index_over_numbers_that_a_null_changes(lake: Lake, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Collected beside a NULL, pandas had fractions; in the query the NULL is left out before."""
    lake.file("null", {"n": [1, None], "s": ["a", None]})
    lake.file("two", {"n": [2], "s": ["b"]})
    pandas = F.pandas_udf(versioned(series_as_text, 1), "string")  # type: ignore[call-overload]
    lake.spark.udf.register("again_as_text", pandas if kind == "pandas" else F.udf(versioned(str, 1), "string", useArrow=True))
    for argument in ("n", "n > 1", "array(n)", "struct(n)"):
        with pytest.raises(DataSkipError, match="batch with a NULL"):
            lake.index(ValueList(f"again_as_text({argument})"))
    lake.index(ValueList("again_as_text(s)"))
    lake.check("again_as_text(s) = 'b'", read=["two"])
    monkeypatch.setattr(binding, "why_unsteady", lambda trees: "")
    lake.index(ValueList("again_as_text(n)"))  # as an earlier data-skip made it
    lake.query("SELECT * FROM t WHERE n IS NOT NULL AND again_as_text(n) = '1'", read=["null", "two"])


def test_a_null_inside_of_an_argument(lake: Lake) -> None:
    """A struct is not NULL where its field is; pandas makes other numbers of the field all the same."""
    lake.file("null", {"n": [1, None]})
    lake.file("two", {"n": [2]})
    lake.index(ValueList("n"))

    def field_as_text(structs: pd.DataFrame) -> pd.Series:
        return structs["n"].astype(str)

    lake.spark.udf.register("again_field", F.pandas_udf(versioned(field_as_text, 1), "string"))  # type: ignore[call-overload]
    lake.view()
    for value in ("2", "2.0", "1", "1.0"):
        lake.query(f"SELECT * FROM t WHERE again_field(struct(n)) = '{value}'")
        lake.query(f"SELECT * FROM t WHERE n IS NOT NULL AND again_field(struct(n)) = '{value}'")


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("kind", ["pandas", "by Arrow"])
def test_values_that_no_index_lists_beside_a_null(lake: Lake, kind: str, new: bool) -> None:
    """Without the file with the NULL 5.0 was 5 again, whatever the function gives of all values that are listed."""
    if kind == "by Arrow" and not pyspark.__version__.startswith("4.0."):
        pytest.skip("this Spark makes no Series of a batch")

    def text(x: float | None) -> str:
        return repr(x) if x is not None and x > 3 else ""

    pandas = F.pandas_udf(lambda x: x.map(text), "string")  # type: ignore[call-overload]
    lake.spark.udf.register("text_of", pandas if kind == "pandas" else F.udf(text, "string", useArrow=True))
    lake.file("null", {"x": [1, None]})
    lake.file("few", {"x": [2]})
    if new:
        lake.index(ValueList("x"))
    lake.file("many", {"x": [5, 6, 7]})
    if not new:
        lake.index(ValueList("x", limit=2))
    lake.view()
    for settings in (ONE_TASK, {**ONE_TASK, **OF_LATER_VERSIONS}):
        with settings_of(lake.spark, settings):
            for found in ("5", "5.0"):
                lake.query(f"SELECT x FROM t WHERE text_of(x) = '{found}'")


def test_other_predicates_above_a_function_that_a_null_changes(lake: Lake) -> None:
    """They are evaluated after it, so that the NULL of a file that they would skip is in its batch; those below it skip as ever."""
    lake.spark.udf.register("text_of", F.pandas_udf(lambda x: x.map(repr), "string"))  # type: ignore[call-overload]
    lake.spark.udf.register("same", F.udf(lambda k: k, "string", useArrow=False))
    lake.spark.udf.register("same_by_pandas", F.pandas_udf(lambda k: k, "string"))  # type: ignore[call-overload]
    lake.file("null", {"x": [1, None], "k": ["n", "n"]})
    lake.file("five", {"x": [5], "k": ["f"]})
    lake.index(ValueList("k"))
    lake.view()
    with settings_of(lake.spark, ONE_TASK):
        for where in ("text_of(x) = '5.0' AND same(k) = 'f'", "text_of(x) = '5.0' AND same_by_pandas(k) = 'f'"):
            lake.query(f"SELECT x FROM t WHERE {where}")
        lake.query("SELECT x FROM t WHERE (text_of(x) = '5.0' AND k = 'f') OR k = 'z'")
        lake.query("SELECT x FROM t WHERE text_of(x) = '5' AND k = 'f'", read=["five"])
        lake.query("SELECT text_of(x) FROM t WHERE same(k) = 'f'", read=["five"])


@pytest.mark.parametrize("nested", ["a", "array(x)", "map('k', x)", "struct(x)"])
@pytest.mark.parametrize("kind", ["pandas", "by Arrow"])
def test_nested_values_beside_a_null(lake: Lake, kind: str, nested: str) -> None:
    """Those of all rows of a batch are one array of pandas, so that [5] is [5.0] beside [NULL], and array(x) is never NULL itself."""
    if kind == "by Arrow" and not pyspark.__version__.startswith("4.0."):
        pytest.skip("this Spark makes no Series of a batch")

    def text(value: object) -> str:
        return re.sub(r"np\.\w+\(([^)]*)\)", r"\1", repr(value)).replace("5.]", "5.0]")

    def texts(values: pd.Series) -> pd.Series:
        return values.map(text)

    def texts_of_fields(values: pd.DataFrame) -> pd.Series:
        return values["x"].map(text)

    pandas = F.pandas_udf(texts_of_fields if nested.startswith("struct") else texts, "string")  # type: ignore[call-overload]
    lake.spark.udf.register("text_of", pandas if kind == "pandas" else F.udf(text, "string", useArrow=True))
    lake.spark.udf.register("same", F.udf(lambda k: k, "string", useArrow=False))
    lake.file("null", {"x": [1, None], "a": [[1], [None]], "k": ["n", "n"]})
    lake.file("five", {"x": [5], "a": [[5]], "k": ["f"]})
    lake.index(ValueList("k"))
    lake.view()
    with settings_of(lake.spark, ONE_TASK):
        if pyspark.__version__.startswith("4.0.") or nested.startswith("struct"):  # later versions leave whole numbers of lists as they are
            with lake.skipping.disabled():
                assert lake.spark.sql(f"SELECT x FROM t WHERE text_of({nested}) LIKE '%5.0%' AND same(k) = 'f'").count() == 1
        lake.query(f"SELECT x FROM t WHERE text_of({nested}) LIKE '%5.0%' AND same(k) = 'f'")
