"""An S3 in memory on this machine: whoever comes by the door `port` may have any request fail, whoever comes by `calm` has none."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import md5
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "lake"
STATUSES = {200: "OK", 204: "No Content", 206: "Partial Content", 404: "Not Found", 409: "Conflict", 412: "Precondition Failed"}
STATUSES |= {416: "Range Not Satisfiable", 500: "Internal Server Error", 503: "Slow Down"}
CODES = {404: "NoSuchKey", 409: "ConditionalRequestConflict", 412: "PreconditionFailed", 416: "InvalidRange", 500: "InternalError"}
CODES |= {503: "SlowDown"}
FAILURES = ("500", "503", "409", "412", "timeout", "cut")
OLD = datetime(2020, 1, 1, tzinfo=timezone.utc)


class Request(NamedTuple):
    """`what` is GET, HEAD, LIST, PUT, DELETE or POST."""

    number: int
    what: str
    key: str


class Object(NamedTuple):
    content: bytes
    modified: datetime


@dataclass(frozen=True)
class Fault:
    """What comes of a request, before or after it took effect: a status, no answer, or a connection that ends in the midst of it."""

    kind: str
    after: bool


class Answer(NamedTuple):
    status: int
    content: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def refused(status: int) -> Answer:
    return Answer(status, f"<Error><Code>{CODES[status]}</Code><Message>as asked for</Message></Error>".encode())


class S3:
    """`meet` is asked of each request by the door `port`, twice: before it takes effect and after; it may take its time."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.met: list[Request] = []
        self.meet: Callable[[Request, bool], Fault | None] = lambda request, after: None
        self._uploads: dict[str, dict[int, bytes]] = {}
        self._numbers = itertools.count(1)
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        doors = [asyncio.start_server(self._door(calm), "127.0.0.1", 0) for calm in (False, True)]
        opened = self._loop.run_until_complete(asyncio.gather(*doors))
        self.port, self.calm = (int(door.sockets[0].getsockname()[1]) for door in opened)
        ready.set()
        self._loop.run_forever()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def reset(self, objects: dict[str, Object]) -> None:
        """Holds these objects, and has no request fail."""
        self.objects = dict(objects)
        self.met, self.meet = [], lambda request, after: None
        self._uploads.clear()

    def _door(self, calm: bool) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while await self._serve(reader, writer, calm):
                    pass
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        return serve

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, calm: bool) -> bool:
        """One request; whether the connection lives on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length") or 0))
        parts = urlsplit(target)
        asked = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        key = unquote(parts.path).removeprefix(f"/{BUCKET}").removeprefix("/")
        what = "LIST" if method == "GET" and "list-type" in asked else method
        if calm:
            return await self._send(writer, method, self._effect(what, key, asked, headers, body))
        request = Request(next(self._numbers), what, asked.get("prefix", "") if what == "LIST" else key)
        self.met.append(request)
        fault = await self._loop.run_in_executor(None, self.meet, request, False)
        if fault is not None:
            return await self._fail(reader, writer, method, fault, Answer(200))
        answer = self._effect(what, key, asked, headers, body)
        fault = await self._loop.run_in_executor(None, self.meet, request, True)
        if fault is not None:
            return await self._fail(reader, writer, method, fault, answer)
        return await self._send(writer, method, answer)

    async def _fail(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, fault: Fault, answer: Answer) -> bool:
        if fault.kind == "timeout":
            await reader.read()  # until whoever waits has gone
        elif fault.kind == "cut":
            sent = _bytes(method, answer)
            writer.write(sent[: len(sent) - max(1, len(answer.content) // 2)] if fault.after else b"")
            await writer.drain()
        else:
            return await self._send(writer, method, refused(int(fault.kind)))
        return False

    async def _send(self, writer: asyncio.StreamWriter, method: str, answer: Answer) -> bool:
        writer.write(_bytes(method, answer))
        await writer.drain()
        return True

    def _effect(self, what: str, key: str, asked: dict[str, str], headers: dict[str, str], body: bytes) -> Answer:
        if what == "LIST":
            return Answer(200, self._listed(asked))
        if what == "PUT" and "uploadId" in asked:
            self._uploads[asked["uploadId"]][int(asked["partNumber"])] = body
            return Answer(200, headers=(("ETag", _etag(body)),))
        if what == "PUT":
            return self._put(key, headers, body)
        if what == "POST":
            return self._post(key, asked, headers, body)
        if what == "DELETE":
            self.objects.pop(key, None)
            return Answer(204)
        return self._get(key, headers)

    def _put(self, key: str, headers: dict[str, str], body: bytes) -> Answer:
        if headers.get("if-none-match") == "*" and key in self.objects:
            return refused(412)
        self.objects[key] = Object(body, datetime.now(timezone.utc))
        return Answer(200, headers=(("ETag", _etag(body)),))

    def _post(self, key: str, asked: dict[str, str], headers: dict[str, str], body: bytes) -> Answer:
        if "delete" in asked:
            keys = [element.text or "" for element in ET.fromstring(body).iter() if element.tag.endswith("Key")]
            for gone in keys:
                self.objects.pop(gone, None)
            said = "".join(f"<Deleted><Key>{escape(gone)}</Key></Deleted>" for gone in keys)
            return Answer(200, f"<DeleteResult>{said}</DeleteResult>".encode())
        if "uploads" in asked:
            upload = f"upload-{len(self._uploads)}"
            self._uploads[upload] = {}
            said = f"<Bucket>{BUCKET}</Bucket><Key>{escape(key)}</Key><UploadId>{upload}</UploadId>"
            return Answer(200, f"<InitiateMultipartUploadResult>{said}</InitiateMultipartUploadResult>".encode())
        parts = self._uploads.get(asked["uploadId"], {})
        put = self._put(key, headers, b"".join(content for _, content in sorted(parts.items())))
        if put.status != 200:
            return put
        said = f"<Bucket>{BUCKET}</Bucket><Key>{escape(key)}</Key><ETag>{escape(put.headers[0][1])}</ETag>"
        return Answer(200, f"<CompleteMultipartUploadResult>{said}</CompleteMultipartUploadResult>".encode())

    def _get(self, key: str, headers: dict[str, str]) -> Answer:
        found = self.objects.get(key)
        if found is None:
            return refused(404)
        content, size = found.content, len(found.content)
        about = (("ETag", _etag(content)), ("Last-Modified", found.modified.strftime("%a, %d %b %Y %H:%M:%S GMT")))
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", headers.get("range", ""))
        if asked is None:
            return Answer(200, content, about)
        start = int(asked[1]) if asked[1] else max(0, size - int(asked[2]))
        end = min(size, int(asked[2]) + 1) if asked[1] and asked[2] else size
        if start >= size:
            return refused(416)
        return Answer(206, content[start:end], (*about, ("Content-Range", f"bytes {start}-{end - 1}/{size}")))

    def _listed(self, asked: dict[str, str]) -> bytes:
        prefix, delimiter, after = asked.get("prefix", ""), asked.get("delimiter", ""), asked.get("start-after", "")
        said, folders = [], set()
        for key, found in sorted(self.objects.items()):
            if not key.startswith(prefix) or key <= after:
                continue
            if delimiter and delimiter in key[len(prefix) :]:
                folders.add(prefix + key[len(prefix) :].split(delimiter)[0] + delimiter)
                continue
            about = f"<LastModified>{found.modified:%Y-%m-%dT%H:%M:%S.000Z}</LastModified><ETag>{escape(_etag(found.content))}</ETag>"
            said.append(f"<Contents><Key>{escape(key)}</Key>{about}<Size>{len(found.content)}</Size></Contents>")
        said += [f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders)]
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(said)}</ListBucketResult>".encode()


def _etag(content: bytes) -> str:
    return f'"{md5(content).hexdigest()}"'


def _bytes(method: str, answer: Answer) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {STATUSES[answer.status]}", f"Content-Length: {len(answer.content)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    if answer.content.startswith(b"<"):
        lines.append("Content-Type: application/xml")
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if method == "HEAD" else answer.content)
