"""The indexes that a table has, and what commands do beside them: refused before anything is written."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException

from data_skip.building.binding import Binding, bind, changed
from data_skip.building.indexing import fitted, sample_of
from data_skip.building.source import TableState
from data_skip.building.stored import stored_columns, tuned_otherwise
from data_skip.errors import DataSkipError, DataSkipWarning
from data_skip.expression import calls_python
from data_skip.index import Index
from data_skip.planning.bound import usable
from data_skip.planning.catalog import Catalog
from data_skip.spark.errors import SPARK_ERRORS
from data_skip.spark.jvm import Jvm
from data_skip.store import Snapshot
from data_skip.store.definition import Definition, another_reader
from data_skip.store.reader import difference

_UNKNOWN_FUNCTION = "UNRESOLVED_ROUTINE"


class IndexExistsError(DataSkipError):
    """What was to be created is there already, perhaps by another writer."""


class SameIndexError(IndexExistsError):
    """An index that was to be created is there, written in another way: `index`."""

    def __init__(self, index: Index, message: str) -> None:
        super().__init__(message)
        self.index = index


class Existing:
    """The indexes of a table, by one version of its index: `definitions`, by their columns there."""

    def __init__(self, table: str, snapshot: Snapshot | None, catalog: Catalog, jvm: Jvm) -> None:
        self._table, self._catalog, self._jvm = table, catalog, jvm
        self.definitions: Mapping[str, Definition] = snapshot.definitions if snapshot else {}

    def fitted(self, indexes: Sequence[Index], state: TableState) -> list[Index]:
        """New indexes with what is left open chosen from a sample of the table. IndexExistsError for one that is there.

        DataSkipError where that fails, and for a column whose name has spaces, and no backticks: Spark takes its end for another name.
        """
        for index in indexes:
            self._refuse_twice(index)
            self._refuse_named(index)
        sample = sample_of(state, self._jvm)
        return [fitted(index, sample) for index in indexes]

    def to_create(self, indexes: Sequence[Index], state: TableState) -> list[Binding]:
        """New indexes, bound to the table. DataSkipError for one that cannot be made, or not beside the others."""
        bindings: list[Binding] = []
        for index in indexes:
            self._refuse_twice(index)
            if index in (binding.index for binding in bindings):
                raise DataSkipError(f"{index} is asked for twice; once is enough")
            self._catalog.learn(index)
            bindings.append(bind(index, state.frame, state.scan, self._jvm))
            others = [*self.definitions.values(), *(binding.definition for binding in bindings[:-1])]
            if same := next((other for other in others if other.same_as(bindings[-1].definition)), None):
                raise SameIndexError(index, f"{self._table} has {same}, which is the same as {index}")
            for other in self.definitions.values():
                if why := another_reader(other, bindings[-1].definition):
                    advice = "all indexes of a table are collected alike: drop those, or read as they did"
                    raise DataSkipError(f"{self._table} has {other}, {why}; {advice}")
        return bindings

    def to_refresh(self, state: TableState) -> list[Binding]:
        """Those that the session knows, bound to the table as it is now. DataSkipError where all of them mean something else by now.

        DataSkipWarning for one that the session does not know, or whose function is another one here, or none, or that means something
        else, as an expression by another time zone: the others are of use.
        """
        bindings: list[Binding] = []
        others: list[str] = []
        for stored in self.definitions.values():
            index = usable(stored, self._catalog.knowledge.kinds)
            if isinstance(index, str):
                warnings.warn(index, DataSkipWarning, stacklevel=3)
                continue
            try:
                binding = bind(index, state.frame, state.scan, self._jvm, stored=True)
            except DataSkipError as error:
                if not _is_of_functions(error, stored):
                    raise
                warnings.warn(f"{error}; so it is not used, and stays as it is", DataSkipWarning, stacklevel=3)
                continue
            if not (why := changed(stored, binding.definition)):
                bindings.append(binding)
            elif calls_python(stored.bound_expressions) and not difference(stored.reader, binding.definition.reader):
                warnings.warn(f"{index} is not used: it was {why}; drop_index() and create_index() it", DataSkipWarning, stacklevel=3)
            else:
                others.append(f"{index} was {why}; drop_index() and create_index() it, or read the table as then")
        if others and not bindings:
            raise DataSkipError(others[0])
        for other in others:
            warnings.warn(f"{other}; so it is not used, and stays as it is", DataSkipWarning, stacklevel=3)
        return bindings

    def to_drop(self, indexes: Sequence[Index]) -> list[str]:
        """The columns of some of them. DataSkipError for one that the table does not have, or of which it has several."""
        chosen: list[str] = []
        for index in indexes:
            columns = stored_columns(index, self.definitions)
            if not columns:
                alike = [known for known in self.definitions.values() if (known.kind, _names(known)) == (index.kind, _names(index))]
                advice = f"it has {alike[0]}; write it as that is" if alike else "describe() lists what it has"
                raise DataSkipError(f"{self._table} has no {index}; {advice}")
            if len(columns) > 1:
                several = " and ".join(str(self.definitions[column]) for column in columns)
                raise DataSkipError(f"{self._table} has {several}; say which of them to drop")
            chosen += columns
        return [*dict.fromkeys(chosen)]

    def missing(self, indexes: Sequence[Index]) -> list[Index]:
        """Those that are to be created. DataSkipError for one that cannot be, beside what exists, or exists and is not used."""
        for index in indexes:
            self._catalog.learn(index)
        stored = {index: stored_columns(index, self.definitions) for index in indexes}
        asked = {column for columns in stored.values() for column in columns}
        for index, columns in stored.items():
            for column in columns:
                if isinstance(problem := usable(self.definitions[column], self._catalog.knowledge.kinds), str):
                    raise DataSkipError(problem)
            others = [known for column, known in self.definitions.items() if column not in asked and tuned_otherwise(index, known)]
            if not columns and others:
                advice = f"drop_index({others[0]}) first, or create_index({index}) to have both"
                raise DataSkipError(f"{self._table} has {others[0]}, which is {index} with other parameters: {advice}")
        return [index for index, columns in stored.items() if not columns]

    def refuse_chosen(self, asked: Mapping[Index, Index]) -> None:
        """IndexExistsError where another session chose open parameters otherwise meanwhile: of an index there is one.

        asked: the indexes that are to be made, by what was asked for.
        """
        own = {fitted_one.column for fitted_one in asked.values()}  # of which an earlier commit of this command may have some
        for index in asked:
            if others := set(stored_columns(index, self.definitions)) - own:
                raise IndexExistsError(f"{self.definitions[others.pop()]} was created meanwhile on {self._table}; nothing was written")

    def _refuse_named(self, index: Index) -> None:
        for sql in index.expressions:
            try:
                named = self._jvm.is_named(sql)
            except SPARK_ERRORS:  # as `bind` says
                continue
            if named:
                advice = f"write a column of that name in backticks, `{sql.strip()}`, and else leave the name out"
                raise DataSkipError(f"{index}: Spark takes the end of {sql!r} for a name that is given to the rest; {advice}")

    def _refuse_twice(self, index: Index) -> None:
        if stored_columns(index, self.definitions):
            advice = "refresh() brings it up to date, drop_index() removes it, ensure_index() makes what is missing"
            raise IndexExistsError(f"{index} exists already on {self._table}; {advice}")


def _names(index: Index | Definition) -> list[str]:
    """What it is of, whichever way that is written."""
    return [sql.replace("`", "").strip().lower() for sql in index.expressions]


def _is_of_functions(error: DataSkipError, stored: Definition) -> bool:
    """Whether an index cannot be bound since functions are others in this session: what is wrong with it says nothing of the table."""
    unknown = isinstance(error.__cause__, PySparkException) and error.__cause__.getCondition() == _UNKNOWN_FUNCTION
    return unknown or calls_python(stored.bound_expressions)
