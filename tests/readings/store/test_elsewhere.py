"""What may lead to another store than Spark reads, or tell it what is not meant for it: options, environment, expressions in an index."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from deltalake import DeltaTable

from data_skip import DataSkipError, MinMax
from data_skip.building.remote_files import RemoteFiles
from data_skip.store.environment import asks_otherwise, with_endpoint
from data_skip.store.storage_options import StorageOptions, storage_options
from tests.support import Lake, files_read
from tests.test_security import rewritten


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


class ToldToDeltalake:
    """Hadoop, of which only what the user says to deltalake is of interest."""

    def __init__(self, **overrides: str) -> None:
        self.overrides = overrides

    def told(self, *_: Any) -> dict[str, Any]:
        found = {"fs.s3a.endpoint": "http://one:9000"}
        return {"set": found, "overrides": self.overrides, "file_system": "org.apache.hadoop.fs.s3a.S3AFileSystem"}


@pytest.mark.parametrize(
    ("override", "of_hadoop"),
    [
        ("aws_endpoint", False),
        ("aws_access_key_id", False),
        ("proxy_url", False),
        ("azure_storage_use_emulator", False),
        ("google_base_url", False),
        ("aws_region", True),
        ("timeout", True),
        ("max_retries", True),
        ("backoff_config.init_backoff", True),
    ],
)
def test_what_only_deltalake_is_told_may_lead_elsewhere(override: str, of_hadoop: bool) -> None:
    """Then a file of the same name and size may lie there, with other rows than Spark reads."""
    told: Any = ToldToDeltalake(**{override: "two"})
    assert storage_options("s3a://bucket/a", told).of_hadoop == of_hadoop
    assert storage_options("s3a://bucket/a", ToldToDeltalake()).of_hadoop  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "aws_endpoint", "AZURE_STORAGE_USE_EMULATOR", "ENDPOINT"])
def test_where_tasks_run_the_environment_may_lead_elsewhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://x")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x")
    options = {"aws_endpoint": "http://127.0.0.1:9", "aws_allow_http": "true", "aws_region": "us-east-1"}
    files = RemoteFiles("s3a://bucket/a", StorageOptions(options), {"s3a://bucket/a/x": 10})
    files.opened("s3a://bucket/a/x")
    monkeypatch.setenv(name, "http://127.0.0.1:10")
    files = RemoteFiles("s3a://bucket/a", StorageOptions(options), {"s3a://bucket/a/x": 10})
    with pytest.raises(OSError, match=name):
        files.opened("s3a://bucket/a/x")


@pytest.mark.parametrize(
    ("bucket", "leads"), [("bucket", "arn:aws:s3:eu-west-1:123456789012:accesspoint/other"), ("another", ""), ("bucket", "")]
)
def test_an_access_point_may_lead_to_another_bucket(bucket: str, leads: str) -> None:
    """S3A asks it for all that a bucket's name stands for; deltalake asks the bucket of that name, which may be anybody's."""
    told: Any = Told(**{f"bucket__{bucket}__accesspoint__arn": leads})
    found = storage_options("s3a://bucket/a", told)
    assert (found.of_hadoop, found.say_where) == (not leads, bool(leads))


def test_an_access_point_of_another_bucket_does_not_count() -> None:
    told: Any = Told(bucket__another__accesspoint__arn="arn:aws:s3:eu-west-1:123456789012:accesspoint/other")
    found = storage_options("s3a://bucket/a", told)
    assert found.of_hadoop and not found.say_where


@pytest.mark.parametrize("name", ["AZURE_USE_FABRIC_ENDPOINT", "use_fabric_endpoint", "AWS_PROXY_URL", "PROXY_URL"])
def test_another_host_by_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "true" if "FABRIC" in name.upper() else "http://127.0.0.1:10")
    root = "abfss://files@account.dfs.core.windows.net/a"
    files = RemoteFiles(root, StorageOptions({"azure_storage_account_key": "YQ=="}), {f"{root}/x": 10})
    with pytest.raises(OSError, match=name):
        files.opened(f"{root}/x")


class HostOfHeaders(BaseHTTPRequestHandler):
    """Notes the headers of what it is asked."""

    asked: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        self.asked.append(dict(self.headers))
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def host_of_headers() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), HostOfHeaders)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    HostOfHeaders.asked.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["TOKEN", "token", "AWS_SESSION_TOKEN", "Session_Token", "AWS_TOKEN"])
def test_no_token_of_the_environment_is_sent_beside_the_keys_of_hadoop(
    host_of_headers: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it was for, it went to the host of the store; which took it for a session token, and refused the keys."""

    class Told:
        def told(self, *_: Any) -> dict[str, Any]:
            found = {"fs.s3a.endpoint": host_of_headers, "fs.s3a.path.style.access": "true", "fs.s3a.endpoint.region": "us-east-1"}
            return {"set": found, "overrides": {"max_retries": "0"}, "credentials": {"access_key": "of Hadoop", "secret_key": "of Hadoop"}}

    told: Any = Told()
    before = storage_options("s3a://bucket/a", told)
    monkeypatch.setenv(name, "of-another-place")
    after = storage_options("s3a://bucket/a", told)
    with pytest.raises(Exception, match="bucket"):
        DeltaTable("s3://bucket/a", storage_options=dict(after))
    with pytest.raises(OSError, match=r"x\.parquet"):  # where tasks run
        RemoteFiles("s3a://bucket/a", before, {"s3a://bucket/a/x.parquet": 10}).opened("s3a://bucket/a/x.parquet").read()
    assert len(HostOfHeaders.asked) >= 2
    assert all("Credential=of Hadoop/" in headers["authorization"] for headers in HostOfHeaders.asked)
    assert "of-another-place" not in str(HostOfHeaders.asked)


def test_tokens_that_are_told_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "of-another-place")
    for options in ({"aws_session_token": "told"}, {"token": "told"}, {}):
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"} if options else {}

        class Told:
            overrides: ClassVar[dict[str, str]] = {**keys, **options}

            def told(self, *_: Any) -> dict[str, Any]:
                return {"set": {}, "overrides": self.overrides}

        told: Any = Told()
        found = dict(storage_options("s3a://bucket/a", told))
        assert {name: value for name, value in found.items() if "token" in name} == options
    assert "told" not in repr(StorageOptions({"token": "told"}))


def test_the_endpoint_of_s3_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """For deltalake it goes before the endpoint that it is given."""
    options = {"aws_endpoint": "http://127.0.0.1:1", "aws_region": "x"}
    assert with_endpoint(options) == options
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:2")
    assert with_endpoint(options) == options | {"aws_endpoint_url_s3": "http://127.0.0.1:1"}
    assert with_endpoint({"aws_region": "x"}) == {"aws_region": "x"}


def test_another_identity_of_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    """deltalake takes that of the environment before the one of the machine."""
    assert not asks_otherwise({"azure_client_id": "x"}, "abfss")
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "of the environment")
    assert asks_otherwise({"azure_client_id": "x"}, "abfss") == "AZURE_CLIENT_SECRET"
    assert not asks_otherwise({"azure_client_secret": "y"}, "abfss")


def test_options_of_a_reader_that_say_where_the_store_is(lake: Lake) -> None:
    """By which Spark may read files of the same names, sizes and times in another store; keys alone say nothing of that."""
    lake.file("a.parquet", {"x": [1]})
    lake.file("b.parquet", {"x": [2]})
    lake.index(MinMax("x"))
    for options, read in (
        ({"fs.s3a.access.key": "mine"}, {"b.parquet"}),
        ({"fs.s3a.endpoint": "http://other", "fs.s3a.impl.disable.cache": "true"}, {"a.parquet", "b.parquet"}),
        ({"fs.file.impl.disable.cache": "true"}, {"a.parquet", "b.parquet"}),
    ):
        frame = lake.spark.read.options(**options).parquet(str(lake.folder)).where("x = 2")
        assert files_read(lake.skipping, frame, lake.folder) == read, options
