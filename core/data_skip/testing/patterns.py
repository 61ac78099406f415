"""Predicates that the filters of a module may serve, by the patterns in its source."""

from __future__ import annotations

import ast
import inspect
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, product, zip_longest
from random import Random
from types import ModuleType

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from data_skip.filters import ANY, node_names
from data_skip.index import Index
from data_skip.testing.drawn import COLUMNS, as_sql, constants

JOINED = ("And", "Or")  # of other predicates: none are drawn for them
_MASKS = ("0", "1", "2", "4", "6", "-1")
_PIECES = ("'a'", "'b'", "' '")
_CONSTANTS = 6  # for which a node is asked about
_MOST = 48  # predicates, without those that are made of them
_MOST_SHAPES = 16  # of a pattern
# What a node is made of in SQL: {x} is an expression, {e} that of the index, {c} and {k} constants, {p} a few letters.
_NODES = {
    "EqualTo": ["{x} = {c}"],
    "EqualNullSafe": ["{x} <=> {c}"],
    "LessThan": ["{x} < {c}"],
    "LessThanOrEqual": ["{x} <= {c}"],
    "GreaterThan": ["{x} > {c}"],
    "GreaterThanOrEqual": ["{x} >= {c}"],
    "In": ["{x} IN ({c}, {k})", "{x} IN ({c}, NULL)", "{x} IN ({c}, {e})"],
    "InSet": ["{x} IN ({c}, " + ", ".join(["{k}"] * 11) + ")", "{x} IN ({c}, " + ", ".join(["{k}"] * 11) + ", NULL)"],
    "IsNull": ["{x} IS NULL"],
    "IsNotNull": ["{x} IS NOT NULL"],
    "StartsWith": ["startswith({x}, '{p}')"],
    "EndsWith": ["endswith({x}, '{p}')"],
    "Contains": ["contains({x}, '{p}')"],
    "Like": ["{x} LIKE '{p}_%'"],
    "RLike": ["{x} RLIKE '{p}'"],
    "ArrayContains": ["array_contains({x}, {c})"],
}


@dataclass(frozen=True)
class Patterns:
    """What the patterns of a module name.

    nodes: of Catalyst's classes for predicates. calls: SQL with {x} for an expression and {a} for a constant, as `length({x})` for
    `Call("Length", [column])`. words: texts of literals.
    """

    nodes: frozenset[str]
    calls: tuple[str, ...]
    words: tuple[str, ...]


def patterns_of(module: ModuleType, spark: SparkSession) -> Patterns:
    """The patterns in the source of a module."""
    marked = {name for function in vars(module).values() for name in node_names(function)}
    found = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.MatchClass)]
    named = {name for pattern in found for name in _names(pattern)}
    nodes = marked | named & _NODES.keys()
    functions = _functions(spark, named - {*_NODES, *JOINED, "Not", "Cast"})
    calls = dict.fromkeys(text for pattern in found if functions.keys() & _names(pattern) for text in _shapes(pattern, functions))
    values = [_value(pattern.patterns[0]) for pattern in found if _is(pattern, "Literal") and pattern.patterns]
    every = ANY in marked or nodes == {"Not"}
    words = tuple(dict.fromkeys(value for value in values if isinstance(value, str) and value))
    return Patterns(frozenset(_NODES if every else nodes), tuple(calls), words)


def _is(pattern: ast.pattern, kind: str) -> bool:
    return isinstance(pattern, ast.MatchClass) and isinstance(pattern.cls, ast.Name) and pattern.cls.id == kind


def _names(pattern: ast.pattern) -> set[str]:
    """The classes that a pattern of a Call names."""
    if not _is(pattern, "Call") or not isinstance(pattern, ast.MatchClass) or not pattern.patterns:
        return set()
    return {value for node in ast.walk(pattern.patterns[0]) if isinstance(node, ast.MatchValue) and isinstance(value := _value(node), str)}


def _value(pattern: ast.pattern) -> object:
    """The constant that a pattern is; Ellipsis where it is none."""
    match pattern:
        case ast.MatchValue(value):
            try:
                return ast.literal_eval(value)
            except ValueError:
                return ...
        case ast.MatchSingleton(value):
            return value
    return ...


def _shapes(pattern: ast.pattern, functions: Mapping[str, str]) -> list[str]:
    """SQL of a pattern of a value."""
    match pattern:
        case ast.MatchOr(patterns):
            return [text for one in patterns for text in _shapes(one, functions)]
        case ast.MatchAs(pattern=ast.pattern() as named):
            return _shapes(named, functions)
        case ast.MatchClass(patterns=[value, *_]) if _is(pattern, "Literal"):
            known = _value(value)
            return ["{a}"] if known is ... else [as_sql(known).replace("{", "{{").replace("}", "}}"), "{a}"]
        case ast.MatchClass() if _is(pattern, "Literal"):
            return ["{a}"]
        case ast.MatchClass(patterns=[_, ast.MatchSequence(patterns)]) if _is(pattern, "Call"):
            children = [_shapes(one, functions) for one in patterns if not isinstance(one, ast.MatchStar)]
            operands = [", ".join(parts) for parts in islice(product(*children), _MOST_SHAPES)]
        case ast.MatchClass(patterns=[_, *_]) if _is(pattern, "Call"):
            operands = ["{x}", "{x}, {a}", "{a}, {x}"]
        case _:
            return ["{x}"]
    called = [functions[name] for name in sorted(_names(pattern)) if name in functions]
    return [f"{function}({parts})" for function in called for parts in operands] or operands  # as of a Cast


def _functions(spark: SparkSession, classes: Iterable[str]) -> dict[str, str]:
    """The SQL functions of some of Catalyst's classes, as `length` of Length and `%` of Remainder; a class may have none."""
    known = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    operators = [name for name in known if not name[0].isalpha()]
    found = {}
    with _quietly():
        for name in sorted(classes):
            spelled = {name.lower(), "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")}
            for function in [*sorted(spelled & set(known)), *operators, *known]:
                if any(row[0].endswith(f".{name}") for row in spark.sql(f"DESCRIBE FUNCTION `{function}`").collect()):
                    found[name] = f"`{function}`" if function in operators else function
                    break
    return found


def predicates(frame: DataFrame, index: Index, patterns: Patterns, random: Random) -> list[str]:
    """Predicates about an index's expressions that filters with these patterns may serve, on constants that the rows hold."""
    asked = [text for name, texts in _NODES.items() if name in patterns.nodes for text in texts]
    found: dict[tuple[bool, str], list[str]] = {}
    with _quietly():
        for expression in index.expressions:
            calls = [(False, expression)]
            for call in patterns.calls:
                given = _arguments(frame, index, expression, random) if "{a}" in call else [""]
                calls += [(True, call.format(x=expression, a=argument)) for argument in given]
            for called, call in calls:
                values = [*constants(frame, call), *(["NULL"] if random.random() < 0.2 else [])]
                for template in [text for text in asked for _ in range(_CONSTANTS)] if values else ():
                    found.setdefault((called, template), []).append(_filled(template, call, expression, values, patterns.words, random))
        chosen = list(islice(_in_turn([random.sample(texts, len(texts)) for texts in found.values()]), _MOST))
        further = [*(f"NOT ({predicate})" for predicate in chosen), *(f"{predicate} OR {chosen[0]}" for predicate in chosen[1::4])]
        others = [name for name in COLUMNS if name not in index.expressions]  # filters are asked about every column of a query
        for template in asked:
            name = random.choice(others)
            further.append(_filled(template, name, name, constants(frame, name) or ["NULL"], (), random))
        return _understood(frame, list(dict.fromkeys([*chosen, *further])))


def _filled(template: str, call: str, expression: str, values: Sequence[str], words: Sequence[str], random: Random) -> str:
    piece = random.choice("abRx")
    if words and random.random() < 0.5:
        piece = as_sql(random.choice(words))[1:-1] + random.choice(["", piece])
    return template.format(x=call, e=expression, c=random.choice(values), k=random.choice(values), p=piece)


def _in_turn(groups: Iterable[Sequence[str]]) -> Iterator[str]:
    return (text for texts in zip_longest(*groups) for text in texts if text is not None)


def _arguments(frame: DataFrame, index: Index, expression: str, random: Random) -> list[str]:
    """What functions may be given beside an expression: parameters of its index, and constants."""
    given = [as_sql(value) for value in index.parameters.values() if isinstance(value, int | str) and not isinstance(value, bool)]
    values = constants(frame, expression)
    others = _PIECES if any(value.startswith("'") for value in values) else _MASKS
    return [*given, *random.sample(values, min(2, len(values))), *random.sample(others, 2)]


def _understood(frame: DataFrame, predicates: list[str]) -> list[str]:
    """Those that Spark understands, and that raise no error on these rows."""
    try:
        frame.select(*(F.count_if(F.expr(predicate)) for predicate in predicates)).collect()
    except PySparkException:
        half = len(predicates) // 2
        return [*_understood(frame, predicates[:half]), *_understood(frame, predicates[half:])] if half else []
    return predicates


@contextmanager
def _quietly() -> Iterator[None]:
    """Within, PySpark does not log what Spark refuses: here that is an answer."""
    logger = logging.getLogger("SQLQueryContextLogger")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
