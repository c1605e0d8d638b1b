"""The body of create: all that was wished for, and nothing that was not."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from bot.chat.forms.shares_and_amounts import divide_price, read_portions
from bot.chat.model.replies import TEXT_LIMIT
from bot.chat.model.request_spec import RequestSpec, Share
from bot.chat.payments.request_bodies import Addresses, request_body
from bot.chat.store.link_rows import CREATING, PaymentLink
from bot.core import exact_json
from bot.core.net.request_body import MAX_BODY
from bot.interface.bodies import CreateBody
from bot.interface.parts import AmountChoice

NOW = 1_800_000_000_000
ADDRESSES = Addresses("https://bot.example/hooks", "https://bot.example/images")
PLAIN = RequestSpec("donation", "Coffee", None, 500, "USD", None, "$anna")
FULL = RequestSpec(
    "drop", "Coffee", "Warm", 500, "USD", 10, "$anna",
    receivers=(Share("$anna", 300, "60%"), Share("$ben", 200, "40%")),
    instrument="BSV", image="0" * 24,
    starts_at=NOW + 60_000, ends_at=NOW + 90_500, payer_fields=("email", "paymail"),
    redirect_url="myapp://paid", email="anna@example.org",
)  # fmt: skip
WEBHOOK = {
    "webhookUrl": "https://bot.example/hooks/token",
    "customParameters": {"listing": "abcdefghij"},
}


def body(spec: RequestSpec, instrument: str | None = None, now: int = NOW) -> dict[str, object]:
    link = PaymentLink("abcdefghij", 1, 1, "token", CREATING, spec, None, None, 0, NOW)
    made = request_body(link, ADDRESSES, instrument, now)
    CreateBody.model_validate(made)
    return made


def test_a_plain_spec_sends_only_the_required_fields() -> None:
    assert body(PLAIN) == {
        "product": {"name": "Coffee"},
        "instrumentCurrencyCode": "USD",
        "receivers": [{"sendAmount": Decimal("5.00"), "destination": "$anna"}],
        "notifications": {"webhook": WEBHOOK},
        "expirationType": "never",
    }


CHOSEN = replace(
    PLAIN, choice=AmountChoice(300, (500, 1050)), goal=100_000, thanks="Thank you!\nSee you"
)


def test_what_payers_choose_from_goes_along_with_its_first_amount() -> None:
    sent = body(CHOSEN)
    assert sent["amountChoice"] == {
        "minimum": Decimal("3.00"), "suggested": [Decimal("5.00"), Decimal("10.50")],
    }  # fmt: skip
    assert sent["receivers"] == [{"sendAmount": Decimal("5.00"), "destination": "$anna"}]
    assert (sent["goal"], sent["thanks"]) == (Decimal("1000.00"), "Thank you!\nSee you")
    least = body(replace(PLAIN, amount=300, choice=AmountChoice(300, (), 50_000)))
    assert least["amountChoice"] == {"minimum": Decimal("3.00"), "maximum": Decimal("500.00")}
    drop = body(replace(FULL, max_quantity=3))
    assert drop["maxQuantity"] == 3


LINK = "https://t.me/my_bot?start=r-{requestId}-{transactionId}"


@pytest.mark.parametrize(("name", "address"), [("my_bot", LINK), ("", None)])
def test_the_bot_keeps_the_receipts_of_the_embedded_service(name: str, address: str | None) -> None:
    link = PaymentLink("abcdefghij", 1, 1, "token", CREATING, PLAIN, None, None, 0, NOW)
    sent = request_body(link, replace(ADDRESSES, bot_name=lambda: name), None, NOW)
    CreateBody.model_validate(sent)
    assert sent.get("keepUrl") == address
    assert "keepUrl" not in body(PLAIN)


def test_receipts_are_kept_on_the_chat_page_of_the_demo() -> None:
    name = "my_bot"
    here = replace(ADDRESSES, bot_name=lambda: name, chat_page="http://127.0.0.1:8080/chat")
    assert here.keep == "http://127.0.0.1:8080/chat?start=r-{requestId}-{transactionId}"
    name = ""
    assert here.keep is None, "before the bot was reached"


def test_a_full_spec_sends_each_field() -> None:
    """Seconds are counted from now and rounded up: the interface counts them from creation."""
    assert body(FULL) == {
        "product": {
            "name": "Coffee",
            "description": "Warm",
            "imageUrl": f"https://bot.example/images/{'0' * 24}",
        },
        "instrumentCurrencyCode": "BSV",
        "denominationCurrencyCode": "USD",
        "receivers": [
            {"sendAmount": Decimal("3.00"), "destination": "$anna"},
            {"sendAmount": Decimal("2.00"), "destination": "$ben"},
        ],
        "notifications": {"webhook": WEBHOOK, "email": "anna@example.org"},
        "expirationType": "limit",
        "totalUnits": 10,
        "requestedUserData": ["email", "paymail"],
        "redirectUrl": "myapp://paid",
        "enabledAt": "2027-01-15T08:01:00.000Z",
        "expirationInSeconds": 91,
    }


@pytest.mark.parametrize(
    ("wished", "operators", "paid_in"),
    [(None, None, "USD"), (None, "BSV", "BSV"), ("MNEE", "BSV", "MNEE"), ("BTC", None, "BTC")],
)
def test_the_sellers_instrument_overrides_the_operators(
    wished: str | None, operators: str | None, paid_in: str
) -> None:
    sent = body(replace(PLAIN, instrument=wished), operators)
    assert sent["instrumentCurrencyCode"] == paid_in
    assert sent.get("denominationCurrencyCode") == (None if paid_in == "USD" else "USD")


def test_times_that_passed_during_an_outage_are_adjusted() -> None:
    """It opens at once, and ends in one second, the least that the interface takes."""
    sent = body(FULL, now=NOW + 100_000)
    assert "enabledAt" not in sent
    assert sent["expirationInSeconds"] == 1


def test_the_service_accepts_as_many_receivers_as_one_message_holds() -> None:
    """A message of 4,096 characters holds about a thousand lines, each a receiver."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    typed = "\n".join(f"{one}{two}" for one in letters[:28] for two in letters)[: 3 * 1000 - 1]
    assert len(typed) <= TEXT_LIMIT
    portions = read_portions(typed, "USD")
    assert isinstance(portions, tuple)
    shares = divide_price(portions, 123_456, "USD")
    assert isinstance(shares, tuple)
    spec = replace(PLAIN, amount=123_456, receivers=shares)
    sent = body(RequestSpec.from_json(spec.to_json()) or PLAIN)
    assert len(shares) == 1000
    assert len(exact_json.dumps(sent).encode()) <= MAX_BODY
