"""The ways to pay, and openings: a job asks the chosen wallet for an invoice."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from bot.core.errors import InvalidBody, NotPayable, Refused
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.outbox.worker import Worker
from bot.interface.vocabulary import LIGHTNING
from bot.service.checkouts import claiming, paying
from bot.service.checkouts.checkout import Holder
from bot.service.checkouts.wallet_calls import OpeningHandler
from bot.service.rails.rail import Arrived, Opened, PayWith, Unavailable
from bot.service.requests import request_rows
from tests.support.checkout_steps import (
    begin,
    begun,
    found,
    hear,
    open_due,
    polled,
    state_of,
    units,
)
from tests.support.product_process import until
from tests.support.real_rails import EUROS, RESERVATION, ScriptedRail, connect
from tests.support.service_harness import DROP, NOON, ServiceHarness


async def test_a_checkout_is_opening_until_its_wallet_has_answered(service: ServiceHarness) -> None:
    made = await service.create(**EUROS, **DROP)
    checkout_id = await begin(service, made["id"])
    opening = await found(service, checkout_id)
    assert (opening.stored_state.value, opening.pay_with, opening.opened_at) == (
        "opening", None, None,
    )  # fmt: skip
    assert await units(service) == (2, 1, 0, 0)
    assert await open_due(service) == 1
    it = await found(service, checkout_id)
    assert (it.stored_state.value, it.external_id, it.pay_with) == (
        "open", f"hash-{it.id}", PayWith(f"lnbc{it.id}"),
    )  # fmt: skip
    assert (it.kind, it.way, it.automatic, it.reference) == ("lightning", "lightning", True, None)
    assert (it.quote.currency, it.opened_at, it.polled_at) == ("SAT", NOON, NOON)
    assert it.quote.rate is not None


async def test_the_wallet_is_asked_for_the_quoted_amount_with_the_details(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service)
    (asked,) = wallet.asked
    assert (asked.checkout_id, asked.amount, asked.currency) == (it.id, it.quote.amount, "SAT")
    assert (asked.memo, asked.lapses_at) == ("Coffee", NOON + RESERVATION * 1000)
    assert asked.details["name"] == "Anna"


@pytest.mark.parametrize("reason", ["slow", "refused", "lied", "tooSmall", "tooLarge"])
async def test_a_wallet_that_opens_nothing_gives_the_unit_back_at_once(
    service: ServiceHarness, wallet: ScriptedRail, reason: str
) -> None:
    wallet.unavailable = Unavailable(reason, "no route")
    with capture_logs() as lines:
        it = await begun(service, **DROP)
    (line,) = lines
    assert (line["event"], line["checkout"], line["kind"]) == (
        "checkout not opened", it.id, "lightning",
    )  # fmt: skip
    assert (line["reason"], line["detail"], "host" in line) == (reason, "no route", True)
    assert (it.stored_state.value, it.failure) == ("failed", reason)
    assert await units(service) == (3, 0, 0, 0)
    assert await hear(service) == 0


async def test_an_invoice_that_was_handed_out_before_is_refused(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """By any rail, paid or not: its money could be of either payer."""
    first = await begun(service)
    again = Opened(first.settles_as, PayWith("lnbc2"), service.clock() + 60_000)
    wallet.opens = [again]
    assert (await begun(service)).failure == "lied"
    await polled(service, wallet, Arrived())
    wallet.opens = [again]
    assert (await begun(service)).failure == "lied"
    assert await state_of(service, first.id) == "paid"


async def test_an_invoice_that_has_ended_is_refused(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    wallet.opens = [Opened("old", PayWith("lnbc"), NOON)]
    with capture_logs() as lines:
        it = await begun(service)
    assert [(line["event"], line["detail"]) for line in lines] == [
        ("checkout not opened", "the invoice was used before, or has ended")
    ]
    assert (it.stored_state.value, it.failure, it.external_id) == ("failed", "lied", None)


async def test_an_invoice_that_ends_earlier_shortens_the_reservation(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    wallet.opens = [Opened("short", PayWith("lnbc"), NOON + 60_000)]
    it = await begun(service, **DROP)
    assert (it.lapses_at, it.expires_at) == (NOON + 60_000, NOON + 60_000)
    service.clock.advance(60)
    assert await state_of(service, it.id) == "lapsed"


async def test_an_invoice_that_never_ends_is_polled_for_a_day(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    wallet.opens = [Opened("endless", PayWith("lnbc"), NOON + 10**12)]
    it = await begun(service)
    assert (it.lapses_at, it.expires_at) == (NOON + RESERVATION * 1000, NOON + 24 * 3_600_000)


async def claim_opening(service: ServiceHarness) -> tuple[OpeningHandler, Message]:
    opener = OpeningHandler(service.db, service.context, service.clock)
    (message,) = await service.db.transaction(
        lambda tx: outbox.claim(tx, opener.queue_handler.queue, service.clock(), 1)
    )
    return opener, message


async def test_a_reservation_that_lapsed_while_opening_stays_lapsed_and_its_money_is_late(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    made = await service.create(**EUROS, **DROP)
    checkout_id = await begin(service, made["id"])
    opener, message = await claim_opening(service)
    wallet.opening_gate = asyncio.Event()
    opening = asyncio.create_task(opener.handle(message))
    await wallet.begun_opening.acquire()
    service.clock.advance(RESERVATION)
    wallet.opening_gate.set()
    await opening
    assert await state_of(service, checkout_id) == "lapsed"
    assert (await service.get(made["id"]))["remainingUnits"] == 3
    assert await polled(service, wallet, Arrived()) == 1
    assert await state_of(service, checkout_id) == "late"
    assert await units(service) == (2, 0, 1, 0)


async def test_a_repeated_opening_shows_no_second_invoice(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """As after a lease that ended while a slow wallet was asked: the first invoice stays."""
    made = await service.create(**EUROS, **DROP)
    checkout_id = await begin(service, made["id"])
    opener, message = await claim_opening(service)
    wallet.opens = [Opened("one", PayWith("lnbc1")), Opened("two", PayWith("lnbc2"))]
    wallet.opening_gate = asyncio.Event()
    both = [asyncio.create_task(opener.handle(message)) for _ in range(2)]
    for _ in both:
        await wallet.begun_opening.acquire()
    wallet.opening_gate.set()
    await asyncio.gather(*both)
    opened = await found(service, checkout_id)  # either: on PostgreSQL they are stored at once
    assert opened.external_id in {"one", "two"}
    assert [row["id"] for row in await service.rows("outbox")] == [f"look-{checkout_id}"]
    await opener.handle(message)
    assert len(wallet.asked) == 2
    assert await found(service, checkout_id) == opened


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
    queue_handler = OpeningHandler(service.db, service.context, service.clock).queue_handler
    worker = Worker(service.db, queue_handler, service.clock)
    running = asyncio.create_task(worker.run())
    try:
        for _ in range(8):
            await wallet.begun_opening.acquire()
        checkout_id = await begin(service, requests_of["good"]["id"])

        async def is_open() -> bool:
            return await state_of(service, checkout_id) == "open"

        await until(is_open, 5)
        leased = await service.db.query("SELECT lane FROM outbox WHERE state = 'leased'")
        assert [row["lane"] for row in leased] == ["hung.example  opening"] * 8
    finally:
        await worker.stop(0)
        await running


ANN = Holder("network", "ann")


async def test_the_same_payer_and_way_gets_the_same_checkout(service: ServiceHarness) -> None:
    made = await service.create(**EUROS, **DROP)
    first = await begin(service, made["id"], holder=ANN)
    for way in (LIGHTNING, None):
        again = await begin(service, made["id"], way, token=str(way) * 16, holder=ANN)
        assert again == first
    assert await units(service) == (2, 1, 0, 0)


@pytest.mark.parametrize("is_open", [False, True])
async def test_another_way_gives_the_first_one_up(
    service: ServiceHarness, *, is_open: bool
) -> None:
    made = await service.create(**EUROS, expirationType="limit", totalUnits=1)
    first = await begin(service, made["id"], holder=ANN)
    if is_open:
        await open_due(service)
    second = await begin(service, made["id"], "bank:sepa", token="b" * 32, holder=ANN)
    assert second != first
    assert await state_of(service, first) == ("cancelled" if is_open else "lapsed")
    assert await state_of(service, second) == "open"
    assert await units(service) == (0, 1, 0, 0)


@pytest.mark.parametrize(
    ("way", "error"),
    [("bank:pix", NotPayable), ("nwc", NotPayable), ("sandbox", InvalidBody), ("", InvalidBody)],
)
async def test_a_way_that_is_not_offered_changes_nothing(
    service: ServiceHarness, way: str, error: type[Refused]
) -> None:
    """Its seller may have removed it since the page was opened."""
    made = await service.create(**EUROS, **DROP)
    first = await begin(service, made["id"], holder=ANN)
    with pytest.raises(error):
        await begin(service, made["id"], way, token="b" * 32, holder=ANN)
    assert await state_of(service, first) == "opening"
    assert await units(service) == (2, 1, 0, 0)


async def test_a_claimed_checkout_stays_whatever_way_is_chosen_next(
    service: ServiceHarness,
) -> None:
    """Its payer has said that the money was sent: the seller decides."""
    made = await service.create(**EUROS, **DROP)
    first = await begin(service, made["id"], "bank:sepa", holder=ANN)
    await service.db.transaction(
        lambda tx: claiming.claim(tx, service.context, made["id"], first, service.clock())
    )
    again = await begin(service, made["id"], LIGHTNING, token="b" * 32, holder=ANN)
    assert again == first
    assert await state_of(service, first) == "claimed"


@pytest.mark.parametrize("end", ["failed", "lapsed"])
async def test_after_a_failed_or_lapsed_checkout_a_new_one_is_opened(
    service: ServiceHarness, wallet: ScriptedRail, end: str
) -> None:
    made = await service.create(**EUROS, expirationType="limit", totalUnits=1)
    wallet.opens = [Unavailable("slow")] if end == "failed" else []
    first = await begin(service, made["id"], holder=ANN)
    await open_due(service)
    service.clock.advance(0 if end == "failed" else RESERVATION)
    assert await state_of(service, first) == end
    second = await begin(service, made["id"], token="b" * 32, holder=ANN)
    assert second != first


async def test_the_first_connected_way_is_taken_where_none_is_named(
    service: ServiceHarness,
) -> None:
    made = await service.create(**EUROS)
    checkout_id = await begin(service, made["id"], None)
    assert (await found(service, checkout_id)).way == LIGHTNING


async def test_the_ways_of_a_request_with_what_each_costs(service: ServiceHarness) -> None:
    """A bank takes its own currency only; Lightning converts."""
    euros = await service.create(**EUROS, **DROP)
    dollars = await service.create(**EUROS | {"instrumentCurrencyCode": "USD"})
    elsewhere = await service.create(receivers=[{"sendAmount": 5, "destination": "alice"}])
    listed = []
    for made in (euros, dollars, elsewhere):
        request = await request_rows.read(service.db, made["id"], service.clock())
        assert request is not None
        ways = await paying.read_ways(service.db, service.context, request)
        listed.append(
            [
                (way.account.way, way.account.automatic, way.quote and way.quote.amount)
                for way in ways
            ]
        )
    assert listed == [
        [("lightning", True, 5882), ("bank:sepa", False, 500)],
        [("lightning", True, 5000)],
        [],
    ]
