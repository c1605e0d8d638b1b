"""What only the embedded service answers: read where it is sound, left out where it is not."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from bot.chat.model import lenient, payment, remote_request
from bot.chat.model.payment import PaidBy, fold_reference, read_paid_by
from bot.chat.model.payout import account_destination, owner_ref
from bot.chat.model.remote_request import RemoteRequest, read_payment, read_request
from bot.chat.model.request_spec import CodeCounts
from bot.chat.payments import client, webhook
from bot.core import exact_json, stored_json
from bot.interface import answers, bodies
from bot.interface.parts import AmountChoice

PLAIN = {
    "id": "r", "paymentRequestUrl": "https://pay.example/r", "currencyCode": "EUR",
    "paymentAmount": {"amount": 5, "currencyCode": "EUR", "denominatedIn": "EUR"},
}  # fmt: skip
CHOICE = {"minimum": 3, "suggested": [5, Decimal("10.50")], "maximum": 500}
FULL = {
    "amountChoice": CHOICE, "goal": 1000, "amountRaised": Decimal("1040.50"), "maxQuantity": 3,
    "delivers": "codes", "delivery": {"codes": {"total": 9, "assigned": 4, "waiting": 0}},
}  # fmt: skip


def read(**more: object) -> RemoteRequest:
    return read_request(exact_json.loads(exact_json.dumps({**PLAIN, **more})), is_embedded=True)


def test_all_of_it_is_read_in_minor_units_and_stored() -> None:
    answer = read(**FULL)
    assert answer.choice == AmountChoice(300, (500, 1050), 50_000)
    assert (answer.goal, answer.raised, answer.max_quantity) == (100_000, 104_050, 3)
    assert (answer.delivers, answer.codes) == ("codes", CodeCounts(9, 4, 0))
    assert answer.is_embedded
    assert stored_json.read(RemoteRequest, stored_json.write(RemoteRequest, answer)) == answer


def test_an_answer_without_any_of_it_is_whole() -> None:
    answer = read()
    assert (answer.choice, answer.goal, answer.raised, answer.codes) == (None,) * 4
    assert stored_json.read(RemoteRequest, stored_json.write(RemoteRequest, answer)) == answer


def test_sums_may_be_nothing_or_more_than_one_payment_can_be() -> None:
    assert read(amountRaised=0).raised == 0
    assert read(amountRaised=5_000_000_000).raised == 500_000_000_000


@pytest.mark.parametrize(
    "odd",
    [
        None, "5", True, [], {}, {"minimum": 0}, {"minimum": "3"}, {"suggested": [5]},
        {"minimum": 3, "suggested": [2]}, {"minimum": 3, "suggested": [5, 5]},
        {"minimum": 3, "suggested": "5"}, {"minimum": 3, "suggested": [None]},
        {"minimum": 3, "maximum": 2}, {"minimum": 3, "maximum": "x"},
        {"minimum": 1, "suggested": [1, 2, 3, 4, 5]}, {"minimum": Decimal("3.001")},
    ],
)  # fmt: skip
def test_a_choice_of_another_form_is_left_out(odd: object) -> None:
    assert read(amountChoice=odd).choice is None


@pytest.mark.parametrize("odd", [None, "x", True, [], {}, -1, Decimal("0.001"), 10**30])
def test_other_values_of_another_form_are_left_out(odd: object) -> None:
    answer = read(goal=odd, amountRaised=odd, maxQuantity=odd, delivers=odd, delivery=odd)
    assert (answer.goal, answer.raised, answer.max_quantity) == (None, None, None)
    assert (answer.delivers, answer.codes) == (None, None)


def test_amounts_without_a_currency_are_left_out() -> None:
    bare = {"id": "r", "paymentRequestUrl": "https://pay.example/r", **FULL}
    answer = read_request(exact_json.loads(exact_json.dumps(bare)))
    assert (answer.choice, answer.goal, answer.raised) == (None, None, None)


# What servers say of how a payment was paid is read, or left out: it never hides the payment.


SENT: dict[str, Any] = {
    "kind": "nwc",
    "amount": 4812,
    "currencyCode": "SAT",
    "reference": "ab",
    "rate": Decimal("962.40"),
    "rateSource": "median of a.example and b.example",
    "ratedAt": "2027-01-15T08:00:00Z",
}


def test_all_facts_are_read() -> None:
    found = read_paid_by(SENT)
    assert found == PaidBy(
        "nwc", 4812, "SAT", "ab", "962.40", "median of a.example and b.example", 1_800_000_000_000
    )


@pytest.mark.parametrize(
    "fields",
    [
        *({"kind": None}, {"kind": 7}, {"kind": "a\x00b"}, {"kind": "x" * 201}),
        *({"amount": None}, {"amount": True}, {"amount": "much"}, {"amount": [1]}),
        *({"amount": Decimal("1e999999")}, {"amount": Decimal("0.5")}, {"amount": -1}),
        *({"currencyCode": "sat"}, {"currencyCode": None}, {"currencyCode": "???"}),
        *({"rate": "much"}, {"rate": [1]}),
    ],
    ids=str,
)
def test_facts_that_make_no_sense_are_left_out(fields: dict[str, Any]) -> None:
    assert read_paid_by(SENT | fields) is None


@pytest.mark.parametrize("raw", [None, [], "bank", 7, {}], ids=str)
def test_anything_else_is_left_out(raw: Any) -> None:
    assert read_paid_by(raw) is None


def test_underpaid_money_is_known_as_such_in_a_webhook_and_in_the_list() -> None:
    for body in ({"underpaid": True}, {"settlement": "underpaid"}):
        assert read_payment({"transactionId": "t1"} | body).underpaid
    for other in ({}, {"underpaid": "true"}, {"settlement": "late"}):
        assert not read_payment({"transactionId": "t1"} | other).underpaid


@pytest.mark.parametrize("typed", ["K7F2 90XM", "k7f2-9oxm", "K7F29OXM", " k7 f2 90 xm "])
def test_a_reference_is_one_however_a_statement_writes_it(typed: str) -> None:
    assert fold_reference(typed) == "K7F290XM"


def test_letters_that_look_like_digits_are_read_as_those() -> None:
    assert fold_reference("RF19 Z34S G78B") == fold_reference("RF19 2345 6788")


# The chat reads other servers by the names of the published interface.


OF_INTERFACE: dict[type[lenient.Sent], list[type[answers.Answer]]] = {
    payment.SentPaidBy: [answers.PaidByAnswer],
    remote_request.SentWebhook: [answers.WebhookAnswer],
    remote_request.SentNotifications: [answers.NotificationsAnswer],
    remote_request.SentItem: [answers.RequestItem],
    remote_request.SentAmount: [answers.PaymentAmount],
    remote_request.SentReceiver: [answers.ReceiverAnswer],
    remote_request.SentDelivery: [answers.DeliveryAnswerOfRequest],
    remote_request.SentRequest: [answers.RequestItem, answers.RequestAnswer],
    remote_request.SentPayment: [answers.PaymentAnswer, bodies.WebhookEvent],
    webhook.SentPaymentEvent: [answers.PaymentAnswer, bodies.WebhookEvent],
    webhook.SentClaim: [bodies.ClaimEvent],
    client.SentCheckout: [answers.CheckoutAnswer],
    client.SentMark: [answers.MarkedPaymentAnswer],
    client.SentRefusal: [answers.ErrorAnswer],
    client.SentProblem: [answers.FieldProblemAnswer],
}


def _every(kind: type[lenient.Sent]) -> set[type[lenient.Sent]]:
    below = kind.__subclasses__()
    return {*below, *(one for each in below for one in _every(each))}


def test_all_that_is_read_is_named_below() -> None:
    assert set(OF_INTERFACE) == _every(lenient.Sent)


@pytest.mark.parametrize("kind", OF_INTERFACE, ids=lambda kind: kind.__name__)
def test_each_field_that_is_read_is_one_of_the_interface(kind: type[lenient.Sent]) -> None:
    read = {field.alias for field in kind.model_fields.values()}
    sent = {field.alias for answer in OF_INTERFACE[kind] for field in answer.model_fields.values()}
    assert read <= sent


# The names by which sellers are known to the payment service.


@pytest.mark.parametrize("seller_id", [1, 4711, 2**63 - 1])
def test_a_sellers_name_at_the_service_has_the_form_that_it_takes(seller_id: int) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", owner_ref(seller_id))
    assert account_destination(seller_id) == f"account:{owner_ref(seller_id)}"
