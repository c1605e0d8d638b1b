"""Too little money: one payment from the first part to the seller's word, in every state."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.checkouts import claiming
from bot.service.checkouts.checkout import Checkout
from bot.service.rails.rail import Arrived
from tests.support.checkout_steps import begin, found, open_due, polled, state_of, units
from tests.support.real_rails import EUROS, ScriptedRail, open_annas_service
from tests.support.service_harness import LOOPBACK, ServiceHarness

RESERVATION = 900
ONE: dict[str, Any] = EUROS | {"expirationType": "limit", "totalUnits": 1}
HOOK = {"webhook": {"webhookUrl": "https://h.example/w", "events": ["payment"]}}


@pytest.fixture
def wallet() -> ScriptedRail:
    return ScriptedRail()


@pytest.fixture
async def service(database_url: str, wallet: ScriptedRail) -> AsyncIterator[ServiceHarness]:
    times = {"reservation": RESERVATION * 1000, "mails": True}
    async with open_annas_service(
        database_url, wallet, LIGHTNING, BANK, allow=LOOPBACK, **times
    ) as it:
        yield it


async def pay(service: ServiceHarness, request_id: str, token: str) -> Checkout:
    checkout_id = await begin(
        service,
        request_id,
        token=token * 32,
        language="en",
        user_data={"email": "ann@home.example"},
    )
    await open_due(service)
    return await found(service, checkout_id)


async def arrive(service: ServiceHarness, wallet: ScriptedRail, amount: int | None) -> None:
    """Have the wallet report an amount at its next poll."""
    assert await polled(service, wallet, Arrived(amount)) == 1


async def short(service: ServiceHarness, wallet: ScriptedRail, **fields: Any) -> Checkout:
    """Return an open checkout of a new request, one satoshi short."""
    made = await service.create(**ONE | {"notifications": HOOK} | fields)
    it = await pay(service, made["id"], "s")
    await arrive(service, wallet, it.quote.amount - 1)
    return it


async def confirm(service: ServiceHarness, it: Checkout) -> str:
    app = service.credentials.app_id
    after = await service.db.transaction(
        lambda tx: claiming.confirm(tx, app, it.id, service.clock())
    )
    return after.stored_state.value


async def the_payment(service: ServiceHarness) -> dict[str, Any]:
    (row,) = await service.rows("payments")
    return row


async def channels(service: ServiceHarness) -> list[str]:
    return sorted(row["channel"] for row in await service.rows("deliveries"))


async def test_confirmed_it_is_one_payment_of_what_arrived_with_one_receipt(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """Under the transaction number that its payer knows, however often it is confirmed."""
    it = await short(service, wallet)
    before = await the_payment(service)
    assert (before["state"], await channels(service)) == ("underpaid", ["webhook"])
    for _ in range(2):
        service.clock.advance(5)
        assert await confirm(service, it) == "paid"
    after = await the_payment(service)
    assert (after["id"], after["state"]) == (before["id"], "paid")
    assert after["instrument_amount"] == it.quote.amount - 1
    assert after["completed_at"] == before["completed_at"] + 5_000
    assert await units(service) == (0, 0, 1, 0)
    assert await channels(service) == ["receipt", "webhook", "webhook"]
    onward = await service.anyone.get(f"/pay/{it.request_id}/checkout/{it.id}")
    assert onward.headers["location"] == f"/pay/{it.request_id}/receipt/{before['id']}"


@pytest.mark.parametrize("reported", [None, 0, -1, -2, 7])
async def test_what_a_wallet_reports_after_the_confirmation_is_no_other_payment(
    service: ServiceHarness, wallet: ScriptedRail, reported: int | None
) -> None:
    """Whether the seller's word or too little money came first."""
    for first in ("money", "word"):
        made = await service.create(**ONE)
        it = await pay(service, made["id"], first[0])
        if first == "money":
            await arrive(service, wallet, it.quote.amount - 2)
        await confirm(service, it)
        await polled(
            service, wallet, Arrived(None if reported is None else it.quote.amount + reported)
        )
        rows = await service.db.query("SELECT * FROM payments WHERE checkout_id = :id", id=it.id)
        assert [(row["state"], row["external_id"]) for row in rows] == [("paid", f"hash-{it.id}")]


@pytest.mark.parametrize("whole", [None, 0, 7])
async def test_the_whole_amount_takes_the_place_of_the_part(
    service: ServiceHarness, wallet: ScriptedRail, whole: int | None
) -> None:
    """An invoice's amount is what arrived of it in all."""
    it = await short(service, wallet)
    before = await the_payment(service)
    await arrive(service, wallet, None if whole is None else it.quote.amount + whole)
    after = await the_payment(service)
    assert (after["id"], after["state"]) == (before["id"], "paid")
    assert after["instrument_amount"] == it.quote.amount + (whole or 0)
    assert await channels(service) == ["receipt", "webhook", "webhook"]


async def test_more_of_too_little_raises_the_payment_and_less_changes_nothing(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    made = await service.create(**ONE | {"notifications": HOOK})
    await pay(service, made["id"], "s")
    for amount, booked, told in ((10, 10, 1), (30, 30, 2), (30, 30, 2), (20, 30, 2)):
        await arrive(service, wallet, amount)
        payment = await the_payment(service)
        assert (payment["state"], payment["instrument_amount"]) == ("underpaid", booked)
        assert len(await channels(service)) == told
    assert await units(service) == (0, 1, 0, 0)


async def test_its_unit_is_free_at_the_lapse_and_a_later_confirmation_is_late(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await short(service, wallet)
    service.clock.advance(RESERVATION)
    assert await state_of(service, it.id) == "lapsed"
    assert (await service.get(it.request_id))["remainingUnits"] == 1
    page = await service.anyone.get(f"/pay/{it.request_id}/checkout/{it.id}")
    assert "arrived" in page.text
    assert await confirm(service, it) == "late"
    assert (await the_payment(service))["state"] == "late"
    assert await units(service) == (0, 0, 1, 0)


async def test_confirmed_once_its_unit_is_sold_it_is_oversold_with_what_arrived(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await short(service, wallet)
    service.clock.advance(RESERVATION)
    other = await pay(service, it.request_id, "o")
    assert await confirm(service, other) == "paid"
    assert await confirm(service, it) == "oversold"
    assert await units(service) == (0, 0, 1, 1)
    (row,) = await service.db.query("SELECT * FROM payments WHERE checkout_id = :id", id=it.id)
    assert (row["state"], row["instrument_amount"]) == ("oversold", it.quote.amount - 1)


async def test_cancelled_by_its_payer_it_can_still_be_confirmed(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await short(service, wallet)
    await service.db.transaction(
        lambda tx: claiming.cancel(tx, it.request_id, it.id, service.clock())
    )
    assert await units(service) == (1, 0, 0, 0)
    assert await confirm(service, it) == "late"
    assert await units(service) == (0, 0, 1, 0)


async def test_a_confirmed_payer_is_counted_once(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    it = await short(service, wallet)
    assert (await the_payment(service))["payer_number"] is None
    await confirm(service, it)
    assert (await the_payment(service))["payer_number"] == 1


async def test_a_hidden_message_stays_hidden_and_other_marks_end_with_the_sale(
    service: ServiceHarness, wallet: ScriptedRail
) -> None:
    """What was paid back is not what arrived since; nobody shows again what was hidden."""
    it = await short(service, wallet)
    sql = "UPDATE payments SET message = 'Boo', message_hidden = 1, sent_at = 1, paid_back_at = 1"
    await service.db.transaction(lambda tx: tx.execute(sql))
    await arrive(service, wallet, it.quote.amount)
    row = await the_payment(service)
    assert (row["state"], row["message_hidden"]) == ("paid", 1)
    assert (row["sent_at"], row["paid_back_at"]) == (None, None)
