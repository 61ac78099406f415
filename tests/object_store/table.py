"""A table in the bucket of the server: its files are written straight into the server's folder."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from data_skip import Index, QueryReport, Skipping, Table
from tests.object_store.server import Server
from tests.support import rows_of


class Bucket:
    """A table in a folder of the bucket: `folder` is where its files lie on this machine, `uri` where Spark finds them."""

    def __init__(self, spark: SparkSession, skipping: Skipping, server: Server, folder: Path, uri: str) -> None:
        self.spark, self.skipping, self.server, self.folder, self.uri = spark, skipping, server, folder, uri
        folder.mkdir(parents=True)

    def file(self, name: str, columns: Mapping[str, Any], age: float = 7200.0) -> Path:
        """Writes one Parquet file, dated back by some seconds."""
        return self._placed(name, age, lambda path: pq.write_table(pa.table(dict(columns)), path))

    def text(self, name: str, content: str, age: float = 7200.0) -> Path:
        return self._placed(name, age, lambda path: path.write_text(content))

    def _placed(self, name: str, age: float, write: Any) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = self.server.folder / "part"
        write(part)
        moment = time.time() - age
        os.utime(part, (moment, moment))
        os.replace(part, path)
        return path

    def numbers(self, count: int = 4, rows: int = 10) -> None:
        """Files `0.parquet`, ... of which file i has x from rows * i on."""
        for i in range(count):
            first = rows * i
            self.file(f"{i}.parquet", {"x": range(first, first + rows), "s": [f"{'ab'[i % 2]}{x}" for x in range(first, first + rows)]})

    def table(self, **reader: Any) -> Table:
        return self.skipping.table(self.uri, **reader)

    def index(self, *indexes: Index, **reader: Any) -> Table:
        table = self.table(**reader)
        report = table.create_index(*indexes)
        assert report.files_too_recent == 0
        return table

    def view(self, format: str = "parquet", schema: str | None = None, **options: str) -> DataFrame:
        reader = self.spark.read.format(format).options(**options)
        frame = (reader.schema(schema) if schema else reader).load(self.uri)
        frame.createOrReplaceTempView("t")
        return frame

    def query(self, sql: str, read: int | None = None) -> QueryReport:
        """Rows are those of plain Spark, nothing failed, and the last scan reads so many files."""
        with self.skipping.disabled():
            expected = rows_of(self.spark.sql(sql))
        assert rows_of(self.spark.sql(sql)) == expected, f"skipping changed the rows of {sql}"
        report = self.skipping.report()
        assert [error for scan in report.scans for error in scan.errors] == []
        assert read is None or report.scans[-1].files_read == read, f"{sql}\n{report}"
        return report

    def check(self, where: str, read: int | None = None, **view: Any) -> QueryReport:
        self.view(**view)
        return self.query(f"SELECT * FROM t WHERE {where}", read)
