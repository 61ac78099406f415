"""check_plugin: are all indexes and filters of a plugin's module sound? It draws the rows and the predicates itself.

    import max_length
    from data_skip.testing import check_plugin

    def test_max_length() -> None:
        print(check_plugin(max_length))

Each kind of index is made over columns of several types, of those that it takes; predicates are made of the nodes that the module's filters
are marked with, and of the functions that their patterns name: `@filters.on("GreaterThan")` with `Call("Length", [column])` gives
`length(s) > 3`. What it cannot think of itself, `indexes` and `predicates` add. As with `check_index`, what it proves is one-sided.
"""

from __future__ import annotations

import ast
import inspect
import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from data_skip.building.collect import record_of
from data_skip.errors import DataSkipError
from data_skip.filters import ANY, node_names
from data_skip.index import Index, is_kind
from data_skip.testing.soundness import Checked, check_index

_TEXTS = ["", "a", "ab", "abc", "b", "Rome", "Roma", " x ", "50%", "a_b", "it's", "\u00e9", "\U0001f600", "x" * 40]
_NUMBERS = [0.0, -0.0, 1.5, -7.25, 1e300, -1e-300, math.nan, math.inf, -math.inf]
_DAYS = 80_000  # after 1900


class _Drawn(NamedTuple):
    spark: str
    arrow: pa.DataType
    value: Callable[[Random], Any]


def _text(random: Random) -> str:
    return random.choice(_TEXTS) if random.random() < 0.5 else "".join(random.choices("abRx %_\u00e9", k=random.randrange(12)))


def _number(random: Random) -> float:
    return random.choice(_NUMBERS) if random.random() < 0.3 else round(random.uniform(-100, 100), random.randrange(3))


def _integer(random: Random) -> int:
    return random.choice([0, 1, -1, 2**31 - 1, -(2**31)]) if random.random() < 0.2 else random.randrange(-50, 50)


def _moment(random: Random) -> datetime:
    return datetime(1900, 1, 1, tzinfo=timezone.utc) + timedelta(random.uniform(0, _DAYS))


COLUMNS = {
    "s": _Drawn("string", pa.string(), _text),
    "d": _Drawn("double", pa.float64(), _number),
    "i": _Drawn("int", pa.int32(), _integer),
    "at": _Drawn("timestamp", pa.timestamp("us", "UTC"), _moment),
    "tags": _Drawn(
        "array<string>", pa.list_(pa.string()), lambda random: [random.choice([None, _text(random)]) for _ in range(random.randrange(4))]
    ),
    "day": _Drawn("date", pa.date32(), lambda random: _moment(random).date()),
    "dec": _Drawn("decimal(10,2)", pa.decimal128(10, 2), lambda random: Decimal(_integer(random) % 10**8).scaleb(-2)),
    "b": _Drawn("boolean", pa.bool_(), lambda random: random.random() < 0.5),
    "e": _Drawn("double", pa.float64(), _number),
}
_ROWS = 24
_MOST_INDEXES = 3  # of a kind
_CONSTANTS = 6  # for which a node is asked about
_MOST_PREDICATES = 60
# What a node is made of in SQL: {x} is an expression, {c} and {k} constants, {p} a few letters.
_NODES = {
    "EqualTo": ["{x} = {c}"],
    "EqualNullSafe": ["{x} <=> {c}"],
    "LessThan": ["{x} < {c}"],
    "LessThanOrEqual": ["{x} <= {c}"],
    "GreaterThan": ["{x} > {c}"],
    "GreaterThanOrEqual": ["{x} >= {c}"],
    "In": ["{x} IN ({c}, {k})"],
    "InSet": ["{x} IN ({c}, " + ", ".join(["{k}"] * 11) + ")"],
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
class PluginChecked:
    """What `check_plugin` found: by index what `check_index` did; `idle`: the indexes by which no file was skipped for any predicate."""

    checked: dict[str, Checked]

    @property
    def idle(self) -> tuple[str, ...]:
        """A filter may be missing, or the predicates that it serves are none that were drawn: give some."""
        return tuple(index for index, checked in self.checked.items() if not any(checked.skipped.values()))

    def __str__(self) -> str:
        lines = [f"{len(self.checked)} indexes are sound:"]
        for index, checked in self.checked.items():
            skipping = [predicate for predicate, files in checked.skipped.items() if files]
            lines.append(
                f"  {index}: skips for {len(skipping)} of {len(checked.skipped)} predicates{f', as {skipping[0]}' if skipping else ''}"
            )
        return "\n".join(lines)


def check_plugin(
    module: ModuleType,
    indexes: Sequence[Index] = (),
    predicates: Sequence[str] = (),
    spark: SparkSession | None = None,
    draws: int = 2,
) -> PluginChecked:
    """Asserts that no index of a module skips a file with a matching row. See the top of this module.

    indexes: further ones, over columns of `COLUMNS`; of a kind that takes parameters without a default, one has to be given.
    predicates: SQL over these columns. draws: how often rows and constants are drawn.

    AssertionError as of `check_index`; for an index that is another one after pickling; and, at the end, where no index skips a file.
    DataSkipError for a module without indexes, and a kind of which none can be made.
    """
    spark = spark or SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    subjects = list(_made(module, indexes))
    for index in subjects:
        copy = pickle.loads(pickle.dumps(index))
        assert copy == index and vars(copy) == vars(index), (
            f"{index} is another index after pickling, as it is sent to Spark's tasks: {copy}"
        )
    functions = _functions(spark, module)
    found: dict[str, Checked] = {}

    for number in range(draws):
        random = Random(number)
        rows = _drawn(random)
        frame = spark.createDataFrame(rows)
        for index in subjects:
            asked = [*predicates, *_predicates(frame, index, module, functions, random)]
            if asked:
                found[str(index)] = _joined(found.get(str(index)), check_index(index, rows, asked, spark))
    checked = PluginChecked(found)
    assert len(checked.idle) < len(found), (
        f"no index of {module.__name__} skips a file for any predicate that was drawn; give predicates=[...]\n{checked}"
    )
    return checked


def _made(module: ModuleType, indexes: Sequence[Index]) -> Iterator[Index]:
    """The indexes that are given, and of each other kind some over columns of which they know something."""
    kinds = [kind for name, kind in vars(module).items() if is_kind(kind) and not name.startswith("_")]
    if not kinds and not indexes:
        raise DataSkipError(f"{module.__name__} has no class that is an Index, and no index is given")
    yield from indexes
    for kind in kinds:
        if any(type(index) is kind for index in indexes):
            continue
        count = kind.expression_count or 1
        try:
            made = [kind(*names) for names in ([(name,) for name in COLUMNS] if count == 1 else [("d", "e", "i", "s")[:count]])]
        except (TypeError, ValueError) as error:
            raise DataSkipError(f"{kind.__name__} takes more than columns ({error}); give one as indexes=[{kind.__name__}(...)]") from error
        chosen = [index for index in made if _knows_something(index)][:_MOST_INDEXES]
        if not chosen:
            raise DataSkipError(f"{kind.__name__} knows nothing of {', '.join(COLUMNS)}; give one as indexes=[{kind.__name__}(...)]")
        yield from chosen


def _knows_something(index: Index) -> bool:
    """Whether it takes its columns, and collects something of some values."""
    if index.inputs != index.expressions:
        return True  # nobody knows of what types its values are
    columns = [COLUMNS[name] for name in index.expressions]
    if index.refuse(tuple(column.spark for column in columns)) is not None:
        return False
    rows = _drawn(Random(0))
    values = [rows[name].combine_chunks() for name in index.expressions]
    values = [array.flatten() if pa.types.is_list(array.type) else array for array in values]  # of arrays an index knows the elements
    record, _ = record_of(index, values)
    return record is not None and any(value is not None for value in record.values())


def _drawn(random: Random) -> pa.Table:
    """Rows of all types, with NULLs."""
    rows = range(random.randrange(_ROWS // 2, _ROWS))
    columns = {name: [column.value(random) if random.random() < 0.8 else None for _ in rows] for name, column in COLUMNS.items()}
    return pa.table({name: pa.array(values, COLUMNS[name].arrow) for name, values in columns.items()})


def _functions(spark: SparkSession, module: ModuleType) -> list[str]:
    """The SQL functions whose classes the patterns of a module name, as `length` for `Call("Length", ...)`."""
    named = set()
    for pattern in ast.walk(ast.parse(inspect.getsource(module))):
        match pattern:
            case ast.MatchClass(ast.Name("Call"), [ast.MatchValue(ast.Constant(str(name))), *_]):
                named.add(name)
    found = []
    for name in sorted(named):
        for function in (name.lower(), "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")):
            try:
                described = spark.sql(f"DESCRIBE FUNCTION `{function}`").collect()
            except PySparkException:
                continue
            if any(row[0].endswith(f".{name}") for row in described):
                found.append(function)
                break
    return found


def _predicates(frame: DataFrame, index: Index, module: ModuleType, functions: Iterable[str], random: Random) -> list[str]:
    """Predicates about an index's expressions that its module's filters may serve, on constants that the rows hold."""
    wanted = {name for function in vars(module).values() for name in node_names(function)}
    templates = [text for name, texts in _NODES.items() if wanted & {ANY, "Not", name} for text in texts]
    found: list[str] = []
    for expression in index.expressions:
        constants = _constants(frame, expression)
        calls = [expression]
        for function in functions:
            calls.append(f"{function}({expression})")
            calls += [f"{function}({pair})" for c in constants[:2] for pair in (f"{expression}, {c}", f"{c}, {expression}")]
        for call in calls:
            values = [*_constants(frame, call), *(["NULL"] if random.random() < 0.2 else [])]
            for template in [text for text in templates for _ in range(_CONSTANTS)] if values else ():
                known = {"x": call, "c": random.choice(values), "k": random.choice(values), "p": random.choice("abRx")}
                found.append(template.format(**known))
    chosen = random.sample(found, min(len(found), _MOST_PREDICATES // 2))
    further = [*(f"NOT ({predicate})" for predicate in chosen[::2]), *(f"{predicate} OR {chosen[0]}" for predicate in chosen[1::4])]
    return _understood(frame, list(dict.fromkeys([*chosen, *further])))


def _constants(frame: DataFrame, expression: str) -> list[str]:
    """Some values of an expression, of an array those of its elements, as SQL; none where Spark does not understand it on these rows."""
    try:
        values = frame.select(F.expr(expression).alias("x"))
        if isinstance(values.schema["x"].dataType, ArrayType):
            values = values.select(F.explode("x").alias("x"))
        type_ = values.schema["x"].dataType.simpleString()
        told = values.select(F.col("x").cast("string")).where("x IS NOT NULL").distinct().sort("x").limit(_ROWS).collect()
    except PySparkException:
        return []
    quoted = ["'" + row[0].replace("\\", "\\\\").replace("'", "\\'") + "'" for row in told]
    return [text if type_ == "string" else f"CAST({text} AS {type_})" for text in quoted]


def _understood(frame: DataFrame, predicates: list[str]) -> list[str]:
    """Those that Spark understands, and that raise no error on these rows."""
    try:
        frame.select(*(F.count_if(F.expr(predicate)) for predicate in predicates)).collect()
    except PySparkException:
        half = len(predicates) // 2
        return [*_understood(frame, predicates[:half]), *_understood(frame, predicates[half:])] if half else []
    return predicates


def _joined(before: Checked | None, now: Checked) -> Checked:
    """What was found by several draws."""
    if before is None:
        return now
    skipped = {name: (*before.skipped.get(name, ()), *now.skipped.get(name, ())) for name in (*before.skipped, *now.skipped)}
    return Checked(now.index, now.files, skipped, "; ".join(filter(None, dict.fromkeys([before.unknown, now.unknown]))))
