"""What is done to a store, and what is there then: without Spark, so that thousands of times take minutes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import pyarrow as pa
from deltalake import DeltaTable

from data_skip.store import DeltaStore, FileKey, delta
from data_skip.store.definition import Definition
from data_skip.store.layout import BASE, definition_field

URI = "s3a://lake/t/index"
RECORD = pa.struct({"min": pa.int64(), "text": pa.string()})
READER: dict[str, Any] = {"format": "parquet", "options": {}, "columns": [], "session": {}}
# One answer that does not come takes this long; a request is sent three times.
PATIENCE = {"max_retries": "2", "backoff_config.init_backoff": "1ms", "backoff_config.max_backoff": "2ms", "timeout": "100ms"}


class Told:
    """What the store is told of Spark, whose own requests are none."""

    def __init__(self, port: int, patience: Mapping[str, str] = PATIENCE) -> None:
        self._port, self._patience = port, patience

    def told(self, uri: str, keys: Iterable[str], secrets: Iterable[str]) -> Mapping[str, Any]:
        settings = {"fs.s3a.endpoint": f"http://127.0.0.1:{self._port}", "fs.s3a.path.style.access": "true"}
        credentials = {"access_key": "one", "secret_key": "two"}
        return {"set": settings, "credentials": credentials, "region": "us-east-1", "overrides": dict(self._patience)}

    def holds(self, uri: str) -> bool | None:
        return None

    def identity(self, uri: str) -> str | None:
        return None

    def listed(self, uri: str) -> list[tuple[str, int, int]] | None:
        return None

    def contents(self, uri: str, files: Sequence[tuple[str, int]]) -> list[bytes]:
        raise OSError("nothing is listed")

    def delete(self, uri: str, names: Sequence[str]) -> None:
        """As Hadoop asks for it."""
        for name in names:
            request = Request(f"http://127.0.0.1:{self._port}/{uri.removeprefix('s3a://')}/{name}", method="DELETE")
            try:
                urlopen(request, timeout=1).close()
            except HTTPException as error:
                raise OSError(str(error)) from error


def column(name: str) -> pa.Field:
    tree = {"id": 0, "name": "AttributeReference", "type": "bigint", "column": name, "partition": False}
    return definition_field(name, RECORD, Definition("MinMax", (name,), {}, 1, (tree,), READER))


def key(name: str) -> FileKey:
    path, _, version = name.partition("@")
    return FileKey(path, 10 + len(path), int(version or 1))


def truth(file: FileKey, index: str) -> dict[str, Any]:
    """The only true record of a version of a file."""
    return {"min": len(index) * 1000 + file.modification_time, "text": f"{file.path} {index}"}


def add(store: DeltaStore, files: str, indexes: str, declare: bool, gone: str = "") -> None:
    """Appends records of files, and that some are gone; all names of one letter, or as `a@2`."""
    there, left = [key(name) for name in files.split()], [key(name) for name in gone.split()]
    records = {column(index): pa.array([*(truth(file, index) for file in there), *(None for _ in left)], RECORD) for index in indexes}
    counts = [*(file.modification_time for file in there), *(None for _ in left)]
    generations = [0] * len(there) + [1] * len(left)
    store.append([*there, *left], counts, records, declare, generations, [True] * len(there) + [False] * len(left))


class State(NamedTuple):
    """What an index says, and in how many commits it came to be."""

    version: int
    indexes: frozenset[str]
    files: frozenset[Any]


NOTHING = State(-1, frozenset(), frozenset())


def state(store: DeltaStore) -> State:
    """Every record is the true one."""
    snapshot = store.snapshot()
    if snapshot is None:
        return NOTHING
    records = snapshot.records(snapshot.definitions)
    said = []
    for i, (file, generation) in enumerate(zip(snapshot.files, snapshot.generations.tolist(), strict=True)):
        known = {name for name, found in records.items() if found[i].is_valid}
        for name in known:
            assert records[name][i].as_py() == truth(file, name), (file, name, records[name][i].as_py())
        count = snapshot.row_counts[i]
        assert count is None or count != count or count == file.modification_time
        said.append((file, generation, bool(count == count and count is not None), frozenset(known)))
    return State(snapshot.version, frozenset(snapshot.definitions), frozenset(said))


def make_anew(store: DeltaStore) -> None:
    """Drops the index x, and makes it again."""
    store.drop("x")
    add(store, "z", "x", declare=True)


class Command(NamedTuple):
    """What is done to a state; and those at which it may be left when it is refused."""

    start: str
    run: Callable[[DeltaStore], None]
    halves: tuple[str, ...] = ()


COMMANDS = {
    "create": Command("", lambda store: add(store, "a b", "x", declare=True), ("begun",)),
    "create another": Command("one", lambda store: add(store, "a b", "y", declare=True)),
    "refresh": Command("two", lambda store: add(store, "a@2 c", "xy", declare=False, gone="a")),
    "drop": Command("refreshed", lambda store: store.drop("x")),
    "compact": Command("refreshed", lambda store: store.compact()),
    "put together": Command("refreshed", lambda store: store.put_together()),
}
# What a second writer does meanwhile; all of it is acknowledged.
OTHERS: dict[str, Callable[[DeltaStore], None]] = {
    "adds": lambda store: add(store, "z", "x", declare=True),
    "drops": lambda store: store.drop("x"),
    "makes anew": make_anew,
    "compacts": lambda store: store.compact(),
    "puts together": lambda store: store.put_together(),
}
TWO_COMMITS = {"put together", "puts together"}  # of the first alone nobody sees any difference but that of the version


def run(store: DeltaStore, command: str) -> None:
    """A command, what a second writer does, or `add FILES INDEXES`, with commas between files."""
    if command in COMMANDS:
        COMMANDS[command].run(store)
    elif command in OTHERS:
        OTHERS[command](store)
    else:
        _, files, indexes = command.split(" ")
        add(store, files.replace(",", " "), indexes, declare=True)


def is_done(command: str, found: State) -> bool:
    """Whether all is there that a command has to do."""
    files = {file: (generation, known) for file, generation, _, known in found.files}
    if command == "drop":
        return "x" not in found.indexes
    if command == "compact":
        return key("a") not in files
    if command == "put together":
        return bool(files)  # which are as they were before
    index, added = {"create": ("x", "a b"), "create another": ("y", "a b"), "refresh": ("", "a@2 c")}[command]
    added_there = all(key(name) in files and set(index) <= files[key(name)][1] for name in added.split())
    return added_there and (command != "refresh" or files[key("a")][0] == 1)


def begin(store: DeltaStore) -> None:
    """The first half of a creation: an index without indexes."""
    store.snapshot()
    DeltaTable.create(store.location, schema=BASE, mode="error", configuration=delta._CONFIGURATION, storage_options=store._options)


BEGINNINGS: list[tuple[str, Callable[[DeltaStore], None]]] = [
    ("begun", begin),
    ("one", lambda store: add(store, "a b", "x", declare=True)),
    ("two", lambda store: add(store, "a b", "y", declare=True)),
    ("refreshed", lambda store: add(store, "a@2 c", "xy", declare=False, gone="a")),
]


def store_by(port: int, patience: Mapping[str, str] = PATIENCE) -> DeltaStore:
    """The index as a session of its own sees it."""
    return DeltaStore(URI, Told(port, patience))


def without_environment(delete: Callable[[str], object] = os.environ.pop) -> None:
    """Forgets what the environment says of Amazon."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        delete(name)
