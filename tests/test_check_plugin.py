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
from data_skip import DataSkipError, Suffix
from data_skip.testing import check_plugin

LENGTHS = (Path(__file__).parent / "third_party" / "max_length" / "max_length" / "__init__.py").read_text("utf-8")
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
BUGS = {
    "LENGTHS": [
        ("pc.max", "pc.min"),
        ('max(a["longest"], b["longest"])', 'min(a["longest"], b["longest"])'),
        ('max(a["longest"], b["longest"])', 'a["longest"]'),
        ("pc.utf8_length(values)", "pc.utf8_length(values[:1])"),
        ("pc.utf8_length(values)", "pc.utf8_length(pc.utf8_trim_whitespace(values))"),
        ("> n", "> n + 1"),
        ("> n", "< n"),
        ("> n", "== n"),
        ('on("GreaterThan")', 'on("GreaterThan", "LessThan")'),
        ('on("GreaterThan")', 'on("GreaterThan", "GreaterThanOrEqual")'),
        ('on("GreaterThan")', 'on("GreaterThan", "EqualTo")'),
        (
            'Call("Length", [column]), Literal(n)',
            'Call("Length", [column]), Literal(n) | Call("Not", [Call(_, [Call("Length", [column]), Literal(n)])])',
        ),
        ('"longest": pa.int32()', '"longest": pa.int8()'),
    ],
    "LARGEST": [
        ("pc.max", "pc.min"),
        ('max(a["largest"], b["largest"])', 'min(a["largest"], b["largest"])'),
        ('max(a["largest"], b["largest"])', 'b["largest"]'),
        ('None if None in (a["largest"], b["largest"]) else max(a["largest"], b["largest"])', 'max(a["largest"] or 0, b["largest"] or 0)'),
        ("None if pc.any(pc.is_nan(values)).as_py() else ", ""),
        ('float("-inf")), float', 'float("-inf")), float'),
        ('index["largest"] >= n', 'index["largest"] > n'),
        ('index["largest"] > n if', 'index["largest"] > n + 1 if'),
        ('"GreaterThanOrEqual", "EqualTo"', '"GreaterThanOrEqual", "EqualTo", "LessThan"'),
        ('"GreaterThanOrEqual", "EqualTo"', '"GreaterThanOrEqual", "EqualTo", "EqualNullSafe", "In"'),
        ("values.cast(pa.float64())", "values.cast(pa.float64())[:3]"),
        ("isinstance(n, int | float)", "n is not None"),
    ],
}


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


def test_a_strangers_plugin(spark: SparkSession, tmp_path: Path) -> None:
    checked = check_plugin(loaded(spark, tmp_path, "plugin_lengths", LENGTHS.replace("MaxLength", "CheckedLength")), spark=spark)
    assert any("length(s) > " in predicate for predicate in checked.checked["CheckedLength(s)"].skipped)
    assert "CheckedLength(s)" not in checked.idle
    assert "CheckedLength(s): skips for" in str(checked)
