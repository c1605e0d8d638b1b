"""What servers say of how a payment was paid is read, or left out: it never hides the payment."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from bot.chat.model.payment import PaidBy, fold_reference, read_paid_by
from bot.chat.model.remote_request import read_payment

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
