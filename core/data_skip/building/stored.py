"""Which of a table's stored indexes an index is that somebody asks for."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature

import pyarrow as pa

from data_skip.index import Index
from data_skip.store import Snapshot
from data_skip.store.definition import Definition


def stored_columns(index: Index, definitions: Mapping[str, Definition]) -> list[str]:
    """The columns of an index in the store: several only where a parameter is None, which stands for whatever was chosen."""
    if index.column in definitions:
        return [index.column]
    if None not in index.parameters.values():
        return []
    return [
        column
        for column, known in definitions.items()
        if (known.kind, known.expressions) == (index.kind, index.expressions)
        and all(value is None or known.parameters.get(name) == value for name, value in index.parameters.items())
    ]


def tuned_otherwise(index: Index, known: Definition) -> bool:
    """Whether a stored index is of the same kind and expressions, and made differently by parameters that have a default.

    Those that have none say what it is: Formatted(x, 'is_bot') is another index than Formatted(x, 'is_mobile').
    """
    must = [name for name, parameter in signature(type(index)).parameters.items() if parameter.default is Parameter.empty]
    return (known.kind, known.expressions) == (index.kind, index.expressions) and all(
        known.parameters.get(name) == index.parameters[name] for name in must if name in index.parameters
    )


def complete(snapshot: Snapshot, columns: list[str]) -> pa.Table:
    """The file versions that have been collected for all of these indexes, whether or not something is known of them."""
    return snapshot.keys.filter(pa.array(snapshot.collected(columns)))
