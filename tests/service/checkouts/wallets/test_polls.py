"""Polls of a wallet: money is booked as what it is, and hints bring a poll forward."""

from __future__ import annotations

from functools import partial

import pytest
from structlog.testing import capture_logs

from bot.core.net.rates import Rate
from bot.core.outbox import outbox
from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.checkouts import checkout_rows, claiming, inventory, wallet_calls
from bot.service.checkouts.wallet_calls import PaymentPoller
from bot.service.rails.rail import Arrived, Gone, InvalidWalletAnswer, Waiting
from tests.support.checkout_steps import (
    begin,
    begun,
    found,
    hear,
    perform,
    polled,
    settled,
    state_of,
    units,
)
from tests.support.real_rails import RESERVATION, ScriptedRail, open_annas_service
from tests.support.service_harness import DROP, ServiceHarness


async def test_money_is_found_by_a_poll_and_paid_once(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service, **DROP)
    assert await hear(service) == 0
    service.clock.advance(5)
    assert await hear(service) == 1
    assert await units(service) == (2, 1, 0, 0)
    assert await polled(service, wallet, Arrived(it.quote.amount)) == 1
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


async def test_a_checkout_with_too_little_money_is_neither_paid_nor_deleted(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """Its payment refers to it for ever."""
    it = await begun(service, **DROP)
    await polled(service, wallet, Arrived(1))
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
    await polled(service, wallet, Arrived(it.quote.amount + 7))
    (payment,) = await service.rows("payments")
    assert (payment["state"], payment["amount"], payment["currency"]) == ("paid", 500, "EUR")
    assert payment["instrument_amount"] == it.quote.amount + 7
    assert payment["instrument_shares"] == f"[{it.quote.amount + 7}]"


@pytest.mark.parametrize("amount", [0, -1])
async def test_no_amount_is_no_payment(
    service: ServiceHarness, wallet: ScriptedRail, amount: int
) -> None:
    it = await begun(service)
    await polled(service, wallet, Arrived(amount))
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
    assert await polled(service, wallet, Arrived(), Arrived()) == 2
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
                await polled(service, wallet, found)
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


async def hint(service: ServiceHarness, checkout_id: str) -> None:
    await service.db.transaction(
        partial(wallet_calls.hint, checkout_id=checkout_id, now=service.clock())
    )


async def asked_polls(service: ServiceHarness) -> list[int]:
    """Return when the polls are due that somebody asks for."""
    rows = await service.db.query("SELECT id, due_at FROM outbox ORDER BY due_at")
    return [row["due_at"] for row in rows if row["id"].startswith("look-asked-")]


async def test_the_polls_of_an_invoice_end_and_a_hint_still_finds_its_money(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await begun(service)
    polls = 0
    for _ in range(200):
        if not (rows := await service.rows("outbox")):
            break
        service.clock.at = rows[0]["due_at"]
        polls += await hear(service)
    assert polls == 112
    service.clock.advance(3600)
    wallet.polls = [Arrived()]
    await hint(service, it.id)
    assert await hear(service) == 1
    assert await state_of(service, it.id) == "late"
    await hint(service, it.id)
    assert await service.rows("outbox") == []


async def test_the_polls_of_an_invoice_end_also_at_a_host_that_takes_no_call(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """Until two days after the invoice's end each is put off; the next one is the last."""
    await begun(service)
    wallet.polls = [Waiting("429", again_in=15)] * 2
    service.clock.advance(RESERVATION + 600 + 2 * 86_400 - 1)
    assert await hear(service) == 1
    (row,) = await service.rows("outbox")
    assert row["due_at"] == service.clock() + 15_000
    service.clock.advance(15)
    assert await hear(service) == 1
    assert await service.rows("outbox") == []


async def test_hints_bring_the_next_poll_forward_but_never_closer_than_a_second(
    service: ServiceHarness,
) -> None:
    it = await begun(service)
    service.clock.advance(RESERVATION)
    assert await hear(service) == 1
    for _ in range(3):
        await hint(service, it.id)
    assert await asked_polls(service) == [service.clock() + 1_000]
    service.clock.advance(5)
    assert await hear(service) == 1
    service.clock.advance(10)
    await hint(service, it.id)
    assert await asked_polls(service) == [service.clock()]


async def test_a_hint_does_not_wait_for_a_clock_that_was_ahead(service: ServiceHarness) -> None:
    """The last poll was an hour later than it is now; the page asks a second later at most."""
    it = await begun(service)
    service.clock.advance(3600)
    assert await hear(service) == 1
    service.clock.advance(-3590)
    assert await wallet_calls.hint_for_page(
        service.db, await found(service, it.id), service.clock()
    )
    assert await asked_polls(service) == [service.clock() + 1_000]
    service.clock.advance(1)
    assert await hear(service) == 1


async def test_polls_that_nobody_asks_for_count_from_those_that_a_page_asks_for(
    service: ServiceHarness,
) -> None:
    """A wallet is not asked twice: a poll for an open page is as good as any other."""
    it = await begun(service)
    service.clock.advance(4)
    await hint(service, it.id)
    assert await hear(service) == 1
    (row,) = await service.rows("outbox")
    assert (row["id"], row["due_at"]) == (f"look-{it.id}", service.clock() + 5_000)
    service.clock.advance(4)
    assert await hear(service) == 0


@pytest.mark.parametrize("asked", [False, True], ids=["plain", "asked"])
async def test_a_hint_during_a_poll_is_followed_by_another_poll(
    *, service: ServiceHarness, wallet: ScriptedRail, asked: bool
) -> None:
    """What the wallet is answering may be older than the hint."""
    it = await begun(service)
    if asked:
        await hint(service, it.id)
    service.clock.advance(5 if not asked else 2)
    poller = wallet_calls.PaymentPoller(service.db, service.context, service.clock)
    (message,) = await service.db.transaction(
        lambda tx: outbox.claim(tx, poller.queue_handler.queue, service.clock(), 1)
    )
    assert message.body.once is asked
    for _ in range(2):
        await hint(service, it.id)
    await poller.handle(message)
    service.clock.advance(2)
    assert await hear(service) == 1
    assert [row["id"] for row in await service.rows("outbox")] == [f"look-{it.id}"]
    service.clock.advance(15)
    wallet.polls = [Arrived()]
    assert await hear(service) == 1
    assert await state_of(service, it.id) == "paid"


async def test_an_open_page_hints_at_most_every_second(service: ServiceHarness) -> None:
    it = await begun(service)
    service.clock.advance(RESERVATION)
    await hear(service)
    before = await service.rows("outbox")
    fresh = await found(service, it.id)
    await wallet_calls.hint_for_page(service.db, fresh, service.clock())
    assert await service.rows("outbox") == before
    service.clock.advance(1)
    for _ in range(3):
        await wallet_calls.hint_for_page(service.db, fresh, service.clock())
        service.clock.advance(0.1)
    assert await asked_polls(service) == [service.clock() - 300]


async def test_test_money_and_banks_take_no_hint(service: ServiceHarness) -> None:
    it = await begun(service, "bank:sepa")
    await hint(service, it.id)
    await wallet_calls.hint_for_page(service.db, it, service.clock() + 9_000)
    assert await service.rows("outbox") == []


async def test_a_wallet_announces_money_at_an_address_of_its_own(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """Whatever it posts there; the answer of a poll alone is believed."""
    it = await begun(service)
    url = wallet.asked[0].hint_url
    assert url is not None
    service.clock.advance(RESERVATION)
    await hear(service)
    service.clock.advance(5)
    for body in (b"", b'{"paid": true}', b"\xff" * 100):
        assert (await service.anyone.post(url, content=body)).status_code == 204
    assert await settled(service) == []
    assert await asked_polls(service) == [service.clock()]
    assert (await service.anyone.post(url, content=b"x" * 70_000)).status_code == 413
    other = url[:-1] + ("0" if url[-1] != "0" else "1")
    for wrong in (other, url.replace(it.id, "0" * 24), f"{url}é"):
        assert (await service.anyone.post(wrong)).status_code == 404
    assert (await service.anyone.get(url)).status_code == 405


async def test_a_wallet_that_floods_with_hints_is_slowed_down_and_no_payer_is(
    database_url: str, wallet: ScriptedRail
) -> None:
    rate, ways = Rate(5, 60), (LIGHTNING, BANK)
    async with open_annas_service(database_url, wallet, *ways, payer_rate=rate) as service:
        it = await begun(service)
        url = wallet.asked[0].hint_url
        assert url is not None
        found = [(await service.anyone.post(url)).status_code for _ in range(8)]
        assert found == [204] * 5 + [429] * 3
        page = f"/pay/{it.request_id}/checkout/{it.id}"
        assert (await service.anyone.get(page)).status_code == 200
