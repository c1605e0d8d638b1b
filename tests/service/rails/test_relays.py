"""Relays: shared, bounded and dialled through the guard, whatever one of them does."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from websockets.asyncio.server import serve
from websockets.http11 import Response

from bot.core.errors import ForbiddenAddress, Unreachable
from bot.core.net.guarded_transport import GuardedDialler
from bot.core.net.http_client import ssl_context
from bot.core.net.webhook_addresses import AllowList
from bot.service.rails.relay_connection import BYTES_PER_ASK, guarded_dial
from bot.service.rails.relays import Relays, zone_of
from tests.support.relay_calls import APP, LOUD, STRANGER, answer, call, honest
from tests.support.scripted_relay import Request, scripted_relay
from tests.support.service_harness import LOOPBACK

PING = b"\x89\x00"
"""A frame of RFC 6455 without a payload."""


async def test_one_of_two_relays_is_enough(relays: Relays) -> None:
    async def deaf(_: Request) -> None:
        await asyncio.sleep(0)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        unanswered = f"ws://127.0.0.1:{listener.getsockname()[1]}"
        async with scripted_relay(honest) as good, scripted_relay(deaf) as silent:
            began = time.monotonic()
            assert await call(relays, unanswered, silent.url, good.url)
            assert time.monotonic() - began < 2


async def test_calls_share_a_connection_that_ends_when_nobody_asks() -> None:
    pool = Relays(guarded_dial(GuardedDialler(LOOPBACK), ssl_context()), idle=0.0)
    async with scripted_relay(honest) as relay:
        await asyncio.gather(*(call(pool, relay.url) for _ in range(10)))
        assert relay.connections == 1
        async with asyncio.timeout(5):
            while pool.connections:  # noqa: ASYNC110 - it ends by a timer of no seconds
                await asyncio.sleep(0)


async def test_many_calls_at_once_spread_over_a_few_connections(relays: Relays) -> None:
    async with scripted_relay(honest) as relay:
        await asyncio.gather(*(call(relays, relay.url) for _ in range(40)))
        assert relay.connections == 3


async def test_an_idle_connection_makes_room_and_one_in_use_does_not(
    relays: Relays, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.service.rails.relays.MOST_CONNECTIONS", 1)
    asked = asyncio.Event()

    async def silent(_: Request) -> None:
        asked.set()

    async with scripted_relay(honest) as one, scripted_relay(silent) as two:
        assert await call(relays, one.url)
        waiting = asyncio.create_task(call(relays, two.url))
        await asked.wait()
        assert relays.connections == 1
        with pytest.raises(Unreachable, match="too many relays"):
            await call(relays, one.url)
        waiting.cancel()


async def test_a_relay_that_floods_with_pings_is_cut_off(relays: Relays) -> None:
    """They are no messages, and the library answers each."""

    async def flood(request: Request) -> None:
        await request.send_bytes(PING * (4 * BYTES_PER_ASK // len(PING)))

    async with scripted_relay(flood) as relay:
        with pytest.raises(Unreachable, match="no relay takes the request"):
            await call(relays, relay.url)


async def test_pings_are_counted_also_where_their_bytes_are_few(relays: Relays) -> None:
    """Tens of thousands fit into the bytes of an ask, and each costs as much as a message."""

    async def flood(request: Request) -> None:
        await request.send_bytes(PING * 4_000)
        await honest(request)

    async with scripted_relay(flood) as relay:
        with pytest.raises(Unreachable, match="no relay takes the request"):
            await call(relays, relay.url)


def _fragments(request: Request) -> bytes:
    """A message in 3,000 fragments."""
    first = json.dumps(["EVENT", request.subscription])[:-1].encode() + b',"'
    return bytes([1, len(first)]) + first + b"\x00\x01x" * 3_000 + b'\x80\x02"]'


def _text(*message: Any) -> bytes:
    """A frame of RFC 6455 with a message."""
    text = json.dumps(message).encode()
    if len(text) < 126:
        return bytes([0x81, len(text)]) + text
    return b"\x81\x7f" + len(text).to_bytes(8, "big") + text


def _event(request: Request, **changes: Any) -> bytes:
    return _text("EVENT", request.subscription, answer(request, wallet=LOUD, **changes))


NOISE: dict[str, Callable[[Request], bytes]] = {
    "answers": lambda request: _event(request) * 1_000,
    "a wrong signature": lambda request: _event(request, key=STRANGER) * 1_000,
    "another kind": lambda request: _event(request, kind=23196) * 1_000,
    "another request": lambda request: _event(request, tags=(("p", APP.public),)) * 1_000,
    "large events": lambda request: _event(request, content="x" * 500_000) * 20,
    "ends": lambda request: _text("EOSE", request.subscription) * 1_000,
    "refusals": lambda request: _text("CLOSED", request.subscription, "") * 1_000,
    "acknowledgements": lambda request: _text("OK", request.event["id"], 1, "") * 1_000,
    "nonsense": lambda request: _text("EVENT", request.subscription, None) * 1_000,
    "fragments": _fragments,
}


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("began", ["asked", "answered"])
async def test_a_noisy_wallet_costs_no_other_at_its_relay_the_connection(
    relays: Relays, noise: str, began: str
) -> None:
    """Also where the noise begins after the answer, when nobody listens any more."""
    requests: asyncio.Queue[Request] = asyncio.Queue()
    async with scripted_relay(requests.put) as relay:
        other = asyncio.create_task(call(relays, relay.url))
        waits = await requests.get()
        noisy = asyncio.create_task(call(relays, relay.url, wallet=LOUD))
        request = await requests.get()
        if began == "answered":
            await request.send_event(answer(request, wallet=LOUD))
            assert await noisy
        await request.send_bytes(NOISE[noise](request))
        await honest(waits)
        assert await other == {"methods": ["make_invoice"]}
        await asyncio.gather(noisy, return_exceptions=True)
        with pytest.raises(Unreachable, match="the wallet sent more than was asked for"):
            await call(relays, relay.url, wallet=LOUD)
        again = asyncio.create_task(call(relays, relay.url))
        await honest(await requests.get())
        assert await again
        assert relay.connections == 1


async def test_relays_of_one_zone_leave_room_for_others(
    relays: Relays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns a zone can invent relays; here a zone is an address."""
    monkeypatch.setattr("bot.service.rails.relays.ZONE_CONNECTIONS", 2)
    asked = asyncio.Semaphore(0)

    async def silent(_: Request) -> None:
        asked.release()

    async with scripted_relay(silent) as bad, scripted_relay(honest, "127.0.0.2") as good:
        urls = [f"{bad.url}/{number}" for number in range(3)]
        waiting = [asyncio.create_task(call(relays, url)) for url in urls[:2]]
        for _ in waiting:
            await asked.acquire()
        with pytest.raises(Unreachable, match="too many relays"):
            await call(relays, urls[2])
        assert await call(relays, good.url)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert relays.connections == 3  # idle now
        urls[2] = f"{good.url}/b"
        assert await call(relays, urls[2])
        urls[2] = f"{good.url}/c"
        assert await call(relays, urls[2])
        assert relays.connections <= 4


def test_a_zone_is_a_registered_domain_or_an_address() -> None:
    urls = [
        "wss://a.b.example.org/x", "wss://example.org:7", "wss://a.relay.co.uk",
        "ws://127.0.0.1:8", "wss://[2001::1]",
    ]  # fmt: skip
    zones = ["example.org", "example.org", "relay.co.uk", "127.0.0.1", "2001::1"]
    assert [*map(zone_of, urls)] == zones


async def test_wallets_that_never_answer_delay_no_other_at_their_relay(relays: Relays) -> None:
    asked = asyncio.Semaphore(0)

    async def script(request: Request) -> None:
        asked.release()
        if len([one for one in relay.heard if one[0] == "EVENT"]) > 60:
            await honest(request)

    async with scripted_relay(script) as relay:
        silent = [asyncio.create_task(call(relays, relay.url)) for _ in range(60)]
        for _ in silent:
            await asked.acquire()
        began = time.monotonic()
        assert await call(relays, relay.url)
        assert time.monotonic() - began < 1
        for task in silent:
            task.cancel()


async def test_a_connection_that_broke_is_dialled_again(relays: Relays) -> None:
    async def script(request: Request) -> None:
        if relay.connections == 1:
            await request.close()
        else:
            await honest(request)

    async with scripted_relay(script) as relay:
        assert await call(relays, relay.url, patience=(4.0, 4.0))
        assert relay.connections == 2


async def test_a_relay_that_is_gone_is_unreachable(relays: Relays) -> None:
    async with scripted_relay(honest) as relay:
        url = relay.url
    with pytest.raises(Unreachable, match="no relay takes the request"):
        await call(relays, url)


async def test_a_redirect_is_not_followed(relays: Relays) -> None:
    async with scripted_relay(honest) as target:
        moved = Response(302, "Found", {"Location": target.url})  # type: ignore[arg-type]

        def redirect(*_: Any) -> Response:
            return moved

        async with serve(lambda _: asyncio.sleep(0), "127.0.0.1", 0, process_request=redirect) as s:
            url = f"ws://127.0.0.1:{next(iter(s.sockets)).getsockname()[1]}"
            with pytest.raises(Unreachable):
                await call(relays, url)
        assert target.connections == 0


async def test_only_permitted_addresses_are_dialled() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    dialler = GuardedDialler(AllowList(), resolve)
    with pytest.raises(ForbiddenAddress):
        await dialler.connect("relay.example.com", 80, 1)
    async with scripted_relay(honest) as relay:
        permitted = GuardedDialler(LOOPBACK, resolve)
        port = int(relay.url.rpartition(":")[2])
        (await permitted.connect("relay.example.com", port, 1)).close()


async def test_the_next_address_of_a_relay_is_dialled_when_one_refuses() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async with scripted_relay(honest) as relay:
        dialler = GuardedDialler(LOOPBACK, resolve)
        port = int(relay.url.rpartition(":")[2])
        connected = await dialler.connect("relay.example.com", port, 5)
        assert connected.getpeername()[0] == "127.0.0.1"
        connected.close()


async def test_a_name_that_is_not_found_is_unreachable() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return []

    with pytest.raises(OSError, match="has no address"):
        await GuardedDialler(LOOPBACK, resolve).connect("relay.example.com", 80, 1)
