"""Several units in one checkout, whole or not at all, and amounts that payers choose."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from bot.core.errors import InvalidBody, NotPayable, TooManyHolds, WrongState
from bot.service.checkouts import checkout_rows, claiming, inventory, paying
from bot.service.checkouts.checkout import Holder, Settlement
from bot.service.checkouts.order import Order
from bot.service.checkouts.paying import PaymentForm, PaymentProgress
from bot.service.payments import payment_reports, payment_rows, settling
from bot.service.rails.rail import SandboxScenario
from bot.service.requests import request_rows
from bot.service.requests.request import TOO_FEW, Payment, PaymentRequest, PaymentState
from tests.support import checkout_steps
from tests.support.service_harness import (
    HOOK,
    NEW,
    NOON,
    REQUESTS_PATH,
    ServiceHarness,
    refused_fields,
)

DROP: dict[str, Any] = {"expirationType": "limit", "totalUnits": 5, "maxQuantity": 3}
TIPS: dict[str, Any] = {"amountChoice": {"minimum": 1, "suggested": [5, 10]}}
HOUR = 3_600_000
ANN, BEN = Holder("venue", "ann"), Holder("home", "ben")


async def post(
    service: ServiceHarness, request_id: str, token: str = "a", *, now: int = NOON, **form: Any
) -> PaymentProgress:
    posted = PaymentForm(request_id, token * 32, {}, **form)
    return await service.db.transaction(lambda tx: paying.pay(tx, service.context, posted, now))


async def open_checkout(
    service: ServiceHarness, request_id: str, token: str, quantity: int, **form: Any
) -> str:
    opened = await post(
        service, request_id, token, quantity=quantity, scenario=SandboxScenario.NEVER, **form
    )
    return opened.checkout_id


async def money(service: ServiceHarness, checkout_id: str, at: int, name: str = "m") -> Payment:
    settlement = Settlement("sandbox", checkout_id, name)
    payment = await service.db.transaction(
        lambda tx: settling.record_settlement(tx, settlement, at)
    )
    assert payment
    return payment


async def units(service: ServiceHarness) -> tuple[int, int, int, int]:
    """Return remaining, reserved and sold units, and the payments that took none."""
    return await checkout_steps.units(service)


async def request_of(service: ServiceHarness, request_id: str) -> PaymentRequest:
    found = await request_rows.read(service.db, request_id, NOON)
    assert found
    return found


async def test_units_are_one_payment_of_their_sum(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    payment = (await post(service, made["id"], quantity=3)).payment
    assert payment
    assert (payment.amount, payment.quantity, payment.first_unit) == (1500, 3, 1)
    assert [one.amount for one in payment.receivers] == [1500]
    assert payment.paid.amount == 1500
    assert await units(service) == (2, 0, 3, 0)
    second = (await post(service, made["id"], "b", quantity=2)).payment
    assert second
    assert (second.first_unit, second.amount) == (4, 1000)
    answer = await service.get(made["id"])
    assert (answer["paymentsCount"], answer["status"]) == (2, "soldOut")


async def test_too_few_left_names_the_number_and_changes_nothing(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    await post(service, made["id"], quantity=3)
    for scenario in (SandboxScenario.AT_ONCE, SandboxScenario.NEVER):
        with pytest.raises(NotPayable, match="Only 2 left") as refused:
            await post(service, made["id"], "b", quantity=3, scenario=scenario)
        assert (refused.value.state, refused.value.left) == (TOO_FEW, 2)
    assert await units(service) == (2, 0, 3, 0)
    assert len(await service.rows("checkouts")) == 1


async def test_no_checkout_takes_more_than_its_seller_allows(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    plain = await service.create(expirationType="limit", totalUnits=5)
    for request_id, quantities in ((made["id"], (0, -1, 4, 101)), (plain["id"], (2,))):
        for quantity in quantities:
            with pytest.raises(InvalidBody, match="quantity"):
                await post(service, request_id, quantity=quantity)
    assert await service.rows("checkouts") == []


@pytest.mark.parametrize("column", [inventory.RESERVED, inventory.SOLD])
async def test_the_statement_itself_takes_no_more_than_its_seller_allows(
    service: ServiceHarness, column: str
) -> None:
    """The seller may lower the number after the payer's form was checked."""

    async def takes(request_id: str, units: int) -> bool:
        return await service.db.transaction(
            lambda tx: inventory.take(tx, request_id, Order(None, units), column, NOON) is not None
        )

    several = await service.create(**DROP)
    single = await service.create(expirationType="limit", totalUnits=5)
    for made, most in ((several, 3), (single, 1)):
        assert await takes(made["id"], most + 1) is False
        assert await takes(made["id"], most) is True


async def test_a_reservation_of_units_returns_them_all(service: ServiceHarness) -> None:
    """When it lapses, is cancelled or rejected; reads count a lapsed one as free at once."""
    made = await service.create(**DROP)
    await open_checkout(service, made["id"], "a", 3)
    found = await request_rows.read(service.db, made["id"], NOON + HOUR)
    assert found
    assert found.units
    assert (found.units.remaining, found.units.reserved) == (5, 0)
    checkout = await open_checkout(service, made["id"], "b", 2)
    assert await units(service) == (0, 5, 0, 0)
    await service.db.transaction(lambda tx: claiming.cancel(tx, made["id"], checkout, NOON + 1))
    assert await units(service) == (2, 3, 0, 0)
    later = await post(service, made["id"], "c", now=NOON + HOUR, quantity=3)
    assert later.payment
    assert await units(service) == (2, 0, 3, 0)


async def test_late_money_takes_all_of_its_units_or_none(service: ServiceHarness) -> None:
    """With 2 left, money for 3 is oversold as a whole; with 3 left it takes them."""
    made = await service.create(**DROP)
    first = await open_checkout(service, made["id"], "a", 3)
    second = await open_checkout(service, made["id"], "b", 2)
    late = await money(service, first, NOON + HOUR, "one")
    assert (late.state, late.first_unit, late.quantity) == ("late", 1, 3)
    await post(service, made["id"], "c", now=NOON + HOUR)
    oversold = await money(service, second, NOON + HOUR, "two")
    assert (oversold.state, oversold.first_unit, oversold.amount) == ("oversold", None, 1000)
    assert await units(service) == (1, 0, 4, 1)
    found = await request_of(service, made["id"])
    assert (found.raised, found.volume, found.payments_count) == (2000, 3000, 3)


async def test_a_lapsed_claim_gets_all_of_its_units_again_or_none(
    service: ServiceHarness,
) -> None:
    made = await service.create(**DROP)
    opened = await open_checkout(service, made["id"], "a", 3)
    await service.db.transaction(_by_word(opened))
    await post(service, made["id"], "b", now=NOON + HOUR, quantity=3)

    def claim(at: int) -> Any:
        return service.db.transaction(
            lambda tx: claiming.claim(tx, service.context, made["id"], opened, at)
        )

    with pytest.raises(NotPayable) as refused:
        await claim(NOON + HOUR)
    assert (refused.value.state, refused.value.left) == (TOO_FEW, 2)
    assert await units(service) == (2, 0, 3, 0)


def _by_word(checkout_id: str) -> Any:
    sql = "UPDATE checkouts SET automatic = 0 WHERE id = :id"
    return lambda tx: tx.execute(sql, id=checkout_id)


async def test_a_claim_of_units_is_confirmed_or_rejected_as_one(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    app_id = service.credentials.app_id
    one = await open_checkout(service, made["id"], "a", 3, holder=ANN)
    two = (
        await post(service, made["id"], "b", quantity=2, scenario=SandboxScenario.CLAIMED)
    ).checkout_id
    assert await units(service) == (0, 5, 0, 0)
    await service.db.transaction(lambda tx: claiming.reject(tx, app_id, two, NOON))
    assert await units(service) == (2, 3, 0, 0)
    await service.db.transaction(lambda tx: claiming.confirm(tx, app_id, one, NOON))
    assert await units(service) == (2, 0, 3, 0)
    with pytest.raises(WrongState):
        await service.db.transaction(lambda tx: claiming.reject(tx, app_id, one, NOON))
    await service.db.transaction(lambda tx: claiming.confirm(tx, app_id, two, NOON))
    rows = await service.db.query("SELECT * FROM payments ORDER BY first_unit")
    assert [(row["state"], row["first_unit"], row["amount"]) for row in rows] == [
        ("paid", 1, 1500),
        ("late", 4, 1000),
    ]


async def test_holds_count_units(service: ServiceHarness) -> None:
    """The first checkout of a network may have what the seller allows; then each unit counts."""
    made = await service.create(expirationType="limit", totalUnits=9, maxQuantity=6)
    context = replace(service.context, holds=2)

    async def reserve(token: str, quantity: int) -> None:
        form = PaymentForm(
            made["id"], token * 32, {}, SandboxScenario.NEVER, Holder("venue"), quantity=quantity
        )
        await service.db.transaction(lambda tx: paying.pay(tx, context, form, NOON))

    await reserve("a", 6)
    with pytest.raises(TooManyHolds):
        await reserve("b", 1)
    assert await units(service) == (3, 6, 0, 0)


async def test_a_payer_who_changes_the_order_gets_another_checkout(
    service: ServiceHarness,
) -> None:
    """The units of the former one are free for it; the same order is the same checkout."""
    made = await service.create(**(DROP | {"totalUnits": 3}), **TIPS)
    first = await open_checkout(service, made["id"], "a", 3, holder=ANN, price=700)
    again = await open_checkout(service, made["id"], "b", 3, holder=ANN, price=700)
    assert again == first
    fewer = await open_checkout(service, made["id"], "c", 2, holder=ANN, price=700)
    assert fewer != first
    assert await units(service) == (1, 2, 0, 0)
    dearer = await open_checkout(service, made["id"], "d", 2, holder=ANN, price=900)
    assert dearer != fewer
    assert await units(service) == (1, 2, 0, 0)
    states = await service.db.query("SELECT state FROM checkouts ORDER BY token")
    assert [row["state"] for row in states] == ["cancelled", "cancelled", "open"]


async def test_a_wish_that_can_t_be_had_leaves_the_payer_s_checkout(
    service: ServiceHarness,
) -> None:
    made = await service.create(**DROP)
    await open_checkout(service, made["id"], "a", 2, holder=ANN)
    await open_checkout(service, made["id"], "b", 1, holder=BEN)
    await open_checkout(service, made["id"], "c", 2, holder=Holder("bus", "eve"))
    with pytest.raises(NotPayable) as refused:
        await open_checkout(service, made["id"], "d", 3, holder=ANN)
    assert refused.value.left == 2  # her own, which she keeps
    with pytest.raises(InvalidBody):
        await open_checkout(service, made["id"], "e", 1, holder=ANN, price=1)
    assert await units(service) == (0, 5, 0, 0)


async def test_words_written_later_reach_the_open_checkout(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    mine: dict[str, Any] = {"holder": ANN, "quantity": 2, "scenario": SandboxScenario.NEVER}
    first = await post(service, made["id"], "a", **mine)
    texts: dict[str, Any] = {"payer_name": "Mia", "message": "Hi!"}
    for token, words in (("b", texts), ("c", {})):
        same = await post(service, made["id"], token, **mine, **words)
        assert same.checkout_id == first.checkout_id
    payment = await money(service, first.checkout_id, NOON + 1)
    assert (payment.words.name, payment.words.message) == ("Mia", "Hi!")


async def test_money_at_once_beside_an_open_checkout_is_not_counted(
    service: ServiceHarness,
) -> None:
    """The units are taken before the payer's checkout is found, and then given back."""
    made = await service.create(**DROP, **TIPS)
    await open_checkout(service, made["id"], "a", 2, holder=ANN, price=700)
    again = await post(service, made["id"], "b", holder=ANN, quantity=2, price=700)
    assert again.payment is None
    assert await units(service) == (3, 2, 0, 0)
    found = await request_of(service, made["id"])
    assert (found.raised, found.volume, found.payments_count) == (0, 0, 0)


async def test_a_chosen_amount_is_what_everything_says(service: ServiceHarness) -> None:
    hook = {"notifications": {"webhook": HOOK}}
    shared = [
        {"sendAmount": 3, "destination": "alice"},
        {"sendAmount": 2, "destination": "bob"},
    ]
    made = await service.create(**TIPS, **hook, receivers=shared)
    words: dict[str, Any] = {"payer_name": "Mia", "message": "For the drums!\nAnd more."}
    payment = (await post(service, made["id"], price=751, **words)).payment
    assert payment
    assert [one.amount for one in payment.receivers] == [451, 300]
    assert (payment.paid.amount, payment.paid.shares) == (751, (451, 300))
    (report,) = await checkout_steps.reports(service)
    event = payment_reports.event(report).json_text()
    assert '"amount": 7.51' in event or '"amount":7.51' in event
    assert "Mia" in event
    assert "quantity" not in event
    assert "codesWaiting" not in event
    stats = await service.anyone.get(f"/v3/paymentRequests/public/stats/{made['id']}")
    assert stats.json()["totalVolume"] == 7.51
    listed = await service.seller.get(f"/v3/paymentRequests/{made['id']}/payments")
    (item,) = listed.json()["items"]
    assert (item["amount"], item["name"], item["message"]) == (7.51, *words.values())
    assert "firstUnit" not in item


async def test_an_amount_that_is_not_offered_takes_nothing(service: ServiceHarness) -> None:
    for fields, price in (
        (TIPS, 99),
        (TIPS, 100_000_000_001),
        ({}, 501),
        (TIPS, 2**63),
        ({}, 0),
        (TIPS, -500),
    ):
        made = await service.create(expirationType="onPaymentCompleted", **fields)
        for scenario in (SandboxScenario.AT_ONCE, SandboxScenario.NEVER):
            with pytest.raises(InvalidBody, match="amount"):
                await post(service, made["id"], price=price, scenario=scenario)
        assert (await service.get(made["id"]))["status"] == "active", fields
        assert await service.rows("checkouts") == [], fields


async def test_the_largest_payments_are_added_up_exactly(service: ServiceHarness) -> None:
    """Also beyond 64 bits: 120 payments of 10**17 minor units."""
    most = 10**17
    tips = {"amountChoice": {"minimum": 1}, "receivers": [{"sendAmount": 1, "destination": "a"}]}
    currency = {"instrumentCurrencyCode": "BSV"}
    made = await service.create(**currency, **tips)
    for number in range(120):
        await post(service, made["id"], f"{number:03d}", price=most - number)
    expected = 120 * most - sum(range(120))
    assert expected > 2**63
    found = await request_of(service, made["id"])
    assert (found.raised, found.volume) == (expected, expected)
    stats = await service.anyone.get(f"/v3/paymentRequests/public/stats/{made['id']}")
    assert '"totalVolume": 119999999999.9999286' in stats.text or (
        '"totalVolume":119999999999.9999286' in stats.text
    )


async def test_money_paid_back_leaves_the_sum_and_comes_back(service: ServiceHarness) -> None:
    made = await service.create(**TIPS)
    payment = (await post(service, made["id"], price=1_000_000_007)).payment
    other = (await post(service, made["id"], "b", price=3_999_999_999)).payment
    assert payment
    assert other
    for back, raised in ((True, 3_999_999_999), (False, 5_000_000_006)):
        await service.db.transaction(partial(inventory.count_raised, payment=payment, back=back))
        found = await request_of(service, made["id"])
        assert (found.raised, found.volume) == (raised, 5_000_000_006)
    short = replace(payment, state=PaymentState.UNDERPAID)
    await service.db.transaction(partial(inventory.count_raised, payment=short, back=True))
    assert (await request_of(service, made["id"])).raised == 5_000_000_006


async def test_too_little_for_a_sum_takes_nothing_until_it_is_whole(
    service: ServiceHarness,
) -> None:
    made = await service.create(**DROP, **TIPS)
    checkout = await open_checkout(service, made["id"], "a", 3, price=700)

    async def arrived(amount: int, *, confirmed: bool = False) -> Payment | None:
        settlement = Settlement("sandbox", checkout, "m", amount, confirmed=confirmed)
        return await service.db.transaction(
            lambda tx: settling.record_settlement(tx, settlement, NOON + 1)
        )

    short = await arrived(2099)
    assert short
    assert (short.state, short.amount, short.first_unit) == ("underpaid", 2100, None)
    assert await units(service) == (2, 3, 0, 0)
    whole = await arrived(2100)
    assert whole
    assert (whole.state, whole.id, whole.first_unit) == ("paid", short.id, 1)
    assert await units(service) == (2, 0, 3, 0)
    found = await request_of(service, made["id"])
    assert (found.raised, found.payments_count) == (2100, 1)


async def test_an_edit_may_lower_the_quantity_beside_an_open_checkout(
    service: ServiceHarness,
) -> None:
    """Who has reserved three pays for three."""
    made = await service.create(**DROP)
    checkout = await open_checkout(service, made["id"], "a", 3)
    assert (await service.edit(made["id"], {"maxQuantity": None})).status_code == 200
    with pytest.raises(InvalidBody):
        await post(service, made["id"], "b", quantity=2)
    assert (await money(service, checkout, NOON + HOUR)).state == "late"
    assert await units(service) == (2, 0, 3, 0)


async def test_the_payment_of_a_checkout_has_its_order(service: ServiceHarness) -> None:
    made = await service.create(**DROP, **TIPS)
    checkout = await open_checkout(service, made["id"], "a", 3, price=700, payer_name="Mia")
    kept = await service.db.read(lambda tx: checkout_rows.find(tx, checkout))
    assert kept
    assert (kept.price, kept.quantity, kept.quote.amount) == (700, 3, 2100)
    payment = await money(service, checkout, NOON + 1)
    assert await payment_rows.read(service.db, made["id"], payment.id) == payment


async def test_prices_times_units_stay_within_the_bound(service: ServiceHarness) -> None:
    body = {"receivers": [{"sendAmount": 500_000_000, "destination": "a"}], **DROP}
    refused = await service.seller.post(
        "/v3/paymentRequests",
        json={"product": {"name": "C"}, "instrumentCurrencyCode": "USD", **body},
    )
    assert refused.status_code == 400
    assert refused.json()["info"][0]["field"] == "maxQuantity"
    made = await service.create(**body | {"maxQuantity": 2})
    payment = (await post(service, made["id"], quantity=2)).payment
    assert payment
    assert payment.amount == 100_000_000_000


@pytest.mark.parametrize(("minimum", "status"), [(0.03, 400), (0.07, 200)])
async def test_each_receiver_gets_something_of_each_amount(
    service: ServiceHarness, minimum: float, status: int
) -> None:
    shares = [{"sendAmount": one, "destination": "a"} for one in (0.03, 0.03, 0.01)]
    choice = {"minimum": minimum, "suggested": [0.07]}
    body = NEW | {"receivers": shares, "amountChoice": choice}
    answer = await service.seller.post(REQUESTS_PATH, json=body)
    assert answer.status_code == status
    assert status == 200 or refused_fields(answer) == ["receivers.2.sendAmount"]
