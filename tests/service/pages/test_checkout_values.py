"""A checkout's page says what happened, what to do next, and never what the state forbids."""

from __future__ import annotations

from typing import Any

import pytest

from bot.interface.vocabulary import CheckoutState
from bot.service.checkouts.checkout import SETTLED, Checkout
from bot.service.pages import checkout_values
from bot.service.pages.page_texts import Locale, TimedText
from bot.service.requests.request import PaymentState
from tests.support.drawn_checkouts import (
    CHECKOUT,
    INVOICE,
    NOW,
    REQUEST,
    bank,
    lightning,
    payment,
    request,
    tap,
)

ENGLISH, GERMAN = Locale("en", "en"), Locale("de", "de")
PAST: dict[str, Any] = {"lapses_at": NOW - 1}


def page(held: Checkout, locale: Locale = ENGLISH, **fields: Any) -> dict[str, Any]:
    asked = fields.pop("asked", request())
    return checkout_values.checkout_page(locale, asked, held, fields.get("paid"), NOW)


def why(values: dict[str, Any]) -> str:
    told: TimedText = values["why"]
    return told.before + (told.moment.text if told.moment else "") + told.after


@pytest.mark.parametrize(
    ("held", "title", "said"),
    [
        (lightning(CheckoutState.OPENING, pay_with=None), "Getting the invoice…", "few seconds"),
        (lightning(), "Pay with Lightning", "This page updates automatically"),
        (tap(), "Pay with Lightning", "Then tap “I've paid”"),
        (bank(), "Pay by bank transfer", "tap “I've sent the money”"),
        (bank(way="bank:pix"), "Pay with Pix", "banking app"),
        (bank(way="bank:upi"), "Pay with UPI", "banking app"),
        (bank(way="bank:swiss"), "Pay with QR-bill", "banking app"),
        (
            bank(CheckoutState.CLAIMED),
            "Waiting for Mia's Ceramics to confirm",
            "You said you've sent €18.50",
        ),
        (
            bank(CheckoutState.REJECTED),
            "Mia's Ceramics hasn't found your payment",
            "with the reference K7M2Q9XD",
        ),
        (lightning(**PAST), "This invoice has expired", "Don't pay it; get a new one"),
        (tap(**PAST), "This invoice has expired", "tap “I've paid”"),
        (bank(**PAST), "Time's up", "tap “I've sent the money”: we'll hold one for you"),
        (bank(CheckoutState.CANCELLED), "Cancelled", "give the reference K7M2Q9XD"),
        (lightning(CheckoutState.CANCELLED), "Cancelled", "don't pay again"),
    ],
)
def test_each_state_has_its_words(held: Checkout, title: str, said: str) -> None:
    values = page(held)
    assert values["title"] == title
    assert said in why(values)


def test_a_claim_that_nobody_decided_may_be_made_again_and_is_not_to_be_paid_again() -> None:
    values = page(bank(CheckoutState.CLAIMED, claimed_at=NOW - 5, lapses_at=NOW))
    assert values["title"] == "Mia's Ceramics hasn't confirmed your payment"
    assert "If you've sent it, don't pay again: tap “I've sent the money”" in why(values)
    assert (values["claim"], values["seller_first"]) == ("page-sent", True)
    assert (values["reference"], values["restart"]) == ("K7M2Q9XD", "page-restart")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("slow", "didn't answer in time"),
        ("refused", "refused to create an invoice"),
        ("lied", "doesn't match this payment"),
        ("tooSmall", "20,312\xa0sat is less than the seller's wallet can receive"),
        ("tooLarge", "20,312\xa0sat is more than the seller's wallet can receive"),
        ("a reason of tomorrow", "didn't answer in time"),
        (None, "didn't answer in time"),
    ],
)
def test_a_wallet_that_gave_no_invoice_is_explained(reason: str | None, said: str) -> None:
    values = page(lightning(CheckoutState.FAILED, pay_with=None, failure=reason))
    assert said in why(values)
    assert "You haven't been charged." in why(values)
    assert (values["restart"], values["start"]) == ("page-retry", f"/pay/{REQUEST}")


@pytest.mark.parametrize(
    ("reason", "seller_first"),
    [
        *((one, False) for one in ("slow", "refused")),
        *((one, True) for one in ("lied", "tooLarge")),
    ],
)
def test_the_seller_comes_before_another_try_that_would_fail_as_well(
    reason: str, *, seller_first: bool
) -> None:
    values = page(lightning(CheckoutState.FAILED, pay_with=None, failure=reason))
    assert (values["asks_seller"], values["seller_first"]) == (True, seller_first)


def test_a_claim_that_came_too_late_is_for_the_seller_to_solve() -> None:
    assert checkout_values.unclaimable_values(ENGLISH, request(), bank(**PAST))["seller_first"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "To check on your payment later, keep this address."),
        ({"user_data": {"email": "erna@example.org"}}, "keep this address."),
        (
            {"user_data": {"email": "erna@example.org"}, "language": "en"},
            "We'll email you once Mia's Ceramics has checked.",
        ),
    ],
)
def test_a_payer_who_waits_may_close_the_page(fields: dict[str, Any], said: str) -> None:
    """An email is promised only to an address that gets receipts."""
    kept = page(bank(CheckoutState.CLAIMED, claimed_at=NOW, **fields))["kept"]
    assert kept.startswith("You can close this page. ")
    assert kept.endswith(said)
    assert page(bank(**fields))["kept"] is None


def test_too_little_money_is_said_and_nothing_more_is_asked_for() -> None:
    """The invoice is used up: its code must not be scanned once more."""
    values = page(lightning(), paid=payment(PaymentState.UNDERPAID, 12_000))
    assert values["title"] == "12,000\xa0sat of 20,312\xa0sat arrived"
    assert "Don't send the rest." in why(values)
    assert (values["pay_with"], values["until"], values["cancel"]) == (None, None, False)
    assert values["transaction_id"] == "p" * 24


@pytest.mark.parametrize(
    ("held", "claim"),
    [
        (bank(), "page-sent"),
        (bank(**PAST), "page-sent"),
        (tap(), "page-sent-tap"),
        (tap(**PAST), "page-sent-tap"),
        (lightning(), None),
        (lightning(**PAST), None),
        *((bank(state), None) for state in SETTLED),
        (bank(CheckoutState.CLAIMED), None),
        (bank(CheckoutState.CANCELLED), None),
    ],
)
def test_only_what_no_rail_reports_is_claimed(held: Checkout, claim: str | None) -> None:
    if held.stored_state is not CheckoutState.PAID and held.stored_state is not CheckoutState.LATE:
        assert page(held)["claim"] == claim


def test_what_to_pay_with_is_shown_while_it_can_be_paid_and_folded_once_claimed() -> None:
    shown = {
        state: page(bank(state))["pay_with"]
        for state in CheckoutState
        if state not in {CheckoutState.PAID, CheckoutState.LATE}
    }
    assert not shown[CheckoutState.OPEN]["folded"]
    assert shown[CheckoutState.CLAIMED]["folded"]
    assert [state for state, values in shown.items() if values] == ["open", "claimed"]


def test_bank_fields_are_copied_as_banks_take_them() -> None:
    """The IBAN without spaces; the amount with the language's own decimal mark, never grouped."""
    for locale, amount in ((ENGLISH, "18.50"), (GERMAN, "18,50")):
        values = page(bank(), locale)["pay_with"]
        copied = {field["value"] for field in values["fields"]}
        assert copied == {"Mia Ferreira", "PT50000201231234567890154", amount}
        assert "PT50 0002 0123 1234 5678 9015 4" in {field["shown"] for field in values["fields"]}
        assert values["reference"] == "K7M2Q9XD"
        assert values["link"] is None


def test_the_invoice_is_a_link_for_wallets_and_a_code_in_capitals() -> None:
    values = page(lightning())["pay_with"]
    assert values["link"] == f"lightning:{INVOICE}"
    assert values["picture"] == f"/pay/{REQUEST}/checkout/{CHECKOUT}/code.png"
    assert checkout_values.code_text(lightning()) == f"LIGHTNING:{INVOICE.upper()}"
    assert checkout_values.code_text(bank()) == "BCD\n002"
    assert checkout_values.code_text(lightning(CheckoutState.OPENING, pay_with=None)) is None


def test_a_waiting_page_asks_again_and_an_ended_one_rests() -> None:
    """Every two seconds for money that a wallet reports; seldom for what a person decides."""
    paces = {
        "opening": page(lightning(CheckoutState.OPENING, pay_with=None)),
        "lightning": page(lightning()),
        "bank": page(bank()),
        "claimed": page(bank(CheckoutState.CLAIMED)),
        "rejected": page(bank(CheckoutState.REJECTED)),
        "long ago": page(bank(CheckoutState.REJECTED, lapses_at=NOW - 3_600_000)),
        "oversold": page(lightning(CheckoutState.OVERSOLD)),
    }
    assert {name: (each["again"], each["refresh"]) for name, each in paces.items()} == {
        "opening": (2, 2),
        "lightning": (0.6, 3),
        "bank": (3, 3),
        "claimed": (10, 30),
        "rejected": (30, 30),
        "long ago": (None, None),
        "oversold": (None, None),
    }


def test_a_claim_names_since_and_until_when_its_unit_is_held() -> None:
    held = bank(CheckoutState.CLAIMED, claimed_at=NOW - 60_000, lapses_at=NOW + 604_800_000)
    values = page(held)
    assert values["claimed_at"].text == "January 15, 2027, 7:59\u202fAM UTC"
    assert values["held_until"].text == "January 22, 2027, 8:00\u202fAM UTC"
    assert page(held, asked=request(units=None))["held_until"] is None
    assert "give the reference K7M2Q9XD" in values["help"]


def test_without_a_profile_the_seller_is_called_the_seller() -> None:
    """With a capital where a sentence begins."""
    nobody = request(seller=None)
    rejected = page(bank(CheckoutState.REJECTED), asked=nobody)
    assert rejected["title"] == "The seller hasn't found your payment"
    assert page(bank(), asked=nobody)["then"].startswith("The seller will then check")
    waiting = page(bank(CheckoutState.CLAIMED), asked=nobody)
    assert waiting["title"] == "Waiting for the seller to confirm"
    german = page(bank(CheckoutState.CLAIMED), GERMAN, asked=nobody)
    assert german["title"] == "Der Verkäufer muss noch bestätigen"
