"""Hints of wallets and open pages bring a poll forward, and are believed in nothing else."""

from __future__ import annotations

from functools import partial

import pytest

from bot.core.net.rates import Rate
from bot.core.outbox import outbox
from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.checkouts import polling
from bot.service.rails.rail import Arrived, Waiting
from tests.support.checkout_steps import begun, found, hear, settled, state_of
from tests.support.real_rails import RESERVATION, ScriptedRail, open_annas_service
from tests.support.service_harness import ServiceHarness


async def hint(service: ServiceHarness, checkout_id: str) -> None:
    await service.db.transaction(
        partial(polling.hint, checkout_id=checkout_id, now=service.clock())
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
    assert await polling.hint_for_page(service.db, await found(service, it.id), service.clock())
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
    poller = polling.PaymentPoller(service.db, service.context, service.clock)
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
    await polling.hint_for_page(service.db, fresh, service.clock())
    assert await service.rows("outbox") == before
    service.clock.advance(1)
    for _ in range(3):
        await polling.hint_for_page(service.db, fresh, service.clock())
        service.clock.advance(0.1)
    assert await asked_polls(service) == [service.clock() - 300]


async def test_test_money_and_banks_take_no_hint(service: ServiceHarness) -> None:
    it = await begun(service, "bank:sepa")
    await hint(service, it.id)
    await polling.hint_for_page(service.db, it, service.clock() + 9_000)
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
