"""Events of real money: for applications that name them, and unchanged bodies for all others."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from bot.core import exact_json
from bot.interface.answers import DeliveryItem, PaymentAnswer
from bot.interface.bodies import ClaimEvent, WebhookEvent
from bot.interface.vocabulary import BANK
from bot.service.checkouts import checkout_rows, claiming
from bot.service.checkouts.checkout import Holder, Settlement
from bot.service.notifications.notification_queues import WEBHOOKS
from bot.service.notifications.webhooks import WebhookSender
from bot.service.payments import payment_reports, settling
from bot.service.rails.rail import SandboxScenario
from tests.support.checkout_steps import begin
from tests.support.http_peers import Receiver
from tests.support.real_rails import TO_ANNA, connect, make_bank, open_real_service
from tests.support.service_harness import (
    LOOPBACK,
    NEW,
    NOON_ISO,
    REQUESTS_PATH,
    ServiceHarness,
    refusal_code,
    refused_fields,
)
from tests.support.webhook_delivery import attempt

URL = "https://h.example/w"
HOOK = {"webhookUrl": URL, "customParameters": {"order": 7}}
ALL = ["payment", "checkout.claimed"]
OF_THE_INTERFACE = {
    *("paymentRequestId", "transactionId", "customParameters", "userData"),
    *("amount", "currencyCode", "completedAt"),
}


async def bank_checkout(
    service: ServiceHarness, events: list[str] | None = None, url: str = URL
) -> dict[str, Any]:
    """Open a bank checkout of 5 EUR of a request with these events; return its row."""
    hook = HOOK | {"webhookUrl": url} | ({"events": events} if events else {})
    await connect(service, BANK)
    made = await service.create(
        receivers=TO_ANNA, instrumentCurrencyCode="EUR", notifications={"webhook": hook}
    )
    assert (await service.pay(made["id"])).status_code == 303
    (row,) = await service.rows("checkouts")
    return row


async def claim(service: ServiceHarness, checkout: dict[str, Any]) -> None:
    request_id, checkout_id, now = checkout["request_id"], checkout["id"], service.clock()
    await service.db.transaction(
        lambda tx: claiming.claim(tx, service.context, request_id, checkout_id, now)
    )


async def arrive(service: ServiceHarness, checkout: dict[str, Any], amount: int) -> None:
    settlement = Settlement(BANK, checkout["id"], checkout["external_id"], amount)
    record = partial(settling.record_settlement, settlement=settlement, now=service.clock())
    await service.db.transaction(record)


async def bodies(service: ServiceHarness) -> list[dict[str, Any]]:
    """Return the bodies of the queued webhooks as they will be sent."""
    rows = await service.db.query("SELECT body FROM outbox WHERE queue = 'webhooks' ORDER BY id")
    return [
        exact_json.loads(payment_reports.event(WEBHOOKS.decode(row["body"])).json_text())
        for row in rows
    ]


async def test_without_events_a_payment_has_the_body_of_the_interface(
    real: ServiceHarness,
) -> None:
    checkout = await bank_checkout(real)
    await claim(real, checkout)
    await arrive(real, checkout, 500)
    (body,) = await bodies(real)
    assert body.keys() == OF_THE_INTERFACE


async def test_without_events_too_little_money_is_not_reported(real: ServiceHarness) -> None:
    checkout = await bank_checkout(real)
    await arrive(real, checkout, 300)
    assert await bodies(real) == []
    assert [row["state"] for row in await real.rows("payments")] == ["underpaid"]


async def test_with_events_a_payment_says_how_it_came(real: ServiceHarness) -> None:
    checkout = await bank_checkout(real, ["payment"])
    await arrive(real, checkout, 500)
    (body,) = await bodies(real)
    WebhookEvent.model_validate(body)
    assert body.keys() == OF_THE_INTERFACE | {"checkoutId", "paidBy"}
    assert body["checkoutId"] == checkout["id"]
    assert body["paidBy"] == {
        "kind": BANK, "amount": 5, "currencyCode": "EUR", "reference": checkout["reference"],
    }  # fmt: skip


async def test_with_events_too_little_money_is_reported_as_such(real: ServiceHarness) -> None:
    """Then the whole amount may still come: the same payment is reported once more."""
    checkout = await bank_checkout(real, ALL)
    await arrive(real, checkout, 300)
    await arrive(real, checkout, 500)
    short, whole = await bodies(real)
    assert (short["underpaid"], short["paidBy"]["amount"], short["amount"]) == (True, 3, 5)
    assert ("underpaid" in whole, whole["paidBy"]["amount"]) == (False, 5)
    assert short["paidBy"]["reference"] == whole["paidBy"]["reference"] == checkout["reference"]
    assert short["transactionId"] == whole["transactionId"]


async def test_a_letter_reports_too_little_money_whatever_the_application_knows(
    database_url: str,
) -> None:
    async with open_real_service(database_url, make_bank(), mails=True) as real:
        await connect(real, BANK)
        made = await real.create(
            receivers=TO_ANNA, instrumentCurrencyCode="EUR", notifications={"email": "a@b.example"}
        )
        await real.pay(made["id"])
        (checkout,) = await real.rows("checkouts")
        await arrive(real, checkout, 300)
        (mail,) = await real.db.query("SELECT body FROM outbox WHERE queue = 'mails'")
    letter = exact_json.loads(mail["body"])
    assert (letter["underpaid"], letter["paid_amount"], letter["amount"]) == (True, 300, 500)


async def test_a_converted_payment_has_its_rate(service: ServiceHarness) -> None:
    """Test money is reported in the same way to an application that asks."""
    made = await service.create(
        instrumentCurrencyCode="BSV", denominationCurrencyCode="USD",
        notifications={"webhook": HOOK | {"events": ["payment"]}},
    )  # fmt: skip
    await service.pay(made["id"])
    (body,) = await bodies(service)
    (payment,) = await service.rows("payments")
    paid_by = body["paidBy"]
    assert (paid_by["kind"], paid_by["currencyCode"]) == ("sandbox", "BSV")
    assert str(paid_by["rate"]) == payment["rate"]
    assert paid_by["rateSource"] == payment["rate_source"]
    assert "ratedAt" in paid_by


@pytest.mark.parametrize("events", [None, ["payment"]])
async def test_a_claim_is_told_only_to_those_who_ask(
    real: ServiceHarness, events: list[str] | None
) -> None:
    await claim(real, await bank_checkout(real, events))
    assert await bodies(real) == []
    assert await real.rows("deliveries") == []


async def test_a_claim_is_an_event_of_its_own(real: ServiceHarness) -> None:
    checkout = await bank_checkout(real, ALL)
    await claim(real, checkout)
    await claim(real, checkout)
    (body,) = await bodies(real)
    ClaimEvent.model_validate(body)
    assert body == {
        "event": "checkout.claimed",
        "checkoutId": checkout["id"],
        "paymentRequestId": checkout["request_id"],
        "kind": BANK,
        "amount": 5,
        "currencyCode": "EUR",
        "reference": checkout["reference"],
        "customParameters": {"order": 7},
        "claimedAt": NOON_ISO,
    }


async def test_a_checkout_that_is_claimed_again_is_told_again(real: ServiceHarness) -> None:
    checkout = await bank_checkout(real, ALL)
    await claim(real, checkout)
    real.clock.advance(real.context.claims / 1000)
    await claim(real, checkout)
    first, second = await bodies(real)
    assert first["checkoutId"] == second["checkoutId"]
    assert first["claimedAt"] < second["claimedAt"]


async def test_a_claim_is_sent_listed_shown_and_sent_again(
    database_url: str, receiver: Receiver
) -> None:
    async with open_real_service(database_url, make_bank(), allow=LOOPBACK) as real:
        checkout = await bank_checkout(real, ALL, receiver.url)
        await claim(real, checkout)
        async with WebhookSender(real.db, real.vault, real.clock, LOOPBACK) as notifier:
            row = await attempt(real, notifier.queue_handler)
            assert row["state"] == "done"
            assert exact_json.loads(receiver.received[0].body)["event"] == "checkout.claimed"
            (item,) = (await real.seller.get("/v3/deliveries")).json()["items"]
            DeliveryItem.model_validate(item)
            assert (item["checkoutId"], "transactionId" in item) == (checkout["id"], False)
            shown = (await real.seller.get(f"/v3/deliveries/{item['id']}")).json()
            assert [one["status"] for one in shown["log"]] == [200]
            again = await real.seller.post(f"/v3/deliveries/{item['id']}/retry")
            assert again.json()["state"] == "waiting"
            await attempt(real, notifier.queue_handler)
    first, second = receiver.received
    assert first.body == second.body


async def test_the_events_are_answered_where_they_were_given(service: ServiceHarness) -> None:
    plain = await service.create(notifications={"webhook": HOOK})
    assert plain["notifications"]["webhook"] == HOOK
    made = await service.create(notifications={"webhook": HOOK | {"events": ALL}})
    assert made["notifications"]["webhook"] == HOOK | {"events": ALL}
    assert await service.get(made["id"]) == made
    for edit, left in (
        ({"customParameters": {"order": 8}}, ALL),
        ({"events": ["payment"]}, ["payment"]),
        ({"webhookUrl": "https://other.example/w"}, ["payment"]),
        ({"events": None}, None),
    ):
        edited = await service.edit(made["id"], {"notifications": {"webhook": edit}})
        assert edited.json()["notifications"]["webhook"].get("events") == left


async def test_unknown_events_are_refused(service: ServiceHarness) -> None:
    for events, field in (
        (["payment", "refund"], "notifications.webhook.events.1"),
        (["payment", "payment"], "notifications.webhook.events"),
        ([], "notifications.webhook.events"),
        ("payment", "notifications.webhook.events"),
        ([{}], "notifications.webhook.events.0"),
    ):
        body = NEW | {"notifications": {"webhook": HOOK | {"events": events}}}
        answer = await service.seller.post(REQUESTS_PATH, json=body)
        assert (refusal_code(answer), refused_fields(answer)) == ((400, "invalidBody"), [field]), (
            events
        )


async def test_events_need_a_webhook(service: ServiceHarness) -> None:
    made = await service.create()
    edit = {"notifications": {"webhook": {"events": ALL}}}
    answer = await service.edit(made["id"], edit)
    assert refused_fields(answer) == ["notifications.webhook.webhookUrl"]


async def test_the_list_of_payments_says_how_real_money_came(
    real: ServiceHarness,
) -> None:
    checkout = await bank_checkout(real)
    await arrive(real, checkout, 700)
    path = f"{REQUESTS_PATH}/{checkout['request_id']}/payments"
    (item,) = (await real.seller.get(path)).json()["items"]
    PaymentAnswer.model_validate(item)
    assert (item["checkoutId"], item["amount"]) == (checkout["id"], 5)
    assert item["paidBy"] == {
        "kind": BANK, "amount": 7, "currencyCode": "EUR", "reference": checkout["reference"],
    }  # fmt: skip


async def test_the_list_of_payments_is_unchanged_for_test_money(service: ServiceHarness) -> None:
    made = await service.create()
    await service.pay(made["id"])
    (item,) = (await service.seller.get(f"{REQUESTS_PATH}/{made['id']}/payments")).json()["items"]
    assert not {"paidBy", "checkoutId"} & item.keys()


async def test_a_claim_of_test_money_is_told_confirmed_and_listed(service: ServiceHarness) -> None:
    """It has a reference of its own, and the calls of real money answer as they do there."""
    made = await service.create(notifications={"webhook": HOOK | {"events": ALL}})
    await service.pay(made["id"], manner="claimed")
    (checkout,) = await service.rows("checkouts")
    (body,) = await bodies(service)
    ClaimEvent.model_validate(body)
    reference = checkout["reference"]
    assert (body["kind"], body["amount"], body["reference"]) == ("sandbox", 5, reference)
    path = f"/v3/checkouts/{checkout['id']}"
    assert (await service.seller.get(path)).json()["state"] == "claimed"
    assert (await service.seller.post(f"{path}/confirm")).json()["state"] == "paid"
    assert refusal_code(await service.seller.post(f"{path}/reject")) == (409, "wrongState")
    (item,) = (await service.seller.get(f"{REQUESTS_PATH}/{made['id']}/payments")).json()["items"]
    PaymentAnswer.model_validate(item)
    assert (item["checkoutId"], item["paidBy"]["reference"]) == (checkout["id"], reference)
    assert (await bodies(service))[-1]["checkoutId"] == checkout["id"]


async def test_a_claim_of_test_money_is_rejected_and_may_still_be_confirmed(
    service: ServiceHarness,
) -> None:
    """As one of real money, it is kept for months after it ended."""
    made = await service.create(
        expirationType="limit", totalUnits=2, notifications={"webhook": HOOK | {"events": ALL}}
    )
    await service.pay(made["id"], manner="claimed")
    (checkout,) = await service.rows("checkouts")
    path, now = f"/v3/checkouts/{checkout['id']}", service.clock()
    assert (await service.seller.post(f"{path}/reject")).json()["state"] == "rejected"
    assert service.db.run(lambda tx: checkout_rows.sweep(tx, now + 10**9, now, 9)) == 0
    assert (await service.seller.post(f"{path}/confirm")).json()["state"] == "late"


async def claims_from(service: ServiceHarness, request_id: str, *holders: Holder) -> list[int]:
    """Claim a payment for each holder; return how many unproven ones each event tells."""
    for holder in holders:
        token = f"{len(await service.rows('checkouts')):032d}"
        await begin(
            service, request_id, None, token, scenario=SandboxScenario.CLAIMED, holder=holder
        )
    events = [body for body in await bodies(service) if "event" in body]
    for body in events:
        ClaimEvent.model_validate(body)
    return [body.get("unprovenClaims", 1) for body in events][-len(holders) :]


async def test_a_claim_says_how_many_its_network_has_that_nobody_confirmed(
    service: ServiceHarness,
) -> None:
    """A number without the address; of the site around an IPv6 network a quarter counts."""
    made = await service.create(notifications={"webhook": HOOK | {"events": ALL}})
    one, other, nobody = Holder("one"), Holder("other"), Holder()
    assert await claims_from(service, made["id"], one, one, other, one) == [1, 2, 1, 3]
    first = next(row for row in await service.rows("checkouts") if row["network"] == "one")
    confirmed = await service.seller.post(f"/v3/checkouts/{first['id']}/confirm")
    assert confirmed.json()["state"] == "paid"
    assert await claims_from(service, made["id"], one, nobody, nobody) == [3, 1, 1]
    of_site = [Holder(f"of site {number}", site="site") for number in range(8)]
    assert await claims_from(service, made["id"], *of_site) == [1] * 7 + [2]


async def test_payout_accounts_are_refused_beside_test_money(service: ServiceHarness) -> None:
    assert refusal_code(await connect(service, BANK)) == (400, "invalidBody")
