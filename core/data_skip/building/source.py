"""A table as Spark reads it: how it is asked for, and what it is at one moment."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StructType

from data_skip.clause import Mask
from data_skip.errors import DataSkipError
from data_skip.files.listing import Listing
from data_skip.spark.bridge import Scan
from data_skip.spark.errors import SPARK_ERRORS, first_line
from data_skip.spark.jvm import Jvm, refuse_stopped, session_alone
from data_skip.store import Snapshot
from data_skip.store.definition import Definition
from data_skip.store.paths import HIDDEN, SUMMARIES
from data_skip.store.reader import AS_PARQUET, BY_POSITION, SUPPORTED_FORMATS, may_lead_elsewhere
from data_skip.store.versions import places_in, taken, without_repeats

_CHOOSE_FILES = ("pathglobfilter", "modifiedbefore", "modifiedafter")  # and those of SnapshotTable.java
_WITH_SCHEMA = ("parquet", "orc", "avro", "geoparquet", "text")  # formats of which one file tells the columns
_MERGING = ("parquet", "orc", "geoparquet")  # but these of all, where the reader is told to merge what files say
_GLOB = re.compile(r"[{}\[\]*?\\]")  # what makes a path a pattern of Hadoop's
_OF_FILES = re.compile("(?i)parquet file|INFER_SCHEMA|FOOTER|FAILED_READ_FILE")  # errors of Spark of which the format may be the cause
_ANY = "data_skip_any string"  # a schema that every format takes


@dataclass(frozen=True)
class TableSource:
    """How Spark is asked for a table: by its name in the catalog, or by a path with what `spark.read` takes."""

    name: str
    in_catalog: bool
    format: str | None
    schema: Any
    options: dict[str, str]


def as_indexed(source: TableSource, snapshot: Snapshot | None) -> TableSource:
    """Without a format: the reader that an existing index was collected with."""
    for definition in (snapshot.definitions if snapshot else {}).values():
        reader, schema = definition.reader, source.schema
        _refuse_foreign(source.name, definition)
        if schema is None and reader["format"] in BY_POSITION and not _is_one_variant(reader["options"]):
            fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t, *_ in reader["columns"]]
            schema = StructType.fromJson({"type": "struct", "fields": fields})
        return replace(source, format=reader["format"], options={**reader["options"], **source.options}, schema=schema)
    return source


def _refuse_foreign(name: str, definition: Definition) -> None:
    """DataSkipError for a reader that an index may not choose: another may have written it, and what a reader is told may run code.

    A format may be a class; an option a key of Hadoop's, which names classes and hosts, or a place to read from; a type of a column a
    pickled one of Python.
    """
    reader = definition.reader
    foreign = [f"format={reader['format']!r}"] if reader["format"] not in SUPPORTED_FORMATS else []
    foreign += [f"{key}={value!r}" for key, value in reader["options"].items() if may_lead_elsewhere(key)]
    if reader["format"] in BY_POSITION:
        foreign += [f"a column of type {type_!r}" for _, type_, *_ in reader["columns"] if not _is_plain(type_)]
    if foreign:
        raise DataSkipError(
            f"{definition} of {name!r} was made with {foreign[0]}, which is taken from nobody but you: give format, schema and options,"
            " or delete the index"
        )


def refuse_of_others(jvm: Jvm, source: TableSource, folder: str) -> None:
    """DataSkipError where a folder belongs to a table of Delta, Iceberg or Hudi, as that of a partition does."""
    if system := jvm.table_format(folder):
        warned = ". Be warned: format='parquet' would read its files as they lie, also rows that were deleted from it"
        raise DataSkipError(
            f"{source.name!r} is a table of {system}, which says elsewhere which of these files and rows belong to it; data-skip serves "
            f"files as Spark's own readers read them, so query it without{'' if source.in_catalog else warned}"
        )


def _is_plain(type_: Any) -> bool:
    """Whether a type, as JSON, is one of Spark's own."""
    if isinstance(type_, str):
        return True
    match type_:
        case {"type": "array", "elementType": element}:
            return _is_plain(element)
        case {"type": "map", "keyType": key, "valueType": value}:
            return _is_plain(key) and _is_plain(value)
        case {"type": "struct", "fields": list(fields)}:
            return all(isinstance(field, dict) and _is_plain(field.get("type")) for field in fields)
    return False


def is_in_catalog(spark: SparkSession, name: str) -> bool:
    """Whether the catalog has a table or view of a name. A name that no table can have, as `web-logs`, may be that of a folder."""
    try:
        return spark.catalog.tableExists(name)
    except SPARK_ERRORS:
        return False


def qualified(jvm: Jvm, path: str) -> str:
    """As of Jvm. DataSkipError for what Spark takes for no path, or for one of a file system that it does not have."""
    try:
        return jvm.qualified(path)
    except SPARK_ERRORS as error:
        raise DataSkipError(f"table {path!r} cannot be read: {first_line(error)}") from error


def location_of(spark: SparkSession, jvm: Jvm, name: str) -> str | None:
    """Where the catalog says that the files of a table lie, as a root is written; nothing is listed. None where it does not say."""
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except SPARK_ERRORS:
        return None
    about = itertools.dropwhile(lambda row: row.col_name != "# Detailed Table Information", rows)
    location = next((row.data_type for row in about if row.col_name == "Location"), None)
    return None if location is None else qualified(jvm, location)


def asking(spark: SparkSession, source: TableSource) -> SparkSession:
    """The session that is asked of a table: of one of the catalog a copy, as a session lists that once, for all its queries.

    DataSkipError for a session that is stopped.
    """
    refuse_stopped(spark)
    return session_alone(spark) if source.in_catalog else spark


def frame_of(spark: SparkSession, source: TableSource) -> DataFrame:
    """The table as a session reads it, a path with a listing of its own. DataSkipError where Spark cannot read it."""
    try:
        if source.in_catalog:
            return spark.table(source.name)
        reader = spark.read.options(**source.options)
        if source.format:
            reader = reader.format(source.format)
        if source.schema is not None:
            reader = _with_schema(reader, source.schema)
        return reader.load(source.name)
    except SPARK_ERRORS as error:
        raise DataSkipError(f"table {source.name!r} cannot be read: {first_line(error)}{_hint(spark, source, str(error))}") from error


def _with_schema(reader: DataFrameReader, schema: Any) -> DataFrameReader:
    try:
        return reader.schema(schema)
    except SPARK_ERRORS as error:
        advice = "give it as 'id bigint, city string', or as a StructType"
        raise DataSkipError(f"schema={schema!r} is not understood: {first_line(error)}; {advice}") from error


def _hint(spark: SparkSession, source: TableSource, error: str) -> str:
    """What may help where Spark cannot read a table."""
    if "UNABLE_TO_INFER_SCHEMA" in error and _has_no_file(spark, source):
        return "; there is no file that it would read: write one first, or give the folder in which the files lie"
    if "PATH_NOT_FOUND" in error:
        if source.name.startswith("~"):
            return "; ~ is a name like any other to Spark: give pathlib.Path(...).expanduser()"
        if "/" in source.name:
            return ""
        if source.format or source.schema not in (None, _ANY) or source.options:
            return "; with format, schema or options it is a path: leave them out for a table of the catalog"
        return "; nor has the catalog a table of that name"
    return "; give format=... if its files are not Parquet" if not source.format and _OF_FILES.search(error) else ""


def _has_no_file(spark: SparkSession, source: TableSource) -> bool:
    """Whether Spark finds no file in a folder, whatever the format of its files is."""
    try:
        return not spark.read.options(**source.options).format("text").schema(_ANY).load(source.name).inputFiles()
    except SPARK_ERRORS:
        return False


def refuse_columns_of_one(spark: SparkSession, source: TableSource) -> None:
    """DataSkipError for a table of which one file does not tell the columns, or that is of some of the files in its folder."""
    format_ = _format(spark, source)
    if chosen := _choosing(source.options):
        raise DataSkipError(f"{chosen[0]} chooses files: {source.name!r} by its index has the files of that; leave it out")
    if source.schema is None and format_ not in _WITH_SCHEMA and not _is_one_variant(source.options):
        raise DataSkipError(f"the columns of {format_} are found by reading all files; to read the files of the index give schema=...")
    if source.schema is None and _merges(spark, source, format_):
        raise DataSkipError("mergeSchema=true finds columns by reading all files; to read the files of the index give schema=...")


def _choosing(options: Mapping[str, str]) -> list[str]:
    """Those by which some of the files in a folder are read."""
    return [option for option in options if option.lower() in _CHOOSE_FILES]


def _is_one_variant(options: Mapping[str, str]) -> bool:
    """Whether a record is read as one VARIANT: then an option names the column, nothing is looked at for it, and Spark takes no schema."""
    return any(option.lower() == "singlevariantcolumn" for option in options)


def is_recursive(options: Mapping[str, str]) -> bool:
    """Whether files are read that lie in folders that are no partitions."""
    return any(option.lower() == "recursivefilelookup" and str(value).lower() == "true" for option, value in options.items())


def frame_of_one(spark: SparkSession, jvm: Jvm, source: TableSource, root: str, snapshot: Snapshot) -> DataFrame:
    """One listed file of the table of a path, with the columns of its folders: nothing is listed. DataSkipError where there is none."""
    summarised = source.schema is None and _format(spark, source) in AS_PARQUET
    try:
        has_summary = summarised and (snapshot.has_summary or any(jvm.files_now(root, SUMMARIES)))
    except SPARK_ERRORS as error:
        raise DataSkipError(f"table {source.name!r} cannot be read: {first_line(error)}") from error
    if has_summary:
        raise DataSkipError(
            f"{source.name!r} has a summary of its columns ({' or '.join(SUMMARIES)}); to read the files of the index give schema=..."
        )
    if (file := snapshot.first(is_recursive(source.options))) is None:
        raise DataSkipError(f"{source.name} has no files with rows, by its index; refresh() brings that up to date")
    options = {"basePath": unquote(root), "__globPaths__": "false", **source.options}
    try:
        return frame_of(spark, replace(source, name=unquote(f"{root}/{file}"), options=options))
    except DataSkipError as error:
        raise DataSkipError(f"{error}; if it is gone, refresh() of {source.name} brings the index up to date") from error


def _format(spark: SparkSession, source: TableSource) -> str:
    return (source.format or str(spark.conf.get("spark.sql.sources.default"))).lower()


def _merges(spark: SparkSession, source: TableSource, format_: str) -> bool:
    """Whether a reader finds columns in all files."""
    by_session = f"spark.sql.{'parquet' if format_ in AS_PARQUET else format_}.mergeSchema"
    told = {option.lower(): value for option, value in source.options.items()}.get("mergeschema")
    return format_ in _MERGING and str(spark.conf.get(by_session) if told is None else told).lower() != "false"


@dataclass(frozen=True)
class TableState:
    """A table at one moment: how Spark reads it, and its files."""

    frame: DataFrame
    root: str
    scan: Scan
    whole: Scan | None = None  # of all files, where options choose some

    def list(self) -> tuple[Listing, pa.Table]:
        """The listing and the version of each file (see versions.KEYS); the path of one that lies elsewhere than below the root is NULL."""
        listing = Listing.now(self.scan)
        return listing, _keys(listing, self.root)

    def all_of(self, keys: pa.Table) -> pa.Table:
        """The different versions of some listed files below the root, and of those beside.

        These Spark does not read, but takes columns or the types of partitions from: empty ones, and some in no partition. And of those
        that options leave out: what the index says is there is the table to others, by the contract `snapshot`.
        """
        listings = [Listing.beside(self.scan)]
        if self.whole is not None:
            listings += [Listing.now(self.whole), Listing.beside(self.whole)]
        all_ = pa.concat_tables([keys, *(_keys(listing, self.root) for listing in listings)])
        return without_repeats(all_.filter(all_["path"].is_valid()))

    def list_again(self) -> pa.Table:
        """As `all_of`, of the files that there are now.

        Of columns Spark is not asked again: that may be a job, or a pass over all text.

        DataSkipError where Spark cannot list the files any more.
        """
        try:
            for scan in (self.scan, self.whole):
                if scan is not None:
                    scan.refresh()
            return self.all_of(self.list()[1])
        except SPARK_ERRORS as error:
            raise DataSkipError(f"the files of {self.root} cannot be listed: {first_line(error)}") from error


def _keys(listing: Listing, root: str) -> pa.Table:
    start = f"{root}/"
    paths = listing.files["path"]
    below = pc.if_else(pc.starts_with(paths, start), pc.utf8_slice_codeunits(paths, len(start)), None)
    return listing.files.set_column(0, "path", below)


def files_below(spark: SparkSession, jvm: Jvm, root: str, asked: pa.Table) -> Mask:
    """Which of some file versions are below a root now: those, too, that the options, the catalog or the partitions of a table leave out.

    Those that lie in folders that Spark does not list, where a partition of a catalog may be, are looked for one by one.

    DataSkipError where Spark cannot list them.
    """
    state = _folder(spark, jvm, root)
    found: Mask = places_in(state.all_of(state.list()[1]), asked) >= 0
    others = np.flatnonzero(~found)
    hidden = others[pc.match_substring_regex(taken(asked, others)["path"], HIDDEN.pattern).to_numpy()]
    paths, sizes, times = (column.to_pylist() for column in taken(asked, hidden).columns)
    found[hidden] = [now == told for now, told in zip(jvm.files_now(root, paths), zip(sizes, times, strict=True), strict=True)]
    return found


def _folder(spark: SparkSession, jvm: Jvm, root: str) -> TableState:
    """All files below a root, whatever they and their folders are: Spark lists them, and reads none."""
    options = {"recursiveFileLookup": "true", "__globPaths__": "false"}  # the second: a name with brackets is a name
    return state_of(spark, jvm, TableSource(unquote(root), False, "text", _ANY, options))


def is_pattern(source: TableSource) -> bool:
    """Whether a path is a pattern of Hadoop's, and heeded as one."""
    return not source.in_catalog and _GLOB.search(source.name) is not None and source.options.get("__globPaths__") != "false"


def root_of(spark: SparkSession, jvm: Jvm, source: TableSource, snapshot: Snapshot | None) -> str:
    """Where a table's files lie, with the errors of `state_of`. Spark is not asked for columns: that may be a pass over all text.

    snapshot: of the index at the path of the source. Where there is one, that path is a table's root, and its files are not listed.
    """
    told = snapshot is not None and snapshot.definitions and (source.format or "").lower() in SUPPORTED_FORMATS
    if told and not source.in_catalog and not is_pattern(source):
        return qualified(jvm, source.name)
    takes_any = source.schema is None and not (source.in_catalog or _is_one_variant(source.options))
    takes_any = takes_any and _format(spark, source) in SUPPORTED_FORMATS
    return state_of(spark, jvm, replace(source, schema=_ANY) if takes_any else source).root


def state_of(spark: SparkSession, jvm: Jvm, source: TableSource) -> TableState:
    """The table as it is now. DataSkipError where Spark cannot read it, and for what is no table of files of a format that is supported."""
    frame = frame_of(spark, source)
    scan = jvm.scan(frame)
    if scan is None:
        what = "is no table of files that Spark reads by itself (but a view, a stream, or another system's)"
        advice = "give a table that it reads, or the folder of the files"
        folder = f", as './{source.name}' if that is one" if source.in_catalog else ""  # a view may have the name of its folder
        raise DataSkipError(f"{source.name!r} {what}; {advice}{folder}")
    roots = set(scan.roots[:1] if source.in_catalog else scan.roots)
    if len(roots) != 1:
        raise DataSkipError(f"{source.name!r} stands for {len(roots)} paths; an index belongs to one root folder: give that")
    if scan.description["format"] not in SUPPORTED_FORMATS:
        refuse_of_others(jvm, source, unquote(next(iter(roots))))
        raise DataSkipError(f"format {scan.description['format']!r} is not supported; these are: {', '.join(SUPPORTED_FORMATS)}")
    root = roots.pop()
    if is_pattern(source) and jvm.is_of_stream(root):
        folder = unquote(root)
        raise DataSkipError(
            f"{source.name!r} is a pattern, by which the log of the stream that wrote {folder} is not heeded; name the folder"
        )
    whole = _folder(spark, jvm, root).scan if _choosing(scan.description["options"]) else None  # a table of the catalog has its own
    return TableState(frame, root, scan, whole)
