"""The ways to pay, and a checkout's page: what happened, what to do next, nothing forbidden."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from bot.interface.parts import AmountChoice
from bot.interface.vocabulary import CheckoutState, Kind
from bot.service.checkouts.checkout import SETTLED, Checkout
from bot.service.checkouts.paying import Way
from bot.service.pages import checkout_values, page_values
from bot.service.pages.page_texts import Locale, TimedText
from bot.service.payments.account_rows import PayoutAccount
from bot.service.rails.rail import PayWith
from bot.service.requests.request import (
    UNPRICED,
    ExchangeRate,
    Payment,
    PaymentRequest,
    PaymentState,
    Product,
    Quote,
    Receiver,
    SellerProfile,
    Terms,
    Units,
)

NOW = 1_800_000_000_000
REQUEST, CHECKOUT = "a" * 24, "c" * 24
SELLER = SellerProfile(name="Mia's Ceramics", contact="@mia_clay")
RATE = ExchangeRate(Decimal("1097.946"), "median of a.example and b.example", NOW - 60_000)
SATS = Quote(20_312, "SAT", (20_312,), RATE)
EUROS = Quote(1_850, "EUR", (1_850,))
INVOICE = "lnbc203120n1pnxyz"
BY_INVOICE = PayWith(lightning_invoice=INVOICE)
BY_BANK = PayWith(
    qr_text="BCD\n002",
    fields=(
        ("holder", "Mia Ferreira"),
        ("iban", "PT50000201231234567890154"),
        ("amount", "18.50"),
        ("reference", "K7M2Q9XD"),
    ),
)
DROP = Units(20, 12, 3)


def request(
    units: Units | None = DROP, seller: SellerProfile | None = SELLER, amount: int = 1_850
) -> PaymentRequest:
    """Return a request in euros, of a drop or without a limit."""
    terms = Terms(
        kind=Kind.LIMIT if units else Kind.NEVER,
        product=Product("Espresso cup"),
        receivers=(Receiver("account:mia", amount),),
        instrument="EUR",
        seller=seller,
    )
    return PaymentRequest(REQUEST, "app", NOW, terms, units)


def lightning(state: CheckoutState = CheckoutState.OPEN, **fields: Any) -> Checkout:
    """Return a checkout whose invoice the rail knows of."""
    made = Checkout(
        id=CHECKOUT,
        request_id=REQUEST,
        token="t" * 32,
        user_data={},
        quote=SATS,
        created_at=NOW,
        lapses_at=NOW + 900_000,
        stored_state=state,
        kind="lightning",
        way="lightning",
        pay_with=BY_INVOICE,
    )
    return replace(made, **fields)


def tap(state: CheckoutState = CheckoutState.OPEN, **fields: Any) -> Checkout:
    """Return a checkout of a Lightning address that reports no payment."""
    return lightning(state, **{"automatic": False, "reference": "K7M2Q9XD"} | fields)


def bank(state: CheckoutState = CheckoutState.OPEN, **fields: Any) -> Checkout:
    """Return a checkout of a bank code."""
    by_bank = {
        "kind": "bank",
        "way": "bank:sepa",
        "quote": EUROS,
        "automatic": False,
        "reference": "K7M2Q9XD",
        "pay_with": BY_BANK,
    }
    return lightning(state, **by_bank | fields)


def payment(state: PaymentState, amount: int) -> Payment:
    """Return a payment of a Lightning checkout, of so many satoshi."""
    paid = replace(SATS, amount=amount)
    return Payment("p" * 24, REQUEST, 1_850, "EUR", (), {}, NOW, paid, state, "lightning")


def way(name: str, quote: Quote | None = SATS, **fields: Any) -> Way:
    """Return a way to pay; Lightning kinds are automatic and converted."""
    kind, _, scheme = name.partition(":")
    is_bank = kind == "bank"
    account = PayoutAccount(
        f"account-{name}", "app", "mia", kind, scheme, not is_bank, (), "…", "", NOW, NOW
    )
    return Way(replace(account, **fields), EUROS if is_bank and quote else quote)


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


LIGHTNING, BANK = way("lightning"), way("bank:sepa")


def shown(*ways: Way, chosen: str | None = None) -> list[dict[str, Any]]:
    cards: list[dict[str, Any]] = page_values.way_values(ENGLISH, request(), ways, chosen)["ways"]
    return cards


def test_the_first_open_way_is_chosen_unless_the_payer_has() -> None:
    def picked(*ways: Way, chosen: str | None = None) -> list[str]:
        return [card["value"] for card in shown(*ways, chosen=chosen) if card["checked"]]

    closed = way("bank:sepa", quote=None)
    assert picked(BANK, LIGHTNING) == ["bank:sepa"]
    assert picked(closed, LIGHTNING) == ["lightning"]
    assert picked(BANK, LIGHTNING, chosen="lightning") == ["lightning"]
    assert picked(closed, LIGHTNING, chosen="bank:sepa") == ["lightning"]
    assert picked(BANK, LIGHTNING, chosen="nonsense") == ["bank:sepa"]
    assert picked(closed) == []


def test_each_way_says_what_happens_and_what_it_costs() -> None:
    lightning, bank = shown(LIGHTNING, BANK)
    assert (lightning["title"], lightning["amount"]) == ("Lightning", "≈ 20,312\xa0sat")
    assert lightning["how"] == "Takes a few seconds, from any Lightning wallet."
    rate = lightning["rate"]
    assert rate.before == "1 EUR = 1,097.946 sat (median of a.example and b.example, "
    assert rate.moment.style == "clock"
    assert (bank["title"], bank["amount"], bank["rate"]) == ("Bank transfer", "€18.50", None)
    assert bank["how"] == "From your banking app; Mia's Ceramics confirms when it arrives."
    (slow,) = shown(way("lightning", automatic=False))
    assert slow["how"] == "From any Lightning wallet; Mia's Ceramics confirms when it arrives."


@pytest.mark.parametrize(
    ("terms", "units"),
    [({"choice": AmountChoice(300, (1850,))}, None), ({"max_quantity": 3}, Units(9, 9))],
)
def test_ways_show_no_sum_that_the_payer_still_decides(
    terms: dict[str, Any], units: Units | None
) -> None:
    """The rate alone; the checkout names what is to be paid."""
    open_sum = replace(request(), terms=replace(request().terms, **terms), units=units)
    shown = page_values.way_values(ENGLISH, open_sum, [LIGHTNING, BANK], None)["ways"]
    assert [card["amount"] for card in shown] == [None, None]
    assert shown[0]["rate"].before.startswith("1 EUR = 1,097.946 sat")


def test_wallets_are_one_way_to_payers_and_told_apart_all_the_same() -> None:
    """A further one by its host, not by the seller's name there."""

    ways = (
        way("lnbits", label="lnbits.example"),
        way("nwc", label="relay.example · 12ab…34cd"),
        way("lightning", label="mia@wallet.example"),
        BANK,
    )
    assert [card["title"] for card in shown(*ways)] == [
        *("Lightning", "Lightning (relay.example)", "Lightning (wallet.example)"),
        "Bank transfer",
    ]
    assert [card["rate"] is not None for card in shown(*ways)] == [True, False, False, False]


@pytest.mark.parametrize(
    ("ways", "why"),
    [
        (
            (way("lightning", quote=None), BANK),
            (
                "The price can't be converted right now."
                " Try again in a few minutes, or pay by bank transfer instead."
            ),
        ),
        (
            (way("lightning", quote=None), way("lnbits", quote=None)),
            "The price can't be converted right now. Please try again in a few minutes.",
        ),
    ],
)
def test_a_closed_way_says_why(ways: tuple[Way, ...], why: str) -> None:
    assert shown(*ways)[0]["why_not"] == why


@pytest.mark.parametrize(
    ("ways", "state"),
    [
        ((), None),
        ((LIGHTNING,), None),
        ((way("lightning", quote=None), BANK), None),
        ((way("lightning", quote=None),), UNPRICED),
    ],
)
def test_a_request_is_closed_when_all_of_its_ways_are(
    ways: tuple[Way, ...], state: str | None
) -> None:
    assert page_values.hindrance(ways) == state


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("lightning", "page-by-lightning"),
        ("nwc", "page-by-lightning"),
        *((f"bank:{scheme}", f"page-by-{scheme}") for scheme in ("sepa", "pix", "upi", "swiss")),
    ],
)
def test_the_only_way_is_named_by_the_button(name: str, key: str) -> None:
    assert page_values.way_values(ENGLISH, request(), [way(name)], None)["alone"] == key
    assert page_values.way_values(ENGLISH, request(), [way(name), BANK], None)["alone"] is None
