"""Which indexes of a version serve a scan: those of known kinds that were collected as the scan reads, each looked at once."""

from __future__ import annotations

from collections.abc import Mapping

from data_skip.index import BoundIndex, Index
from data_skip.planning.catalog import Knowledge
from data_skip.proofs.elements import indexed
from data_skip.proofs.steady import why_unsteady, why_unsteady_as_read
from data_skip.spark.bridge import Scan
from data_skip.store import Snapshot
from data_skip.store.definition import Definition
from data_skip.store.reader import Reading, difference


class Bound:
    """The indexes of a snapshot for scans that read alike, by their columns in the store: each bound, or why it is not used."""

    def __init__(self, snapshot: Snapshot, scan: Scan, knowledge: Knowledge) -> None:
        self._definitions, self._kinds = snapshot.definitions, knowledge.kinds
        self._reading = Reading(scan.description, scan.settings)
        self._known: dict[str, BoundIndex | str] = {}

    @classmethod
    def of(cls, snapshot: Snapshot, scan: Scan, knowledge: Knowledge) -> Bound:
        """Those of the scan before, if that read alike: mostly all do."""
        versions = [kind.version for kind in knowledge.kinds.values()]  # that of a class may be raised while it is loaded
        asked = (*(scan.description.get(key) for key in Reading.BY), scan.settings, knowledge.kinds, versions)
        before, known = snapshot.bound
        if before != asked:
            known = cls(snapshot, scan, knowledge)
            snapshot.bound = asked, known
        assert isinstance(known, Bound)
        return known

    def __getitem__(self, column: str) -> BoundIndex | str:
        if column not in self._known:
            self._known[column] = self._look(column, self._definitions[column])
        return self._known[column]

    def _look(self, column: str, definition: Definition) -> BoundIndex | str:
        index = usable(definition, self._kinds)
        if isinstance(index, str):
            return index
        trees = definition.bound_expressions
        if index.column != column:
            return f"{definition} is not used: its column is {column}, not {index.column}"
        if why_not := why_unsteady(trees) or why_unsteady_as_read(trees, definition.reader):
            return f"{definition} is not used: it {why_not}"
        if why_not := difference(definition.reader, self._reading.reader(trees)):
            return f"{definition} is not used: {why_not}"
        return BoundIndex(index, indexed(trees))


def usable(definition: Definition, kinds: Mapping[str, type[Index]]) -> Index | str:
    """The index of a definition, or why this session cannot use it."""
    kind = kinds.get(definition.kind)
    if kind is None:
        return f"{definition} is not used: no loaded plugin knows {definition.kind}; install the one that does"
    if kind.version != definition.version:
        return (
            f"{definition} is not used: collected by version {definition.version} of {definition.kind}, this is {kind.version};"
            " drop the index and create it again"
        )
    try:
        return kind(*definition.expressions, **definition.parameters)
    except Exception as error:
        return f"{definition} is not used: {error}"
