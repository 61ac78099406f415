"""Every function that has an example in Spark's own registry, over columns of every type that it takes, as a job and as the driver has it.

The constants of an example become columns, all of them or, where Spark wants a constant, one by one: `substr('Spark SQL', 5, 1)` is asked
as `substr(string0, int1, int2)`, then with bigint, decimals of any length, and so on in place of int.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from math import nan
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from data_skip import Skipping
from data_skip.data_types import FRACTIONAL, INTEGRAL, arrow_type
from data_skip.expression import Call, Column
from data_skip.proofs.preimage import value_at
from data_skip.spark.bridge import Scan, _places, _stream
from tests.claims.calls import calls, numbers_of_arguments
from tests.claims.families import DECIMALS, MOMENTS, ordinals
from tests.claims.lab import ARROW, tried

_TOKEN = re.compile(
    r"(?:(?:DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|X)\s*)?'(?:[^'\\]|\\.|'')*'|(?<![\w.'])-?\d+(?:\.\d+)?(?:[LSDF]|BD)?(?![\w.'])", re.I
)
_NUMBERS = (*INTEGRAL, *FRACTIONAL, *DECIMALS)
_KINDS = [set(_NUMBERS), {"date", *MOMENTS}, {"string", "binary"}]
_TEXTS = ["", "a", "A b", "é😀", "1", "-1.5", "2021-01-31", "2021-03-14 02:30:00", '{"a":1}', "a,b", "%", "UTC", "Spark SQL", "x" * 40]
COLUMNS = (*_NUMBERS, "boolean", "date", *MOMENTS, "string", "binary")
REFUSED = (PySparkException, Py4JJavaError)
_SIZED = (
    "repeat",
    "space",
    "lpad",
    "rpad",
    "sequence",
    "array_repeat",
    "array_insert",
    "randstr",
    "format_number",
)  # as large as a number says
PLACES = 3  # columns of each type


def described(spark: SparkSession) -> dict[str, tuple[str, str]]:
    """By function of one row, its usage and its examples."""
    jvm: Any = spark._jvm
    infos = jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
    of_rows = [
        i
        for i in infos
        if i.getGroup() not in ("agg_funcs", "window_funcs", "generator_funcs", "table_funcs") and i.getName() not in _SIZED
    ]
    return {info.getName(): (info.getUsage(), info.getExamples().replace("_FUNC_", info.getName())) for info in of_rows}


def examples(spark: SparkSession) -> dict[str, list[str]]:
    """By function, the expressions of its examples."""
    found = {name: re.findall(r"> SELECT (.*?);\s*\n", shown, re.S) for name, (_, shown) in described(spark).items()}
    plain = {
        name: [s for s in sqls if " FROM " not in s.upper().replace("FROM V", "").replace("' FROM", "'")] for name, sqls in found.items()
    }
    return plain


class Registry:
    """A table of boundary values, and what functions give of it."""

    def __init__(self, spark: SparkSession, skipping: Skipping, folder: Path, random: Random, rows: int) -> None:
        self.spark, self.skipping, self.random = spark, skipping, random
        texts = {token.strip("'") for sqls in examples(spark).values() for sql in sqls for token in re.findall(r"'[^'\\]*'", sql)}
        self.texts = [*_TEXTS, *sorted(texts)]
        columns = {_name(type_, i): self._column(type_, rows) for type_ in COLUMNS for i in range(PLACES)}
        self.stored = {name: array for name, (array, _) in columns.items()}
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": range(rows), **{name: shown for name, (_, shown) in columns.items()}}), folder / "values.parquet")
        self.frame: DataFrame = spark.read.parquet(str(folder))
        self.types: dict[str, str | None] = {}

    def _column(self, type_: str, rows: int) -> tuple[pa.Array, pa.Array]:
        """Its values in Spark's own representation, and as users see them."""
        if type_ in ("string", "binary"):
            values: list[Any] = [self.random.choice(self.texts) for _ in range(rows)]
            values = values if type_ == "string" else [text.encode() for text in values]
        elif type_ == "boolean":
            values = [self.random.random() < 0.5 for _ in range(rows)]
        else:
            few = [value_at(o, type_) for o in ordinals(type_, "America/New_York", self.random, min(rows, 200))]
            small = [*range(-3, 12)] if type_ in INTEGRAL else [nan, -0.0, 0.0, 1.0] if type_ in FRACTIONAL else few
            values = [self.random.choice(self.random.choice((few, small))) for _ in range(rows)]
        values = [None if self.random.random() < 0.1 else value for value in values]
        stored = pa.array(values, arrow_type(type_))
        return stored, stored.view(ARROW[type_]) if type_ in ARROW else stored

    def variants(self, sql: str, types: int) -> Iterator[str]:
        """An example over columns, of so many types at most."""
        tokens = list(_TOKEN.finditer(sql))
        kinds = [self._type_of(token.group()) for token in tokens]
        places = [i for i, kind in enumerate(kinds) if kind is not None]
        one_by_one = [(i,) for i in places] if len(places) > 1 else []
        for chosen in [tuple(places), *one_by_one] if places else []:
            own = [kinds[i] for i in chosen]
            others = [[type_] * len(chosen) for kind in _KINDS if set(own) & kind for type_ in sorted(kind)]
            found = 0
            for wanted in [own, *self.random.sample(others, len(others))]:
                text = _replaced(sql, tokens, chosen, [w if _alike(w, k) else k for w, k in zip(wanted, own, strict=True)])
                if found < types and self._accepted(text):
                    found += 1
                    yield text
            if found and chosen == tuple(places):
                return

    def calls(self, name: str, usage: str, shown: str, wanted: int) -> list[str]:
        """Calls of a function with other arguments than an example has, each as text: of numbers, hashes do not tell -0.0."""
        numbers = numbers_of_arguments(name, usage, shown)
        tried = itertools.islice(calls(name, numbers, self.random), 8 * wanted)
        texts = (f"cast({call} AS string)" for call in tried)
        return list(itertools.islice((text for text in texts if self._accepted(text)), wanted))

    def _type_of(self, token: str) -> str | None:
        if token not in self.types:
            try:
                kind = self.spark.sql(f"SELECT {token}").schema[0].dataType.simpleString()
            except REFUSED:  # a part of a word
                kind = ""
            kind = "decimal(9,2)" if kind.startswith("decimal") else kind
            self.types[token] = kind if kind in COLUMNS else None
        return self.types[token]

    def _accepted(self, sql: str) -> bool:
        try:
            self.frame.where(f"xxhash64({sql}) = 0")
        except REFUSED:
            return False
        return True

    def compare(self, sqls: list[str]) -> tuple[list[str], int]:
        """Which functions give other values here than in a job, and how many values were compared."""
        try:
            return self._compared(sqls)
        except REFUSED:  # one of them, by what TryEval does not catch
            return ([], 0) if len(sqls) == 1 else self._halves(sqls)

    def _halves(self, sqls: list[str]) -> tuple[list[str], int]:
        halves = [self.compare(half) for half in (sqls[: len(sqls) // 2], sqls[len(sqls) // 2 :])]
        return [text for wrong, _ in halves for text in wrong], sum(compared for _, compared in halves)

    def _compared(self, sqls: list[str]) -> tuple[list[str], int]:
        hashes = [f"xxhash64({sql})" for sql in sqls]
        scans = self.skipping.jvm.scans(self.frame.where(f"xxhash64({', '.join(hashes)}) = 0"))
        if not scans:  # one of them is not deterministic
            return ([], 0) if len(sqls) == 1 else self._halves(sqls)
        scan = scans[-1]
        nodes = scan.predicate.children[0].children
        rows = self.frame.select("id", *(tried(self.spark, text).alias(f"c{i}") for i, text in enumerate(hashes))).toArrow().sort_by("id")
        wrong, compared = [], 0
        for i, (sql, node) in enumerate(zip(sqls, nodes, strict=True)):
            here = self._here(node, scan)
            if here is None:
                continue
            there = rows[f"c{i}"].to_pylist()
            if "map" in sql and None in there:  # what an error leaves in the builder of a map is in the job's next one: Spark's own fault
                continue
            both = [row for row, value in enumerate(here) if value is not None and there[row] is not None]  # elsewhere an error is raised
            compared += len(both)
            unlike = [row for row in both if here[row] != there[row]]
            if unlike:
                of = {str(part): self.stored[str(part)][unlike[0]].as_py() for part in node.walk() if isinstance(part, Column)}
                wrong.append(f"{sql} of {of}: {len(unlike)} of {len(both)}")
        return wrong, compared

    def _here(self, node: Any, scan: Scan) -> list[int | None] | None:
        """What the driver's evaluator gives of each row; None where it raises an error, or altogether where it cannot tell."""
        columns = [part for part in dict.fromkeys(node.walk()) if isinstance(part, Column)]
        if not isinstance(node, Call) or not node.deterministic or not columns or node.source is None:
            return None
        places = ";".join(_places(node, column) for column in columns)
        encoded = scan.evaluator.values(str(node.source), places, _stream(self.stored[str(column)] for column in columns))
        return None if encoded is None else [None if value is None else int(value) for value in json.loads(encoded)]


def _name(type_: str, place: int) -> str:
    return re.sub(r"\W", "_", type_) + str(place)


def _alike(a: str | None, b: str | None) -> bool:
    return any(a in kind and b in kind for kind in _KINDS)


def _replaced(sql: str, tokens: list[re.Match[str]], chosen: tuple[int, ...], types: list[str | None]) -> str:
    parts, end, place = [], 0, itertools.count()
    for i, type_ in zip(chosen, types, strict=True):
        parts += [sql[end : tokens[i].start()], _name(str(type_), next(place) % PLACES)]
        end = tokens[i].end()
    return "".join([*parts, sql[end:]])
