"""Lifting: records from what Parquet files say of themselves, instead of from their rows.

An index lifts where its `lift` makes a record of a `Footer`. A file is not read only if all indexes that are asked for lift; for local
files, that is: others are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from data_skip.building.collect import Collected
from data_skip.expression import Expression
from data_skip.footer import Footer
from data_skip.index import Index, Record
from data_skip.proofs.elements import indexed
from data_skip.store.definition import Definition

_THREADS = 8


@dataclass(frozen=True)
class Part:
    """A file as it was listed, by its number there, or one of several parts of it that are about equal."""

    number: int
    uri: str
    size: int
    modified: int  # in milliseconds
    place: int = 0
    parts: int = 1


def lift(files: Iterable[Part], definitions: Mapping[Index, Definition]) -> dict[int, Collected]:
    """The records of those files that need not be read, by their numbers. Where none of the first is such a one, no more are tried."""
    readers = [definition.reader for definition in definitions.values()]
    if not all(map(lifts, definitions)) or any(not by_name_from_parquet(reader) for reader in readers):
        return {}
    local = [file for file in files if is_local(file.uri)]
    trees = trees_of(definitions)
    with ThreadPoolExecutor(_THREADS) as pool:
        found: dict[int, Collected] = {}
        for some in (local[:_THREADS], local[_THREADS:]):
            lifted = pool.map(partial(_lift_one, trees=trees), some)
            found |= {file.number: known for file, known in zip(some, lifted, strict=True) if known is not None}
            if not found:
                break
        return found


def trees_of(definitions: Mapping[Index, Definition]) -> dict[Index, tuple[Expression, ...]]:
    """What each index keeps records of."""
    return {index: indexed(definition.bound_expressions) for index, definition in definitions.items()}


def lifts(index: Index) -> bool:
    """Whether an index may make its records of footers."""
    own: Callable[..., object] = type(index).lift
    return own is not Index.lift


def by_name_from_parquet(reader: Mapping[str, Any]) -> bool:
    """Whether a table's columns are those of its Parquet files that have their names."""
    return bool(reader["format"] == "parquet" and reader["session"].get("spark.sql.parquet.fieldId.read.enabled") != "true")


def _lift_one(file: Part, trees: Mapping[Index, tuple[Expression, ...]]) -> Collected | None:
    try:
        path = unchanged(file)
        return lifted(Footer(path, pq.read_metadata(path)), trees)
    except Exception:  # encrypted, gone, changed, no Parquet, or with names that are no text: Spark will say what it is
        return None


def lifted(footer: Footer, trees: Mapping[Index, tuple[Expression, ...]]) -> Collected | None:
    """The records of a file from its footer; None where one of them cannot be made of it."""
    if footer.signed:
        return None
    records: list[Record | None] = []
    for index, expressions in trees.items():
        if (record := index.lift(footer, expressions)) is None:
            return None
        records.append(record)
    return Collected(footer.metadata.num_rows, records=records)


def is_local(uri: str) -> bool:
    """Whether a file lies in a file system that every process of this machine sees."""
    return uri.startswith("file:")


def local_path(uri: str) -> Path:
    """The path of a `file:` URI."""
    return Path(unquote(uri.removeprefix("file:")))


def unchanged(file: Part) -> Path:
    """The path of a local file. OSError where it is not the one that was listed."""
    path = local_path(file.uri)
    state = os.stat(path)
    if (state.st_size, state.st_mtime_ns // 1_000_000) != (file.size, file.modified):
        raise OSError("it has changed, or is another one where it is read")
    return path
