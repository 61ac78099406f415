"""The index of a table as a Delta table of its own: one row a data file, one struct column an index.

    path               string   relative to the table's root, escaped as in a URI
    size               long     bytes
    modification_time  long     milliseconds since 1970
    row_count          long     null where it may change with how the file is cut into parts
    generation         long     even of a file version that was listed last, odd of one that was gone by then; null is 0
    collected          boolean  false of a row that says only that the file is there, or gone; null is true
    _of_table          long     for which table it was written; rows for another, deleted meanwhile, are left out; null is this one
    min_max__temp      struct<min: double, ...>     the definition of the index, as JSON, in the column's metadata
    ...

A generation only grows: the largest of a version's rows counts, so the order of commits does not matter. A file that is
there and cannot be collected yet has a row as well, and so has one that Spark lists but does not read, as an empty one: it takes the
types of partitions, or the columns, of it. So the last snapshot is a listing of the table.

Append-only. A record belongs to one version of a file (path, size, modification time): a file that changed has no record
until it is collected again, and the old row is dead. So two writers never overwrite each other; where rows for the same
version meet, each index takes any row that holds a record of it: all are true. `compact` drops dead rows. Rows are dropped, and columns,
only in the version in which they were read: what Delta would allow beside, an append, would leave records of a column that is no longer
declared, and whoever declares it again, perhaps in another way, would find them. `put_together` takes nothing away.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import ColumnProperties, DeltaTable, WriterProperties, write_deltalake
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import RemoveAction

from data_skip.store.commit import AS_READ, FAILURES, Commit
from data_skip.store.definition import Definition, another_reader
from data_skip.store.guard import MOST_COMMIT, MOST_LOG, refuse_links
from data_skip.store.history import Step, steps
from data_skip.store.layout import (
    BASE,
    DEFINITION,
    KEYS,
    OF_TABLE,
    FileKey,
    StoreError,
    declared,
    defined,
    keys_of,
)
from data_skip.store.left_behind import added_by
from data_skip.store.new_parts import NewPart, added, refuse_lost, rows_in_group
from data_skip.store.object_place import ELSEWHERE
from data_skip.store.records import MOST_ROWS
from data_skip.store.rewriting import Order, rewritten, rows_again
from data_skip.store.snapshot import Snapshot
from data_skip.store.vacuuming import DeltaVacuum
from data_skip.store.writing import UNDELETED, UNWRITTEN, Written, transact

RowsOn = Callable[[Snapshot | None], pa.Table | list[NewPart] | None]
_TRIED = b"data-skip doctor"
# Delta's own bounds of our bounds would serve nobody; and who opens an index looks at each commit that is kept.
_CONFIGURATION = {"delta.dataSkippingNumIndexedCols": "0", "delta.logRetentionDuration": "interval 8 days"}
_MOST_DECLARED = MOST_COMMIT * 7 // 8  # bytes of definitions, in a commit; the rest is for what else it says
_MOST_SINCE = 1 << 28  # and of those in commits without a checkpoint
_NEVER_EQUAL = ColumnProperties(dictionary_enabled=False)  # of keys: a dictionary makes reading them take three times as long


def _declared_bytes(fields: Iterable[pa.Field]) -> int:
    """How much definitions take in a commit, which has them as JSON of JSON."""
    return sum(len(json.dumps(json.dumps(field.metadata[DEFINITION].decode()))) + 200 for field in fields)


def _written(rows_in_group: int) -> WriterProperties:
    """How rows are written."""
    columns = {field.name: _NEVER_EQUAL for field in KEYS}
    return WriterProperties(max_row_group_size=rows_in_group, compression="SNAPPY", column_properties=columns)


def rows_of(keys: pa.Table, row_counts: Any, columns: Mapping[pa.Field, pa.Array], generations: Any = (), collected: Any = ()) -> pa.Table:
    """What `append_as_of` takes: a row a file, with a record for each index.

    keys: as of versions.KEYS. The further columns, as what pyarrow makes an array of: see above; () where all are NULL.
    """
    further = [values if len(values) else pa.nulls(len(keys)) for values in (row_counts, generations, collected)]
    arrays = [*(column.cast(field.type) for column, field in zip(keys.columns, KEYS, strict=True))]
    arrays += [pa.array(values, field.type) for values, field in zip(further, list(BASE)[len(KEYS) :], strict=True)]
    return pa.Table.from_arrays([*arrays, *columns.values()], schema=pa.schema([*BASE, *columns]))


class DeltaStore(DeltaVacuum):
    """The index at one place, and what is written to it."""

    def append(
        self,
        files: Sequence[FileKey],
        row_counts: Sequence[int | None],
        columns: Mapping[pa.Field, pa.Array],
        declare: bool = True,
        generations: Sequence[int] = (),
        collected: Sequence[bool] = (),
    ) -> None:
        """Commits records, one a file for each index; declares indexes that are new. All or nothing. The further columns: see above.

        declare=False: an index that is not there (any more) is left out. StoreError where none is.
        """
        rows = rows_of(keys_of(files), row_counts, columns, generations, collected)
        self.append_as_of(lambda _: rows, declare)

    def append_as_of(self, rows_on: RowsOn, declare: bool = True) -> None:
        """As `append`, of rows that are made for the version on top of which they are committed: what they say is younger than all in it.

        rows_on: is given that version, None where there is none, and gives `rows_of` something, or None, where there is nothing to write;
        asked again where another writer was faster. Or files of rows that are there: with `_of_table`, and declared in that version.
        """
        self._retried(lambda commit: self._append(rows_on, declare, commit))

    def _append(self, rows_on: RowsOn, declare: bool, commit: Commit) -> None:
        snapshot, new = self.snapshot(), None
        if snapshot is None and declare:
            if (new := rows_on(None)) is None:
                return
            snapshot = self._created()
        if snapshot is None:
            raise StoreError(f"the index at {self.location} was deleted meanwhile; nothing was written")
        if commit.is_done_before(snapshot.version):
            return
        if (new := rows_on(snapshot) if new is None or snapshot.version else new) is None:
            return
        if (rows_then := snapshot.rows + (sum(part.rows for part in new) if isinstance(new, list) else len(new))) > MOST_ROWS:
            raise StoreError(
                f"the index at {self.location} would have {rows_then:,} rows, at most {MOST_ROWS:,} are read; nothing was written;"
                " compact() drops those of files that are gone"
            )
        if isinstance(new, list):
            self._commit_parts(snapshot, new, commit)
            return
        self._write(snapshot, self._to_append(snapshot, new, declare), commit, mode="append", schema_mode="merge")

    def _created(self) -> Snapshot | None:
        """The first version of the index, which holds nothing, or what another has made by now; None where that was deleted again."""
        if self._is_misread:
            raise StoreError(self._why_misread)
        if self._is_local:
            self._refuse_links()
        # First an empty table, which all creators make alike: the columns of two that both began with theirs would not add up.
        # As version 0 and no other: deltalake would also put it on top of what another has made meanwhile.
        try:
            DeltaTable.create(
                self.location, BASE, "error", configuration=_CONFIGURATION, storage_options=self._options, commit_properties=AS_READ
            )
        except FAILURES:  # it may be there by now, by another's doing or its own
            self._place.written()
            if self.snapshot() is None:
                raise
        self._place.written()  # what was seen before it was created
        return self.snapshot()

    def _to_append(self, snapshot: Snapshot, table: pa.Table, declare: bool) -> pa.Table:
        """The rows, of the indexes that are declared, or there, and in the words in which they are."""
        indexes = [field for name, field in declared(table.schema).items() if declare or name in snapshot.fields]
        if not indexes:
            raise StoreError(f"the indexes at {self.location} were dropped meanwhile; nothing was written")
        for field in indexes:
            self._refuse_another(defined(field), field.name, snapshot)
        self._refuse_many({**snapshot.fields, **{field.name: field for field in indexes}}.values())
        fields = [snapshot.fields.get(field.name, field) for field in indexes]
        arrays = [table[field.name] for field in (*BASE, *indexes)]
        schema = pa.schema([*BASE, *(field.with_type(array.type) for field, array in zip(fields, arrays[len(BASE) :], strict=True))])
        of_table = pa.array(np.full(len(table), snapshot.number), OF_TABLE.type)
        return pa.Table.from_arrays(arrays, schema=schema).append_column(OF_TABLE, of_table)

    def _commit_parts(self, snapshot: Snapshot, parts: Sequence[NewPart], commit: Commit) -> None:
        def write(target: DeltaTable) -> None:
            refuse_lost(self._files, parts)  # another index that is put in the place of this one from here on is found out
            transact(target, [added(part) for part in parts], commit)

        self._write_version(snapshot, commit, write)

    def _refuse_links(self) -> None:
        try:
            refuse_links(self.location)
        except ValueError as error:
            raise StoreError(f"no index is made at {self.location}: {error}") from error

    def _refuse_another(self, definition: Definition, column: str, snapshot: Snapshot) -> None:
        """StoreError where records would lie under another's definition, or beside those of an index that counts rows otherwise."""
        stored = snapshot.definitions.get(column)
        if stored is not None and not stored.same_as(definition):
            raise StoreError(f"{stored} at {self.location} was created anew meanwhile, in another way; nothing was written")
        for other in snapshot.definitions.values():
            if why := another_reader(other, definition):
                raise StoreError(f"{other} at {self.location} was created meanwhile, {why}; nothing was written")

    def _refuse_many(self, fields: Collection[pa.Field]) -> None:
        """StoreError for more definitions than are read again."""
        if (size := _declared_bytes(fields)) > _MOST_DECLARED:
            raise StoreError(
                f"the definitions of {len(fields):,} indexes at {self.location} would take {size:,} bytes, at most {_MOST_DECLARED:,} are"
                " read; nothing was written; make fewer of them (of text, each definition names all columns of the table)"
            )

    def compact(self, order: Order | None = None) -> None:
        """Rewrites the index with one row for each file version that is there, and removes files of versions a week old.

        order: the field of records by which rows are sorted, so that statistics tell their row groups apart; None: as they are.
        """
        self._retried(lambda commit: self._rewrite(set(), order, commit))
        self._retried(lambda _: self._vacuum(), refused=UNDELETED)

    def try_rights(self) -> None:
        """Writes a file and deletes it, in the folder of the index or the one in which it would be made. StoreError where that fails."""
        self.snapshot()  # by which is known how the place is reached
        try:
            if self._is_local:
                folder = self.location
                while not os.path.isdir(folder):
                    folder = os.path.dirname(folder)
                with TemporaryFile(dir=folder) as file:
                    file.write(_TRIED)
            else:
                name = f"_tried-{uuid.uuid4()}"
                DeltaTable.create(f"{self.location}/{name}", BASE, storage_options=self._options, commit_properties=AS_READ)  # by one PUT
                DeltaStorageHandler(self.location, self._options).delete_file(f"{name}/_delta_log/{0:020}.json")
        except FAILURES as error:
            raise StoreError(f"the index at {self.location} {UNWRITTEN} ({self._shown(error)}); {ELSEWHERE}") from None

    def history(self) -> list[Step]:
        """What each commit did whose text is still there, the oldest first; nothing where there is no index."""
        snapshot = self.snapshot()
        return steps(self._logs(snapshot.version) if snapshot else ())

    def _logs(self, last: int) -> Iterator[tuple[int, bytes]]:
        """The commits whose text is still there, the last one first, and of them as many as are read at most."""
        size = 0
        with suppress(FileNotFoundError):
            for version in range(last, -1, -1):
                text = self._log(version, MOST_COMMIT)
                if (size := size + len(text)) > MOST_LOG:  # those before a checkpoint have not been looked at
                    return
                yield version, text

    def drop(self, *columns: str) -> None:
        """Removes indexes, all of them by one commit."""
        self._retried(lambda commit: self._rewrite(set(columns), None, commit))

    def _rewrite(self, dropped: set[str], order: Order | None, commit: Commit) -> None:
        """Without some indexes; where none are named, without the rows of files that are gone."""
        snapshot = self.snapshot()
        if snapshot is None or (dropped and not dropped & snapshot.definitions.keys()):
            return
        if commit.is_done_before(snapshot.version):
            return
        kept = [name for name in snapshot.definitions if name not in dropped]
        # Without an index, nobody knows how the rows were read that `row_count` counts. Which files are gone says this very version: one
        # that was gone before may be back since, and its generation begins anew once its row is dropped.
        live = snapshot.listed | bool(dropped) if kept else np.zeros(snapshot.count, dtype=bool)
        self._write(snapshot, rewritten(snapshot, kept, live, order), commit, mode="overwrite", schema_mode="overwrite")

    def put_together(self) -> None:
        """Puts the rows of small files of the index into larger ones, which takes as long as they are large; as `compact` for what is old.

        All rows stay, also those of files that are gone. First they are there twice, which changes nothing of what they say: the one commit
        of deltalake's `optimize` is not for sure on the version that was read. Of very many, the next one puts the others together.
        """
        twice: list[tuple[Collection[str], frozenset[str]]] = []
        self._retried(lambda commit: self._write_again(commit, twice))
        for before, now in twice:
            self._retried(partial(self._remove, before, now))
        self._retried(lambda _: self._vacuum(), refused=UNDELETED)

    def _write_again(self, commit: Commit, twice: list[tuple[Collection[str], frozenset[str]]]) -> None:
        """Appends the rows of small files; `twice` is told in which these are, and in which they are now."""
        snapshot = self.snapshot()
        if snapshot is None or commit.is_done_before(snapshot.version):
            return
        if snapshot.has_rows_of_others:  # of which is told file by file
            self._rewrite(set(), None, commit)
        elif len(small := snapshot.parts_to_join()) > 1:
            self._write(snapshot, rows_again(snapshot, small), commit, small, mode="append", schema_mode="merge")
            twice.append((small, frozenset(added_by(self._log(snapshot.version + 1, MOST_COMMIT)))))

    def _remove(self, before: Collection[str], now: frozenset[str], commit: Commit) -> None:
        """Removes files of which others have the same rows, if these are still there."""
        snapshot = self.snapshot()
        if snapshot is None or commit.is_done_before(snapshot.version) or not now or not now <= snapshot.parts:
            return
        moment = int(time.time() * 1000)
        if gone := [RemoveAction(name, True, moment) for name in before if name in snapshot.parts]:
            self._write_version(snapshot, commit, lambda target: transact(target, gone, commit))

    def _write(
        self,
        snapshot: Snapshot,
        rows: pa.Table | pa.RecordBatchReader,
        commit: Commit,
        parts: Collection[str] | None = None,
        **mode: Any,
    ) -> None:
        """Commits the next version after a snapshot; fails where there is any newer one.

        rows: with `_of_table`. parts: of a RecordBatchReader, the files in which they are; None: all of the snapshot.
        """
        at_hand = isinstance(rows, pa.Table)
        size = (len(rows), rows.nbytes) if at_hand else snapshot.rows_and_bytes(parts, rows.schema.names)
        how = _written(rows_in_group(*size))
        written = Written(rows)

        def write(target: DeltaTable) -> None:
            write_deltalake(target, written.rows, commit_properties=commit.properties, writer_properties=how, **mode)

        self._write_version(snapshot, commit, write, written)
        fields = declared(rows.schema)
        if mode["mode"] == "overwrite" or not fields.keys() <= snapshot.fields.keys():  # then it tells all definitions
            self._check_off(snapshot.version + 1, _declared_bytes({**snapshot.fields, **fields}.values()))

    def _check_off(self, version: int, declared: int) -> None:
        """Makes a checkpoint now and then, where commits are large: deltalake makes one each hundred."""
        if version % max(1, _MOST_SINCE // max(1, declared)) == 0:
            with suppress(*FAILURES, ValueError):
                self._opened().create_checkpoint()
