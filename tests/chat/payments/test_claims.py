"""Claims: stored once, asked of their seller, decided once, whatever comes first."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.chat.model.payloads import Alert, ClaimAlert
from bot.chat.store import claim_rows
from bot.chat.store.claim_rows import Claim
from bot.chat.store.link_rows import PaymentLink
from bot.core import exact_json
from bot.core.outbox.queue_policy import ALERT
from tests.support.chat_harness import ChatHarness
from tests.support.claim_steps import CLAIMED, CONFIRMED
from tests.support.service_harness import client
from tests.support.webhook_sender import HELD, PAID, SECRET, WebhookSender, serve


@pytest.fixture
async def service(chat: ChatHarness, link: PaymentLink) -> AsyncIterator[WebhookSender]:
    async with client(serve(chat, SECRET)) as http:
        yield WebhookSender(chat, http, link)


def the_claim(chat: ChatHarness) -> Claim:
    found = chat.db.run(lambda tx: claim_rows.claim_of_checkout(tx, "c1"))
    assert found is not None
    return found


async def test_a_claim_is_stored_with_one_alert(
    service: WebhookSender, chat: ChatHarness, link: PaymentLink
) -> None:
    assert await service.send_signed(CLAIMED) == 200
    claim = the_claim(chat)
    assert (claim.amount, claim.currency, claim.reference) == (250, "USD", "K7F2-90XM")
    assert claim.lapses_at == claim.claimed_at + HELD
    (alert,) = chat.said
    assert alert == ClaimAlert(claim.id, "en")
    (message,) = chat.rows("outbox")
    assert (message["lane"], message["priority"]) == (str(link.chat_id), ALERT)
    assert chat.rows("received_payments") == []


async def test_a_repeated_claim_has_no_second_alert(
    service: WebhookSender, chat: ChatHarness
) -> None:
    for _ in range(3):
        assert await service.send_signed(CLAIMED) == 200
    assert (len(chat.rows("claims")), len(chat.said)) == (1, 1)


async def test_a_claim_made_again_after_it_lapsed_is_asked_again(
    service: WebhookSender, chat: ChatHarness
) -> None:
    later = CLAIMED | {"claimedAt": "2027-01-23T08:00:00.000Z"}
    for body in (CLAIMED, later, CLAIMED):
        assert await service.send_signed(body) == 200
    assert (len(chat.rows("claims")), len(chat.said)) == (1, 2)
    assert the_claim(chat).lapses_at > chat.clock() + HELD


async def test_an_unknown_event_is_answered_200_and_ignored(
    service: WebhookSender, chat: ChatHarness
) -> None:
    for event in ("checkout.lapsed", "", 7, ["a"], {"b": 1}, "x" * 5000):
        assert await service.send_signed(PAID | {"event": event}) == 200
    assert service.nothing_happened()
    assert chat.rows("claims") == []


async def test_a_claim_needs_the_same_proof_as_a_payment(
    service: WebhookSender, chat: ChatHarness
) -> None:
    assert await service.send(exact_json.dumps(CLAIMED).encode()) == 401
    assert chat.rows("claims") == []


async def test_a_claim_without_ids_or_time_is_refused(
    service: WebhookSender, chat: ChatHarness
) -> None:
    wrong: list[dict[str, Any]] = [{"checkoutId": one} for one in (None, "a\x00b", "x" * 201)]
    wrong += [{"paymentRequestId": "f" * 24}, {"claimedAt": None}, {"claimedAt": "yesterday"}]
    assert [await service.send_signed(CLAIMED | one) for one in wrong] == [400] * len(wrong)
    assert (chat.rows("claims"), chat.said) == ([], [])


@pytest.mark.parametrize(
    "fields",
    [{"kind": None}, {"reference": None}, {"reference": "<b>"}, {"amount": "much"}, {"kind": 7}],
    ids=str,
)
async def test_a_claim_in_odd_words_is_asked_all_the_same(
    service: WebhookSender, chat: ChatHarness, fields: dict[str, Any]
) -> None:
    assert await service.send_signed(CLAIMED | fields) == 200
    assert len(chat.said) == 1


@pytest.mark.parametrize(
    ("events", "told"),
    [((CONFIRMED, CLAIMED), [Alert]), ((CLAIMED, CONFIRMED), [ClaimAlert, Alert])],
)
async def test_a_payment_settles_its_claim_and_leaves_nothing_to_ask_if_it_came_before(
    service: WebhookSender, chat: ChatHarness, events: tuple[Any, ...], told: list[type]
) -> None:
    assert [await service.send_signed(event) for event in events] == [200, 200]
    assert [type(said) for said in chat.said] == told
    assert the_claim(chat).state == claim_rows.PAID


async def test_underpaid_money_leaves_its_claim_open_and_is_no_sale(
    service: WebhookSender, chat: ChatHarness, link: PaymentLink
) -> None:
    short = {"kind": "bank", "amount": 1, "currencyCode": "USD", "reference": "K7F2-90XM"}
    body = CONFIRMED | {"paidBy": short, "underpaid": True, "remainingUnits": 3}
    assert await service.send_signed(CLAIMED) == 200
    assert await service.send_signed(body) == 200
    assert the_claim(chat).state == claim_rows.WAITING
    assert chat.link(link.id).paid_count == 0
    text = chat.worded[-1].text
    assert "only $1.00 of $2.50 arrived" in text
    assert "That doesn't count as a sale." in text
    assert "left" not in text


async def test_an_application_without_events_is_told_as_ever(
    service: WebhookSender, chat: ChatHarness
) -> None:
    assert await service.send_signed(PAID) == 200
    (row,) = chat.rows("received_payments")
    assert (row["paid_by"], row["checkout_id"], row["underpaid"]) == (None, None, 0)
    assert "Paid by" not in chat.texts[0]
