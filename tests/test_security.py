"""An index that others may have written: what it may not do. Each test is one thing forged."""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from data_skip import DataSkipError, MinMax, Skipping, ValueList
from data_skip.building.source import TableSource, as_indexed
from data_skip.planning.catalog import FOLDER, _candidates
from data_skip.store import DeltaStore, FileKey, Places, StoreError, guard, sizes
from data_skip.store import records as stored_records
from data_skip.store.definition import Definition
from data_skip.store.layout import BASE, definition_field
from tests.support import Lake

READER: dict[str, Any] = {"format": "parquet", "options": {}, "columns": [], "session": {}}
RECORD = pa.struct({"min": pa.int64()})
TREE = {"id": 0, "name": "AttributeReference", "type": "bigint", "column": "x", "partition": False}
DEFINITION = Definition("MinMax", ("x",), {}, 1, (TREE,), READER)
DEEP = "[" * 100_000 + "]" * 100_000


class Forged:
    """An index, and what somebody else does to it."""

    def __init__(self, folder: Path) -> None:
        self.store = DeltaStore(f"file:{folder}/{FOLDER}")
        self.add(FileKey("a.parquet", 10, 1))
        self.place = Path(self.store.location)
        self.log = self.place / "_delta_log"
        assert self.read() is not None

    def add(self, *files: FileKey, definition: Definition = DEFINITION, generations: tuple[int, ...] = ()) -> None:
        column = definition_field("min_max__x", RECORD, definition)
        self.store.append(files, [1] * len(files), {column: pa.array([{"min": 1}] * len(files), RECORD)}, generations=generations)

    def read(self) -> Any:
        """As a new session does."""
        found = DeltaStore(self.store.uri).snapshot()
        return found and found.records(found.definitions)

    def commit(self, *actions: Any) -> None:
        version = max(int(path.stem) for path in self.log.glob("*.json")) + 1
        text = "\n".join(action if isinstance(action, str) else json.dumps(action) for action in actions)
        (self.log / f"{version:020}.json").write_text(text)

    def redefine(self, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
        """change: of the metadata of the table, and of its schema."""
        lines = (self.log / f"{1:020}.json").read_text().splitlines()
        action = next(json.loads(line) for line in lines if line.startswith('{"metaData"'))
        schema = json.loads(action["metaData"]["schemaString"])
        change(action["metaData"], schema)
        self.commit(action | {"metaData": action["metaData"] | {"schemaString": json.dumps(schema)}})

    def refused(self, why: str) -> None:
        with pytest.raises(StoreError, match=f"(?s){why}.*delete the folder and create the index again"):
            self.read()


@pytest.fixture
def forged(tmp_path: Path) -> Forged:
    return Forged(tmp_path / "table")


def added(path: str, size: int = 10) -> dict[str, Any]:
    return {"add": {"path": path, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}}


@pytest.mark.parametrize("how", ["..", "escaped", "absolute", "file:", "s3:", "http:", "below", "log"])
def test_records_in_files_elsewhere(forged: Forged, how: str) -> None:
    outside = forged.place.parents[4] / "victim.parquet"
    pq.write_table(pa.table({"path": ["secret"], "size": [1], "modification_time": [1]}), outside)
    up = os.path.relpath(outside, forged.place)
    paths = {"..": up, "escaped": up.replace("..", "%2e%2e"), "absolute": str(outside), "file:": f"file://{outside}"}
    paths |= {
        "s3:": "s3://bucket/x.parquet",
        "http:": "http://127.0.0.1:9/x.parquet",
        "below": "a/x.parquet",
        "log": "_delta_log/x.parquet",
    }
    forged.commit(added(paths[how], outside.stat().st_size))
    forged.refused("no file in its folder")


def test_old_files_elsewhere_are_not_deleted(forged: Forged) -> None:
    victim = forged.place.parents[3] / "victim.parquet"
    victim.write_text("mine")
    os.symlink("../../../..", forged.place / "link")
    for path in ("link/victim.parquet", "../../../../victim.parquet", str(victim)):
        forged.commit({"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True, "size": 10}})
    with pytest.raises(StoreError, match="not deleted"):
        forged.store.compact()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("which", ["commit", "records", "log", "folder", "pipe", "pipe for records"])
def test_links_and_pipes(forged: Forged, which: str) -> None:
    """A link may lead to what the user may read, and whoever made it may not; a pipe is waited for."""
    path = {"log": forged.log, "folder": forged.place.parents[2]}.get(which, forged.log / f"{1:020}.json")
    if which.endswith("records"):
        path = next(forged.place.glob("*.parquet"))
    path.rename(path.with_name("elsewhere"))
    if which.startswith("pipe"):
        os.mkfifo(path)
    else:
        path.symlink_to(path.with_name("elsewhere"))
    with pytest.raises(StoreError, match=r"is a link|link, a pipe or a device"):
        forged.read()


def test_no_index_is_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".data_skip").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="index_root"):
        Forged(tmp_path)
    assert not list((tmp_path / "elsewhere").rglob("*.json"))


@pytest.mark.parametrize("action", ['{"add":{"path":"a","stats":%s}}', '{"commitInfo":%s}', "%s", '"%s'])
def test_deep_commits(forged: Forged, action: str) -> None:
    """Of the first, deltalake's parser overruns the stack: the process ends."""
    forged.commit(action % DEEP)
    forged.refused("nested more than")


def test_deep_definitions(forged: Forged) -> None:
    def change(metadata: Any, schema: Any) -> None:
        schema["fields"][-1]["metadata"]["data_skip.index"] = '{"kind":' + DEEP + "}"

    forged.redefine(change)
    forged.refused("definition")


TREES: list[Any] = [TREE]
for _ in range(450):
    TREES = [{"id": 0, "name": "Not", "type": "boolean", "deterministic": True, "children": TREES}]


@pytest.mark.parametrize(
    "part",
    [
        {"kind": 5},
        {"kind": "os.system('x')"},
        {"kind": ["MinMax"]},
        {"expressions": "x"},
        {"expressions": [5]},
        {"expressions": ["x" * 100_000]},
        {"parameters": [1]},
        {"version": "1"},
        {"trees": 5},
        {"trees": [{}]},
        {"trees": [{"id": 1, "type": 5, "column": "x", "partition": False}]},
        {"trees": [{"id": 1, "type": "decimal(38,0)", "value": {"decimal": "nonsense"}}]},
        {"trees": [{"id": 1, "type": "double", "value": {"double": "9" * 5000}}]},
        {"trees": TREES},
        {"reader": {}},
        {"reader": READER | {"options": {"header": True}}},
        {"reader": READER | {"columns": [5]}},
        {"reader": READER | {"session": ["x"]}},
        {"reader": {"settings": 5, "format": "parquet", "options": {}, "columns": []}},
    ],
    ids=lambda part: str(part)[:40],
)
def test_definitions_that_are_none(part: dict[str, Any]) -> None:
    told = json.loads(DEFINITION.to_json())
    assert Definition.from_json(json.dumps(told)).same_as(DEFINITION)
    with pytest.raises(ValueError, match="a definition of an index is none"):
        Definition.from_json(json.dumps(told | part))


@pytest.mark.parametrize("what", ["constraint", "invariant", "generated", "names", "partitions", "types", "version"])
def test_tables_that_say_more_than_an_index(forged: Forged, what: str) -> None:
    """Constraints are SQL that deltalake runs with each write."""

    def change(metadata: Any, schema: Any) -> None:
        size = schema["fields"][1]
        if what == "constraint":
            metadata["configuration"]["delta.constraints.c"] = "size > 100"
        elif what == "invariant":
            size["metadata"]["delta.invariants"] = json.dumps({"expression": {"expression": "size > 100"}})
        elif what == "generated":
            size["metadata"]["delta.generationExpression"] = "1 + 1"
        elif what == "names":
            metadata["configuration"]["delta.columnMapping.mode"] = "name"
        elif what == "partitions":
            metadata["partitionColumns"] = ["path"]
        else:
            size["type"] = "string"

    if what == "version":
        forged.commit({"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}})
    else:
        forged.redefine(change)
    forged.refused("cannot be read")


@pytest.mark.parametrize(
    "path", ["../a.parquet", "a/../../b", "/etc/passwd", "%2e%2e/a", "a/%2E./b", "..%2fa", "a//b", "./a", "a%00", "p=1/.."]
)
def test_files_outside_of_the_table(forged: Forged, path: str) -> None:
    """By the contract `snapshot` the index says which files a query reads."""
    forged.add(FileKey("of a name..with=dots/...", 10, 1), FileKey("a%20b", 10, 1), FileKey(".hidden/.a", 10, 1))
    assert forged.read() is not None
    forged.add(FileKey(path, 10, 1))
    forged.refused("no path below the root")


def test_sizes_and_generations_that_no_file_has(tmp_path: Path) -> None:
    for i, (size, generation) in enumerate([(-1, 0), (1 << 62, 0), (1, -2), (1, (1 << 63) - 1)]):
        forged = Forged(tmp_path / str(i))
        forged.add(FileKey("b", size, 1), FileKey("c", size, 1), generations=(generation, generation))
        forged.refused("it has a")


def test_a_giant_commit(forged: Forged) -> None:
    with open(forged.log / f"{2:020}.json", "wb") as file:
        file.truncate(1 << 40)  # a terabyte, of which the disk holds nothing
    forged.refused("at most")


def test_a_giant_checkpoint_hint(forged: Forged) -> None:
    with open(forged.log / "_last_checkpoint", "wb") as file:
        file.truncate(1 << 40)
    forged.refused("at most")


def test_checkpoints_of_other_kinds(forged: Forged) -> None:
    """Their parts may lie anywhere."""
    (forged.log / f"{1:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json").write_text("{}")
    forged.refused("kind of checkpoint")


def test_a_checkpoint_that_takes_gigabytes(forged: Forged, monkeypatch: pytest.MonkeyPatch) -> None:
    forged.add(FileKey("b", 10, 1))
    DeltaTable(forged.store.location).create_checkpoint()
    assert forged.read() is not None
    path = next(forged.log.glob("*.checkpoint.parquet"))
    rows = pq.read_table(path)
    pq.write_table(pa.concat_tables([rows] * 2000), path, compression="snappy")
    monkeypatch.setattr(guard, "_MOST_CHECKPOINT", 1 << 20)
    forged.refused("of memory")


def big_text(path: Path, rows: int = 1000, compression: str = "snappy", **how: Any) -> None:
    """A file of a few thousand bytes with text of a gigabyte."""
    text = pa.array(["a" * 1_000_000])
    records = pa.StructArray.from_arrays([pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), text)], names=["min"])
    pq.write_table(pa.table({"min_max__x": records}), path, compression=compression, store_schema=False, **how)
    assert path.stat().st_size < 1 << 21


def test_text_that_a_dictionary_holds_once(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    big_text(path)
    with pytest.raises(ValueError, match="of memory"):
        sizes.refuse_large(str(path), ["min_max__x"], 1 << 28)
    assert sizes.refuse_large(str(path), ["min_max__x"], 1 << 31) >= 1_000_000_000
    big_text(path, rows=10)
    assert sizes.refuse_large(str(path), ["min_max__x"], 1 << 28) < 1 << 28
    assert sizes.refuse_large(str(path), ["another"], 1) == 0
    lists = pa.array([None, [], *[["b" * 10_000] * 5] * 1000], pa.list_(pa.string()))
    pq.write_table(pa.table({"l": lists}), path)
    with pytest.raises(ValueError, match="of memory"):
        sizes.refuse_large(str(path), None, 1 << 25)
    for compression in ("zstd", "gzip", "brotli"):
        pq.write_table(pa.table({"x": [1]}), path, compression=compression)
        with pytest.raises(ValueError, match="compressed by"):
            sizes.refuse_large(str(path), None, 1 << 31)


def test_records_that_take_more_memory_than_there_is(forged: Forged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_records, "most_bytes", lambda: 5000)
    assert forged.read() is not None
    forged.add(*[FileKey(f"{i}.parquet", 10, 1) for i in range(1000)])
    forged.refused("of memory")
    monkeypatch.setattr(stored_records, "MOST_ROWS", 100)
    monkeypatch.setattr(stored_records, "most_bytes", sizes.most_bytes)
    forged.refused("more than 100 rows")


def test_an_index_says_nothing_of_the_tables_beside_the_one_below_it(tmp_path: Path) -> None:
    """As in /tmp, where anybody may make a folder, and none but its owner may write in it."""
    table = tmp_path / "table"
    (table / "p=1").mkdir(parents=True)
    (table / "a.parquet").write_text("")

    def roots(path: str) -> list[str]:
        return [root for root, _ in _candidates(path)]

    assert roots(f"file:{table}") == [f"file:{table}"]
    assert roots(f"file:{table}/a.parquet") == [f"file:{table}/a.parquet", f"file:{table}"]
    assert roots(f"file:{table}/p=1") == [f"file:{table}/p=1", f"file:{table}"]
    assert roots("s3a://b/t") == ["s3a://b/t", "s3a://b"]


class Told:
    """A pickled object that runs code as it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("how", ["class", "jdbc", "path", "hadoop", "url", "type"])
def test_readers_that_an_index_may_not_choose(tmp_path: Path, how: str) -> None:
    """`table(path)` without a format reads as the index says: a format may be a class, an option name a host, a type be pickled."""
    run = tmp_path / "run"
    code = base64.b64encode(pickle.dumps(Told(run))).decode()
    udt = {"type": "udt", "class": "x.Y", "pyClass": "os.NoSuch", "serializedClass": code, "sqlType": "string"}
    reader = {
        "class": {"format": "com.example.Code"},
        "jdbc": {"format": "jdbc", "options": {"url": "jdbc:derby:memory:x;create=true"}},
        "path": {"format": "csv", "options": {"path": "/etc/passwd"}},
        "hadoop": {"format": "csv", "options": {"fs.s3a.endpoint": "http://127.0.0.1:9"}},
        "url": {"format": "avro", "options": {"avroschemaurl": "http://127.0.0.1:9"}},
        "type": {"format": "csv", "columns": [["x", "string"], ["y", {"type": "struct", "fields": [{"name": "z", "type": udt}]}]]},
    }[how]
    forged = Forged(tmp_path / "table")
    places = Places([f"file:{tmp_path}/other/{FOLDER}"])
    definition = Definition("MinMax", ("x",), {}, 1, (TREE,), READER | reader)
    append = places._found()[0].append
    append([FileKey("a", 1, 1)], [1], {definition_field("min_max__x", RECORD, definition): pa.array([{"min": 1}], RECORD)})
    source = TableSource(str(tmp_path / "other"), False, None, None, {})
    with pytest.raises(DataSkipError, match="give format, schema and options"):
        as_indexed(source, places.snapshot())
    assert not run.exists()
    assert as_indexed(source, Places([forged.store.uri]).snapshot()).format == "parquet"


def test_options_and_types_that_text_is_read_with(tmp_path: Path) -> None:
    columns = [["x", "string", None, None], ["y", {"type": "array", "elementType": "integer", "containsNull": True}, None, None]]
    options = {"header": "true", "sep": ";", "timestampformat": "yyyy", "orc.force.positional.evolution": "true"}
    definition = Definition("MinMax", ("x",), {}, 1, (TREE,), READER | {"format": "csv", "columns": columns, "options": options})
    places = Places([f"file:{tmp_path}/{FOLDER}"])
    append = places._found()[0].append
    append([FileKey("a", 1, 1)], [1], {definition_field("min_max__x", RECORD, definition): pa.array([{"min": 1}], RECORD)})
    found = as_indexed(TableSource(str(tmp_path), False, None, None, {}), places.snapshot())
    assert found.schema.simpleString() == "struct<x:string,y:array<int>>" and found.options == options


def test_nothing_is_run_that_stands_in_a_store() -> None:
    """No module of the core unpickles, evaluates or imports by name anything but what its own tasks have pickled."""
    root = Path(__file__).parents[1]
    words = (
        "pickle.loads",
        "pickle.Unpickler",
        "eval(",
        "exec(",
        "__import__",
        "import_module",
        "importlib.import",
        "os.system",
        "subprocess",
    )
    found = {
        f"{path.relative_to(root)}: {word}"
        for folder in ("core", "geo_skip", "log_skip")
        for path in (root / folder).rglob("*.py")
        for word in words
        if word in path.read_text("utf-8")
    }
    assert found == {
        "core/data_skip/__init__.py: import_module",  # of what it lists itself
        "core/data_skip/cli/running.py: import_module",  # of what the user names by --register
        "core/data_skip/cli/recipes.py: import_module",  # of the packages of installed plugins
        "core/data_skip/spark/pickled.py: pickle.Unpickler",  # of classes of the driver's own, and calls nothing that they name
        "core/data_skip/pictures/__init__.py: import_module",  # of its own module, which needs matplotlib
        "core/data_skip/building/progress.py: import_module",  # of IPython's, where that runs
        "core/data_skip/testing/patterns.py: eval(",  # ast.literal_eval, of constants in a plugin's patterns
        "core/data_skip/building/index_text.py: eval(",  # ast.literal_eval, of what the user writes
        "core/data_skip/building/collect.py: pickle.loads",
        "core/data_skip/building/same_code.py: pickle.Unpickler",  # of what the driver has pickled itself
        "core/data_skip/building/direct.py: pickle.loads",
        "core/data_skip/planning/evaluating.py: pickle.loads",  # in a task, of what the driver has pickled
        "core/data_skip/planning/in_tasks.py: pickle.loads",  # on the driver, of what tasks have
        "core/data_skip/testing/plugin.py: pickle.loads",  # of what it has pickled itself
        "core/data_skip/spark/java.py: subprocess",
        "core/data_skip/store/object_place.py: subprocess",  # of a constant, that is told names of files by its standard input
        "core/data_skip/spark/workers.py: subprocess",
    }


@pytest.mark.long
def test_the_process_lives_on(tmp_path: Path) -> None:
    """What ended it: see test_deep_commits."""
    forged = Forged(tmp_path)
    forged.commit('{"add":{"path":"a","stats":' + DEEP + "}}")
    code = f"from data_skip.store import DeltaStore; DeltaStore({forged.store.uri!r}).snapshot()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 1 and "nested" in ran.stderr
    code = f"from deltalake import DeltaTable; DeltaTable({forged.store.location!r})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode != 0  # whether or not it is mended there


def rewritten(lake: Lake, part: dict[str, Any], kind: str = "min_max__x") -> None:
    """Forges the definition of the index of a lake."""
    store = lake.table()._store._stores[0]
    found = store.snapshot()
    assert found is not None
    definition = Definition.from_json(json.dumps(json.loads(found.definitions[kind].to_json()) | part))
    field = found.fields[kind]
    location = Path(store.location)
    (log,) = [path for path in (location / "_delta_log").glob("*.json") if "metaData" in path.read_text() and kind in path.read_text()]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            schema = json.loads(line["metaData"]["schemaString"])
            next(f for f in schema["fields"] if f["name"] == kind)["metadata"]["data_skip.index"] = definition.to_json()
            line["metaData"]["schemaString"] = json.dumps(schema)
    log.write_text("\n".join(map(json.dumps, lines)))
    assert field.name == kind
    lake.skipping.catalog.forget()


REFUSED = {
    "(SELECT max(x) FROM parquet.`/etc`)": "holds a subquery",
    "x IN (SELECT 1)": "holds a subquery",
    "exists(SELECT 1)": "holds a subquery",
    "concat(x, reflect('java.lang.System', 'getProperty', 'user.home'))": "calls reflect",
    "Java_Method('java.lang.System', 'exit', 3)": "calls java_method",
    "transform(array(x), y -> try_reflect('java.lang.System', 'gc'))": "calls try_reflect",
    "identifier('refl' || 'ect')('java.lang.System', 'gc')": "by an expression",
    "from_protobuf(x, 'M', '/etc/passwd')": "calls from_protobuf",
    "from_xml(x, 'a INT', map('rowValidationXSDPath', 'http://127.0.0.1:9'))": "calls from_xml",
    "(" * 3000 + "x" + ")" * 3000: "too deep",
    "x); DROP TABLE t": "does not understand",
    "x FROM t": "does not understand",
}


@pytest.mark.long
def test_expressions_of_a_store_are_expressions_only(lake: Lake) -> None:
    for i in range(2):
        lake.file(f"{i}.parquet", {"x": [i]})
    table = lake.index(MinMax("x"))
    jvm = lake.skipping.jvm
    for sql in ("x", "x + 1", "from_xml(s, 'a INT').a", "CAST(a AS DATE)", "f(x)", "a.b[1]", "transform(x, y -> y + 1)", "x LIKE 'a%'"):
        assert jvm.why_not_evaluated(sql) == ""
    lake.file("2.parquet", {"x": [2]})
    rewritten(lake, {"expressions": [next(iter(REFUSED))]})
    with pytest.raises(DataSkipError, match=r"holds a subquery.*drop_index|its column"):
        table.refresh()
    assert "cannot" in str(table.describe()) or table.describe().files == 3
    lake.view()
    lake.check("x = 1", read=["0.parquet", "1.parquet", "2.parquet"], errors=True)
    for sql, why in REFUSED.items():
        rewritten(lake, {"expressions": [sql]})
        with pytest.raises(DataSkipError, match=why):
            table.refresh()


@pytest.mark.long
def test_a_query_reads_all_files_and_says_so_once(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    for i in range(2):
        lake.file(f"{i}.parquet", {"x": [i]})
    table = lake.index(MinMax("x"), ValueList("x"))
    log = Path(table.describe().location) / "_delta_log"
    version = max(int(path.stem) for path in log.glob("*.json")) + 1
    (log / f"{version:020}.json").write_text(json.dumps(added("../../../../0.parquet")))
    lake.skipping.catalog.forget()
    for _ in range(3):
        lake.view()
        lake.query("SELECT * FROM t WHERE x = 1", read=["0.parquet", "1.parquet"], errors=True)
    assert sum("no file in its folder" in record.message for record in caplog.records) == 1
    for ask in (table.refresh, table.describe, lambda: table.create_index(MinMax("-x")), lambda: table.drop_index(MinMax("x"))):
        with pytest.raises(DataSkipError, match=r"no file in its folder.*delete the folder"):
            ask()


@pytest.mark.long
def test_a_snapshot_reads_no_file_outside_of_its_table(lake: Lake, skipping: Skipping) -> None:
    lake.file("0.parquet", {"x": [0]})
    outside = lake.folder.parent / "secret.parquet"
    pq.write_table(pa.table({"x": [42]}), outside)
    table = lake.index(MinMax("x"))
    key = FileKey("../secret.parquet", outside.stat().st_size, int(outside.stat().st_mtime * 1000))
    found = table._store.snapshot()
    assert found is not None
    field = found.fields["min_max__x"]
    table._store._found()[0].append([key], [1], {field: pa.array([None], field.type)})
    skipping.catalog.forget()
    with pytest.raises(DataSkipError, match="no path below the root"):
        skipping.read(str(lake.folder))
    lake.view()
    assert [row.x for row in lake.query("SELECT * FROM t WHERE x >= 0", errors=True).scans and lake.spark.table("t").collect()] == [0]


def test_base_columns_are_as_they_were() -> None:
    assert BASE.names == ["path", "size", "modification_time", "row_count", "generation", "collected"]
