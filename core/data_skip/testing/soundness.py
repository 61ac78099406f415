"""check_index: is an index sound? For everyone who writes one.

    from data_skip.testing import check_index
    from max_length import MaxLength

    def test_max_length_is_sound_and_useful():
        rows = [{"city": "Rome"}, {"city": None}, {"city": "Llanfairpwllgwyngyll"}]
        checked = check_index(MaxLength("city"), rows, ["length(city) > 8", "length(city) > 8 OR city IS NULL"])
        assert checked.skipped["length(city) > 8"]
        print(checked)

    MaxLength(city) is sound on 11 files:
      length(city) > 8                  skips 7: nulls, one-row-0, one-row-2, round-robin-0, round-robin-1, sorted-0, sorted-2
      length(city) > 8 OR city IS NULL  skips 0

Give it the rows that are hard for your index (NULL, NaN, empty, very long, unicode, extreme) and predicates that it serves,
each also under NOT and OR. What it proves is one-sided: no false skip was found on these rows.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from data_skip.building.collect import collect_records, finish_records, merge_records
from data_skip.building.rows import as_column
from data_skip.clause import Clause, Mask, Records, survivors
from data_skip.errors import DataSkipError
from data_skip.expression import Call
from data_skip.files.listing import Listing
from data_skip.filters import FilterFunction
from data_skip.index import Index, Record
from data_skip.planning.decide import represent
from data_skip.planning.merging import Decision
from data_skip.session import Skipping, enable
from data_skip.spark.errors import first_line
from data_skip.store import Snapshot

Rows: TypeAlias = "Sequence[Mapping[str, Any]] | pa.Table | DataFrame"

_FILES = 4  # of a layout
_ONE_ROW_FILES = 40
_MOST_BATCHES = 50
_ROW = "data_skip_row"


@dataclass(frozen=True)
class Checked:
    """What `check_index` found: the files that each predicate skipped, named by layout; `unknown`: why some records are, if some are.

    `served`: the filters that yielded a clause, each with the name of a node for which it did.
    """

    index: str
    files: tuple[str, ...]
    skipped: Mapping[str, tuple[str, ...]]
    unknown: str = ""
    served: frozenset[tuple[FilterFunction, str]] = frozenset()

    def __str__(self) -> str:
        width = max(map(len, self.skipped))
        lines = [f"{self.index} is sound on {len(self.files)} files:"]
        for predicate, files in self.skipped.items():
            lines.append(f"  {predicate:<{width}}  skips {len(files)}{': ' if files else ''}{', '.join(files)}")
        return "\n".join([*lines, *([f"  unknown for some files, which are read: {self.unknown}"] if self.unknown else [])])


def check_index(index: Index, rows: Rows, predicates: Iterable[str], spark: SparkSession | None = None) -> Checked:
    """Asserts that an index never skips a file with a matching row. See the example at the top of this module.

    `rows` are dicts, a pyarrow Table or a Spark DataFrame; `predicates` SQL over their columns. The rows are dealt out over files in
    several layouts: sorted by the index's expressions, round-robin, all in one file, one row a file, only NULLs. Then, for each predicate:

    - no file is skipped in which plain Spark finds a matching row;
    - nor would it be with a record merged from batches of the file, whatever the batches and the order;
    - a record that loses a field, or all of them, may keep a file that it skipped before, never skip one that it kept.

    AssertionError where one of these fails, naming index, predicate, file and record. DataSkipError for rows that are none, and
    predicates that Spark refuses or that raise an error on these rows. data-skip stays enabled in the session.
    """
    texts = list(dict.fromkeys(predicates))
    if isinstance(predicates, str) or not texts:
        raise DataSkipError(f"predicates is a list of SQL texts, as ['length(city) > 4'], not {predicates!r}")
    spark = spark or SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    skipping = enable(spark)
    with TemporaryDirectory(prefix="data-skip-check-") as temporary:
        folder = Path(temporary).resolve() / "table"
        _write_layouts(index, _table(rows), texts, folder, spark)
        table = skipping.table(str(folder), format="parquet")
        store = skipping.catalog.store(table.root)
        try:
            (index,) = table.fitted(index)
            report = table.create_index(index)
            snapshot = store.snapshot()
            if snapshot is None:
                raise DataSkipError(f"the index that was just created at {store.location} is not there")
            subject = _Subject(skipping, index, spark.read.parquet(str(folder)), snapshot)
            unknown = "; ".join(dict.fromkeys(filter(None, [*report.unknown.values(), subject.unmerged])))
            skipped = subject.checked(texts)
            return Checked(str(index), tuple(sorted(subject.files)), skipped, unknown, frozenset(subject.served))
        finally:
            rmtree(store.location, ignore_errors=True)  # with an index_root it lies elsewhere


def _table(rows: Rows) -> pa.Table:
    if isinstance(rows, DataFrame) and " collate " in rows.schema.simpleString():
        raise DataSkipError(f"check_index does not keep collations, and would check something else: {rows.schema.simpleString()}")
    table = rows if isinstance(rows, pa.Table) else rows.toArrow() if isinstance(rows, DataFrame) else pa.Table.from_pylist(list(rows))
    if table.num_rows == 0:
        raise DataSkipError("check_index needs rows to check an index on; there is none")
    return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))


def _write_layouts(index: Index, rows: pa.Table, predicates: list[str], folder: Path, spark: SparkSession) -> None:
    """Writes the rows into one folder, in every layout."""
    numbers = list(range(rows.num_rows))
    _write(rows.append_column(_ROW, pa.array(numbers)), folder.parent / "numbered" / "rows.parquet")
    order = numbers
    try:
        numbered = spark.read.parquet(str(folder.parent / "numbered"))
        ordered = numbered.coalesce(1).sortWithinPartitions(*(F.expr(sql) for sql in index.expressions), _ROW)  # without an exchange
        order = ordered.select(_ROW).toArrow()[_ROW].to_pylist()
    except PySparkException:  # values without an order: create_index will say what else is wrong
        pass
    cut = -(-len(order) // _FILES)
    layouts = {
        "sorted": [order[i : i + cut] for i in range(0, len(order), cut)],
        "round-robin": [numbers[i::_FILES] for i in range(_FILES)],
        "all": [numbers],
        "one-row": [[order[i]] for i in range(0, len(order), -(-len(order) // _ONE_ROW_FILES))],
    }
    for layout, files in layouts.items():
        for i, chosen in enumerate(filter(None, files)):
            _write(rows.take(chosen), folder / f"{layout}-{i}.parquet", statistics=layout == "round-robin")
    nulls = _write(pa.table([pa.array([None] * 3, field.type) for field in rows.schema], schema=rows.schema), folder / "nulls.parquet")
    try:
        spark.read.parquet(str(nulls)).select(*(F.expr(sql) for sql in (*index.expressions, *predicates))).collect()
    except PySparkException:  # a function that takes no NULL
        nulls.unlink()


def _write(rows: pa.Table, path: Path, statistics: bool = False) -> Path:
    """A file that is old enough to be indexed; without statistics Spark itself skips nothing in it, with them `Index.lift` has its turn."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(rows, path, write_statistics=statistics, use_dictionary=False, coerce_timestamps="us", allow_truncated_timestamps=True)
    moment = time.time() - 3600 + 0.123
    os.utime(path, (moment, moment))
    return path


@dataclass(frozen=True)
class _Variants:
    """Records that might have been, each with the number of the file that it is about."""

    files: npt.NDArray[np.int64]
    column: pa.StructArray


class _Subject:
    """An index over the dealt table, and what each predicate is held against. A file is known by its number in the snapshot."""

    def __init__(self, skipping: Skipping, index: Index, frame: DataFrame, snapshot: Snapshot) -> None:
        self.skipping, self.index, self.frame, self.snapshot = skipping, index, frame, snapshot
        self.files = [file.path.removesuffix(".parquet") for file in snapshot.files]
        self.stored = _Variants(np.arange(len(self.files)), snapshot.records([index.column])[index.column])
        self.served: set[tuple[FilterFunction, str]] = set()
        self.merged = self._merged_from_batches()
        self.blanked = _blanked(self.stored)

    def checked(self, predicates: list[str]) -> dict[str, tuple[str, ...]]:
        """The files that each predicate skips. AssertionError where it skips one wrongly."""
        if refused := [why for predicate in predicates if (why := self._refused(predicate))]:
            raise DataSkipError(f"Spark does not understand {'; nor '.join(refused)}")
        frames = [self.frame.where(predicate) for predicate in predicates]
        truth = self._truth(predicates)
        return {p: self._check(p, frame, matching) for p, frame, matching in zip(predicates, frames, truth, strict=True)}

    def _refused(self, predicate: str) -> str:
        try:
            self.frame.where(predicate)
        except PySparkException as error:
            return f"{predicate!r}: {first_line(error)}"
        return ""

    def _truth(self, predicates: list[str]) -> list[Mask]:
        """For each predicate the files that hold a matching row: Spark's answer, without skipping."""
        counts = [F.count_if(F.expr(predicate)).alias(f"p{i}") for i, predicate in enumerate(predicates)]
        try:
            with self.skipping.jvm.unnoticed(), self.skipping.disabled():
                found = self.frame.coalesce(1).groupBy(F.col("_metadata.file_name").alias("file")).agg(*counts).collect()
        except PySparkException as error:
            raise DataSkipError(f"one of the predicates cannot be evaluated on these rows: {first_line(error)}") from error
        rows = {row["file"].removesuffix(".parquet"): row for row in found}
        return [np.array([rows[file][f"p{i}"] > 0 for file in self.files], dtype=bool) for i in range(len(predicates))]

    def _check(self, predicate: str, frame: DataFrame, matching: Mask) -> tuple[str, ...]:
        scans = self.skipping.jvm.scans(frame)
        if not scans:
            return ()  # Spark finds no predicate left to ask about
        listing = Listing.now(scans[-1])
        report = self.skipping.decide(listing)
        if problems := [*filter(self._is_ours, report.errors), *report.notes]:
            raise AssertionError(f"{self.index} cannot be used for `{predicate}`: {'; '.join(problems)}")
        names = [path.rsplit("/", 1)[-1].removesuffix(".parquet") for path in listing.paths]
        skipped = tuple(sorted(name for name, kept in zip(names, listing.keep, strict=True) if not kept))
        numbers = {file: i for i, file in enumerate(self.files)}
        keep = np.ones(len(self.files), dtype=bool)
        keep[[numbers[name] for name in skipped]] = False
        decision = represent(listing.scan, self.snapshot, self.skipping.catalog.knowledge, [])
        self.served.update(self._served(decision))
        clause = decision.clause
        self._refuse(~keep & matching, self.stored, "is skipped, though it holds a matching row", predicate, clause)
        why = "would be skipped, though it holds a matching row, with a record merged from batches"
        self._refuse(~self._survivors(clause, self.merged) & matching[self.merged.files], self.merged, why, predicate, clause)
        kept_before = self._survivors(clause, self.stored)[self.blanked.files]
        why = "is kept, but would be skipped if part of its record were unknown: a null field must keep the file"
        self._refuse(~self._survivors(clause, self.blanked) & kept_before, self.blanked, why, predicate, clause)
        return skipped

    def _is_ours(self, error: str) -> bool:
        """Whether an error is not one of a filter of some other plugin that the session knows."""
        package = re.match(r"filter (\w+)", error)
        return package is None or package[1] in ("data_skip", type(self.index).__module__.split(".")[0])

    def _served(self, decision: Decision) -> Iterator[tuple[FilterFunction, str]]:
        filters = self.skipping.catalog.knowledge.filters
        for node in (leaf.node for leaf in decision.leaves if isinstance(leaf.node, Call)):
            for function in filters.of(node.name):
                with suppress(Exception):  # which is told elsewhere
                    if any(True for _ in function(node, decision.indexes)):
                        yield function, node.name

    def _survivors(self, clause: Clause, variants: _Variants) -> Mask:
        try:
            return survivors(clause, Records({self.index.column: variants.column}), len(variants.files))
        except Exception as error:
            raise AssertionError(f"{self.index} cannot be used: its clause {clause} raises {type(error).__name__}: {error}") from error

    def _refuse(self, wrong: Mask, variants: _Variants, why: str, predicate: str, clause: Clause) -> None:
        """AssertionError about the first record that is wrong, if one is."""
        for i in np.flatnonzero(wrong):  # the first is enough
            file, record = variants.files[i], variants.column[i].as_py()
            stored = self.stored.column[file].as_py()
            lines = [f"{self.index} is not sound for `{predicate}`: file {self.files[file]} {why}", f"  record  {record}"]
            lines += [f"  stored  {stored}"] if variants is not self.stored else []
            raise AssertionError("\n".join([*lines, f"  clause  {clause}"]))

    def _merged_from_batches(self) -> _Variants:
        """Records of whole files, merged from batches of several sizes in random orders."""
        expressions = [F.expr(sql).alias(f"e{i}") for i, sql in enumerate(self.index.inputs)]
        values = self.frame.select(F.col("_metadata.file_name").alias(_ROW), *expressions).toArrow()
        random = Random(0)
        files: list[int] = []
        records: list[Record | None] = []
        failures: dict[Index, str] = {}
        for number, file in enumerate(self.files):
            rows = values.filter(pc.equal(values[_ROW], f"{file}.parquet"))
            columns = [column.combine_chunks() for column in rows.columns[1:]]
            for cuts in _cuts(len(rows), random):
                parts = [collect_records([self.index], [c.slice(a, b - a) for c in columns], {}) for a, b in pairwise(cuts)]
                while len(parts) > 1:
                    one, other = (parts.pop(random.randrange(len(parts))) for _ in range(2))
                    parts.append(merge_records([self.index], one, other, failures))
                files.append(number)
                records += finish_records([self.index], parts[0], failures)
        self.unmerged = failures.get(self.index, "")
        fitting: list[Record | None] = [{} if record is None else record for record in records]
        type_ = self.snapshot.fields[self.index.column].type
        return _Variants(np.array(files), as_column(fitting, type_)[0])


def _cuts(rows: int, random: Random) -> Iterator[list[int]]:
    """Places at which to cut a file into batches: single rows (of a large file: many batches), halves, anywhere."""
    yield [*range(0, rows, -(-rows // _MOST_BATCHES)), rows]
    yield sorted({0, rows // 2, rows})
    yield sorted({0, rows, *(random.randrange(rows) for _ in range(4))})


def _blanked(stored: _Variants) -> _Variants:
    """The records without one field, with one field only, without any, and no records."""
    column = stored.column
    names = [field.name for field in column.type]
    losses = {frozenset(lost) for name in names for lost in ([name], set(names) - {name}, names)}
    columns = [pa.nulls(len(column), column.type)]
    for lost in sorted(losses, key=sorted):
        fields = [pa.nulls(len(column), f.type) if f.name in lost else pc.struct_field(column, f.name) for f in column.type]
        columns.append(pa.StructArray.from_arrays(fields, fields=list(column.type)))
    return _Variants(np.tile(stored.files, len(columns)), pa.concat_arrays(columns))
