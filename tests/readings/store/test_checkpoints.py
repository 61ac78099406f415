"""What the twenty-third reading found false."""

from __future__ import annotations

import io
import json
import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from data_skip import DataSkipError, MinMax
from data_skip.building.remote_files import RemoteFiles
from data_skip.store import DeltaStore, FileKey, guard
from data_skip.store.commit import Commit, retried
from data_skip.store.definition import Definition
from data_skip.store.layout import definition_field
from data_skip.store.sizes import refuse_large
from data_skip.store.storage_options import storage_options
from tests.support import Lake
from tests.test_security import READER, RECORD, TREE, Forged, added, forged, rewritten

__all__ = ["forged"]  # a fixture


@pytest.mark.parametrize("name", ["99999999999999999999", "٩" * 20, "00000000000000000001", "09999999999999999999"])
def test_a_checkpoint_that_deltalake_takes_for_none_hides_no_commits(forged: Forged, name: str) -> None:
    """Commits before it were not looked at, and deltalake read them: the process ended."""
    DeltaTable(forged.store.location).create_checkpoint()
    checkpoint = (forged.log / f"{1:020}.checkpoint.parquet").rename(forged.log / f"{name}.checkpoint.parquet")
    if name.startswith("0000"):
        checkpoint.write_bytes(b"")
    (forged.log / "_last_checkpoint").unlink()
    log, deep = forged.log / f"{1:020}.json", "[" * 200 + "]" * 200
    log.write_text(f'{log.read_text()}\n{{"add":{{"path":"a","stats":{deep}}}}}')
    forged.refused("nested more than")


def test_an_empty_checkpoint_does_no_harm(forged: Forged) -> None:
    """As of a machine that lost its power."""
    (forged.log / f"{1:020}.checkpoint.parquet").touch()
    assert forged.read() is not None


def test_an_empty_checkpoint_has_no_commits_cleaned_up(forged: Forged) -> None:
    """deltalake deletes old commits before any checkpoint, whatever is in it: then nothing tells what is in the index."""
    for name in "bcd":
        forged.add(FileKey(name, 10, 1))
    (forged.log / f"{3:020}.checkpoint.parquet").touch()
    for file in forged.log.iterdir():
        os.utime(file, (time.time() - 40 * 86400,) * 2)
    forged.add(FileKey("e", 10, 1))
    assert DeltaStore(forged.store.uri).snapshot().count == 5
    assert (forged.log / f"{0:020}.json").exists()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_hint_of_a_checkpoint_that_was_lost(forged: Forged, is_there: bool) -> None:
    """The hint is written over one that is there, and so it outlives a loss of power that empties the checkpoint, which has a new name."""
    for name in "bcd":
        forged.add(FileKey(name, 10, 1))
    DeltaTable(forged.store.location).create_checkpoint()
    checkpoint = next(forged.log.glob("*.checkpoint.parquet"))
    if is_there:
        checkpoint.write_bytes(b"")
    else:
        checkpoint.unlink()
    with ThreadPoolExecutor(4) as threads:  # whoever comes second to delete it
        found = threads.map(lambda _: DeltaStore(forged.store.uri).snapshot().count, range(4))
        assert [*found] == [4] * 4
    forged.add(FileKey("e", 10, 1))
    assert DeltaStore(forged.store.uri).snapshot().count == 5


def test_what_is_only_told_deletes_no_empty_checkpoint(forged: Forged) -> None:
    checkpoint = forged.log / f"{1:020}.checkpoint.parquet"
    checkpoint.touch()
    forged.store.vacuum(168, dry_run=True)
    assert checkpoint.exists()
    forged.store.vacuum(168)
    assert not checkpoint.exists()


@pytest.mark.parametrize("where", ["elsewhere", "up", "file:", "inside"])
def test_checkpoints_that_name_further_files(forged: Forged, where: str) -> None:
    """deltalake reads what a checkpoint calls its sidecars, wherever they lie, and however large they are."""
    forged.add(FileKey("b", 10, 1))
    DeltaTable(forged.store.location).create_checkpoint()
    assert forged.read() is not None
    path = next(forged.log.glob("*.checkpoint.parquet"))
    rows = pq.read_table(path)
    actions = rows.to_pylist()
    elsewhere = forged.place.parents[4] / "elsewhere.parquet"
    adds = [{"add": action["add"]} for action in actions if action["add"]]
    pq.write_table(pa.Table.from_pylist(adds, pa.schema([rows.schema.field("add")])), elsewhere)
    sidecars = forged.log / "_sidecars"
    sidecars.mkdir()
    shutil.copy(elsewhere, sidecars / "a.parquet")
    up = os.path.relpath(elsewhere, sidecars)
    named = {"elsewhere": str(elsewhere), "up": up, "file:": f"file://{elsewhere}", "inside": "a.parquet"}
    sidecar = {"path": named[where], "sizeInBytes": elsewhere.stat().st_size, "modificationTime": 0, "tags": None}
    others = [action for action in actions if not action["add"]]
    pq.write_table(pa.Table.from_pylist([*others, {"sidecar": sidecar}], rows.schema), path)
    for commit in forged.log.glob("*.json"):
        commit.unlink()
    assert len(DeltaTable(forged.store.location).file_uris()) == 2
    forged.refused("names further files")


@pytest.mark.parametrize("text", ["DEEP", '{"numRecords":1,"minValues":{"path":DEEP}}', '"' + "DEEP", '{"a":DEEP}" x'])
@pytest.mark.parametrize("how", ["plain", "escaped", "twice", "in one line", "checkpoint"])
def test_deep_statistics(forged: Forged, text: str, how: str) -> None:
    """They are a text in a commit, whose brackets did not count, and deltalake parses them: of a hundred thousand the process ended."""
    statistics = text.replace("DEEP", "[" * 200 + "]" * 200)
    action = added("x.parquet")
    action["add"]["stats"] = statistics
    commit = json.dumps(action)
    if how == "escaped":
        commit = commit.replace("[", "\\u005b").replace("stats", "\\u0073tats")
    if how == "twice":
        commit = commit.replace('"stats"', '"stats": "{}", "stats"')[:-1] + ', "add": null}'
    if how == "in one line":
        commit = '{"metaData": null} ' + commit
    forged.commit(commit)
    if how == "checkpoint":
        forged.commit({"add": action["add"] | {"stats": '{"numRecords":1}'}})
        next(forged.log.glob(f"{2:020}.json")).write_text('{"commitInfo":{}}')
        DeltaTable(forged.store.location).create_checkpoint()
        path = next(forged.log.glob("*.checkpoint.parquet"))
        rows = pq.read_table(path)
        actions = rows.to_pylist()
        for found in actions:
            if found["add"]:
                found["add"]["stats"] = statistics
        pq.write_table(pa.Table.from_pylist(actions, rows.schema), path)
    forged.refused("nested more than")


def test_text_in_a_definition_may_have_brackets(forged: Forged) -> None:
    definition = Definition("MinMax", ("x RLIKE '" + "[" * 300 + "'",), {}, 1, (TREE,), READER)
    forged.store.append([FileKey("b", 10, 1)], [1], {definition_field("min_max__y", RECORD, definition): pa.array([{"min": 1}], RECORD)})
    assert set(forged.read()) == {"min_max__x", "min_max__y"}


def test_commits_of_very_many_parts(forged: Forged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_MOST_PARTS", 1000)
    forged.commit({"commitInfo": {"x": [1] * 500}}, {"commitInfo": {"x": "," * 5000}})
    assert forged.read() is not None
    forged.commit({"commitInfo": {"x": [1] * 1500}})
    forged.refused("parts, at most")


@pytest.mark.parametrize("name", ["a", "a.b", "a.b.c", ".a"])
def test_a_name_with_dots_takes_what_it_takes(name: str) -> None:
    """It was taken for another column, which nobody asked for."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 100_000]))
    file = io.BytesIO()
    pq.write_table(pa.table({name: pa.StructArray.from_arrays([text], names=["min"]), "other": [1] * 1000}), file)
    source: Any = pa.BufferReader(file.getvalue())
    assert refuse_large(source, [name], 1 << 40) >= 100_000_000
    with pytest.raises(ValueError, match="of memory"):
        refuse_large(source, [name], 1 << 20)
    assert refuse_large(source, ["other"], 1 << 20) < 1 << 20


class Host(BaseHTTPRequestHandler):
    """Notes what it is asked."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("content-length", "8")
        self.end_headers()
        self.wfile.write(b'"string"')

    do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def host() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Host.asked.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


UDT = '{"type":"udt","class":"java.util.Date","pyClass":null,"sqlType":"binary"}'
FOREIGN = {
    """from_avro(cast(x AS binary), '"string"', map('avroSchemaUrl', 'HOST/a'))""": "calls from_avro",
    """concat(x, schema_of_avro('"string"', map('avroSchemaUrl', 'HOST/a')))""": "calls schema_of_avro",
    "concat(x, xpath_string('<!DOCTYPE a SYSTEM \"HOST/a\"><a/>', 'a'))": "calls xpath_string of other XML",
    "xpath_int(concat('<!DOCTYPE a SYSTEM \"HOST/a\">', x), 'a')": "calls xpath_int of other XML",
    "size(xpath(x || '', 'a'))": "calls xpath of other XML",
    f"from_json(x, '{UDT}')": "names* a class",
    f"from_csv(x, ' {UDT}').a": "names* a class",
    "from_json(x, concat('{', '\"type\":\"udt\"', '}'))": "names* a class",
    f"variant_get(parse_json(x), '$', '{UDT}')": "names* a class",
    f"try_variant_get(parse_json(x), '$', '{UDT}')": "names* a class",
    "from_json(x, schema_of_json(concat(x, '')))": "names* a class",
    "concat(x, ST_AsText(ST_GeomFromGML('<a/>')))": "calls st_geomfromgml of other XML",
    "concat(x, ST_AsText(ST_GeomFromKML('<a/>')))": "calls st_geomfromkml of other XML",
    "RS_NumBands(RS_MapAlgebra(x, 'D', 'out = 1;'))": "calls rs_mapalgebra",
    "ExpandAddress(x)[0]": "calls expandaddress",
    "concat(x, '${env:PATH}')": "stands for something",
    "concat(x, if('${spark.sql.session.timeZone}' < 'M', 'a', 'b'))": "stands for something",
    "concat(x, '${system:java.version}')": "stands for something",
}
OWN = (
    "from_json(x, 'a INT').a",
    "from_json(x, 'a INT', map('mode', 'PERMISSIVE')).a",
    "from_json(x, schema_of_json('{\"a\": 1}', map('allowComments', 'true'))).a",
    "from_csv(x, schema_of_csv('1,2'))._c0",
    "variant_get(parse_json(x), '$.a', 'int')",
    "xpath_string(x, 'a/b')",
    "x RLIKE 'a{2}$'",
    "xpath_string(CAST(s.x AS STRING), 'a')",
    "xpath_string(s['x'], 'a')",
    "ST_X(ST_GeomFromGML(x))",
    "from_avro(b, '\"string\"')",
)


def test_expressions_of_a_store_name_no_file_host_or_class(lake: Lake, host: str) -> None:
    """Spark asked the host, and made an object of the class, of expressions that stood in an index."""
    lake.file("0.parquet", {"x": ["<a>1</a>"]})
    table = lake.index(MinMax("x"))
    lake.file("1.parquet", {"x": ["<a>2</a>"]})
    for sql in OWN:
        assert lake.skipping.jvm.why_not_evaluated(sql) == ""
    for sql, why in FOREIGN.items():
        rewritten(lake, {"expressions": [sql.replace("HOST", host)]})
        with pytest.raises(DataSkipError, match=why.replace("names* ", "type that may name ")):
            table.refresh()
    assert not Host.asked


def test_what_no_refresh_evaluates_is_no_index(lake: Lake) -> None:
    """It was made, and could not be brought up to date."""
    lake.file("0.parquet", {"x": ["<a>1</a>"]})
    table = lake.table()
    for sql in ("xpath_string(concat(x, ''), 'a')", "from_xml(x, 'a INT', map('mode', 'PERMISSIVE')).a"):
        with pytest.raises(DataSkipError, match=r"calls \w+.*does not do for an index"):
            table.create_index(MinMax(sql))
    assert table.create_index(MinMax("xpath_string(x, 'a')")).files_collected == 1
    lake.file("1.parquet", {"x": ["<a>2</a>"]})
    assert table.refresh().files_collected == 1
    lake.check("xpath_string(x, 'a') = '2'", read=["1.parquet"])


class Told:
    """Hadoop, of which some keys are set, and one file system is made."""

    def __init__(self, file_system: str = "org.apache.hadoop.fs.s3a.S3AFileSystem", **keys: str) -> None:
        self.file_system = file_system
        self._keys = {f"fs.s3a.{key.replace('__', '.')}": value for key, value in keys.items()}

    def told(self, _: str, keys: Iterable[str], secrets: Iterable[str]) -> dict[str, Any]:
        asked = {*keys, *secrets}
        told = {"set": {key: value for key, value in self._keys.items() if key in asked}, "overrides": {}}
        return {**told, "file_system": self.file_system}


@pytest.mark.parametrize(
    ("name", "value", "endpoint", "leads"),
    [
        ("AWS_ENDPOINT_URL_S3", "http://two:9000", "http://one:9000", True),
        ("aws_endpoint_url_s3", "http://two:9000", "", True),
        ("AWS_ENDPOINT_URL", "http://two:9000", "", True),
        ("AWS_ENDPOINT_URL_S3", "http://one:9000/", "http://one:9000", False),
        ("AWS_ENDPOINT_URL", "http://one:9000", "http://one:9000/", False),
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://two:9000", "http://one:9000", False),
        ("AWS_REGION", "eu-west-1", "http://one:9000", False),
    ],
)
def test_the_environment_of_the_driver_may_lead_elsewhere(
    name: str, value: str, endpoint: str, leads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """deltalake heeds it, even where Hadoop says another endpoint: then Hadoop is not asked whether there is a later version there."""
    keys = {"endpoint": endpoint, "path__style__access": "true"} if endpoint else {}
    told: Any = Told(**keys)
    assert storage_options("s3a://bucket/a", told).of_hadoop
    monkeypatch.setenv(name, value)
    found = storage_options("s3a://bucket/a", told)
    assert (found.say_where, found.of_hadoop) == (leads, not leads)
    opened = RemoteFiles("s3a://bucket/a", found, {"s3a://bucket/a/x": 10})
    if leads:
        with pytest.raises(OSError, match=name):
            opened.opened("s3a://bucket/a/x")


@pytest.mark.parametrize(
    ("told", "surely"),
    [
        (Told(), True),
        (Told("alluxio.hadoop.ShimFileSystem"), False),
        (Told(s3__client__factory__impl="org.apache.hadoop.fs.s3a.DefaultS3ClientFactory"), True),
        (Told(s3__client__factory__impl="users.Clients"), False),
    ],
)
def test_another_file_system_may_find_other_files(told: Any, surely: bool) -> None:
    """Tasks would read by deltalake what the store has of that name, and Spark what its file system makes of it."""
    found = storage_options("s3a://bucket/a", told)
    assert found.of_hadoop == surely and not found.say_where


PUT = "Error performing PUT http://127.0.0.1:9/b/t/_delta_log/00000000000000000005.json in 1.0s"
PART = "Error performing PUT http://127.0.0.1:9/b/t/part-00000.parquet in 1.0s"
STATUS = "Server returned non-2xx status code\n   \x1b[31m\u21b3\x1b[0m "


@pytest.mark.parametrize("error", [ValueError, RuntimeError, Exception])
def test_any_error_once_the_commit_is_there(error: type[Exception]) -> None:
    """deltalake has several kinds of them, and tidies up after a commit: what was committed was told to have failed."""
    log: dict[int, bytes] = {}

    def write() -> None:
        commit.is_done_before(0)
        if asked == "committed":
            log[1] = commit.name.encode()
        raise error("after it")

    def read(version: int) -> bytes:
        if version not in log:
            raise FileNotFoundError
        return log[version]

    for asked in ("committed", "refused"):
        log.clear()
        commit = Commit(read)
        if asked == "committed":
            assert retried(write, commit) is None
        else:
            with pytest.raises(error, match="after it"):
                retried(write, commit)


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (f"Generic S3 error {PUT} - HTTP error error sending request operation timed out", False),
        (f"Generic S3 error {PUT}, after 1 retries - {STATUS}504 Gateway Timeout", False),
        (f"Generic S3 error {PUT} - {STATUS}408 Request Timeout", False),
        (f"Generic S3 error {PUT} - {STATUS}403 Forbidden", True),
        (f"Generic S3 error {PUT}, after 2 retries, max_retries: 10 - {STATUS}403 Forbidden", False),
        (f"Generic S3 error {PUT} - {STATUS}502 Bad Gateway: 403 Forbidden by the server behind it", False),
        (f"Generic S3 error {PUT} - {STATUS}499 <unknown status code>: 403 Forbidden", False),
        (f"Generic S3 error {PUT} - {STATUS}405 Method Not Allowed", True),
        (f"Generic S3 error {PART} - HTTP error error sending request operation timed out", True),
        ("No space left on device (os error 28)", True),
    ],
)
def test_a_commit_without_an_answer_may_be_there_later(error: str, known: bool) -> None:
    """It was said to be known that nothing was written, while the store was about to write it."""

    def nothing(_: int) -> bytes:
        raise FileNotFoundError

    def write() -> None:
        commit.is_done_before(4)
        raise OSError(error)

    commit = Commit(nothing)
    failed = retried(write, commit)
    assert failed is not None and failed[1] == known
