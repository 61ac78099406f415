"""What is looked at of an index before deltalake and Arrow read it: others may be able to write where it lies.

Neither survives all that a file may hold: a commit with values nested 60,000 deep ends the process, one of a terabyte takes its memory, a
pipe in place of a file is waited for without end, a link or a path with `..` is followed to wherever it leads. So that is refused, by
ValueError, before they are asked; what they refuse by themselves is left to them. What is right but untrue is not seen: records that lie.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from data_skip.store.sizes import most_bytes, refuse_large
from data_skip.store.storage_options import Hadoop

LOG = "_delta_log"
_VERSION = re.compile(r"([0-9]{20})\.(.+)")
_CHECKPOINT = "checkpoint.parquet"  # the one kind that deltalake writes
_MOST_VERSION = (1 << 63) - 1
_SIDECAR = "sidecar"  # the column of a checkpoint that names further files of it, which deltalake opens wherever they lie
_HINT = "_last_checkpoint"
# Bytes: commits of deltalake have a few thousand, and those that declare an index of each column of a wide table of text some millions.
MOST_COMMIT, MOST_LOG = 1 << 26, 1 << 30
_AT_ONCE = 1 << 26  # bytes that Spark is asked for at once
_MEMORY_OF_LOG = 3  # bytes that deltalake takes for one of a log, at most
_MOST_CHECKPOINT = 1 << 29  # in memory
_MOST_DEEP = 100  # how far the values of a commit are nested: deltalake's own are 5 deep
_MOST_PARTS = 1 << 20  # of a commit; of deltalake's own some ten for each file with records
_SPACE = re.compile(r"\s*")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]*\.parquet")  # the name of a file with records; in no folder
_STAGED = re.compile(r"[^#]+#[0-9]+")  # a local file while it is written: object_store, by which deltalake reads, lists none of that name
_CHUNK = 1 << 22
_STEPS = np.array([(chr(i) in "[{") - (chr(i) in "]}") for i in range(256)])  # how much deeper a byte of JSON leads


@dataclass(frozen=True)
class _File:
    name: str
    size: int
    stamp: object  # what changes when it is written again

    @property
    def is_checkpoint(self) -> bool:
        """Whether deltalake takes it for all that commits up to its version say, and does not read these."""
        found = _VERSION.fullmatch(self.name)
        return found is not None and found[2] == _CHECKPOINT and int(found[1]) <= _MOST_VERSION and self.size > 0


class Guard:
    """Looks at the index at one place."""

    def __init__(self, location: str, uri: str, spark: Hadoop | None) -> None:
        """location: the place as deltalake takes it; uri: as Spark does. spark: by which Spark reaches object stores."""
        self._location, self._uri, self._spark = location, uri, spark
        self._seen: set[_File] = set()  # what was looked at, and need not be again

    def look(self, by_spark: bool = True) -> dict[str, object]:
        """Looks at what deltalake reads to open the last version. ValueError for what is not to be read.

        By its name what tells each file of the log from another one of that name.

        by_spark: whether deltalake surely reaches no log that Spark does not; else one that Spark cannot list is not looked at.
        """
        if "://" not in self._location:
            refuse_links(self._location)
            files = list(_local(f"{self._location}/{LOG}"))
            if empty := next((file for file in files if file.name.endswith(".json") and not file.size), None):
                raise ValueError(f"{empty.name} is empty")  # of a machine that lost its power; deltalake takes it for a commit of nothing
        else:
            files = self._listed(by_spark)
        versions = {file: match for file in files if (match := _VERSION.fullmatch(file.name))}
        last = max((int(match[1]) for file, match in versions.items() if file.is_checkpoint), default=-1)
        others = [file.name for file, match in versions.items() if match[2].startswith("checkpoint.") and match[2] != _CHECKPOINT]
        if others:
            raise ValueError(f"its log has {others[0]}, a kind of checkpoint that data-skip does not write")
        read = [file for file, match in versions.items() if (int(match[1]), match[2] != "json") > (last, False)]
        read += [file for file in files if file.name == _HINT]
        most = min(MOST_LOG, most_bytes() // _MEMORY_OF_LOG)
        if large := next((file for file in read if file.size > min(MOST_COMMIT, most)), None):
            raise ValueError(f"{large.name} of its log has {large.size:,} bytes, at most {min(MOST_COMMIT, most):,} are read")
        if (size := sum(file.size for file in read)) > most:
            raise ValueError(f"its log has {size:,} bytes since its last checkpoint, at most {most:,} are read")
        new = [file for file in read if file not in self._seen and file.size]
        for file, content in zip(new, self._contents(new), strict=True):
            if content is not None:
                refuse_content(file.name, content)
        self._seen |= set(new)
        return {file.name: file.stamp for file in files}

    def _listed(self, by_spark: bool) -> list[_File]:
        """What an object store has in the folder of the log."""
        told = self._spark.listed(f"{self._uri}/{LOG}") if self._spark else None
        if told is None and by_spark and self._spark is not None:
            raise ValueError("Spark cannot list its log")
        files = [_File(*file) for file in told or ()]
        if any(file.name == LOG for file in files):  # some stores list that alone, and may have files in a folder of its name as well
            raise ValueError(f"{LOG} is a file")
        return files

    def _contents(self, files: list[_File]) -> Iterator[bytes | None]:
        """What is in files of the log, one after the other; None of one that is gone."""
        if "://" not in self._location:
            yield from (_content(f"{self._location}/{LOG}/{file.name}", file.size) for file in files)
            return
        while self._spark is not None and files:
            count = max(1, sum(size <= _AT_ONCE for size in itertools.accumulate(file.size for file in files)))
            yield from self._spark.contents(f"{self._uri}/{LOG}", [(file.name, file.size) for file in files[:count]])
            files = files[count:]


def refuse_links(location: str) -> None:
    """ValueError for a local place where the folders of an index are links: they may lead anywhere."""
    path = f"{location}/{LOG}"
    while True:
        if os.path.islink(path):
            raise ValueError(f"{path} is a link, which may lead anywhere; to keep indexes elsewhere, name the folder by index_root")
        if os.path.basename(path) not in (LOG, "_"):
            return
        path = os.path.dirname(path)


def refuse_table(table: DeltaTable) -> None:
    """ValueError for a table that says of itself what data-skip never says: SQL that deltalake would run, other names for columns."""
    metadata = table.metadata()
    if metadata.partition_columns:
        raise ValueError(f"it is partitioned, by {', '.join(metadata.partition_columns)}")
    for key, value in metadata.configuration.items():
        if key.startswith("delta.constraints.") or (key == "delta.columnMapping.mode" and value != "none"):
            raise ValueError(f"it has the property {key}, which data-skip does not set")
    for field in _all_fields(pa.schema(table.schema().to_arrow())):
        if told := next((told for told in field.metadata or {} if told.startswith(b"delta.")), b""):
            raise ValueError(f"its column {field.name} has the property {told.decode(errors='replace')}, which data-skip does not set")


def refuse_parts(location: str, names: Iterable[str]) -> None:
    """ValueError for files with records that lie elsewhere than in the folder of the index, or are none."""
    for name in names:
        if not is_part(name):
            raise ValueError(f"its log names {name!r}, which is no file in its folder")
        if "://" not in location and not stat.S_ISREG(_status(f"{location}/{name}")):
            raise ValueError(f"{name} is a link, a pipe or a device, and no file")


def is_part(name: str) -> bool:
    """Whether a name, below the folder of an index, is one of a file with records."""
    return _PART.fullmatch(name) is not None


def _status(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return stat.S_IFREG  # whoever reads it says so


def _all_fields(fields: Iterable[pa.Field]) -> Iterator[pa.Field]:
    for field in fields:
        yield field
        type_ = field.type
        yield from _all_fields(type_.field(i) for i in range(type_.num_fields))


def is_folder(path: str) -> bool:
    """Whether there is a folder. OSError where that cannot be told, as by who may not look."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False


def _local(folder: str) -> Iterator[_File]:
    if not is_folder(folder):
        return
    with os.scandir(folder) as found:
        for entry in found:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # a writer's, of a moment ago
            if stat.S_ISREG(status.st_mode):
                if not _STAGED.fullmatch(entry.name):
                    yield _File(entry.name, status.st_size, stamp(status))
            elif stat.S_ISDIR(status.st_mode):
                deque(_local(entry.path), maxlen=0)  # deltalake takes nothing from there, but follows the links that it finds
            else:
                raise ValueError(f"{entry.name} of its log is a link, a pipe or a device, and no file")


def stamp(status: os.stat_result) -> tuple[int, ...]:
    """What tells a local file from another one of its name, if that was written in place, is as large, and was given the time of before."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _content(path: str, size: int) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except FileNotFoundError:
        return None  # as above


def refuse_content(name: str, content: bytes) -> None:
    """ValueError for what a file of a log must not hold."""
    try:
        if name.endswith(".parquet"):
            refuse_large(pa.BufferReader(content), None, min(_MOST_CHECKPOINT, most_bytes()))
            checkpoint = pq.ParquetFile(pa.BufferReader(content))
            _refuse_sidecars(checkpoint)
            _refuse_statistics(checkpoint)
        else:
            _refuse_deep(content)
            if name.endswith(".json"):
                _refuse_texts(content)
    except (ValueError, pa.ArrowException) as error:
        raise ValueError(f"{name} of its log {error}") from error


def _refuse_sidecars(checkpoint: pq.ParquetFile) -> None:
    names = [name for name in checkpoint.schema_arrow.names if name.lower() == _SIDECAR]
    if any(column.null_count < len(column) for column in checkpoint.read(names, use_threads=False).columns):
        raise ValueError("names further files, which data-skip does not write")


def _refuse_statistics(checkpoint: pq.ParquetFile) -> None:
    """As _refuse_texts."""
    paths = [checkpoint.metadata.schema.column(i).path for i in range(checkpoint.metadata.num_columns)]
    for column in checkpoint.read([path for path in paths if path.lower().endswith(".stats")], use_threads=False).columns:
        for part in column.chunks:
            texts = part
            while pa.types.is_struct(texts.type):
                (texts,) = texts.flatten()
            if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
                _refuse_deep_texts(texts.filter(pc.greater(pc.count_substring_regex(texts, r"[\[{]"), _MOST_DEEP)).to_pylist())


def _refuse_texts(content: bytes) -> None:
    """Of a commit that is not nested too deep: statistics are a text that is JSON again, and deltalake parses it as it does a commit."""
    decoder, text = json.JSONDecoder(object_pairs_hook=list), content.decode()
    place = _after_space(text, 0)
    while place < len(text):
        action, place = decoder.raw_decode(text, place)
        place = _after_space(text, place)
        parts = action if isinstance(action, list) else []
        parts = [part for part in parts if not isinstance(part, tuple) or part[0] != "metaData"]  # which has trees of expressions
        while parts:
            part = parts.pop()
            if isinstance(part, list | tuple):
                parts.extend(part)
            elif isinstance(part, str):
                _refuse_deep_texts([part])


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _refuse_deep_texts(texts: Iterable[str]) -> None:
    for text in texts:
        if text.count("[") + text.count("{") > _MOST_DEEP:
            _refuse_deep(text.encode(errors="surrogatepass"))


def _refuse_deep(content: bytes) -> None:
    """Of what is no JSON, brackets in text count too: the parsers that come to grief read from the left."""
    without_escapes = content.replace(rb"\\", b"").replace(rb"\"", b"")  # each quote that is left begins a text, or ends one
    marks = np.frombuffer(without_escapes, dtype=np.uint8)
    depth = all_brackets = most = most_of_all = commas = 0
    in_text, is_json = False, True
    for start in range(0, len(marks), _CHUNK):
        part = marks[start : start + _CHUNK]
        quoted = np.logical_xor.accumulate(part == 34) ^ in_text
        is_json = is_json and not (quoted & (part == 10)).any()  # a text that goes on in the next line
        steps = _STEPS[part]
        most_of_all = max(most_of_all, all_brackets + int(steps.cumsum().max(initial=0)))
        all_brackets += int(steps.sum())
        steps[quoted] = 0
        commas += int(((part == 44) & ~quoted).sum())
        most = max(most, depth + int(steps.cumsum().max(initial=0)))
        depth, in_text = depth + int(steps.sum()), bool(quoted[-1])
    if (most if is_json and not in_text else max(most, most_of_all)) > _MOST_DEEP:
        raise ValueError(f"is nested more than {_MOST_DEEP} deep")
    if commas > _MOST_PARTS:
        raise ValueError(f"has {commas:,} parts, at most {_MOST_PARTS:,} are read")
