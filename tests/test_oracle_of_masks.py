"""What a snapshot says of files, against a few lines of Python that know what was appended of each, and ask no Arrow and no Parquet."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from data_skip.clause import AllOf, AnyOf, Clause, Comparison, Computed, Named
from data_skip.store import DeltaStore, FileKey, rewriting
from tests.test_in_tasks import by_tasks, small  # noqa: F401
from tests.test_parts import TYPE, VALUES, column, in_parts, opened, random_clause, random_record, store, whole  # noqa: F401

Record = dict[str, Any]
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}


def says(clause: Clause, records: dict[str, Record]) -> bool | None:
    """What a clause says of a file by its records of each index; None: unknown."""
    match clause:
        case Named():
            return says(clause.clause, records)
        case AllOf() | AnyOf():
            absorbing, found = isinstance(clause, AnyOf), [says(part, records) for part in clause.parts]
            return absorbing if absorbing in found else None if None in found else not absorbing
        case Comparison():
            value = records.get(clause.field.index, {}).get(clause.field.name)
            if value is None or value != value:
                return None
            return OPERATORS[clause.operator](value, clause.value.as_py() if isinstance(clause.value, pa.Scalar) else clause.value)
        case Computed():
            values = [records.get(given.index, {}).get(given.name) for given in clause.inputs]
            if None in values:
                return None
            return len(values[0]) > 0 if len(values) == 1 else values[0] < values[1]
    raise TypeError(type(clause))


@dataclass
class Told:
    """An index by random writers, and what they have told it."""

    store: DeltaStore
    random: Random
    keys: list[FileKey]
    truth: dict[tuple[str, FileKey], Record | None] = field(default_factory=dict)  # who says it again, says the same
    declared: set[str] = field(default_factory=set)
    known: dict[FileKey, dict[str, Record]] = field(default_factory=dict)
    generations: dict[FileKey, int] = field(default_factory=dict)

    def append(self) -> None:
        random, names = self.random, self.random.choice(["x", "y", "xy"])
        files = random.sample(self.keys, random.randint(1, len(self.keys)))
        collected = [random.random() < 0.9 for _ in files]
        generations = [random.choice([0, 0, 0, 1, 2]) for _ in files]
        arrays = {}
        for name in names:
            found = []
            for file, is_collected in zip(files, collected, strict=True):
                true = self.truth.setdefault((name, file), random_record(random, int(file.path) // 8))
                found.append(true if is_collected and random.random() < 0.9 else None)
                if found[-1] is not None:
                    self.known.setdefault(file, {})[name] = found[-1]
            arrays[column(name)] = pa.array(found, TYPE)
        for file, generation in zip(files, generations, strict=True):
            self.generations[file] = max(self.generations.get(file, 0), generation)
        self.declared |= {*names}
        self.store.append(files, [1] * len(files), arrays, True, generations, collected)

    def drop(self) -> None:
        name = self.random.choice(sorted(self.declared))
        self.store.drop(name)
        self.declared.discard(name)
        for told in self.known.values():
            told.pop(name, None)
        self.truth = {(index, file): record for (index, file), record in self.truth.items() if index != name}
        if not self.declared:
            self.generations.clear()

    def compact(self) -> None:
        dead = {file for file, generation in self.generations.items() if generation % 2}
        orders = [(index, name) for index in sorted(self.declared) for name in ("long", "text", "double")]
        with patch.object(rewriting, "_AT_ONCE", self.random.choice([0, 1 << 29])), patch.object(rewriting, "_SOME", 1000):
            self.store.compact(self.random.choice([None, *orders]))
        for file in dead:
            self.known.pop(file, None)
            self.generations.pop(file)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_masks_are_those_of_what_was_appended(store: DeltaStore, seed: int) -> None:  # noqa: F811
    random = Random(seed)
    keys = [FileKey(f"{i:03}", random.choice([0, 5, 10]), random.randrange(4)) for i in range(40)]
    keys += [file._replace(modification_time=file.modification_time + 1) for file in keys[:8]]
    told = Told(store, random, keys + [file._replace(size=file.size + 1) for file in keys[5:12]])
    told.append()
    for _ in range(random.randint(2, 7)):
        random.choices([told.append, told.drop if told.declared else told.append, told.compact, told.store.put_together], [7, 1, 2, 2])[0]()
    told.append()
    skipped = 0
    for _ in range(8 if seed == 0 else 25):
        clause = random_clause(random)
        if not {given.index for given in clause.fields()} <= told.declared:
            continue
        snapshot = opened(store)
        assert {*snapshot.files} == told.generations.keys()
        expected = np.array([says(clause, told.known.get(file, {})) is not False for file in snapshot.files])
        assert whole(clause, snapshot).tolist() == expected.tolist(), str(clause)
        listed = np.array([random.random() < 0.9 for _ in snapshot.files])
        in_two = in_parts(clause, opened(store), listed, random.choice([0, 500]), random.choice([(), sorted(told.declared)[:1]]))
        for found in (in_two, by_tasks(clause, opened(store), listed)):
            assert found[listed].tolist() == expected[listed].tolist(), str(clause)
        skipped += not expected.all()
    assert skipped
