"""HTTP/1.1 requests and answers as bytes, for servers and clients that tests write by hand."""

from __future__ import annotations

import json
from asyncio import StreamReader
from dataclasses import dataclass
from typing import Any

END_OF_HEAD = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it came; the names of `headers` are in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer as it came; the names of `headers` are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> tuple[int, str]:
        return self.status, json.loads(self.body)["code"]


async def read_request(reader: StreamReader) -> HttpRequest:
    """Read one request. Raises IncompleteReadError at the end of the connection."""
    return HttpRequest(*await _read(reader))


async def read_answer(reader: StreamReader) -> HttpAnswer:
    """Read one answer. Raises IncompleteReadError at the end of the connection."""
    line, headers, body = await _read(reader)
    return HttpAnswer(int(line.split(" ")[1]), headers, body)


async def _read(reader: StreamReader) -> tuple[str, dict[str, str], bytes]:
    line, *lines = (await reader.readuntil(END_OF_HEAD)).decode().split("\r\n")[:-2]
    headers = {name.lower(): value for name, value in (one.split(": ", 1) for one in lines)}
    return line, headers, await reader.readexactly(int(headers.get("content-length", "0")))


def http_response(status: int, body: Any = None, **headers: str) -> bytes:
    """Build an answer: `body` as JSON, bytes unchanged, None for an empty one."""
    content = (
        body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    )
    more = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}", *more, "", ""])
    return head.encode() + content
