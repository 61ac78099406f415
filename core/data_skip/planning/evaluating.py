"""What a task does that evaluates a clause over a piece of an index: by the same code as the driver, some file versions at a time."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import fs

from data_skip.building.remote_files import RemoteFiles
from data_skip.building.same_code import Code
from data_skip.clause import AllOf, AnyOf, Clause, Comparison, Computed, Named, Records, Whole, survivors
from data_skip.spark.archives import forget_archives
from data_skip.store.guard import refuse_parts
from data_skip.store.parts import Fields, Piece, Rows
from data_skip.store.sizes import most_bytes

A_PART = 1 << 25  # bytes of the records that a task reads at once, and of a piece, by footers: workers have less memory than the driver

Opener = Callable[[Iterable[str]], Callable[[str], Any]]  # from the files that will be opened to what opens one


def portable(clause: Clause) -> Clause | None:
    """The clause as any process evaluates it, to the same answers: without words for people. None where that is not known of it.

    So it is of the core's kinds of clause, and of functions that are said to be pure.
    """
    if type(clause) in (Named, Whole):
        return portable(clause.clause)  # type: ignore[attr-defined]
    if isinstance(clause, AllOf | AnyOf) and type(clause) in (AllOf, AnyOf):
        parts = [known for part in clause.parts if (known := portable(part)) is not None]
        return type(clause)(tuple(parts)) if len(parts) == len(clause.parts) else None
    if type(clause) is Computed and clause.pure:
        return replace(clause, text="")
    return clause if type(clause) is Comparison else None


def locally(location: str) -> Opener:
    """Of an index in a folder that tasks see as the driver does."""

    def opener(paths: Iterable[str]) -> Callable[[str], Any]:
        refuse_parts(location, paths)
        return lambda path: fs.LocalFileSystem().open_input_file(f"{location}/{path}")

    return opener


def remotely(files: RemoteFiles) -> Opener:
    """Of an index on an object store."""
    return lambda paths: lambda path: files.opened(f"{files.root}/{path}")


def reader(clause: bytes, fields: Fields, schema: pa.Schema, opener: Opener, code: Code) -> Callable[[Iterable[Piece]], Iterator[bytes]]:
    """The function that runs in Spark's tasks. clause: pickled; schema: of the records."""

    def run(pieces: Iterable[Piece]) -> Iterator[bytes]:
        forget_archives()
        read: Clause | None = None
        for piece in pieces:
            answer: dict[str, Any] = {"why": ""}
            try:
                code.check()
                read = pickle.loads(clause) if read is None else read
                answer |= evaluated(read, piece, piece.rows(schema, opener(piece.paths)), fields)
            except Exception as error:  # whatever it is: the driver evaluates it, or says what is wrong with it
                answer["why"] = f"{type(error).__name__}: {error}"
            yield pickle.dumps(answer)

    return run


def evaluated(clause: Clause, piece: Piece, rows: Rows, fields: Fields) -> dict[str, Any]:
    """What a clause says of a piece: a bit a file version, whether it may match; and which row groups have no NaN in which fields.

    ValueError where a part of it takes more memory than a process reads of an index at once.
    """
    may_match = np.ones(len(piece.asked), dtype=bool)
    for part in rows.parts(fields, piece.asked, A_PART):
        size = sum(rows.groups.bytes_of(group, column, names, A_PART) for group in part.groups for column, names in fields.items())
        if size > most_bytes():
            raise ValueError(f"the index takes {size:,} bytes of memory at once, at most {most_bytes():,} are read")
        found = rows.records(part, fields, piece.asked)
        may_match[part.versions] = survivors(clause, Records(found), len(part.versions))
    without_nan = {field: [piece.numbers[i] for i in np.flatnonzero(flags)] for field, flags in rows.groups.without_nan.items()}
    return {"first": piece.first, "count": len(may_match), "bits": np.packbits(may_match), "without_nan": without_nan}
