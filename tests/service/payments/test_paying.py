"""Paying: one unit, one payment, one webhook, in one transaction, however many try at once."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from bot.core.database.database import Transaction
from bot.core.errors import ConstraintError, NotFound
from bot.service.checkouts import paying
from bot.service.checkouts.paying import PaymentForm, PaymentProgress
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.payments.settling import PaymentContext
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rails.rail import (
    Arrived,
    Charge,
    Opened,
    Rail,
    Rails,
    SandboxRail,
    SandboxScenario,
)
from tests.support import checkout_steps
from tests.support.service_harness import DROP, NOON, ServiceHarness

HOOK = {"notifications": {"webhook": {"webhookUrl": "https://h.example/w"}}}


def context(rail: Rail) -> PaymentContext:
    return PaymentContext(Rails(rail), SandboxExchange(), 900_000)


CONTEXT = context(SandboxRail())


async def test_two_hundred_payers_of_a_drop_of_twenty(service: ServiceHarness) -> None:
    """Exactly twenty are paid with one webhook each; the others are refused without one."""
    made = await service.create(expirationType="limit", totalUnits=20, **HOOK)
    answers = await asyncio.gather(
        *(service.pay(made["id"], f"{number:032d}") for number in range(200))
    )
    codes = [answer.status_code for answer in answers]
    assert (codes.count(303), codes.count(409)) == (20, 180)
    paid = {
        answer.headers["location"].rpartition("/")[2] for answer in answers if answer.is_redirect
    }
    assert {row["id"] for row in await service.rows("payments")} == paid
    owed = [WEBHOOKS.decode(row["body"]) for row in await service.rows("outbox")]
    assert {one.transaction_id for one in owed} == paid
    assert sorted(one.remaining_units for one in owed) == list(range(20))
    after = await service.get(made["id"])
    assert (after["remainingUnits"], after["status"]) == (0, "soldOut")
    assert len(await service.rows("checkouts")) == 20


async def test_a_form_posted_twice_is_one_payment_with_one_answer(
    service: ServiceHarness,
) -> None:
    """At the same time, one after the other, and after the request sold out or was deleted."""
    made = await service.create(expirationType="limit", totalUnits=2, **HOOK)
    token = await service.token(made["id"])
    answers = await asyncio.gather(*(service.pay(made["id"], token) for _ in range(10)))
    await service.pay(made["id"], "another-form-of-mine")
    answers.append(await service.pay(made["id"], token))
    await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    answers.append(await service.pay(made["id"], token))
    assert {answer.status_code for answer in answers} == {303}
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert len(await service.rows("payments")) == 2
    assert len(await service.rows("outbox")) == 2


async def test_the_same_token_pays_each_request_once(service: ServiceHarness) -> None:
    """A token belongs to the request of its form."""
    one, two = await service.create(), await service.create()
    first, second = await service.pay(one["id"]), await service.pay(two["id"])
    assert first.headers["location"] != second.headers["location"]


async def test_a_payment_without_a_webhook_has_no_delivery(service: ServiceHarness) -> None:
    made = await service.create()
    assert (await service.pay(made["id"])).status_code == 303
    assert await service.rows("outbox") == []


@pytest.mark.parametrize(
    ("fields", "remaining"),
    [
        ({"expirationType": "never"}, None),
        ({"expirationType": "onPaymentCompleted"}, None),
        (DROP, 2),
    ],
)
async def test_only_drops_report_remaining_units(
    service: ServiceHarness, fields: dict[str, Any], remaining: int | None
) -> None:
    made = await service.create(**fields, **HOOK)
    await service.pay(made["id"])
    (row,) = await service.rows("outbox")
    assert WEBHOOKS.decode(row["body"]).remaining_units == remaining
    lane = f"https://h.example:443/w {made['id']}"
    assert (row["queue"], row["lane"], row["due_at"]) == ("webhooks", lane, NOON)


async def test_a_payment_reports_the_units_that_its_payer_no_longer_holds_as_free(
    service: ServiceHarness,
) -> None:
    """Another order takes the place of the payer's open checkout, whose unit returns."""
    drop = {"expirationType": "limit", "totalUnits": 10, "maxQuantity": 3}
    made = await service.create(**drop, **HOOK)
    await service.token(made["id"])  # the page sets the payer's cookie
    for token, order in (("a", {"manner": "later"}), ("b", {"quantity": "2"})):
        assert (await service.pay(made["id"], token * 32, **order)).status_code == 303
    (report,) = await checkout_steps.reports(service)
    found = await service.get(made["id"])
    assert report.remaining_units == found["remainingUnits"] == 8
    assert report.reserved_units is found.get("reservedUnits") is None


async def test_a_donation_is_paid_again_and_again(service: ServiceHarness) -> None:
    made = await service.create()
    for number in range(5):
        assert (await service.pay(made["id"], str(number) * 32)).status_code == 303
    assert (await service.get(made["id"]))["isEnabled"] is True
    assert len(await service.rows("payments")) == 5


async def test_a_one_off_is_paid_once(service: ServiceHarness) -> None:
    made = await service.create(expirationType="onPaymentCompleted")
    assert (await service.pay(made["id"], "a" * 32)).status_code == 303
    assert (await service.pay(made["id"], "b" * 32)).status_code == 409
    after = await service.get(made["id"])
    assert (after["isEnabled"], after["status"]) == (False, "completed")


async def test_a_payment_that_fails_half_way_leaves_nothing(service: ServiceHarness) -> None:
    """Unit, checkout, payment and webhook commit together or not at all."""

    class Broken(SandboxRail):
        def open_offline(self, charge: Charge) -> Opened:
            raise OSError(charge.checkout_id)

    made = await service.create(**DROP, **HOOK)
    form = PaymentForm(made["id"], "t" * 32, {})
    with pytest.raises(OSError, match=r"[0-9a-f]{24}"):
        await service.db.transaction(lambda tx: paying.pay(tx, context(Broken()), form, NOON))
    assert await service.get(made["id"]) == made
    for table in ("checkouts", "payments", "outbox"):
        assert await service.rows(table) == []


async def test_a_settlement_is_stored_once(service: ServiceHarness) -> None:
    """`(rail, external_id)` is unique: the transaction of a second payment is undone."""

    class Repeating(SandboxRail):
        def open_offline(self, charge: Charge) -> Opened:
            del charge
            return Opened("the-same", arrived=Arrived())

    made, same = await service.create(**DROP), context(Repeating())
    await service.db.transaction(
        lambda tx: paying.pay(tx, same, PaymentForm(made["id"], "a", {}), NOON)
    )
    with pytest.raises(ConstraintError):
        await service.db.transaction(
            lambda tx: paying.pay(tx, same, PaymentForm(made["id"], "b", {}), NOON)
        )
    assert (await service.get(made["id"]))["remainingUnits"] == 2


def reserve(
    tx: Transaction, request_id: str, number: int, at: int, reservation: int
) -> PaymentProgress:
    """Open a checkout without a settlement."""
    never = PaymentContext(Rails(SandboxRail()), SandboxExchange(), reservation)
    return paying.pay(
        tx, never, PaymentForm(request_id, f"r{number}", {}, SandboxScenario.NEVER), at
    )


async def test_a_reserved_unit_returns_when_the_reservation_lapses(service: ServiceHarness) -> None:
    """Readers see it return at once; the row changes with the next guarded statement."""
    made = await service.create(expirationType="limit", totalUnits=1)
    assert service.db.run(lambda tx: reserve(tx, made["id"], 1, NOON, 900_000))
    during = await service.get(made["id"])
    assert (during["remainingUnits"], during["isEnabled"], during["status"]) == (0, False, "active")
    assert (await service.pay(made["id"])).status_code == 409
    service.clock.advance(900)
    after = await service.get(made["id"])
    assert (after["remainingUnits"], after["isEnabled"]) == (1, True)
    assert (await service.pay(made["id"])).status_code == 303
    (row,) = await service.rows("payment_requests")
    assert (row["remaining_units"], row["reserved_units"], row["paid_count"]) == (0, 0, 1)
    states = [row["state"] for row in await service.rows("checkouts")]
    assert sorted(states) == ["lapsed", "paid"]


async def test_an_edit_can_remove_a_lapsed_unit(service: ServiceHarness) -> None:
    made = await service.create(expirationType="limit", totalUnits=1)
    service.db.run(lambda tx: reserve(tx, made["id"], 1, NOON, 1000))
    assert (await service.edit(made["id"], {"decreaseRemainingUnits": 1})).status_code == 409
    service.clock.advance(1)
    answer = await service.edit(made["id"], {"decreaseRemainingUnits": 1})
    assert (answer.json()["remainingUnits"], answer.json()["status"]) == (0, "soldOut")


async def test_an_unknown_request_cannot_be_paid(service: ServiceHarness) -> None:
    for form in (PaymentForm("0" * 24, "t", {}), PaymentForm("x", "t", {})):
        with pytest.raises(NotFound):
            await service.db.transaction(partial(paying.pay, context=CONTEXT, form=form, now=NOON))
