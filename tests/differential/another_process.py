"""What a process of its own does to a table and its index: it has a Spark of its own, and this one knows nothing of it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import data_skip
from data_skip import MinMax
from data_skip.table import Table

ROWS = 4  # of each file

_opened: dict[str, Table] = {}  # of this process


def table(folder: str) -> Table:
    """The table at a folder, opened once."""
    if folder not in _opened:
        settings = {"spark.ui.enabled": "false", "spark.driver.memory": "600m", "spark.sql.session.timeZone": "UTC"}
        builder = SparkSession.builder.master("local[1]").config(map=settings)
        _opened[folder] = data_skip.enable(builder.getOrCreate()).table(folder)
    return _opened[folder]


def do(folder: str, what: str) -> str:
    """create, refresh, drop, compact, put together or vacuum; "" or why not."""
    try:
        if what == "create":
            table(folder).create_index(MinMax("x"))
        elif what == "drop":
            table(folder).drop_index(MinMax("x"))
        elif what == "put together":
            table(folder)._store.put_together()
        else:
            getattr(table(folder), what)()
    except data_skip.DataSkipError as error:
        return str(error)
    return ""


def write(path: str, content: int, first: int, moment: int) -> None:
    """Puts a file there, at once, in the place of another one of the same size: `content` tells its rows, of `x` from `first` on.

    moment: when it was changed, in milliseconds.
    """
    rows = pa.table({"content": [content] * ROWS, "x": list(range(first, first + ROWS))})
    hidden = Path(path).with_name(f".{Path(path).name}")
    pq.write_table(rows, hidden, compression="none", use_dictionary=False, write_statistics=False)
    os.utime(hidden, ns=(moment * 1_000_000 + 123_456, moment * 1_000_000 + 123_456))
    hidden.rename(path)


def delete(path: str) -> None:
    """Deletes a file."""
    Path(path).unlink()
