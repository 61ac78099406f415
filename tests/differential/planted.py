"""What the tests of planted bugs share: a bug, a small table that shows it, and the indexes of each kind over copies of that table.

Each bug replaces one line. A few predicates on the small table, right without it, have to be wrong with it: a file with a matching row
is skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from data_skip import BloomFilter, GapList, Index, MinMax, Prefix, Skipping, Suffix, ValueList, filters, versioned
from data_skip.clause import Clause
from data_skip.expression import Literal
from data_skip.filters import Indexes
from data_skip.index import Record
from tests.differential.planting import planted
from tests.differential.truth import UNSIMPLIFIED, Truth, kept_files
from tests.support import Lake, aged, settings_of

NAN = float("nan")
HIGHEST = "\U0010ffff" * 200  # no string is above all that begin with 128 of these
FILES: dict[str, dict[str, list[Any]]] = {
    "mixed": {"v": [1.0, 2.0, 3.0], "i": [1, 2, 3], "s": ["abc", "abd", "xyz"], "flag": [True, False, True]},
    "constant": {"v": [5.0, 5.0], "i": [5, 5], "s": ["abc", "abc"], "flag": [True, True]},
    "null_last": {"v": [2.0, 2.0, None], "i": [5, 5, None], "s": ["abc", "abc", None], "flag": [True, True, None]},
    "nulls": {"v": [None, None], "i": [None, None], "s": [None, None], "flag": [None, None]},
    "nan": {"v": [1.0, NAN], "i": [7, 8], "s": ["", "zzz"], "flag": [False, False]},
    "only_nan": {"v": [NAN], "i": [9], "s": ["abcdef"], "flag": [False]},
    "constant_nan": {"v": [5.0, NAN], "i": [5, 5], "s": ["q", "q"], "flag": [True, True]},
    "zero": {"v": [-0.0], "i": [0], "s": ["a"], "flag": [False]},
    "zeros": {"v": [0.0, -0.0], "i": [0, 0], "s": ["a", "b"], "flag": [False, True]},
    "zeros_apart": {"v": [0.0, 1.0, -0.0, 1.0], "i": [0, 1, 0, 1], "s": ["a", "b", "a", "b"], "flag": [True, True, True, False]},
    "many": {"v": [float(n) for n in range(12)], "i": [*range(12)], "s": [f"k{n}y{n}" for n in range(12)], "flag": [True, False] * 6},
    "long": {"v": [1.0], "i": [1], "s": ["x" * 128 + "y"], "flag": [None]},
    "highest": {"v": [1.0] * 4, "i": [1] * 4, "s": [HIGHEST, "m", "n", "n"], "flag": [None] * 4},
    "both_signs": {"v": [-3.0, 0.5, 4.0, 4.0], "i": [-3, 0, 4, 4], "s": ["d", "e", "f", "g"], "flag": [True, None, False, None]},
    "edge": {"v": [20.0, 21.0], "i": [20, 21], "s": ["abx", "ac"], "flag": [True, True]},
}
COLUMNS = {"v": pa.float64(), "i": pa.int32(), "s": pa.string(), "flag": pa.bool_()}  # and x, which has no index, and is 1


class Top(Index):
    """The largest value, NaN where there is one: a plugin that leaves NaN in a field."""

    fields = {"top": pa.float64()}

    def collect(self, *values: pa.Array) -> Record:
        return {"top": NAN if pc.any(pc.is_nan(values[0])).as_py() else pc.max(values[0]).as_py()}

    def merge(self, a: Record, b: Record) -> Record:
        return {
            "top": NAN
            if a["top"] != a["top"] or b["top"] != b["top"]
            else max((t for r in (a, b) if (t := r["top"]) is not None), default=None)
        }


class Picky(Top):
    """Cannot collect a batch that holds 3."""

    def collect(self, *values: pa.Array) -> Record:
        if 3.0 in values[0].to_pylist():
            raise ValueError("3 is too much")
        return super().collect(*values)


@filters.on("GreaterThan")
def above(node: Any, indexes: Indexes) -> Iterator[Clause]:
    match node:
        case column, Literal(n):
            yield from (index["top"] > n for index in indexes.over(column, Top))


KINDS: dict[str, list[Index]] = {
    "min_max": [MinMax(column) for column in COLUMNS],
    "value_list": [ValueList(column, limit=5) for column in COLUMNS],
    "affix": [Prefix("s", 3, limit=5), Suffix("s", 3, limit=5)],
    "gap_list": [GapList(column, 1) for column in COLUMNS],
    "bloom": [BloomFilter(column) for column in ("v", "i", "s")],
    "top": [Top("v")],
    "picky": [Picky("v")],
}


class Bug(NamedTuple):
    """A line of a module of data_skip, what a mistake makes of it, and predicates that show it on an index."""

    module: str
    line: str
    bug: str
    kind: str
    predicates: tuple[str, ...]
    settings: dict[str, str] = {}


RAW = UNSIMPLIFIED  # so that NOT and NULL reach data-skip as they were written


PREDICATES: set[str] = set()  # of all bugs


def bugs(module: str, *rows: tuple[Any, ...]) -> list[Any]:
    made = [
        Bug(module, line, bug, kind, predicates if isinstance(predicates, tuple) else (predicates,), *rest)
        for line, bug, kind, predicates, *rest in rows
    ]
    PREDICATES.update(predicate for bug in made for predicate in bug.predicates)
    return [pytest.param(bug, id=f"{module.rpartition('.')[2]}-{i}") for i, bug in enumerate(made)]


PYTHON: list[tuple[str, Callable[[Any], Any], str]] = [
    ("itself", lambda v: v, "double"),
    ("text_of", lambda v: None if v is None else str(v), "string"),
    ("or_500", lambda i: 500 if i is None else i, "int"),
]


class Small:
    """The table, with the indexes of each kind in a copy of its own."""

    def __init__(self, spark: SparkSession, skipping: Skipping, folder: Path) -> None:
        self.spark, self.skipping, self.folder = spark, skipping, folder
        for name, function, type_ in PYTHON:
            spark.udf.register(name, F.udf(versioned(function, 1), type_))
        lake = Lake(spark, skipping, folder / "files")
        for name, columns in FILES.items():
            indexed = {c: pa.array(columns[c], type_) for c, type_ in COLUMNS.items()}
            lake.file(f"{name}.parquet", {**indexed, "x": [1] * len(columns["i"])})
        self.files = lake.folder
        predicates = sorted(PREDICATES)
        found = Truth(skipping, spark.read.parquet(str(self.files))).matching(predicates)
        self.matching = dict(zip(predicates, found, strict=True))
        self.folders: dict[tuple[str, int], Path] = {}
        self.frames: dict[Path, DataFrame] = {}

    def copy(self, kind: str) -> Path:
        """A copy of the files with a kind's indexes, made now."""
        folder = self.folder / str(len(self.frames))
        shutil.copytree(self.files, folder)
        for file in folder.iterdir():
            aged(file)
        self.skipping.table(str(folder)).create_index(*KINDS[kind])
        self.frames[folder] = self.spark.read.parquet(str(folder))
        return folder

    def of(self, kind: str, batch: int = 0) -> Path:
        """The copy that all tests share; batch: of how many rows at once records are collected, where that is done in this process."""
        if (kind, batch) not in self.folders:
            self.folders[kind, batch] = self.copy(kind)
        return self.folders[kind, batch]

    def answers(self, folder: Path, bug: Bug, errors: bool = False) -> tuple[list[str], int]:
        """The wrong answers to a bug's predicates, and how many files they skip."""
        wrong, count = [], 0
        with settings_of(self.spark, bug.settings):
            for predicate in bug.predicates:
                plan = kept_files(self.skipping, self.frames[folder], predicate, errors)
                assert plan is not None, f"Spark leaves nothing of {predicate}"
                matching = self.matching[predicate]
                assert matching is not None, f"{predicate} raises an error"
                wrong += [f"{predicate} skips {file}" for file in plan[1] & matching]
                count += len(plan[1])
        return wrong, count

    def notices(self, bug: Bug) -> None:
        """Asserts that answers are right, and wrong with the bug."""
        folder = self.of(bug.kind)
        assert self.answers(folder, bug)[0] == []
        with planted(f"data_skip.{bug.module}", bug.line, bug.bug):
            assert self.answers(folder, bug)[0], "the bug is not noticed"
