"""HTTP/1.1 as far as a proxy needs it: whole requests and whole answers, unchanged."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came, whole."""

    method: str
    path: str
    body: bytes
    raw: bytes


def written(status: str, body: str, headers: str = "") -> bytes:
    """Write an answer; `headers` end with a line's end each."""
    head = f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return f"{head}{body}".encode()


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read a whole request; None where the client is done."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
    body = await reader.readexactly(int(_header(head, b"content-length") or 0))
    return Request(method, urlsplit(target).path, body, head + body)


async def read_answer(reader: asyncio.StreamReader, method: str) -> bytes:
    """Read a whole answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = _header(head, b"content-length")
    if method == "HEAD" or length == b"0":
        return head
    if length is not None:
        return head + await reader.readexactly(int(length))
    return head + await _chunks(reader)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body, size = b"", -1
    while size != 0:
        line = await reader.readuntil(b"\r\n")
        size = int(line, 16)
        body += line + await reader.readexactly(size + 2)
    return body


def _header(head: bytes, name: bytes) -> bytes | None:
    for line in head.split(b"\r\n")[1:]:
        given, _, value = line.partition(b":")
        if given.lower() == name:
            return value.strip()
    return None
