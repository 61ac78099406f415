"""Direct: Spark's tasks read plain files of Parquet, CSV, JSON and ORC by pyarrow, in a tenth of the time that rows take by Spark.

A task is given paths of files, and gives back their records: no row leaves it. Each column of a file is read once, whatever the number of
indexes, in batches that fit into memory. plain.py, plain_text.py and plain_orc.py say of which files and columns that is right.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from pickle import PicklingError
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from data_skip.building.binding import Binding
from data_skip.building.collect import Collected, Write, add, finish_records, written_at_once
from data_skip.building.file_records import Found, Wanted, records_of
from data_skip.building.lifting import Part, by_name_from_parquet, is_local, lifts, trees_of
from data_skip.building.plain import is_dotted, is_plain, why_not
from data_skip.building.plain_orc import is_plain_orc, orc_batches, why_not_orc
from data_skip.building.plain_text import TextReader, is_plain_text, text_reader
from data_skip.building.remote_files import NOWHERE, SCHEMES, RemoteFiles
from data_skip.building.same_code import Code
from data_skip.building.text_batches import text_batches
from data_skip.expression import Column
from data_skip.index import Index
from data_skip.spark.archives import forget_archives
from data_skip.spark.errors import SPARK_ERRORS, is_cancelled, is_of_workers
from data_skip.spark.object_stores import ObjectStores
from data_skip.store.definition import Definition
from data_skip.store.storage_options import storage_options

_PART = 1 << 27  # bytes of a file that a task reads at once, where there are too few files to keep all cores busy
_REQUESTS = 8  # that a task makes at once of an object store, which takes its time to answer
_MOST_UNREAD = 8  # files that a task asks for in vain, one after the other, and each perhaps for half a minute; then it leaves all to Spark
_TASK = 1 << 28  # bytes that are worth a task more than there are cores: to start one takes a worker 60 ms


def wanted(bindings: Sequence[Binding], options: Iterable[str]) -> tuple[Wanted, str]:
    """The indexes that tasks can make of files that they read, and why others they cannot. `options`: those that the table is read with.

    Where all indexes may be lifted, that is all of them: of a file that has to be read, columns are told for those that can be so read.
    """
    given, why = list(options), ""
    definitions = {binding.index: binding.definition for binding in bindings}
    if (text := text_reader(bindings[0].definition.reader, given)) is not None:
        return _wanted_of_text(definitions, text), ""
    of_orc = bindings[0].definition.reader["format"] == "orc"
    columns: dict[Index, tuple[Column, ...] | None] = {}
    dotted = False
    for index, definition in definitions.items():
        trees = definition.bound_expressions
        plain = _columns_of(definition, is_plain_orc if of_orc else is_plain)
        how = why_not_orc(definition.reader) if of_orc else why_not(definition.reader, given)
        reason = how if len(plain) == len(trees) else f"{index} is over more than plain columns"
        if named := [tree for tree in trees if isinstance(tree, Column) and is_dotted(tree)]:
            dotted, reason = True, f"there is a dot in the name of {named[0]}"
        columns[index] = None if reason else plain
        why = why or (reason if definition.reader["format"] == "parquet" else "")
    if not dotted and all(lifts(index) and by_name_from_parquet(definition.reader) for index, definition in definitions.items()):
        return Wanted(list(columns), list(columns.values()), trees_of(definitions)), ""
    plain_ones = [index for index in columns if columns[index] is not None]
    return Wanted(plain_ones, [columns[index] for index in plain_ones], {}, orc_batches if of_orc else None), why


def _columns_of(definition: Definition, are_plain: Callable[[Column], bool]) -> tuple[Column, ...]:
    """Those of the expressions of an index that are plain columns."""
    return tuple(tree for tree in definition.bound_expressions if isinstance(tree, Column) and are_plain(tree))


def _wanted_of_text(definitions: Mapping[Index, Definition], text: TextReader) -> Wanted:
    """All indexes or none: to parse what is left over, Spark would parse all."""
    columns = [_columns_of(one, is_plain_text) for one in definitions.values()]
    if list(map(len, columns)) != [len(one.bound_expressions) for one in definitions.values()]:
        return Wanted([], [], {})
    return Wanted(list(definitions), list(columns), {}, partial(text_batches, reader=text))


def read(
    spark: SparkSession,
    root: str,
    files: Sequence[Part],
    asked: Wanted,
    local: bool,
    failures: dict[Index, str],
    write: Write | None = None,
) -> tuple[list[Found], str]:
    """What tasks find in files that they read themselves; and why those that are missing have to be read by Spark, "" where none is.

    root: of the table; local: whether tasks see the local files that Spark does. `failures` is told of the first error of each index.
    write: as of collect.
    """
    remote = _remote(spark, root)
    seen = [file for file in files if (local and is_local(file.uri)) or remote.has(file.uri)]
    cores = spark.sparkContext.defaultParallelism
    parts = [part for file in seen for part in _cut(file, cores if len(files) < 4 * cores else 1)]
    if not parts:
        return [], "it lies where tasks cannot read it themselves"
    tasks = tasks_of(parts, cores)
    try:
        told = spark.sparkContext.parallelize(tasks, len(tasks)).mapPartitions(_reader(asked, remote, write)).collect()
    except SPARK_ERRORS as error:
        if is_cancelled(error) or is_of_workers(error):
            raise
        return [], remote.options.shown(str(error))
    except (PicklingError, TypeError, AttributeError) as error:  # of an index that cannot be sent to a task
        return [], f"{type(error).__name__}: {error}"
    cut = {part.number for part in parts if part.parts > 1}
    found, why = _together([pickle.loads(part) for part in told], cut, asked.indexes, failures)
    return found, remote.options.shown(why)


def _remote(spark: SparkSession, root: str) -> RemoteFiles:
    """The files below a root that tasks may find as Spark does."""
    if urlsplit(root).scheme not in SCHEMES:
        return NOWHERE
    options = storage_options(root, ObjectStores(spark))
    return RemoteFiles(root, options) if options.of_hadoop else NOWHERE


def _cut(file: Part, most: int) -> list[Part]:
    """A file as so many parts at most, for several tasks."""
    count = max(1, min(file.size // _PART, most))
    return [Part(file.number, file.uri, file.size, file.modified, place, count) for place in range(count)]


def tasks_of(parts: Sequence[Part], cores: int) -> list[list[Part]]:
    """Parts as lists, one a task, of about the same number of bytes each."""
    most = max(cores, sum(part.size // part.parts for part in parts) // _TASK)
    tasks: list[list[Part]] = [[] for _ in range(min(most, len(parts)))]
    loads = [(0, i) for i in range(len(tasks))]
    for part in sorted(parts, key=lambda part: -part.size // part.parts):
        load, i = heappop(loads)
        tasks[i].append(part)
        heappush(loads, (load + part.size // part.parts + 1, i))
    return tasks


def _reader(asked: Wanted, remote: RemoteFiles, write: Write | None = None) -> Callable[[Iterable[list[Part]]], Iterator[bytes]]:
    """The function that runs in Spark's tasks."""

    def found(part: Part, files: RemoteFiles, unread: list[str]) -> Found:
        """unread: why one file after the other could not be read, up to now."""
        if len(unread) >= _MOST_UNREAD:
            return Found(part.number, why=unread[0])
        try:
            file = records_of(part, asked, files)
            unread.clear()
        except Exception as error:  # whatever it is: Spark reads the file, or says what is wrong with it
            file = Found(part.number, why=str(error) or type(error).__name__)
            if isinstance(error, OSError):
                unread.append(file.why)
        return file

    code = Code.of(asked.indexes)

    def run(tasks: Iterable[list[Part]]) -> Iterator[bytes]:
        code.check()
        forget_archives()
        for task in tasks:
            files = replace(remote, sizes={part.uri: part.size for part in task if remote.has(part.uri)})
            with ThreadPoolExecutor(_REQUESTS if files.sizes else 1) as pool:
                of_task = pool.map(partial(found, files=files, unread=[]), task)
                whole = {part.number for part in task if part.parts == 1}
                yield from map(pickle.dumps, of_task if write is None else _written(of_task, whole, write))

    return run


def _written(found: Iterable[Found], whole: set[int], write: Write) -> Iterator[Found]:
    """What was found, the records of whole files in parts of the index."""
    given_back: list[Found] = []

    def to_write() -> Iterator[tuple[Found, Collected]]:
        for one in found:
            if one.file is not None and one.number in whole:
                yield one, one.file
            else:
                given_back.append(one)

    for some in written_at_once(to_write()):
        errors = write({one.number: file for one, file in some})
        some[0][0].errors |= errors
        yield from (one for one, _ in some)
        yield from given_back
        given_back.clear()
    yield from given_back


def _together(parts: Sequence[Found], cut: set[int], indexes: list[Index], failures: dict[Index, str]) -> tuple[list[Found], str]:
    """The parts of each file as one; without the files of which some part has to be read by Spark. cut: those that have several parts."""
    files: dict[int, Found] = {}
    left = {part.number: part.why for part in parts if part.file is None}
    for part in parts:
        if part.number in left or part.file is None:
            continue
        for i, error in part.errors.items():
            failures.setdefault(indexes[i], error)
        known = files.get(part.number)
        if known is None or known.file is None or not known.file.rows:
            files[part.number] = part
        elif part.file.rows:  # of a part without rows there is no record
            add(known.file, part.file, indexes, failures)
    for number in cut & files.keys():
        if (file := files[number].file) is not None:
            file.records = finish_records(indexes, file.records, failures)
    return list(files.values()), next(iter(left.values()), "")
