"""A client's connection, with limits on time and memory.

uvicorn (0.54, `protocols/http/httptools_impl.py`) limits only the wait for the first byte of a
second request:

* A connection stays open if it sends nothing, or sends its headers byte by byte.
* llhttp accepts headers of any length.
* All requests of a pipeline become objects at once, 256 KiB at a time, and each answer reads more.
* A client that doesn't read is waited for forever.
* The rest of a refused body is read to its last byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import Any

import httptools
import structlog
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from bot.app import connections
from bot.core import exact_json
from bot.core.net import rates

# The parts of a connection: flow control, transport and timer.


class BoundedFlowControl(FlowControl):
    """uvicorn's flow control, which also stops reading while the connection is full."""

    def __init__(self, transport: asyncio.Transport, is_full: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._is_full = is_full

    def resume_reading(self) -> None:
        if not self._is_full():
            super().resume_reading()


class OutgoingTransport(asyncio.Transport):
    """The transport to which uvicorn writes; `close` lets the protocol decide how to close."""

    def __init__(self, wire: asyncio.Transport, close: Callable[[], None]) -> None:
        super().__init__()
        self._socket = wire
        self._close = close
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.is_closing():
            self._socket.write(data)

    def close(self) -> None:
        """Close the connection as the protocol decides."""
        self._closing = True
        self._close()

    def is_closing(self) -> bool:
        """True if nothing more can be written; the client may still be sending."""
        return self._closing or self._socket.is_closing()


class Timer:
    """One delayed call at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        return self._handle is not None

    def set(self, seconds: float, call: Callable[..., None], *args: Any) -> None:
        """Schedule a call, and cancel the previous call."""
        self.stop()
        self._handle = self._loop.call_later(seconds, self._run, call, *args)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _run(self, call: Callable[..., None], *args: Any) -> None:
        self._handle = None
        call(*args)


log = structlog.get_logger()

LINE_OVERHEAD = 4
"""Bytes of a header line besides its name and value: a colon, a space and the line end."""

TOO_LARGE = (
    "headTooLarge",
    "The request line and headers have more than {size} KiB or {fields} fields.",
)
MALFORMED = ("invalidRequest", "This is not an HTTP request.")

PIECE = 4 * 1024
"""Bytes that the parser gets at a time; its buffered bytes are counted with this precision."""

READ = 64 * 1024
"""Bytes read at a time, and the most unparsed bytes of a connection."""

END_OF_HEAD = b"\r\n\r\n"
"""Each request contains these bytes once, at its end or before its body. If the parser is fed up to
there, it can't complete more than one request at a time."""

HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=%:\[\]-]*")
"""Characters of a host and port (RFC 3986, section 3.2)."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 within the limits below."""

    HEAD_SECONDS = 10.0
    """Time limit of a request line and its headers, from the connection or from their first
    byte."""

    MAX_HEAD = 32 * 1024
    MAX_FIELDS = 100

    WRITE_SECONDS = 30.0
    LEAST_READ = 16 * 1024
    """Bytes of an answer that a client must read in each WRITE_SECONDS."""

    MAX_UNREAD = 16 * 1024
    """Unread bytes: if the client leaves more of an answer unread, its next answer waits; if the
    application leaves more of a body unread, reading pauses."""

    MOST_KEPT = 1024 * 1024
    """The most bytes of a body that the application keeps: it stores longer bodies in parts."""

    LINGER_SECONDS = 5.0
    """Time for which a client that is still sending can read why its request was refused."""

    open_connections: connections.OpenConnections | None = None
    """All connections from outside, with their common limits; None if the calls are our own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access_log = False  # for this server only: uvicorn's setting would change the logger
        self.refused: Callable[[int], None] | None = None
        self._unparsed = b""
        self._body = self._in_parser = 0
        self._ignores_input = False
        self._stopping = False
        self._keep_alive = False
        self._head_timer = Timer(self.loop)
        self._write_timer = Timer(self.loop)

    def connection_made(  # type: ignore[override]  # as uvicorn's own
        self, transport: asyncio.Transport
    ) -> None:
        """Start the time limit for the first request."""
        super().connection_made(transport)
        self._socket = transport
        transport.set_write_buffer_limits(high=self.MAX_UNREAD)
        self.transport = OutgoingTransport(transport, self._close)
        self.flow = BoundedFlowControl(transport, self._is_full)
        if self.open_connections is not None:
            self.open_connections.add(self)
        self._head_timer.set(self.HEAD_SECONDS, self._end_silence)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything that belongs to the connection."""
        super().connection_lost(exc)
        self._unparsed = b""
        if self.open_connections is not None:
            self.open_connections.remove(self)
        self._head_timer.stop()
        self._write_timer.stop()

    def data_received(self, data: bytes) -> None:
        """Parse the data; uvicorn's own method logs and answers differently."""
        self._unset_keepalive_if_required()
        if not self._is_answering() and not self._head_timer.is_set and not self._ignores_input:
            self._head_timer.set(self.HEAD_SECONDS, self._end_silence)
        self._unparsed += data
        self._parse_input()

    def _parse_input(self) -> None:
        """Parse until a whole request waits behind the current request; keep the rest."""
        data, at = self._unparsed, 0
        while at < len(data) and not self._ignores_input and not self._has_request_queued():
            end = data.find(END_OF_HEAD, at, at + PIECE)
            until = at + PIECE if end < 0 else end + len(END_OF_HEAD)
            self._parse(data[at:until])
            at = until
        self._unparsed = b"" if self._ignores_input else data[at:]
        if self._unparsed:
            self.flow.pause_reading()
        self._update_size()

    def _parse(self, piece: bytes) -> None:
        """Parse a piece; a callback may reset the count meanwhile, so the count is approximate."""
        self._in_parser += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            # A requested upgrade is ignored (RFC 9110, section 7.8). The parser skips the body of
            # such a request, so the start of the next one is unknown: close after the answer.
            self._ignores_input = True
            self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            too_large = isinstance(error.__context__, HeadTooLarge)
            self._refuse(431, *TOO_LARGE) if too_large else self._refuse(400, *MALFORMED)
        else:
            if self._in_parser > self.MAX_HEAD:
                self._refuse(431, *TOO_LARGE)

    def on_message_begin(self) -> None:
        """Reset the count of bytes that the parser buffers."""
        super().on_message_begin()
        self._in_parser = self._body = 0

    def on_headers_complete(self) -> None:
        """Check the headers; the connection can be kept alive only if the whole body arrives."""
        self._head_timer.stop()
        self._in_parser = 0
        size = sum(len(name) + len(value) + LINE_OVERHEAD for name, value in self.headers)
        if len(self.url) + size > self.MAX_HEAD or len(self.headers) > self.MAX_FIELDS:
            raise HeadTooLarge
        if not self._has_valid_host():
            raise WrongHost
        super().on_headers_complete()
        # Refused like invalid UTF-8: no id contains a NUL, and PostgreSQL can't store a NUL.
        self.scope["path"] = self.scope["path"].replace("\0", "\N{REPLACEMENT CHARACTER}")
        if self.open_connections is not None:
            self.open_connections.add(self)
        self._keep_alive, self.cycle.keep_alive = self.cycle.keep_alive, False
        self.headers = []  # trailers follow, which aren't headers (RFC 9110, section 6.5.1)

    def on_body(self, body: bytes) -> None:
        """Pass the body on; stop reading while the application has too many unread bytes."""
        super().on_body(body)
        self._in_parser = 0
        self._body += len(body)
        if len(self.cycle.body) > self.MAX_UNREAD:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """Keep the connection alive if the client asked for it and the answer has not begun."""
        super().on_message_complete()
        self._in_parser = 0
        if not self.cycle.response_started and not self._stopping:
            self.cycle.keep_alive = self._keep_alive

    def on_response_complete(self) -> None:
        """Continue with the unparsed bytes."""
        super().on_response_complete()
        self.flow.resume_reading()
        if self._unparsed:
            self.loop.call_soon(self._parse_rest)

    def _parse_rest(self) -> None:
        if self._unparsed and not self.transport.is_closing():
            self.data_received(b"")
            self.flow.resume_reading()

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's own never waits
        """Answer a whole request before closing, because the client has closed only its half.

        Without a whole request, the transport closes after the remaining bytes are written.
        """
        if self._is_answering() and not self.cycle.more_body:
            self._ignores_input = False  # no more input can arrive
            self.cycle.keep_alive = False
            return True
        self._start_write_timer()
        return False

    def pause_writing(self) -> None:
        """Start the time limit for a client that reads more slowly than we write."""
        super().pause_writing()
        self._start_write_timer()
        self._update_size()

    def resume_writing(self) -> None:
        """Stop the time limit: the client has read most of the answer."""
        super().resume_writing()
        self._update_size()
        if not self.transport.is_closing():
            self._write_timer.stop()

    def shutdown(self) -> None:
        """Stop gracefully, without waiting for clients that are only reading a refusal."""
        self._stopping = True
        super().shutdown()

    @property
    def owner(self) -> str:
        client = self.cycle.scope["client"] if self._is_answering() else self.client
        return rates.subscriber_key(client[0]) if client else ""

    @property
    def is_idle(self) -> bool:
        return not self._is_answering() or self.cycle.more_body or self.flow.write_paused

    @property
    def size(self) -> int:
        body = min(self._body, self.MOST_KEPT) if self._is_answering() else 0
        return len(self._unparsed) + body + self._socket.get_write_buffer_size()

    def abort(self, reason: str) -> None:
        log.debug("connection closed", reason=reason)
        self._socket.abort()

    def _update_size(self) -> None:
        if self.open_connections is not None:
            self.open_connections.update(self)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _has_request_queued(self) -> bool:
        return bool(self.pipeline) and not self.cycle.more_body

    def _is_full(self) -> bool:
        return bool(self._unparsed) or self._has_request_queued()

    def _has_valid_host(self) -> bool:
        """True if there is exactly one valid Host, as HTTP/1.1 requires (RFC 9112, section 3.2)."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if not hosts:
            return self.parser.get_http_version() == "1.0"
        return len(hosts) == 1 and HOST.fullmatch(hosts[0]) is not None

    def _end_silence(self) -> None:
        log.debug("connection closed", reason="no request in time")
        self.transport.close()

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Refuse the request and stop reading; an earlier whole request is answered first."""
        self._ignores_input = True
        if self._is_answering() and not self.cycle.more_body:
            self.cycle.keep_alive = False
            return
        log.info("request refused", status=status, code=code)
        if not self.pipeline and not (self._is_answering() and self.cycle.response_started):
            self.transport.write(self._refusal(status, code, message))
            if self.refused is not None:
                self.refused(status)
        if self._is_answering():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def _refusal(self, status: int, code: str, message: str) -> bytes:
        text = message.format(size=self.MAX_HEAD // 1024, fields=self.MAX_FIELDS)
        body = exact_json.dumps({"code": code, "message": text, "info": []}).encode()
        headers = [
            *self.server_state.default_headers,
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        return b"".join([STATUS_LINE[status], *lines, b"\r\n", body])

    def _close(self) -> None:
        """Close the connection; if the client may still be sending, close only our half first.

        Closing a socket with unread input resets it, and the client may lose the answer that
        explains the refusal (RFC 9112, section 9.6).
        """
        sending = self._ignores_input or (self.cycle is not None and self.cycle.more_body)
        if sending and not self._stopping and not self._socket.is_closing():
            self._ignores_input, self._unparsed = True, b""
            with contextlib.suppress(OSError):  # the client has gone
                self._socket.write_eof()
            self.flow.resume_reading()
            self._head_timer.set(self.LINGER_SECONDS, self._socket.close)
        else:
            self._socket.close()
        self._start_write_timer()

    def _start_write_timer(self) -> None:
        if not self._write_timer.is_set:
            left = self._socket.get_write_buffer_size()
            self._write_timer.set(self.WRITE_SECONDS, self._check_writing, left)

    def _check_writing(self, before: int) -> None:
        left = self._socket.get_write_buffer_size()
        if before - left >= self.LEAST_READ:
            self._start_write_timer()
        elif left:
            self.abort("answer not read in time")


class HeadTooLarge(Exception):
    """The request line and headers exceed MAX_HEAD or MAX_FIELDS."""


class WrongHost(Exception):
    """The request has no Host, several Hosts, or an invalid Host."""


EVENTS = ("connection_made", "connection_lost", "eof_received", "pause_writing", "resume_writing")
"""The callbacks of a connection except those for reading."""


class BoundedReader(asyncio.BufferedProtocol):
    """Reads a connection in limited amounts, into a buffer that all connections share."""

    _READ = memoryview(bytearray(READ))

    def __init__(self, protocol: BoundedProtocol) -> None:
        self._protocol = protocol
        for event in EVENTS:  # directly, without another call in between
            setattr(self, event, getattr(protocol, event))

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Return the shared buffer; it is emptied before another connection reads."""
        return self._READ

    def buffer_updated(self, nbytes: int) -> None:
        self._protocol.data_received(bytes(self._READ[:nbytes]))
