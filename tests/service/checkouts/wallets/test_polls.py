"""Polls of a wallet: money is booked as what it is: too little, more, late, twice."""

from __future__ import annotations

from functools import partial

import pytest
from structlog.testing import capture_logs

from bot.service.checkouts import checkout_rows, claiming, inventory
from bot.service.checkouts.polling import PaymentPoller
from bot.service.rails.rail import Arrived, Gone, InvalidWalletAnswer, Waiting
from tests.support.checkout_steps import begin, begun, hear, perform, settled, state_of, units
from tests.support.real_rails import RESERVATION, ScriptedRail
from tests.support.service_harness import DROP, ServiceHarness


async def test_money_is_found_by_a_poll_and_paid_once(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service, **DROP)
    assert await hear(service) == 0
    service.clock.advance(5)
    assert await hear(service) == 1
    assert await units(service) == (2, 1, 0, 0)
    wallet.polls = [Arrived(it.quote.amount)]
    service.clock.advance(5)
    assert await hear(service) == 1
    assert await units(service) == (2, 0, 1, 0)
    assert await settled(service) == [(f"hash-{it.id}", "paid", it.quote.amount)]
    assert await state_of(service, it.id) == "paid"
    service.clock.advance(3600 * 48)
    assert await hear(service) == 0
    assert await service.rows("outbox") == []


async def test_a_rail_with_a_bug_fails_one_checkout_and_ends_no_polling(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    wallet.opens = [KeyError("bug")]
    assert (await begun(service)).failure == "refused"
    it = await begun(service)
    wallet.polls = [KeyError("bug"), Arrived()]
    for _ in range(2):
        service.clock.advance(5)
        assert await hear(service) == 1
    assert await state_of(service, it.id) == "paid"


async def test_a_wallet_that_can_not_be_asked_is_logged_once_in_ten_minutes(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """Its payers may have paid, and nobody would know."""
    it = await begun(service)
    await begun(service)
    poller = PaymentPoller(service.db, service.context, service.clock)
    with capture_logs() as lines:
        for seconds in (5, 5, 600):
            wallet.polls = [Waiting("no connection to ln.example:443")] * 2
            service.clock.advance(seconds)
            assert await perform(service, poller.queue_handler) == 2
    warnings = [line for line in lines if line["log_level"] == "warning"]
    assert {line["event"] for line in warnings} == {"wallet can't be asked for money"}
    assert {line["reason"] for line in warnings} == {"no connection to ln.example:443"}
    assert (len(warnings), len(lines)) == (2, 6)
    assert warnings[0]["kind"] == it.kind
    assert warnings[0].keys() >= {"checkout", "host"}


async def test_too_little_money_takes_no_unit_and_the_whole_amount_may_still_come(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service, **DROP)
    asked = it.quote.amount
    for amount in (asked - 1, asked - 1, asked):
        wallet.polls = [Arrived(amount)]
        service.clock.advance(5)
        assert await hear(service) == 1
    assert await settled(service) == [(f"hash-{it.id}", "paid", asked)]
    assert await units(service) == (2, 0, 1, 0)


async def test_a_checkout_with_too_little_money_is_neither_paid_nor_deleted(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """Its payment refers to it for ever."""
    it = await begun(service, **DROP)
    wallet.polls = [Arrived(1)]
    service.clock.advance(5)
    await hear(service)
    assert await state_of(service, it.id) == "open"
    page = await service.anyone.get(f"/pay/{it.request_id}/checkout/{it.id}")
    assert page.status_code == 200
    service.clock.advance(RESERVATION)
    assert await state_of(service, it.id) == "lapsed"
    assert (await service.get(it.request_id))["remainingUnits"] == 3
    await service.db.transaction(lambda tx: inventory.close_lapsed(tx, service.clock(), 9))
    later = service.clock() + 1
    assert service.db.run(lambda tx: checkout_rows.sweep(tx, later, later, 9)) == 0


async def test_more_money_than_asked_pays_and_is_kept_as_it_came(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service)
    wallet.polls = [Arrived(it.quote.amount + 7)]
    service.clock.advance(5)
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
    wallet.polls = [Arrived(amount)]
    service.clock.advance(5)
    await hear(service)
    assert (await settled(service), await state_of(service, it.id)) == ([], "open")


async def test_an_invoice_that_is_gone_is_polled_again(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service)
    wallet.polls = [Gone("not found"), Arrived()]
    for _ in range(2):
        service.clock.advance(5)
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
    wallet.polls = [Arrived(), Arrived()]
    service.clock.advance(5)
    assert await hear(service) == 2
    assert [await state_of(service, it.id) for it in (one, two)] == ["late", "oversold"]


async def test_a_wallet_that_lies_is_warned_of_once_for_each_checkout(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """With its host, and neither a wallet's key behind it nor the answer; money is still found."""
    with capture_logs() as lines:
        for false_answer, answer in (
            ("preimage", Waiting("x", InvalidWalletAnswer.PREIMAGE)),
            ("amount", Arrived(-1)),
        ):
            it = await begun(service)
            await service.db.transaction(
                lambda tx: tx.execute("UPDATE checkouts SET host = 'relay.example/ab12'")
            )
            for found in (
                answer,
                Waiting("y", InvalidWalletAnswer.OTHER_INVOICE),
                answer,
                Arrived(),
            ):
                wallet.polls = [found]
                service.clock.advance(5)
                await hear(service)
            assert await state_of(service, it.id) == "paid"
            warned = [
                line
                for line in lines
                if line["log_level"] == "warning" and line["checkout"] == it.id
            ]
            assert warned == [
                {
                    "event": "wallet's answer not believed",
                    "log_level": "warning",
                    "checkout": it.id,
                    "kind": "lightning",
                    "host": "relay.example",
                    "reason": false_answer,
                }
            ]
