"""Checkouts at wallets: opened by a job, looked at until their money is there, whatever happens."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from bot.core.net.rates import Rate
from bot.core.outbox import outbox
from bot.core.outbox.worker import Worker
from bot.service.model.checkout import Holder
from bot.service.model.payout import BANK, LIGHTNING
from bot.service.model.rail_answers import Arrived, Gone, Opened, PayWith, Unavailable
from bot.service.store import checkouts, unit_moves
from bot.service.usecases import claiming, looking
from bot.service.usecases.opening import OpeningHandler
from tests.support.checkout_steps import begin, found, hear, open_due, state_of, units
from tests.support.product_process import until
from tests.support.real_rails import EUROS, ScriptedRail, connect, open_annas_service
from tests.support.service_harness import DROP, NOON, ServiceHarness

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bot.service.model.checkout import Checkout

RESERVATION = 900
ANN = Holder("network", "ann")


@pytest.fixture
def wallet() -> ScriptedRail:
    return ScriptedRail()


@pytest.fixture
async def service(tmp_path: Path, wallet: ScriptedRail) -> AsyncIterator[ServiceHarness]:
    times = {"reservation": RESERVATION * 1000, "claims": 3_600_000}
    async with open_annas_service(tmp_path, wallet, LIGHTNING, BANK, **times) as it:
        yield it


async def begun(service: ServiceHarness, way: str = LIGHTNING, **fields: Any) -> Checkout:
    """Return the checkout of a new request, opened."""
    made = await service.create(**EUROS, **fields)
    checkout_id = await begin(service, made["id"], way)
    await open_due(service)
    return await found(service, checkout_id)


async def settled(service: ServiceHarness) -> list[tuple[str, str, int]]:
    rows = await service.db.query("SELECT * FROM payments ORDER BY completed_at, id")
    return [(row["external_id"], row["state"], row["instrument_amount"]) for row in rows]


async def test_a_checkout_is_opening_until_its_wallet_has_answered(service: ServiceHarness) -> None:
    made = await service.create(**EUROS, **DROP)
    standing = await begin(service, made["id"])
    opening = await found(service, standing)
    assert (opening.stored_state.value, opening.pay_with, opening.opened_at) == (
        "opening", None, None,
    )  # fmt: skip
    assert await units(service) == (2, 1, 0, 0)
    assert await open_due(service) == 1
    it = await found(service, standing)
    assert (it.stored_state.value, it.external_id, it.pay_with) == (
        "open", f"hash-{it.id}", PayWith(f"lnbc{it.id}"),
    )  # fmt: skip
    assert (it.kind, it.way, it.automatic, it.reference) == ("lightning", "lightning", True, None)
    assert (it.quote.currency, it.opened_at, it.looked_at) == ("SAT", NOON, NOON)
    assert it.quote.rate is not None


async def test_the_wallet_is_asked_for_the_quoted_amount_with_the_details(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service)
    (asked,) = wallet.asked
    assert (asked.checkout_id, asked.amount, asked.currency) == (it.id, it.quote.amount, "SAT")
    assert (asked.memo, asked.lapses_at) == ("Coffee", NOON + RESERVATION * 1000)
    assert asked.details["name"] == "Anna"


async def test_money_is_found_by_a_look_and_paid_once(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service, **DROP)
    assert await hear(service) == 0
    service.clock.advance(2)
    assert await hear(service) == 1
    assert await units(service) == (2, 1, 0, 0)
    wallet.looks = [Arrived(it.quote.amount)]
    service.clock.advance(2)
    assert await hear(service) == 1
    assert await units(service) == (2, 0, 1, 0)
    assert await settled(service) == [(f"hash-{it.id}", "paid", it.quote.amount)]
    assert await state_of(service, it.id) == "paid"
    service.clock.advance(3600 * 48)
    assert await hear(service) == 0
    assert await service.rows("outbox") == []


@pytest.mark.parametrize("reason", ["slow", "refused", "lied", "tooSmall", "tooLarge"])
async def test_a_wallet_that_opens_nothing_gives_the_unit_back_at_once(
    service: ServiceHarness, wallet: ScriptedRail, reason: str
) -> None:
    wallet.unavailable = Unavailable(reason, "no route")
    it = await begun(service, **DROP)
    assert (it.stored_state.value, it.failure) == ("failed", reason)
    assert await units(service) == (3, 0, 0, 0)
    assert await hear(service) == 0


async def test_a_rail_with_a_bug_fails_one_checkout_and_ends_no_looking(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    wallet.opens = [KeyError("bug")]
    assert (await begun(service)).failure == "refused"
    it = await begun(service)
    wallet.looks = [KeyError("bug"), Arrived()]
    for _ in range(2):
        service.clock.advance(2)
        assert await hear(service) == 1
    assert await state_of(service, it.id) == "paid"


async def test_an_invoice_that_was_handed_out_before_is_refused(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """By any rail, paid or not: its money could be of either payer."""
    first = await begun(service)
    again = Opened(first.settles_as, PayWith("lnbc2"), service.clock() + 60_000)
    wallet.opens = [again]
    assert (await begun(service)).failure == "lied"
    wallet.looks = [Arrived()]
    service.clock.advance(2)
    await hear(service)
    wallet.opens = [again]
    assert (await begun(service)).failure == "lied"
    assert await state_of(service, first.id) == "paid"


async def test_an_invoice_that_has_ended_is_refused(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    wallet.opens = [Opened("old", PayWith("lnbc"), NOON)]
    it = await begun(service)
    assert (it.stored_state.value, it.failure, it.external_id) == ("failed", "lied", None)


async def test_an_invoice_that_ends_earlier_shortens_the_reservation(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    wallet.opens = [Opened("short", PayWith("lnbc"), NOON + 60_000)]
    it = await begun(service, **DROP)
    assert (it.lapses_at, it.expires_at) == (NOON + 60_000, NOON + 60_000)
    service.clock.advance(60)
    assert await state_of(service, it.id) == "lapsed"


async def test_an_invoice_that_never_ends_is_looked_at_for_a_day(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    wallet.opens = [Opened("endless", PayWith("lnbc"), NOON + 10**12)]
    it = await begun(service)
    assert (it.lapses_at, it.expires_at) == (NOON + RESERVATION * 1000, NOON + 24 * 3_600_000)


async def test_a_reservation_that_lapsed_while_opening_stays_lapsed_and_its_money_is_late(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    made = await service.create(**EUROS, **DROP)
    standing = await begin(service, made["id"])
    opener = OpeningHandler(service.db, service.context, service.clock)
    (message,) = await service.db.transaction(
        lambda tx: outbox.claim(tx, opener.job.queue, service.clock(), 1)
    )
    wallet.opening_gate = asyncio.Event()
    opening = asyncio.create_task(opener.handle(message))
    await wallet.begun_opening.acquire()
    service.clock.advance(RESERVATION)
    wallet.opening_gate.set()
    await opening
    assert await state_of(service, standing) == "lapsed"
    assert (await service.get(made["id"]))["remainingUnits"] == 3
    wallet.looks = [Arrived()]
    service.clock.advance(2)
    assert await hear(service) == 1
    assert await state_of(service, standing) == "late"
    assert await units(service) == (2, 0, 1, 0)


async def test_a_repeated_opening_shows_no_second_invoice(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """As after a lease that ended while a slow wallet was asked: the first invoice stays."""
    made = await service.create(**EUROS, **DROP)
    standing = await begin(service, made["id"])
    opener = OpeningHandler(service.db, service.context, service.clock)
    (message,) = await service.db.transaction(
        lambda tx: outbox.claim(tx, opener.job.queue, service.clock(), 1)
    )
    wallet.opens = [Opened("one", PayWith("lnbc1")), Opened("two", PayWith("lnbc2"))]
    wallet.opening_gate = asyncio.Event()
    both = [asyncio.create_task(opener.handle(message)) for _ in range(2)]
    for _ in both:
        await wallet.begun_opening.acquire()
    wallet.opening_gate.set()
    await asyncio.gather(*both)
    assert (await found(service, standing)).external_id == "one"
    assert [row["id"] for row in await service.rows("outbox")] == [f"look-{standing}"]
    await opener.handle(message)
    assert len(wallet.asked) == 2
    assert (await found(service, standing)).pay_with == PayWith("lnbc1")


async def test_too_little_money_takes_no_unit_and_the_whole_amount_may_still_come(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service, **DROP)
    asked = it.quote.amount
    for amount in (asked - 1, asked - 1, asked):
        wallet.looks = [Arrived(amount)]
        service.clock.advance(2)
        assert await hear(service) == 1
    external = f"hash-{it.id}"
    assert await settled(service) == [
        (f"{external}:underpaid", "underpaid", asked - 1),
        (external, "paid", asked),
    ]
    assert await units(service) == (2, 0, 1, 0)


async def test_a_checkout_with_too_little_money_is_neither_paid_nor_deleted(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """Its payment refers to it for ever."""
    it = await begun(service, **DROP)
    wallet.looks = [Arrived(1)]
    service.clock.advance(2)
    await hear(service)
    assert await state_of(service, it.id) == "open"
    page = await service.anyone.get(f"/pay/{it.request_id}/checkout/{it.id}")
    assert page.status_code == 200
    service.clock.advance(RESERVATION)
    assert await state_of(service, it.id) == "lapsed"
    assert (await service.get(it.request_id))["remainingUnits"] == 3
    await service.db.transaction(lambda tx: unit_moves.close_lapsed(tx, service.clock(), 9))
    later = service.clock() + 1
    assert service.db.run(lambda tx: checkouts.sweep(tx, later, later, 9)) == 0


async def test_more_money_than_asked_pays_and_is_kept_as_it_came(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service)
    wallet.looks = [Arrived(it.quote.amount + 7)]
    service.clock.advance(2)
    await hear(service)
    (payment,) = await service.rows("payments")
    assert (payment["state"], payment["amount"], payment["currency"]) == ("paid", 500, "EUR")
    assert payment["instrument_amount"] == it.quote.amount + 7
    assert payment["instrument_shares"] == f"[{it.quote.amount + 7}]"


@pytest.mark.parametrize("amount", [0, -1])
async def test_no_amount_is_no_payment(
    service: ServiceHarness, wallet: ScriptedRail, amount: int
) -> None:
    it = await begun(service)
    wallet.looks = [Arrived(amount)]
    service.clock.advance(2)
    await hear(service)
    assert (await settled(service), await state_of(service, it.id)) == ([], "open")


async def test_an_invoice_that_is_gone_is_looked_at_again(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service)
    wallet.looks = [Gone("not found"), Arrived()]
    for _ in range(2):
        service.clock.advance(2)
        await hear(service)
    assert await state_of(service, it.id) == "paid"


async def test_money_for_a_cancelled_checkout_is_late_or_oversold(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    one, two = [await begun(service, expirationType="limit", totalUnits=1) for _ in range(2)]
    for it in (one, two):
        cancel = partial(
            claiming.cancel, request_id=it.request_id, checkout_id=it.id, now=service.clock()
        )
        assert await service.db.transaction(cancel)
    await begin(service, two.request_id, token="b" * 32)
    wallet.looks = [Arrived(), Arrived()]
    service.clock.advance(2)
    assert await hear(service) == 2
    assert [await state_of(service, it.id) for it in (one, two)] == ["late", "oversold"]


async def test_the_looks_of_an_invoice_end_and_a_hint_still_finds_its_money(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service)
    looks = 0
    for _ in range(200):
        if not (rows := await service.rows("outbox")):
            break
        service.clock.at = rows[0]["due_at"]
        looks += await hear(service)
    assert looks == 140
    service.clock.advance(3600)
    wallet.looks = [Arrived()]
    await hint(service, it.id)
    assert await hear(service) == 1
    assert await state_of(service, it.id) == "late"
    await hint(service, it.id)
    assert await service.rows("outbox") == []


async def hint(service: ServiceHarness, checkout_id: str) -> None:
    await service.db.transaction(
        partial(looking.hint, checkout_id=checkout_id, now=service.clock())
    )


async def test_hints_bring_the_next_look_forward_but_never_closer_than_a_second(
    service: ServiceHarness,
) -> None:
    it = await begun(service)
    service.clock.advance(RESERVATION)
    assert await hear(service) == 1
    for _ in range(3):
        await hint(service, it.id)
    (row,) = await service.rows("outbox")
    assert row["due_at"] == service.clock() + 1_000
    service.clock.advance(2)
    assert await hear(service) == 1
    service.clock.advance(10)
    await hint(service, it.id)
    (row,) = await service.rows("outbox")
    assert row["due_at"] == service.clock()


async def test_a_hint_during_a_look_is_followed_by_another_look(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """What the wallet is answering may be older than the hint."""
    it = await begun(service)
    service.clock.advance(RESERVATION - 20)
    looker = looking.LookHandler(service.db, service.context, service.clock)
    (message,) = await service.db.transaction(
        lambda tx: outbox.claim(tx, looker.job.queue, service.clock(), 1)
    )
    await hint(service, it.id)
    await looker.handle(message)
    service.clock.advance(2)
    assert await hear(service) == 1
    assert [row["id"] for row in await service.rows("outbox")] == [f"look-{it.id}"]
    service.clock.advance(15)
    wallet.looks = [Arrived()]
    assert await hear(service) == 1
    assert await state_of(service, it.id) == "paid"


async def test_an_open_page_hints_at_most_every_second(service: ServiceHarness) -> None:
    it = await begun(service)
    service.clock.advance(RESERVATION)
    await hear(service)
    (before,) = await service.rows("outbox")
    fresh = await found(service, it.id)
    await looking.hint_for_page(service.db, fresh, service.clock())
    assert await service.rows("outbox") == [before]
    service.clock.advance(2)
    await looking.hint_for_page(service.db, fresh, service.clock())
    (after,) = await service.rows("outbox")
    assert after["due_at"] == service.clock() < before["due_at"]


async def test_test_money_and_banks_take_no_hint(service: ServiceHarness) -> None:
    it = await begun(service, "bank:sepa")
    await hint(service, it.id)
    await looking.hint_for_page(service.db, it, service.clock() + 9_000)
    assert await service.rows("outbox") == []


async def test_a_wallet_announces_money_at_an_address_of_its_own(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """Whatever it posts there; the answer of a look alone is believed."""
    it = await begun(service)
    url = wallet.asked[0].hint_url
    assert url is not None
    service.clock.advance(RESERVATION)
    await hear(service)
    service.clock.advance(2)
    for body in (b"", b'{"paid": true}', b"\xff" * 100):
        assert (await service.anyone.post(url, content=body)).status_code == 204
    assert await settled(service) == []
    (row,) = await service.rows("outbox")
    assert row["due_at"] == service.clock()
    assert (await service.anyone.post(url, content=b"x" * 70_000)).status_code == 413
    other = url[:-1] + ("0" if url[-1] != "0" else "1")
    for wrong in (other, url.replace(it.id, "0" * 24), f"{url}é"):
        assert (await service.anyone.post(wrong)).status_code == 404
    assert (await service.anyone.get(url)).status_code == 405


async def test_a_wallet_that_floods_with_hints_is_slowed_down_and_no_payer_is(
    tmp_path: Path, wallet: ScriptedRail
) -> None:
    rate, ways = Rate(5, 60), (LIGHTNING, BANK)
    async with open_annas_service(tmp_path, wallet, *ways, payer_rate=rate) as service:
        it = await begun(service)
        url = wallet.asked[0].hint_url
        assert url is not None
        found = [(await service.anyone.post(url)).status_code for _ in range(8)]
        assert found == [204] * 5 + [429] * 3
        page = f"/pay/{it.request_id}/checkout/{it.id}"
        assert (await service.anyone.get(page)).status_code == 200


async def test_a_wallet_that_hangs_delays_no_other(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """Its own openings wait in its own lane; those of another host are open meanwhile."""
    await connect(service, owner="hung", name="Hung", host="hung.example")
    await connect(service, owner="good", name="Good", host="good.example")
    requests_of = {
        owner: await service.create(
            **EUROS | {"receivers": [{"sendAmount": 5, "destination": f"account:{owner}"}]}
        )
        for owner in ("hung", "good")
    }
    wallet.hung_hosts = {"hung.example"}
    for number in range(30):
        await begin(service, requests_of["hung"]["id"], token=f"{number:032d}")
    job = OpeningHandler(service.db, service.context, service.clock).job
    worker = Worker(service.db, job, service.clock)
    running = asyncio.create_task(worker.run())
    try:
        for _ in range(8):
            await wallet.begun_opening.acquire()
        standing = await begin(service, requests_of["good"]["id"])

        async def is_open() -> bool:
            return await state_of(service, standing) == "open"

        await until(is_open, 5)
        leased = await service.db.query("SELECT lane FROM outbox WHERE state = 'leased'")
        assert [row["lane"] for row in leased] == ["hung.example"] * 8
    finally:
        await worker.stop(0)
        await running
