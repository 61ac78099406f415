"""check_plugin passes a stranger's plugin and the core's own, and catches planted bugs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

import data_skip.indexes.affix
import data_skip.indexes.min_max
import log_skip.formatted
from data_skip import DataSkipError, Index, Prefix, Suffix
from data_skip.cli import new_plugin
from data_skip.testing import check_plugin

LENGTHS = (Path(new_plugin.__file__).parent / "example_plugin" / "max_length" / "__init__.py").read_text("utf-8")
LARGEST = '''"""Largest: the largest number of a file."""

import pyarrow as pa
import pyarrow.compute as pc

from data_skip import Index, filters
from data_skip.expression import Literal


class Largest(Index):
    fields = {"largest": pa.float64()}

    def refuse(self, types):
        return None if types in (("int",), ("double",)) else "it takes numbers"

    def collect(self, values):
        values = pc.fill_null(values.cast(pa.float64()), float("-inf"))
        return {"largest": None if pc.any(pc.is_nan(values)).as_py() else pc.max(values).as_py()}

    def merge(self, a, b):
        return {"largest": None if None in (a["largest"], b["largest"]) else max(a["largest"], b["largest"])}


@filters.on("GreaterThan", "GreaterThanOrEqual", "EqualTo")
def larger(node, indexes):
    match node:
        case column, Literal(n) if isinstance(n, int | float):
            for index in indexes.over(column, Largest):
                yield index["largest"] > n if node.name == "GreaterThan" else index["largest"] >= n
'''
BUGS = [
    *(
        (LENGTHS, right, wrong)
        for right, wrong in (
            ("pc.max", "pc.min"),
            ('max(a["longest"], b["longest"])', 'min(a["longest"], b["longest"])'),
            ('max(a["longest"], b["longest"])', 'a["longest"]'),
            ("pc.utf8_length(values)", "pc.utf8_length(values[:1])"),
            ("pc.utf8_length(values)", "pc.utf8_length(pc.utf8_trim(values, 'ab '))"),
            ('["longest"] > n', '["longest"] > n + 1'),
            ('["longest"] > n', '["longest"] < n'),
            ('["longest"] > n', '["longest"] == n'),
            ('on("GreaterThan")', 'on("GreaterThan", "LessThan")'),
            ('on("GreaterThan")', 'on("GreaterThan", "GreaterThanOrEqual")'),
            ('on("GreaterThan")', 'on("GreaterThan", "EqualTo")'),
            ('on("GreaterThan")', 'on("GreaterThan", "EqualNullSafe")'),
        )
    ),
    *(
        (LARGEST, right, wrong)
        for right, wrong in (
            ("pc.max", "pc.min"),
            ('else max(a["largest"], b["largest"])', 'else min(a["largest"], b["largest"])'),
            ('else max(a["largest"], b["largest"])', 'else b["largest"]'),
            ("None if pc.any(pc.is_nan(values)).as_py() else ", ""),
            ('["largest"] >= n', '["largest"] > n'),
            ('["largest"] > n if', '["largest"] > n + 1 if'),
            ('"EqualTo")', '"EqualTo", "LessThan")'),
            ('"EqualTo")', '"EqualTo", "NotEqualTo", "EqualNullSafe", "LessThanOrEqual")'),
            ("values.cast(pa.float64())", "values.cast(pa.float64())[:3]"),
        )
    ),
]


def loaded(spark: SparkSession, folder: Path, name: str, text: str) -> ModuleType:
    """A module of some text, which Spark's workers know as well."""
    path = folder / f"{name}.py"
    path.write_text(text, "utf-8")
    spark.sparkContext.addPyFile(str(path))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
def test_a_strangers_plugin(spark: SparkSession, tmp_path: Path) -> None:
    checked = check_plugin(loaded(spark, tmp_path, "plugin_lengths", LENGTHS.replace("MaxLength", "CheckedLength")), spark=spark)
    assert any("length(s) > " in predicate for predicate in checked.checked["CheckedLength(s)"].skipped)
    assert set(checked.checked) == {"CheckedLength(s)"} and not checked.idle
    assert "CheckedLength(s): skips for" in str(checked)


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "indexes"), [(data_skip.indexes.min_max, []), (data_skip.indexes.affix, [Suffix("s", 2), Prefix("s", 2)])]
)
def test_the_cores_own(spark: SparkSession, module: ModuleType, indexes: list[Index]) -> None:
    assert not check_plugin(module, indexes, spark=spark, draws=1).idle


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(BUGS)))
def test_a_planted_bug_is_caught(spark: SparkSession, tmp_path: Path, number: int) -> None:
    text, right, wrong = BUGS[number]
    assert text.count(right) == 1
    name = f"Planted{number}"
    changed = text.replace(right, wrong).replace("MaxLength", name).replace("Largest(", f"{name}(").replace(", Largest)", f", {name})")
    with pytest.raises(AssertionError, match=name):
        check_plugin(loaded(spark, tmp_path, f"plugin_{number}", changed), spark=spark, draws=1)


def test_what_cannot_be_checked_is_said(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataSkipError, match="has no class that is an Index"):
        check_plugin(loaded(spark, tmp_path, "plugin_of_nothing", "x = 1"), spark=spark)
    with pytest.raises(DataSkipError, match="takes more than columns"):
        check_plugin(log_skip.formatted, spark=spark)


@pytest.mark.parametrize(
    ("further", "said"),
    [
        ("", "skips a file for any predicate"),
        ("    def __getstate__(self):\n        return {'expressions': self.expressions, 'parameters': {}}\n", "after pickling"),
    ],
    ids=["no ==", "lost"],
)
def test_attributes_without_an_equal_sign(spark: SparkSession, tmp_path: Path, further: str, said: str) -> None:
    made = "    def __init__(self, x):\n        super().__init__(x)\n        self.table = np.arange(3)\n"
    text = LARGEST[: LARGEST.index("@filters")].replace("    fields =", f"{made}{further}    fields =")
    with pytest.raises(AssertionError, match=said):
        check_plugin(loaded(spark, tmp_path, f"plugin_tables_{len(said)}", f"import numpy as np\n{text}"), spark=spark, draws=0)
