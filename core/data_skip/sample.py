"""A sample of a table, for indexes whose parameters are chosen from the data: some of its files, read as the table is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from data_skip.errors import DataSkipError

if TYPE_CHECKING:  # Spark takes long to import, and who has an index may need none
    from pyspark.sql import DataFrame

FILES, ROWS, FIRST = 64, 50_000, 10_000


class Sample:
    """Up to 64 files of a table, spread evenly over its listing. Nothing is listed or read before it is asked."""

    def __init__(
        self,
        open_: Callable[[], tuple[int, DataFrame]],
        first: Callable[[DataFrame, int], DataFrame],
        why: Callable[[Exception], str],
    ) -> None:
        """open_: how many files there are, and those that are sampled; first: so many rows of each part that a task reads.

        why: what an error of Spark says to people.
        """
        self._open, self._first, self._why = open_, first, why

    @cached_property
    def _opened(self) -> tuple[int, DataFrame]:
        return self._open()

    @property
    def files(self) -> int:
        """How many files the table has."""
        return self._opened[0]

    def knows(self, function: str) -> bool:
        """Whether the session that reads the table has a function of this name; no file is read."""
        from pyspark.errors import PySparkException

        try:
            return self._opened[1].sparkSession.catalog.functionExists(function)
        except PySparkException:  # a name that none can have
            return False

    def values(self, *expressions: str) -> pa.Table:
        """The distinct values of SQL expressions in each sampled file, up to 50,000 rows: columns `file`, `v0`, `v1`, ..."""
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as F

        names = [f"v{i}" for i in range(len(expressions))]
        if self.files == 0:
            return pa.table({name: pa.nulls(0) for name in ("file", *names)})
        frame = self._opened[1]
        try:
            columns = [F.expr(sql).alias(name) for sql, name in zip(expressions, names, strict=True)]
            found = frame.select(frame.metadataColumn("_metadata")["file_path"].alias("file"), *columns).distinct().limit(ROWS).toArrow()
        except PySparkException as error:
            raise self._unread(", ".join(expressions), error) from error
        return _decodable(found.combine_chunks())

    def holds(self, condition: str) -> bool:
        """Whether a SQL condition is true of some row: only the first 10,000 of each part that a task reads are asked."""
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as F

        if self.files == 0:
            return False
        try:
            return not self._first(self._opened[1].select(F.expr(condition).alias("holds")), FIRST).where("holds").isEmpty()
        except PySparkException as error:
            raise self._unread(condition, error) from error

    def _unread(self, what: str, error: Exception) -> DataSkipError:
        return DataSkipError(f"no sample of {what} can be read: {self._why(error)}")


def _decodable(found: pa.Table) -> pa.Table:
    """The rows whose text is UTF-8. Of a file with other text nothing will be known, but for the table something is to be chosen."""
    try:
        found.validate(full=True)
    except pa.ArrowInvalid:
        found = found.filter(pa.array([_is_decodable(found, i) for i in range(len(found))]))
    return found


def _is_decodable(found: pa.Table, row: int) -> bool:
    try:
        found.slice(row, 1).to_pylist()
    except UnicodeDecodeError:
        return False
    return True


def spread(count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of `count` files are sampled."""
    chosen = np.zeros(count, dtype=bool)
    if count:
        chosen[np.linspace(0, count - 1, min(FILES, count)).round().astype(int)] = True
    return chosen
