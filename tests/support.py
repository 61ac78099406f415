"""What tests share: writing tables file by file, and comparing rows with and without skipping."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from data_skip import Index, QueryReport, ScanReport, Skipping
from data_skip.files.listing import Listing
from data_skip.planning.indicators import matches
from data_skip.table import Table

# Hadoop's thousand defaults stand in its code as in its files, and Spark copies and sends those of the files with every job: half of
# what a small job takes. `test-newest` and `test-versions`, the demo and the benchmarks run with them.
HADOOP_DEFAULTS = str(Path(__file__).parent / "hadoop_defaults") if pyspark.__version__.startswith("4.0.") else ""

JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1",  # a run is too short, and its plans too many, for what the second compiler gives: it took half of two cores
    "-XX:ReservedCodeCacheSize=512m",  # of the first is too small for what is generated: a third of a core went into compiling again
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",  # of thousands of classes, and of all that Spark compiles
    "-XX:+UseSerialGC -Xms1500m -Xmn800m",  # a twentieth of the time went into collecting a small young generation
)


class Lake:
    """A table in one folder, a file for each call of `file`, read by the view `t`."""

    def __init__(self, spark: SparkSession, skipping: Skipping, folder: Path) -> None:
        self.spark, self.skipping, self.folder = spark, skipping, folder
        self._viewed: DataFrame | None = None
        self._view: int | None = None  # what the session knows of the view `t` that is made of it
        self._state, self._rows = "", None
        self._plain = ""  # what files and settings were when the view `t` was made with no options
        self.ran = False  # whether a query ran since the files and the settings are what they are
        folder.mkdir(parents=True, exist_ok=True)

    def file(self, name: str, columns: Mapping[str, Any] | pa.Table) -> Path:
        """Writes one Parquet file, dated back, so that it is not too recent to be indexed."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(dict(columns)), path)
        return aged(path)

    def bytes(self, name: str, content: bytes) -> Path:
        """Writes one file as it is, dated back as `file` does."""
        path = self.folder / name
        path.write_bytes(content)
        return aged(path)

    def text(self, name: str, content: str, encoding: str = "utf-8") -> Path:
        """As `bytes`, of text."""
        return self.bytes(name, content.encode(encoding))

    def lines(self, name: str, *lines: str) -> Path:
        """As `text`, a line each."""
        return self.text(name, "".join(f"{line}\n" for line in lines))

    def spark_file(self, name: str, rows: DataFrame, format: str = "parquet", **options: str) -> Path:
        """Writes one file with Spark, in any format."""
        folder = self.folder.parent / f"{name}.spark"
        rows.coalesce(1).write.format(format).options(**options).mode("overwrite").save(str(folder))
        (part,) = (p for p in folder.iterdir() if p.name.startswith("part-"))
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part.replace(path)
        return aged(path)

    def spark_files(self, names: Sequence[str], rows: DataFrame, format: str = "parquet", **options: str) -> dict[str, Path]:
        """As `spark_file`, a file for each partition of the rows, in one job. They lie beside the table until they are moved."""
        folder = self.folder.parent / f"{names[0]}.spark"
        rows.write.format(format).options(**options).mode("overwrite").save(str(folder))
        parts = sorted(p for p in folder.iterdir() if p.name.startswith("part-"))
        return {name: aged(part.rename(folder / name)) for name, part in zip(names, parts, strict=True)}

    def table(self, **reader: Any) -> Table:
        """The table of data-skip; reader: format, schema, options."""
        return self.skipping.table(str(self.folder), **reader)

    def index(self, *indexes: Index, **reader: Any) -> Table:
        """Creates indexes over all files."""
        table = self.table(**reader)
        report = table.create_index(*indexes)
        assert report.files_too_recent == 0, "the test wrote files that are too recent to be indexed"
        return table

    def view(self, name: str = "t", format: str = "parquet", schema: Any = None, **options: str) -> DataFrame:
        """Reads the folder as it is now, as a temporary view."""
        reader = self.spark.read.format(format).options(**options)
        frame = (reader.schema(schema) if schema else reader).load(str(self.folder))
        frame.createOrReplaceTempView(name)
        if name == "t":
            self._viewed, self._view = frame, self._known_view()
            self._plain = "" if schema or options or format != "parquet" else self._state_of_files()
        return frame

    def _known_view(self) -> int | None:
        """Tells a view `t` from another one; None where there is none."""
        found = self.spark._jsparkSession.sessionState().catalog().getRawTempView("t")
        return None if found.isEmpty() else int(found.hashCode())

    def check(self, where: str, read: Iterable[str] | None = None, *, errors: bool = False) -> ScanReport:
        """Rows of `SELECT * FROM t WHERE ...` are the same with skipping and without, and (if given) exactly these files were read.

        The view `t` is made anew, so that it sees the files of this moment, unless the test made one. Of the same files and settings the
        first query runs; of the next ones, Spark plans which files it reads, and all that hold a row are among them.
        """
        if self._known_view() is None and not self.spark.catalog.tableExists("t"):
            self.view()
        sql = f"SELECT * FROM t WHERE {where}"
        holding = self.holding(where)
        scans = [] if holding is None else self.skipping.jvm.scans(self.spark.sql(sql))
        if holding is None or not scans or (not self.ran and not self._runs(where)):
            scanned = self.query(sql, read, errors=errors).scans
            return scanned[-1] if scanned else ScanReport("nothing, since no row matches")
        report = self.skipping.decide(listing := Listing.now(scans[-1]))
        assert errors or not report.errors, report.errors
        kept = self._kept(listing)
        assert holding <= kept, f"skipping loses rows of {where}: in {sorted(holding - kept)}"
        assert read is None or kept == set(read), f"{sql}\n{report}"
        return report

    def _runs(self, where: str) -> bool:
        """Whether a query with skipping gives the rows at hand. Where not, it is for plain Spark's own run to say which are right."""
        assert self._rows is not None
        try:
            with self.skipping.disabled():
                expected = rows_of(self._rows.where(where).drop(FILE))
            self.ran = rows_of(self.spark.sql(f"SELECT * FROM t WHERE {where}")) == expected
        except ValueError:  # a time that Python cannot hold
            self.ran = False
        return self.ran

    def holding(self, where: str) -> set[str] | None:
        """The files that hold a row of `t` for which a predicate is true, as plain Spark evaluates it over rows at hand.

        None where the predicate has to run: it tells something else where nothing is read.
        """
        if _OF_A_RUN.search(where) or self._viewed is None or self._view != self._known_view():
            return None
        if (state := self._state_of_files()) != self._state:
            self._state, self._rows, self.ran = state, None, False
        try:
            with self.skipping.disabled(), settings_of(self.spark, INTERPRETED):
                if self._rows is None:
                    self._rows = at_hand(self._viewed)
                found = self._rows.where(where).selectExpr(f"`{FILE}`").collect()
        except PySparkException:
            return None
        return {self._relative(path) for (path,) in found}

    def _state_of_files(self) -> str:
        """Changes with the files, the view and the session's settings."""
        files = (f"{path}{path.stat().st_mtime_ns}{path.stat().st_size}" for path in sorted(self.folder.rglob("*")) if path.is_file())
        settings = self.spark._jsparkSession.sessionState().conf().getAllConfs().hashCode()
        return f"{settings} {id(self._viewed)} {''.join(files)}"

    def _relative(self, path: str) -> str:
        return unquote(path.removeprefix("file:")).removeprefix("//").removeprefix(str(self.folder.resolve()) + "/")

    def query(self, sql: str, read: Iterable[str] | None = None, *, errors: bool = False) -> QueryReport:
        """As `check`, for a whole query; `read` is about its last scan."""
        with self.skipping.disabled():
            expected = rows_of(self.spark.sql(sql))
        frame = self.spark.sql(sql)
        assert rows_of(frame) == expected, f"skipping changed the rows of {sql}"
        report = self.skipping.report()
        if not errors:
            assert [e for scan in report.scans for e in scan.errors] == []
        if read is not None:
            assert self._read_by(frame) == set(read), f"{sql}\n{report}"
        return report

    def reads(self, *wheres: str) -> list[set[str]]:
        """The files that each predicate reads. All that hold a row of it are among them: one query tells for all predicates which.

        So it tells what `check` does, of many predicates in a tenth of the time.
        """
        if not self._plain or self._view != self._known_view() or self._plain != self._state_of_files():
            self.view()
        frame = self._viewed
        assert frame is not None
        with self.skipping.disabled():
            found = matches(frame, wheres)
        read = []
        for i, where in enumerate(wheres):
            read.append(files_read(self.skipping, frame.where(where), self.folder, errors=False))
            needed = {self._relative(row["file"]) for row in found if row[f"q{i}"]}
            assert needed <= read[-1], f"skipping loses rows of {where}: in {sorted(needed - read[-1])}"
        return read

    def read_by(self, sql: str) -> set[str]:
        """The names of the files that the last scan of a query reads (relative to the folder)."""
        return self._read_by(self.spark.sql(sql))

    def _read_by(self, frame: DataFrame) -> set[str]:
        return files_read(self.skipping, frame, self.folder)

    def _kept(self, listing: Listing) -> set[str]:
        return {self._relative(path) for path in listing.kept}


# What is another value where rows are at hand, or no predicate.
_OF_A_RUN = re.compile(r"(?i)select|input_file|_metadata|rand|uuid|shuffle|partition_id|monotonically|\blimit\b|\border\b|\bgroup\b|--")
FILE = "file of the row"
INTERPRETED = {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}  # of few rows: to compile takes longer


@contextmanager
def settings_of(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Within, the session has these settings."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def at_hand(frame: DataFrame, file: str = "file_path") -> DataFrame:
    """The rows with their files, read now. Over rows at hand Spark's optimizer evaluates predicates by itself, with no job."""
    spark, java8 = frame.sparkSession, "spark.sql.datetime.java8API.enabled"  # which holds every date and timestamp exactly
    before = spark.conf.get(java8)
    spark.conf.set(java8, "true")
    try:
        read = frame.select(F.col(f"_metadata.{file}").alias(FILE), "*")._jdf
        return DataFrame(spark._jsparkSession.createDataFrame(read.collectAsList(), read.schema()), spark)
    finally:
        spark.conf.set(java8, before)


def files_read(skipping: Skipping, frame: DataFrame, folder: Path, *, errors: bool = True) -> set[str]:
    """The files, relative to a folder, that the last skipping scan of a DataFrame reads; errors: whether filters may fail."""
    scans = skipping.jvm.scans(frame)
    if not scans and not frame.inputFiles():
        return set()  # Spark knows the rows without a scan
    listing = Listing.now(scans[-1])
    report = skipping.decide(listing)
    assert errors or not report.errors, report.errors
    root = str(folder.resolve()) + "/"
    return {unquote(path.removeprefix("file:")).removeprefix("//").removeprefix(root) for path in listing.kept}


def compared(spark: SparkSession, skipping: Skipping, queries: Iterable[str]) -> int:
    """Runs each query with skipping and without: rows are the same, nothing failed. How many files were skipped, in all."""
    skipped = 0
    for sql in queries:
        with skipping.disabled():
            expected = rows_of(spark.sql(sql))
        known = {report.execution_id for report in skipping.reports()}
        assert rows_of(spark.sql(sql)) == expected, sql
        report = skipping.report()
        if report.execution_id not in known:
            assert [error for scan in report.scans for error in scan.errors] == [], sql
            skipped += sum(scan.files_skipped for scan in report.scans)
    return skipped


def rows_of(frame: DataFrame) -> Counter[str]:
    """The rows, whatever their order; NaN equals NaN."""
    return Counter(repr(row) for row in frame.collect())


def aged(path: Path, seconds: float = 7200.0) -> Path:
    """Dates a file back. The fraction tells data-skip that this clock has a resolution finer than a second."""
    moment = time.time() - seconds + 0.123
    os.utime(path, (moment, moment))
    return path


def same_size(path: Path, rows: pa.Table) -> None:
    """Replaces a file by another one of the same size: few rows, filled up with metadata."""
    size = path.stat().st_size
    for key in ("fill", "filled"):  # longer text may take a byte more to tell its length: then one key misses the size
        fill = 0
        for _ in range(5):
            with pq.ParquetWriter(path, rows.schema, store_schema=False) as writer:
                writer.write_table(rows.slice(0, 1))
                writer.add_key_value_metadata({key: "x" * fill})
            missing = size - path.stat().st_size
            if missing == 0:
                return
            fill += missing
            assert fill >= 0, f"a row alone takes more than the {size} bytes of {path}"
    raise AssertionError(f"{path} misses its size of {size} bytes by {missing}")
