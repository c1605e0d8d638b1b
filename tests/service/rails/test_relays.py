"""Relays: trusted with nothing, shared, bounded and dialled through the guard."""

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

from bot.core.errors import BadAnswer, ForbiddenAddress, Unreachable
from bot.core.net.guarded_transport import GuardedDialler
from bot.core.net.http_client import ssl_context
from bot.core.net.webhook_addresses import AllowList
from bot.service.rails.nostr_wallet import REQUEST, WalletError, Wallets
from bot.service.rails.relays import BYTES_PER_ASK, MAX_FRAME, Relays, guarded_dial, zone_of
from tests.support.nwc_wallet import is_genuine
from tests.support.relays import (
    APP,
    LOUD,
    STRANGER,
    WALLET,
    Request,
    answer,
    call,
    connection,
    honest,
    now,
    scripted_relay,
)
from tests.support.service_harness import LOOPBACK


async def test_a_wallets_answer_arrives(relays: Relays) -> None:
    async with scripted_relay(honest) as relay:
        assert await call(relays, relay.url) == {"methods": ["make_invoice"]}
        assert [message[0] for message in relay.heard[:2]] == ["REQ", "EVENT"]


@pytest.mark.simulation
async def test_of_what_a_relay_has_stored_the_newest_is_asked_for(relays: Relays) -> None:
    async with scripted_relay(honest) as relay:
        await call(relays, relay.url)
        await Wallets(relays, now).find_scheme(connection(relay.url))
    asked = [message[2] for message in relay.heard if message[0] == "REQ"]
    assert [one["limit"] for one in asked] == [1, 1]


async def test_a_request_is_sealed_signed_and_ends(relays: Relays) -> None:
    async with scripted_relay(honest) as relay:
        await call(relays, relay.url)
        event = next(message[1] for message in relay.heard if message[0] == "EVENT")
    tags = dict(event["tags"])
    assert (event["kind"], event["pubkey"]) == (REQUEST, APP.public)
    assert (tags["p"], tags["encryption"]) == (WALLET.public, "nip44_v2")
    assert int(tags["expiration"]) == event["created_at"] + 60
    assert is_genuine(event)
    opened = WALLET.open(APP.public, event["content"])
    assert json.loads(opened) == {"method": "get_info", "params": {}}


FALSE_ANSWERS: dict[str, Callable[[Request], Any]] = {
    "another key": lambda request: answer(request, key=STRANGER),
    "our own key": lambda request: answer(request, key=APP),
    "another request": lambda request: answer(request, tags=(("p", APP.public), ("e", "00" * 32))),
    "no request": lambda request: answer(request, tags=(("p", APP.public),)),
    "another app": lambda request: answer(
        request, tags=(("p", STRANGER.public), ("e", request.event["id"]))
    ),
    "another kind": lambda request: answer(request, kind=23194),
    "a wrong id": lambda request: answer(request) | {"id": "00" * 32},
    "a wrong signature": lambda request: answer(request) | {"sig": "00" * 64},
    "changed content": lambda request: answer(request) | {"content": "x"},
    "the request itself": lambda request: request.event,
    "no event": lambda _: {},
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("false_answer", FALSE_ANSWERS)
async def test_an_answer_with_a_flaw_is_passed_over(relays: Relays, false_answer: str) -> None:
    async def script(request: Request) -> None:
        await request.send_event(FALSE_ANSWERS[false_answer](request))
        right = {"result_type": "get_info", "result": {"methods": ["the right answer"]}}
        await request.send_event(answer(request, right))

    async with scripted_relay(script) as relay:
        assert await call(relays, relay.url) == {"methods": ["the right answer"]}


async def test_an_answer_that_is_replayed_counts_for_its_own_request_only(relays: Relays) -> None:
    kept: list[dict[str, Any]] = []

    async def script(request: Request) -> None:
        kept.append(answer(request))
        await request.send_event(kept[0])

    async with scripted_relay(script) as relay:
        await call(relays, relay.url)
        with pytest.raises(Unreachable):
            await call(relays, relay.url, patience=(0.1,))


async def test_each_try_is_a_new_event(relays: Relays) -> None:
    """Wallets drop a request that they know, and a relay that restarted has lost it."""

    async def script(request: Request) -> None:
        if len([one for one in relay.heard if one[0] == "EVENT"]) > 1:
            await honest(request)

    async with scripted_relay(script) as relay:
        await call(relays, relay.url, patience=(*[0.1] * 20, 5.0))
        sent = [message[1]["id"] for message in relay.heard if message[0] == "EVENT"]
    assert len(set(sent)) == len(sent) > 1


@pytest.mark.parametrize(
    "text",
    ["", "x", "{}", "[]", '["EVENT"]', '["EVENT", 1, 2]', '["OK", 1]', "[" * 100, "\x00", "[NaN]"],
)
async def test_nonsense_of_a_relay_is_passed_over(relays: Relays, text: str) -> None:
    async def script(request: Request) -> None:
        await request.send_text(text)
        await honest(request)

    async with scripted_relay(script) as relay:
        assert await call(relays, relay.url)


async def test_an_event_longer_than_relays_take_ends_the_connection(relays: Relays) -> None:
    async def script(request: Request) -> None:
        await request.send_event(answer(request, content="x" * MAX_FRAME))

    async with scripted_relay(script) as relay:
        with pytest.raises(Unreachable):
            await call(relays, relay.url)
        assert relays.connections == 0


@pytest.mark.long
async def test_a_relay_that_floods_is_cut_off(relays: Relays) -> None:
    """It goes on after the subscription was closed, which it was told."""

    async def script(request: Request) -> None:
        text = json.dumps(["EVENT", request.subscription, answer(request, key=STRANGER)])
        while True:
            await request.send_text(text)

    async with scripted_relay(script) as relay:
        with pytest.raises(Unreachable, match="more than was asked for"):
            await call(relays, relay.url)
        async with asyncio.timeout(10):
            while relays.connections:  # noqa: ASYNC110 - it ends when the flood has come
                await asyncio.sleep(0)


async def test_an_answer_of_any_length_of_nonsense_is_refused(relays: Relays) -> None:
    async def script(request: Request) -> None:
        await request.send_event(answer(request, content="x" * 90_000))

    async with scripted_relay(script) as relay:
        with pytest.raises(BadAnswer):
            await call(relays, relay.url)


@pytest.mark.parametrize(
    "body",
    [
        {"result_type": "pay_invoice", "result": {}},
        {"result_type": "get_info", "result": []},
        {"result_type": "get_info"},
        {"result": {}},
        [1],
    ],
)
async def test_an_answer_to_another_question_is_refused(relays: Relays, body: Any) -> None:
    async def script(request: Request) -> None:
        await request.send_event(answer(request, body))

    async with scripted_relay(script) as relay:
        with pytest.raises(BadAnswer):
            await call(relays, relay.url)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": "RATE_LIMITED", "message": "x"}, "RATE_LIMITED"),
        ({"code": "<b>&", "message": "x"}, "OTHER"),
        ({"code": "A" * 1_000}, "A" * 40),
        ({"message": 1}, "OTHER"),
        ("text", "OTHER"),
    ],
)
async def test_an_error_is_told_by_its_code_alone(relays: Relays, error: Any, code: str) -> None:
    async def script(request: Request) -> None:
        await request.send_event(answer(request, {"error": error}))

    async with scripted_relay(script) as relay:
        with pytest.raises(WalletError) as caught:
            await call(relays, relay.url)
    assert caught.value.code == code
    assert str(caught.value) == f"the wallet answered {code}"


REFUSAL = "rate-limited:\n slow\x1b down"


@pytest.mark.parametrize("refusal", ["OK", "CLOSED"])
async def test_a_request_that_no_relay_takes_ends_at_once(relays: Relays, refusal: str) -> None:
    async def script(request: Request) -> None:
        if refusal == "OK":
            await request.acknowledge(REFUSAL)
        else:
            await request.send("CLOSED", request.subscription, REFUSAL)

    async with scripted_relay(script) as one, scripted_relay(script) as two:
        with pytest.raises(Unreachable, match="rate-limited: slow down"):
            await call(relays, one.url, two.url)


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


@pytest.mark.parametrize("number", [4 * BYTES_PER_ASK // len(PING), 4_000])
async def test_a_relay_that_floods_with_pings_is_cut_off(relays: Relays, number: int) -> None:
    """They are no messages, and the library answers each. Tens of thousands fit into the bytes of
    an ask, and each costs as much as a message.
    """

    async def flood(request: Request) -> None:
        await request.send_bytes(PING * number)
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
