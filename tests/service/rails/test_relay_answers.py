"""A relay is trusted with nothing: not with answers, their order, their number or their size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from bot.core.errors import BadAnswer, Unreachable
from bot.service.rails.nostr_wallet import REQUEST, WalletError, Wallets
from bot.service.rails.relay_connection import MAX_FRAME
from bot.service.rails.relays import Relays
from tests.support.nostr_keys import is_genuine
from tests.support.relay_calls import (
    APP,
    STRANGER,
    WALLET,
    answer,
    call,
    connection,
    honest,
    now,
)
from tests.support.scripted_relay import Request, scripted_relay


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
        await honest(request)

    async with scripted_relay(script) as relay:
        assert await call(relays, relay.url) == {"methods": ["make_invoice"]}


@pytest.mark.parametrize("false_answer", FALSE_ANSWERS)
async def test_an_answer_with_a_flaw_alone_is_silence(relays: Relays, false_answer: str) -> None:
    async def script(request: Request) -> None:
        await request.send_event(FALSE_ANSWERS[false_answer](request))

    async with scripted_relay(script) as relay:
        with pytest.raises(Unreachable, match="no answer"):
            await call(relays, relay.url, patience=(0.1,))


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
