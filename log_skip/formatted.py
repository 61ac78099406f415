"""Formatted: the template that makes an index of any parsing function (Extensible Data Skipping, III-B)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from data_skip import ValueList
from data_skip.index import Index, refuse_number
from data_skip.plugin import Sample
from log_skip.extractors import known


class Formatted(ValueList):
    """The distinct values that an extractor finds in a column: `Formatted("user_agent", "get_agent_name")`.

    Serves any deterministic predicate about `get_agent_name(user_agent)`: =, IN, LIKE, <>, IS NULL. `constants` are the arguments of the
    extractor after the string, as [2] for path_prefix(path, 2). The version of the extractor belongs to the index: records of another
    version are not used.
    """

    def __init__(
        self,
        column: str,
        extractor: str,
        constants: Sequence[Any] = (),
        extractor_version: int | str | None = None,
        limit: int = 10_000,
    ) -> None:
        found = known(extractor)
        if extractor_version is not None and extractor_version != found.version:
            advice = "drop the index and create it again"
            raise ValueError(f"collected by version {extractor_version} of extractor {extractor}, this is {found.version}; {advice}")
        if not isinstance(constants, list | tuple):
            raise ValueError(f"constants are a list, as [2], not {constants!r}")
        refuse_number(limit, "limit is the largest number of values kept a file")
        parameters = {"extractor": found.name, "constants": list(constants), "extractor_version": extractor_version, "limit": limit}
        Index.__init__(self, column, **parameters)
        self._sql = found.over(column, self.constants)

    extractor: str
    constants: list[Any]

    def __str__(self) -> str:
        return f"Formatted({', '.join([*self.expressions, *map(repr, [self.extractor, *([self.constants] if self.constants else [])])])})"

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self._sql,)

    def fitted(self, sample: Sample) -> Index:
        """The index with the version of the extractor that is going to collect."""
        (column,) = self.expressions
        return Formatted(column, self.extractor, self.constants, known(self.extractor).version, self.limit)
