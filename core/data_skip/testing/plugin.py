"""check_plugin: are all indexes and filters of a plugin's module sound? It draws the rows and the predicates itself.

    import max_length
    from data_skip.testing import check_plugin

    def test_max_length() -> None:
        print(check_plugin(max_length))

Each kind of index is made over columns of several types, of those that it takes; predicates are made of the nodes that the module's filters
are marked with, and of the functions that their patterns name: `@filters.on("GreaterThan")` with `Call("Length", [column])` gives
`length(s) > 3`. What it cannot think of itself, `indexes` and `predicates` add; of which filters it thought of nothing, it says. As with
`check_index`, what it proves is one-sided.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from types import ModuleType

import pyarrow as pa
from pyspark.sql import SparkSession

from data_skip.building.collect import record_of
from data_skip.errors import DataSkipError
from data_skip.filters import ANY, node_names
from data_skip.index import Index, is_kind
from data_skip.testing.drawn import COLUMNS, drawn
from data_skip.testing.patterns import JOINED, patterns_of
from data_skip.testing.patterns import predicates as made
from data_skip.testing.soundness import Checked, check_index

_OVER = f"over these columns: {', '.join(f'{name} {drawn.spark}' for name, drawn in COLUMNS.items())}"
_MOST_INDEXES = 3  # of a kind


@dataclass(frozen=True)
class PluginChecked:
    """What `check_plugin` found: by index what `check_index` did; what was never tried: `idle`, `unasked`.

    `unasked`: the filters that yielded nothing for any predicate, with the nodes that they are marked with. What they do was not checked.
    """

    checked: dict[str, Checked]
    unasked: tuple[str, ...] = ()

    @property
    def idle(self) -> tuple[str, ...]:
        """The indexes by which no file was skipped: a filter may be missing, or what it serves was not drawn: give predicates."""
        return tuple(index for index, checked in self.checked.items() if not any(checked.skipped.values()))

    def __str__(self) -> str:
        lines = [f"{len(self.checked)} indexes are sound:"]
        for index, checked in self.checked.items():
            skipping = [predicate for predicate, files in checked.skipped.items() if files]
            lines.append(
                f"  {index}: skips for {len(skipping)} of {len(checked.skipped)} predicates{f', as {skipping[0]}' if skipping else ''}"
            )
        advice = "nothing was drawn for which it yields a clause, so it is not checked; give predicates=[...]"
        return "\n".join([*lines, *(f"  filter {name}: {advice}" for name in self.unasked)])


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
        assert copy == index and vars(copy).keys() == vars(index).keys(), (  # an attribute may have no ==
            f"{index} is another index after pickling, as it is sent to Spark's tasks: {copy}"
        )
    patterns = patterns_of(module, spark)
    found: dict[str, Checked] = {}

    for number in range(draws):
        random = Random(number)
        rows = drawn(random, patterns.words)
        frame = spark.createDataFrame(rows)
        for index in subjects:
            asked = [*predicates, *made(frame, index, patterns, random)]
            if asked:
                found[str(index)] = _joined(found.get(str(index)), check_index(index, rows, asked, spark))
    checked = PluginChecked(found, tuple(_unasked(module, found.values())))
    assert len(checked.idle) < len(found), (
        f"no index of {module.__name__} skips a file for any predicate that was drawn; give predicates=[...] {_OVER}\n{checked}"
    )
    return checked


def _unasked(module: ModuleType, found: Iterable[Checked]) -> Iterator[str]:
    """What is marked as a filter, and yielded no clause."""
    served = {one for checked in found for one in checked.served}
    for name, function in vars(module).items():
        nodes = node_names(function)
        missed = [node for node in nodes if node not in JOINED and (function, node) not in served]
        if missed and (ANY not in nodes or not any(function is one for one, _ in served)):
            yield f"{name} ({', '.join(missed)})"


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
            raise DataSkipError(
                f"{kind.__name__} takes more than columns ({error}); give some as indexes=[{kind.__name__}(...)] {_OVER}"
            ) from error
        chosen = [index for index in made if _knows_something(index)][:_MOST_INDEXES]
        if not chosen:
            raise DataSkipError(f"{kind.__name__} knows nothing of any column; give some as indexes=[{kind.__name__}(...)] {_OVER}")
        yield from chosen
        yield from _small(chosen[0])


def _small(index: Index) -> Iterator[Index]:
    """The index with each of its limits at 2: what lies beyond a limit is met by few rows then."""
    for name, value in index.parameters.items():
        if isinstance(value, int) and not isinstance(value, bool) and value > 2:
            with suppress(TypeError, ValueError):
                yield type(index)(*index.expressions, **{**index.parameters, name: 2})


def _knows_something(index: Index) -> bool:
    """Whether it takes its columns, and collects something of some values."""
    if index.inputs != index.expressions:
        return True  # nobody knows of what types its values are
    columns = [COLUMNS[name] for name in index.expressions]
    if index.refuse(tuple(column.spark for column in columns)) is not None:
        return False
    rows = drawn(Random(0))
    values = [rows[name].combine_chunks() for name in index.expressions]
    values = [array.flatten() if pa.types.is_list(array.type) else array for array in values]  # of arrays an index knows the elements
    record, _ = record_of(index, values)
    return record is not None and any(value is not None for value in record.values())


def _joined(before: Checked | None, now: Checked) -> Checked:
    """What was found by several draws."""
    if before is None:
        return now
    skipped = {name: (*before.skipped.get(name, ()), *now.skipped.get(name, ())) for name in (*before.skipped, *now.skipped)}
    unknown = "; ".join(filter(None, dict.fromkeys([before.unknown, now.unknown])))
    return Checked(now.index, now.files, skipped, unknown, before.served | now.served)
