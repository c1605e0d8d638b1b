"""A client's connection, bounded in time and memory.

uvicorn (0.54, `protocols/http/httptools_impl.py`) bounds only the wait for the first byte of a
further request. A connection that never sends anything stays, so does one whose head trickles;
llhttp takes a head of any length; every request of a pipeline becomes objects at once, 256 KiB of
them at a time, and each answer reads more; a client that doesn't read is waited for without end;
and the rest of a refused body is read to its last byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING, Any

import httptools
import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from bot.core import exact_json
from bot.core.net.subscriber import subscriber_key
from bot.wiring.web.streams import Alarm, Gate, Outlet

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.wiring.web.connections import Crowd

log = structlog.get_logger()

BETWEEN = 4
"""Bytes of a header line beside its name and value: a colon, a blank and the line's end."""

TOO_LARGE = (
    "headTooLarge",
    "The request line and headers have more than {size} KiB or {fields} fields.",
)
MALFORMED = ("invalidRequest", "This is no HTTP request.")


PIECE = 4 * 1024
"""Bytes that the parser gets at a time: how exact the count is of what it keeps to itself."""

READ = 64 * 1024
"""Bytes read at a time: the most that a connection holds unparsed."""

END_OF_HEAD = b"\r\n\r\n"
"""Each request contains it once where it ends, or where its body begins. Fed up to there, the
parser can't complete more than one further request at a time."""

HOST = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=%:\[\]-]*")
"""Characters of a host and port (RFC 3986, section 3.2)."""


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 of uvicorn within the bounds below; given to it as `http=`."""

    HEAD_SECONDS = 10.0
    """For a request line and its headers, from the connection or from their first byte on."""

    MAX_HEAD = 32 * 1024
    MAX_FIELDS = 100

    WRITE_SECONDS = 30.0
    LEAST_READ = 16 * 1024
    """Bytes that a client takes of its answer in WRITE_SECONDS, as long as some are left."""

    MAX_UNREAD = 16 * 1024
    """Bytes of answers that the client hasn't read, beyond which its next answer waits; and of a
    body that the application hasn't read, beyond which the client waits."""

    LINGER_SECONDS = 5.0
    """How long a client that is still sending has for reading why it is no longer heard."""

    crowd: Crowd | None = None
    """The connections that this one may have to make room for; None for our own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access_log = False  # of this server alone: a setting of uvicorn's is one of the logger
        self.refused: Callable[[int], None] | None = None
        self._held = b""
        self._body = self._unread = 0
        self._deaf = False
        self._stopping = False
        self._keep_alive = False
        self._head_alarm = Alarm(self.loop)
        self._write_alarm = Alarm(self.loop)

    def connection_made(  # type: ignore[override]  # as uvicorn's own
        self, transport: asyncio.Transport
    ) -> None:
        """Give the client HEAD_SECONDS to say what it wants."""
        super().connection_made(transport)
        self._wire = transport
        transport.set_write_buffer_limits(high=self.MAX_UNREAD)
        self.transport = Outlet(transport, self._close)
        self.flow = Gate(transport, self._is_full)
        if self.crowd is not None:
            self.crowd.add(self)
        self._head_alarm.set(self.HEAD_SECONDS, self._silence)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        self._held = b""
        if self.crowd is not None:
            self.crowd.remove(self)
        self._head_alarm.stop()
        self._write_alarm.stop()

    def data_received(self, data: bytes) -> None:
        """Parse the data, in place of uvicorn's own, which logs and answers in another form."""
        self._unset_keepalive_if_required()
        if not self._is_answering() and not self._head_alarm.is_set and not self._deaf:
            self._head_alarm.set(self.HEAD_SECONDS, self._silence)
        self._held += data
        self._parse_held()

    def _parse_held(self) -> None:
        """Parse until a whole request waits for the answer before its own; hold the rest."""
        data, at = self._held, 0
        while at < len(data) and not self._deaf and not self._is_waiting_its_turn():
            end = data.find(END_OF_HEAD, at, at + PIECE)
            until = at + PIECE if end < 0 else end + len(END_OF_HEAD)
            self._parse(data[at:until])
            at = until
        self._held = b"" if self._deaf else data[at:]
        if self._held:
            self.flow.pause_reading()
        self._weigh()

    def _parse(self, piece: bytes) -> None:
        """Read a piece; how much of it lies behind a mark that sets the count back is not told."""
        self._unread += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            self._ignore_upgrade()
        except httptools.HttpParserError as error:
            too_large = isinstance(error.__context__, HeadTooLarge)
            self._refuse(431, *TOO_LARGE) if too_large else self._refuse(400, *MALFORMED)
        else:
            if self._unread > self.MAX_HEAD:
                self._refuse(431, *TOO_LARGE)

    def on_message_begin(self) -> None:
        """Count from here what the parser keeps to itself."""
        super().on_message_begin()
        self._unread = self._body = 0

    def on_headers_complete(self) -> None:
        """Measure the head. The connection is kept only once the body is whole."""
        self._head_alarm.stop()
        self._unread = 0
        size = sum(len(name) + len(value) + BETWEEN for name, value in self.headers)
        if len(self.url) + size > self.MAX_HEAD or len(self.headers) > self.MAX_FIELDS:
            raise HeadTooLarge
        if not self._names_its_host():
            raise WrongHost
        super().on_headers_complete()
        # As for bytes that are no UTF-8. No id has a NUL, and PostgreSQL doesn't take one.
        self.scope["path"] = self.scope["path"].replace("\0", "\N{REPLACEMENT CHARACTER}")
        if self.crowd is not None:
            self.crowd.add(self)
        self._keep_alive, self.cycle.keep_alive = self.cycle.keep_alive, False
        self.headers = []  # for trailers, which are no headers (RFC 9110, section 6.5.1)

    def on_body(self, body: bytes) -> None:
        """Hand it on: from here it is bounded by who reads it."""
        super().on_body(body)
        self._unread = 0
        self._body += len(body)
        if len(self.cycle.body) > self.MAX_UNREAD:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """Keep the connection after all, as the client asks, unless the answer has begun."""
        super().on_message_complete()
        self._unread = 0
        if not self.cycle.response_started and not self._stopping:
            self.cycle.keep_alive = self._keep_alive

    def on_response_complete(self) -> None:
        """Go on with what was held meanwhile."""
        super().on_response_complete()
        self.flow.resume_reading()
        if self._held:
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if self._held and not self.transport.is_closing():
            self.data_received(b"")
            self.flow.resume_reading()

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's own never waits
        """Answer whoever has said all of it before we close: only their half is closed yet.

        Otherwise the transport closes, which may have something left to write.
        """
        if self._is_answering() and not self.cycle.more_body:
            self._deaf = False  # nothing is on its way any more that would have to be read
            self.cycle.keep_alive = False
            return True
        self._watch_writing()
        return False

    def pause_writing(self) -> None:
        """Begin to watch a client that does not read as fast as we write."""
        super().pause_writing()
        self._watch_writing()
        self._weigh()

    def resume_writing(self) -> None:
        """Leave it alone: most of it is read."""
        super().resume_writing()
        self._weigh()
        if not self.transport.is_closing():
            self._write_alarm.stop()

    def shutdown(self) -> None:
        """Stop gracefully, and wait for nobody who is only to be told why it is not heard."""
        self._stopping = True
        super().shutdown()

    @property
    def owner(self) -> str:
        """The payer whose request this is; of a proxy that asks nothing just now, the proxy."""
        client = self.cycle.scope["client"] if self._is_answering() else self.client
        return subscriber_key(client[0]) if client else ""

    @property
    def is_resting(self) -> bool:
        """Whether the client, and not the application, is what this connection waits for."""
        return not self._is_answering() or self.cycle.more_body or self.flow.write_paused

    @property
    def weight(self) -> int:
        """The bytes that are kept for this client: requests, a body, unread answers."""
        body = self._body if self._is_answering() else 0
        return len(self._held) + body + self._wire.get_write_buffer_size()

    def abort(self, reason: str) -> None:
        """Close the connection at once, unread answers included."""
        log.debug("connection closed", reason=reason)
        self._wire.abort()

    def _weigh(self) -> None:
        if self.crowd is not None:
            self.crowd.weigh(self)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _is_waiting_its_turn(self) -> bool:
        return bool(self.pipeline) and not self.cycle.more_body

    def _is_full(self) -> bool:
        return bool(self._held) or self._is_waiting_its_turn()

    def _names_its_host(self) -> bool:
        """Whether there is one Host, as HTTP/1.1 demands (RFC 9112, section 3.2)."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if not hosts:
            return self.parser.get_http_version() == "1.0"
        return len(hosts) == 1 and HOST.fullmatch(hosts[0]) is not None

    def _silence(self) -> None:
        log.debug("connection closed", reason="no request in time")
        self.transport.close()

    def _ignore_upgrade(self) -> None:
        """Answer as if none was asked for (RFC 9110, section 7.8), and then end.

        The parser gives up the body of such a request, so nobody can tell where the next begins.
        """
        self._deaf = True
        self.cycle.keep_alive = False

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Say no, and hear no more; a whole request before this one gets its answer first."""
        self._deaf = True
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
        told = message.format(size=self.MAX_HEAD // 1024, fields=self.MAX_FIELDS)
        body = exact_json.dumps({"code": code, "message": told, "info": []}).encode()
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
        """Close the connection, at first only our half of it where more may be on its way.

        Closing a socket with something unread resets it, and the client may lose the answer
        that says why (RFC 9112, section 9.6).
        """
        sending = self._deaf or (self.cycle is not None and self.cycle.more_body)
        if sending and not self._stopping and not self._wire.is_closing():
            self._deaf, self._held = True, b""
            with contextlib.suppress(OSError):  # the client is gone already
                self._wire.write_eof()
            self.flow.resume_reading()
            self._head_alarm.set(self.LINGER_SECONDS, self._wire.close)
        else:
            self._wire.close()
        self._watch_writing()

    def _watch_writing(self) -> None:
        if not self._write_alarm.is_set:
            left = self._wire.get_write_buffer_size()
            self._write_alarm.set(self.WRITE_SECONDS, self._look_at_writing, left)

    def _look_at_writing(self, before: int) -> None:
        left = self._wire.get_write_buffer_size()
        if before - left >= self.LEAST_READ:
            self._watch_writing()
        elif left:
            self.abort("answer not read in time")


class HeadTooLarge(Exception):
    """A request line and headers beyond MAX_HEAD or MAX_FIELDS."""


class WrongHost(Exception):
    """A request with no Host, with several, or with one that can't be a host."""


EVENTS = ("connection_made", "connection_lost", "eof_received", "pause_writing", "resume_writing")
"""What an event loop tells of a connection besides what was read."""


class Inlet(asyncio.BufferedProtocol):
    """A connection as the event loop reads from it: a little at a time, into memory of all."""

    _READ = memoryview(bytearray(READ))

    def __init__(self, protocol: BoundedProtocol) -> None:
        self._protocol = protocol
        for event in EVENTS:  # straight to the protocol, without a call between
            setattr(self, event, getattr(protocol, event))

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Return where to read to; it is taken out again before anybody else reads."""
        return self._READ

    def buffer_updated(self, nbytes: int) -> None:
        """Hand on what was read."""
        self._protocol.data_received(bytes(self._READ[:nbytes]))
