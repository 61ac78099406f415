"""An S3 on this machine: S3Proxy over a folder, behind a gate that counts requests, and refuses some where a test says so."""

from __future__ import annotations

import html
import http.client
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, unquote, urlsplit

IDENTITY, SECRET = "the-identity", "the-secret-of/this+test"
BUCKET = "lake"
S3PROXY = "org.gaul:s3proxy:3.1.0"
# What serves other clouds than a folder: 160 of 200 MB.
LEFT_OUT = tuple(
    f"{group}:*"
    for groups in (
        "com.google.cloud com.google.api com.google.apis com.google.api-client com.google.http-client com.google.oauth-client",
        "com.google.auth com.google.api.grpc com.google.cloud.opentelemetry com.azure com.microsoft.azure com.amazonaws",
        "io.grpc io.netty io.projectreactor io.projectreactor.netty org.conscrypt net.java.dev.jna",
    )
    for group in groups.split()
)
_CODES = {403: "AccessDenied", 409: "ConditionalRequestConflict", 412: "PreconditionFailed"}
_LOGBACK = '<configuration><root level="OFF"/></configuration>'  # each request is logged in twenty lines, else


def jars(spark: Any) -> list[str]:
    """The jars of S3Proxy, fetched as Spark fetches packages."""
    jvm = spark._jvm
    uri = jvm.java.net.URI(f"ivy://{S3PROXY}?exclude={','.join(LEFT_OUT)}")
    found = jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(uri)
    return [str(path) for path in jvm.scala.jdk.javaapi.CollectionConverters.asJava(found)]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass
class Request:
    """One request: `what` is GET, HEAD, LIST, PUT, DELETE or POST; whose: "deltalake" or "spark"; its bytes, sent and answered."""

    what: str
    key: str
    whose: str
    bytes: int = 0

    @property
    def of_index(self) -> bool:
        return "data_skip" in self.key


class Server:
    """S3Proxy, and the gate before it: `port` is the gate's."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.folder = Path(tempfile.mkdtemp(prefix="data-skip-s3-"))
        (self.folder / "buckets" / BUCKET).mkdir(parents=True)
        self.requests: list[Request] = []
        self.refuse: Callable[[Request], int] = lambda request: 0
        self.before: Callable[[Request], None] = lambda request: None
        self.instead: Callable[[Request], int] = lambda request: 0
        self.altered: Callable[[Request, bytes], bytes] = lambda request, content: content
        self.one_at_a_time = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._inner = free_port()
        self._gate = ThreadingHTTPServer(("127.0.0.1", port), _gate_of(self, self._inner))
        self._gate.daemon_threads = True

    @property
    def bucket(self) -> Path:
        return self.folder / "buckets" / BUCKET

    def start(self, classpath: list[str], java: str) -> None:
        """Returns once it answers."""
        settings = {
            "s3proxy.authorization": "aws-v4",
            "s3proxy.identity": IDENTITY,
            "s3proxy.credential": SECRET,
            "s3proxy.endpoint": f"http://127.0.0.1:{self._inner}",
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self.folder / "buckets"),
            "jclouds.identity": "none",
            "jclouds.credential": "none",
        }
        (self.folder / "conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        (self.folder / "logback.xml").write_text(_LOGBACK)
        command = [java, "-Xmx256m", f"-Dlogback.configurationFile={self.folder / 'logback.xml'}", "-cp", ":".join(classpath)]
        with open(self.folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                [*command, "org.gaul.s3proxy.Main", "--properties", str(self.folder / "conf")], stdout=log, stderr=log
            )
        for _ in range(300):
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", self._inner)) == 0:
                    break
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        else:
            raise AssertionError("S3Proxy does not answer after 30 s")
        assert self._process.poll() is None, (self.folder / "log").read_text()[-3000:]
        threading.Thread(target=self._gate.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._gate.shutdown()
        self._gate.server_close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def counted(self) -> Iterator[list[Request]]:
        """Within, the requests that are made."""
        found: list[Request] = []
        start = len(self.requests)
        yield found
        found += self.requests[start:]

    def refusing(self, refuse: Callable[[Request], int]) -> AbstractContextManager[object]:
        """Within, some requests are answered with a status of a failure, True is 403, and do not take effect; 0: they do."""
        return patch.object(self, "refuse", refuse)

    def altering(self, altered: Callable[[Request, bytes], bytes]) -> AbstractContextManager[object]:
        """Within, answers have another content."""
        return patch.object(self, "altered", altered)

    def answering(self, instead: Callable[[Request], int]) -> AbstractContextManager[object]:
        """Within, some requests take effect, and are answered with a status of a failure; 0: as it is."""
        return patch.object(self, "instead", instead)


def _gate_of(server: Server, inner: int) -> type[BaseHTTPRequestHandler]:
    local = threading.local()

    class Gate(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else an answer's body waits 40 ms for its headers' receipt

        def _pass_on(self) -> None:
            request = self._request()
            server.requests.append(request)
            server.before(request)
            conditional = self.headers.get("If-None-Match") is not None and self.command == "PUT"
            with server.one_at_a_time if conditional else nullcontext():  # S3Proxy first looks, and then writes
                self._pass_on_now(request)

        def _pass_on_now(self, request: Request) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request.bytes = len(body)
            if status := server.refuse(request):
                status = 403 if status is True else status
                code = _CODES[status]
                answer = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
                self._answer(status, [("Content-Type", "application/xml")], b"" if self.command == "HEAD" else answer)
                return
            if self.command == "POST" and self.path.endswith("?delete"):  # which S3Proxy refuses as deltalake asks it
                self._delete([html.unescape(key.decode()) for key in re.findall(rb"<Key>(.*?)</Key>", body)])
                return
            for last in (False, True):
                connection = getattr(local, "connection", None)
                if connection is None:
                    connection = local.connection = http.client.HTTPConnection("127.0.0.1", inner, timeout=60)
                try:
                    connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                    for name, value in self.headers.items():
                        connection.putheader(name, value)
                    connection.endheaders(body or None)
                    told = connection.getresponse()
                    content = told.read()
                    break
                except (OSError, http.client.HTTPException):
                    local.connection = None
                    if last:
                        raise
            below_a_file = any(parent.is_file() for parent in (server.bucket / request.key).parents)
            if told.status == 500 and (below_a_file or b"Not a directory" in content):  # S3 has no folders
                answer = b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>"
                self._answer(404, [("Content-Type", "application/xml")], b"" if self.command == "HEAD" else answer)
                return
            if request.what == "LIST":  # Amazon's S3 tells seconds, S3Proxy what the folder tells
                content = re.sub(rb"(<LastModified>[^<.]*)\.\d+Z", rb"\1.000Z", content)
            content = server.altered(request, content)
            request.bytes += len(content)
            if status := server.instead(request):
                self._answer(status, [], b"")
                return
            headers = [(name, value) for name, value in told.getheaders() if name.lower() not in ("transfer-encoding", "connection")]
            self._answer(told.status, headers, content)

        def _delete(self, keys: list[str]) -> None:
            for key in keys:
                if (server.bucket / key).is_file():  # one that is not there counts as deleted
                    (server.bucket / key).unlink()
            done = "".join(f"<Deleted><Key>{html.escape(key)}</Key></Deleted>" for key in keys)
            answer = f"<?xml version='1.0' encoding='UTF-8'?><DeleteResult>{done}</DeleteResult>"
            self._answer(200, [("Content-Type", "application/xml")], answer.encode())

        def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if self.command == "HEAD" or name.lower() != "content-length":
                    self.send_header(name, value)
            if self.command != "HEAD" and status not in (204, 304):
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _request(self) -> Request:
            parts = urlsplit(self.path)
            asked = parse_qs(parts.query, keep_blank_values=True)
            listing = self.command == "GET" and ("list-type" in asked or "prefix" in asked)
            key = asked.get("prefix", [""])[0] if listing else unquote(parts.path).removeprefix(f"/{BUCKET}").removeprefix("/")
            whose = "deltalake" if "object_store" in self.headers.get("User-Agent", "").replace("-", "_") else "spark"
            return Request("LIST" if listing else self.command, key, whose)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on

        def log_message(self, *_: Any) -> None:
            pass

    return Gate


def java() -> str:
    """The Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"
