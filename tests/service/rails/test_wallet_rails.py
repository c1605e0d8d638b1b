"""What every rail of wallets keeps, whatever a wallet answers; what is a rail's own stands beside.

A test changes one answer after the other, and names those that broke its rule.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from bot.core.net.webhook_addresses import AllowList
from bot.interface.vocabulary import LIGHTNING
from bot.service.rails.rail import Arrived, InvalidWalletAnswer, Waiting
from tests.support.lightning_wallet import (
    BROKEN_ANSWERS,
    INVOICE_KEY,
    charge,
    shorten_unfinished,
)
from tests.support.service_harness import Clock
from tests.support.wallet_shops import Shop, open_lightning, open_lnbits, open_nwc

Open = Callable[[Clock], AbstractAsyncContextManager[Shop]]
HTTP = (open_lightning, open_lnbits)
HOUR = 3_600_000


@pytest.fixture(params=[*HTTP, open_nwc], ids=lambda one: one.__name__)
async def shop(clock: Clock, request: pytest.FixtureRequest) -> AsyncIterator[Shop]:
    opened: Open = request.param
    async with opened(clock) as it:
        await it.connect()
        yield it


over_http = pytest.mark.parametrize(
    "shop", HTTP, indirect=True, ids=lambda one: getattr(one, "__name__", None)
)


async def test_an_invoice_that_was_not_asked_for_is_an_invalid_answer(shop: Shop) -> None:
    now = shop.clock()
    believed = []
    for changed in (
        {"msat": 22_000},
        {"msat": 20_999},
        {"msat": 21_001},
        {"msat": 20_000},
        {"msat": None},
        {"network": "tb"},
        {"network": "bcrt"},
        {"network": "tbs"},
        {"created_at": now - 3 * HOUR, "expiry": 86_400},
        {"created_at": now + 3 * HOUR},
        {"expiry": 0},
        {"payment_hash": None},
    ):
        shop.write_invoices(**changed)
        if await shop.refused() != "lied":
            believed.append(changed)
    for text in ("lnbc1", "x" * 5_000, "lnurl1abc"):
        shop.write_text(text)
        assert await shop.refused() == "lied", text
    assert believed == []


async def test_an_invoice_lapses_with_its_checkout_and_is_waited_for(shop: Shop) -> None:
    found = await shop.opened()
    assert found.pay_with
    assert str(found.pay_with.lightning_invoice).startswith("lnbc")
    assert abs((found.lapses_at or 0) - shop.clock() - 900_000) < 5_000
    assert await shop.poll(found) == Waiting()
    assert shop.rail.open_offline(charge(shop.details, shop.clock())) is None


async def test_a_paid_invoice_has_arrived_whether_its_preimage_is_known_or_not(shop: Shop) -> None:
    found = await shop.paid()
    arrived = Arrived(None if shop.rail.kind == LIGHTNING else 21)
    assert await shop.poll(found) == arrived
    for preimage in (None, "", ..., "0" * 64):
        shop.say(preimage=preimage)
        assert await shop.poll(found) == arrived, preimage


async def test_a_preimage_of_another_invoice_is_an_invalid_answer(shop: Shop) -> None:
    found = await shop.paid()
    for preimage in ("22" * 32, "x", "11" * 31, f"{99:064x}", "0", "0" * 63):
        shop.say(preimage=preimage)
        answer = await shop.poll(found)
        assert isinstance(answer, Waiting), preimage
        assert answer.invalid_answer is InvalidWalletAnswer.PREIMAGE


@over_http
async def test_settled_is_true_and_nothing_like_it(shop: Shop) -> None:
    found = await shop.paid()
    values: tuple[Any, ...] = ("true", 1, None, ..., [])
    for value in values:
        shop.say(**{shop.settled: value})
        assert isinstance(await shop.poll(found), Waiting), value


async def test_a_wallet_that_had_too_many_calls_is_asked_again(shop: Shop) -> None:
    found = await shop.paid()
    shop.refuse_calls()
    assert await shop.refused() == "slow"
    assert isinstance(await shop.poll(found), Waiting)


async def test_a_host_that_is_no_longer_allowed_is_not_called(shop: Shop) -> None:
    found = await shop.paid()
    shop.calls.clear()
    allowed, shop.rail = shop.rail, type(shop.rail)(AllowList(), shop.clock)  # type: ignore[call-arg]
    assert await shop.refused() == "refused"
    assert isinstance(await shop.poll(found), Waiting)
    assert shop.calls == []
    await shop.rail.close()
    shop.rail = allowed


async def test_a_field_that_no_account_has_is_named_before_anybody_is_asked(shop: Shop) -> None:
    problem = await shop.problem(walletName="shop")
    assert (problem.field, problem.code) == ("details.walletName", "unknownField")
    assert shop.calls == []


def replies(shop: Shop, route: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have a route give each broken answer in turn; yield its name."""
    for name, answer in BROKEN_ANSWERS.items():
        with monkeypatch.context() as patched:
            shorten_unfinished(name, patched)
            shop.wallet.answers[route] = answer
            yield name
    del shop.wallet.answers[route]


BUSY = {
    **dict.fromkeys(("dripping", "silent"), "hostSilent"),
    "tooManyCalls": "hostBusy",
    "htmlError": "hostBroken",
}
"""The codes of broken answers after which the seller may try again."""


@pytest.mark.long
@over_http
async def test_a_host_with_a_broken_answer_is_not_connected(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code says whether to try again, or what to put right."""
    is_lightning = shop.rail.kind == LIGHTNING
    expected = dict.fromkeys(BROKEN_ANSWERS, "notLnurl" if is_lightning else "notLnbits")
    for name in ("redirectToPrivate", "redirectToMetadata"):
        expected[name] = "hostMoved" if is_lightning else "lnbitsMoved"
    for route in shop.connecting:
        found = {}
        for name in replies(shop, route, monkeypatch):
            problem = await shop.problem()
            found[name] = problem.code
            assert INVOICE_KEY not in problem.message
        assert found == expected | BUSY, route


@pytest.mark.long
@over_http
async def test_a_broken_answer_opens_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    for route in shop.opening:
        found = {name: await shop.refused() for name in replies(shop, route, monkeypatch)}
        slow = [name for name, reason in found.items() if reason == "slow"]
        assert (slow, set(found.values())) == (
            ["htmlError", "tooManyCalls", "dripping", "silent"],
            {"slow", "refused"},
        )


@pytest.mark.long
@over_http
async def test_a_broken_answer_is_waited_through(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await shop.paid()
    for name in replies(shop, shop.polling, monkeypatch):
        assert isinstance(await shop.poll(found), Waiting), name
    assert isinstance(await shop.poll(found), Arrived)
