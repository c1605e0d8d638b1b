"""Web servers of tests for any ASGI application, relays before them, and certificates."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


@dataclass(frozen=True)
class TlsContexts:
    """TLS of a server of this machine, and of a client that trusts it."""

    server: ssl.SSLContext
    client: ssl.SSLContext


def make_certificate(folder: Path, host: str = HOST) -> Path:
    """Write a certificate of an address or a name, and its key, into one file.

    No client trusts it by default.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    here = x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address(HOST)) if host == HOST else x509.DNSName(host)]
    )
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    path = folder / "server.pem"
    pem = serialization.Encoding.PEM
    path.write_bytes(key.private_bytes(pem, form, plain) + made.public_bytes(pem))
    return path


def make_tls(folder: Path, host: str = HOST) -> TlsContexts:
    """Make a certificate, and the contexts of both ends."""
    path = make_certificate(folder, host)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return TlsContexts(server, ssl.create_default_context(cafile=path))


class _Server(uvicorn.Server):
    """A server with events for its start and its stop, so that no test polls."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.stop = asyncio.Event()

    async def main_loop(self) -> None:
        await self.stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop without uvicorn's tenth of a second of grace: all clients have gone by now."""
        del sockets
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        await self.lifespan.shutdown()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def serve_asgi(app: Any, port: int = 0, *, keep_alive: int = 5) -> AsyncIterator[str]:
    """Serve an ASGI app on a loopback port, 0 for a free one; the address without a last slash.

    Idle connections are kept for `keep_alive` seconds.
    """
    # Loggers belong to the process: a server of a test leaves them unchanged.
    config = uvicorn.Config(
        app, log_config=None, ws="none", lifespan="on", timeout_keep_alive=keep_alive
    )
    server = _Server(config)
    with socket.create_server(("127.0.0.1", port)) as listener:
        # Connections take it over; asyncio sets it for sockets of its own making alone, and an
        # answer that waits for the client's acknowledgement costs 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.create_task(server.serve([listener]))
        await server.ready.wait()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.stop.set()
            await task


@dataclass
class TcpRelay:
    """Passes bytes on to a port of this machine; answers only while `answering` is set."""

    target: int
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    served: set[asyncio.Task[Any]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task:
            self.served.add(task)
        inward, outward = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(_pass(reader, outward), self._back(inward, writer))

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(65536)
        self.heard.set()
        await self.answering.wait()
        writer.write(first)
        await _pass(reader, writer)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def open_tcp_relay(
    target: str, port: str, pem: Path | None = None
) -> AsyncIterator[TcpRelay]:
    """Forward `port` to `target`; with a certificate and its key, TLS ends here."""
    context = None
    if pem is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pem)
    relay = TcpRelay(int(target))
    relay.answering.set()
    server = await asyncio.start_server(relay.serve, "127.0.0.1", int(port), ssl=context)
    try:
        yield relay
    finally:
        relay.answering.set()
        server.close()
        await asyncio.gather(*relay.served, return_exceptions=True)
