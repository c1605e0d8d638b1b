"""The guarded transport dials the very address that it checked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from bot.core.errors import ForbiddenAddress
from bot.core.net.guarded_transport import GuardedTransport
from bot.core.net.webhook_addresses import AllowList
from tests.support.asgi_server import make_tls

NOBODY = AllowList()
LOOPBACK = AllowList.parse("127.0.0.1/8")


class Receiver:
    """A real HTTP server on loopback that records the headers of requests."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self.answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def listening(context: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=context)
    async with server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


class Names:
    """A resolver that returns the next answer for each look-up, and counts."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


async def get(transport: GuardedTransport, url: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=transport, timeout=5) as client:
        return await client.get(url)


async def test_an_allowed_address_is_reached_under_its_name() -> None:
    """The Host header stays the name, the connection goes to the checked address."""
    names = Names(["127.0.0.1"])
    async with listening() as receiver:
        url = f"http://pay.example:{receiver.port}/hook"
        answer = await get(GuardedTransport(LOOPBACK, resolver=names), url)
        assert answer.text == "ok"
        assert receiver.heads[0].startswith("GET /hook HTTP/1.1")
        assert f"Host: pay.example:{receiver.port}" in receiver.heads[0]
        assert names.asked == [("pay.example", receiver.port)]


@pytest.mark.parametrize(
    "answer", [["127.0.0.1"], ["10.0.0.1", "::1"], ["::ffff:127.0.0.1"], ["fe80::1%1"]]
)
async def test_a_name_with_a_private_address_is_refused(answer: list[str]) -> None:
    """At connect time nothing is sent, and the error has the reason."""
    async with listening() as receiver:
        url = f"http://pay.example:{receiver.port}/"
        with pytest.raises(ForbiddenAddress, match=r"pay\.example is "):
            await get(GuardedTransport(NOBODY, resolver=Names(answer)), url)
        assert receiver.heads == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "127.0.0.1."])
async def test_a_private_literal_is_refused_in_any_spelling(host: str) -> None:
    """A literal is checked without a resolver; an allowed one is dialled as it was read."""
    names = Names()
    async with listening() as receiver:
        url = f"http://{host}:{receiver.port}/"
        with pytest.raises(ForbiddenAddress):
            await get(GuardedTransport(NOBODY, resolver=names), url)
        assert receiver.heads == []
        assert (await get(GuardedTransport(LOOPBACK, resolver=names), url)).text == "ok"
    assert names.asked == []


async def test_a_name_that_changes_its_answer_gains_nothing() -> None:
    """Rebinding: permitted at the check, private afterwards; but there is no second look-up."""
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    transport = GuardedTransport(AllowList.parse("127.0.0.1"), resolver=names)
    async with listening() as receiver, httpx.AsyncClient(transport=transport) as client:
        url = f"http://pay.example:{receiver.port}/"
        assert (await client.get(url)).text == "ok"
        assert len(names.asked) == 1
        with pytest.raises(ForbiddenAddress):
            await client.get(url)
        assert len(receiver.heads) == 1


async def test_of_several_addresses_only_permitted_ones_are_dialled() -> None:
    """A name with private and permitted addresses is reached at the permitted ones, in turn."""
    allow = AllowList.parse("127.0.0.1, 127.0.0.3")
    async with listening() as receiver:
        url = f"http://pay.example:{receiver.port}/"
        names = Names(["10.0.0.1", "127.0.0.3", "127.0.0.1"])
        assert (await get(GuardedTransport(allow, resolver=names), url)).text == "ok"


async def test_an_allowed_host_may_resolve_to_anything() -> None:
    """A listed name is reached at any address, other names there are not."""
    allow = AllowList.parse("localhost")
    async with listening() as receiver:
        url = f"http://localhost:{receiver.port}/"
        assert (await get(GuardedTransport(allow), url)).text == "ok"
        with pytest.raises(ForbiddenAddress):
            await get(GuardedTransport(NOBODY), url)
        assert len(receiver.heads) == 1


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_port_of_the_allow_list_is_enforced_when_dialled(host: str) -> None:
    """Another program of the same host stays closed, also to a name that resolves to it."""
    async with listening() as receiver, listening() as other:
        allow = AllowList.parse(f"{host}:{receiver.port}")
        url = f"http://{host}:{receiver.port}/"
        assert (await get(GuardedTransport(allow), url)).text == "ok"
        for name in (host, "pay.example"):
            transport = GuardedTransport(allow, resolver=Names(["127.0.0.1"]))
            with pytest.raises(ForbiddenAddress):
                await get(transport, f"http://{name}:{other.port}/")
        assert (len(receiver.heads), other.heads) == (1, [])


@pytest.mark.parametrize(
    "url", ["http://no-such-name.invalid/", "http://" + "a" * 64 + ".example/"]
)
async def test_names_that_do_not_exist_are_connect_errors(url: str) -> None:
    """A name without an address raises the ConnectError of httpx, as retries expect."""

    async def unknown(host: str, port: int) -> list[str]:
        host.encode("idna")
        raise OSError(port, "unknown name")

    with pytest.raises(httpx.ConnectError):
        await get(GuardedTransport(NOBODY, resolver=unknown), url)
    with pytest.raises(httpx.ConnectError):
        await get(GuardedTransport(NOBODY, resolver=Names([])), url)


async def test_a_slow_look_up_counts_towards_the_time_limit() -> None:
    """The look-up is a part of connecting."""

    async def never(_host: str, _port: int) -> list[str]:
        await asyncio.Event().wait()
        raise AssertionError

    transport = GuardedTransport(NOBODY, resolver=never)
    async with httpx.AsyncClient(transport=transport, timeout=0.05) as client:
        with pytest.raises(httpx.ConnectTimeout):
            await client.get("http://slow.example/")


async def test_tls_is_checked_against_the_name(tmp_path: Path) -> None:
    """Certificate and SNI are those of the name, although an address is dialled."""
    contexts = make_tls(tmp_path, "pay.example")
    asked: list[str | None] = []
    contexts.server.sni_callback = lambda _socket, name, _context: asked.append(name)
    names = Names(["127.0.0.1"])
    async with listening(contexts.server) as receiver:
        transport = GuardedTransport(LOOPBACK, resolver=names, verify=contexts.client)
        answer = await get(transport, f"https://pay.example:{receiver.port}/")
        assert answer.text == "ok"
        transport = GuardedTransport(LOOPBACK, resolver=names, verify=contexts.client)
        with pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
            await get(transport, f"https://other.example:{receiver.port}/")
    assert asked == ["pay.example", "other.example"]
