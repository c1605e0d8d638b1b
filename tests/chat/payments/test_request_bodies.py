"""The body of create: all that was wished for, and nothing that was not."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from bot.chat.forms.flow import Change
from bot.chat.forms.request_fields import EDITS
from bot.chat.forms.shares_and_amounts import divide_price, read_portions
from bot.chat.model.jobs import UnitCounts
from bot.chat.model.remote_request import ServerPrice
from bot.chat.model.replies import TEXT_LIMIT
from bot.chat.model.request_spec import RequestSpec, Share
from bot.chat.payments.create_attempt import (
    DIALECTS,
    dialects_to_try,
    is_about_spelling,
    is_price_right,
)
from bot.chat.payments.request_bodies import Addresses, edit_body, request_body
from bot.chat.payments.request_changes import (
    apply_edit,
    assume_edit,
    copy_spec,
    count_units,
    is_edit_made,
    removal_problem,
)
from bot.chat.store.link_rows import CREATING, LIVE, PaymentLink
from bot.core import exact_json
from bot.core.errors import FieldProblem
from bot.core.net.request_body import MAX_BODY
from bot.interface.bodies import CreateBody
from bot.interface.parts import AmountChoice
from tests.support.chat_harness import COFFEE, DROP, service_answer
from tests.support.service_harness import NOON

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


# What an edit says to the service, what it makes of a spec, and how doubts are settled: tables.


IMAGES = "https://bot.example.org/images"
EDIT_ADDRESSES = Addresses("https://bot.example.org/webhooks", IMAGES)
PACK = {"name": "Stickers", "description": "A pack"}
HOOK = {
    "webhookUrl": "https://bot.example.org/webhooks/token",
    "customParameters": {"listing": "abcdefghij"},
}
LATER = NOON + 3_600_500


def link(spec: RequestSpec = DROP, **told: Any) -> PaymentLink:
    known = service_answer(**told) if told else None
    return PaymentLink("abcdefghij", 1, 1, "token", LIVE, spec, "r", known, 0, NOON)


def change(field: str, value: str | int | None) -> Change:
    return Change("abcdefghij", field, value)


@pytest.mark.parametrize(
    ("field", "value", "body"),
    [
        ("name", "Tea", {"product": {**PACK, "name": "Tea"}}),
        ("description", "Hot", {"product": {**PACK, "description": "Hot"}}),
        ("description", None, {"product": {**PACK, "description": None}}),
        ("picture", "ab12", {"product": {**PACK, "imageUrl": f"{IMAGES}/ab12"}}),
        ("picture", None, {"product": {**PACK, "imageUrl": None}}),
        ("redirect", "https://x.test/", {"redirectUrl": "https://x.test/"}),
        ("redirect", None, {"redirectUrl": None}),
        ("email", "a@b.example", {"notifications": {"email": "a@b.example", "webhook": HOOK}}),
        ("email", None, {"notifications": {"email": None, "webhook": HOOK}}),
        ("end", LATER, {"expirationInSeconds": 3601}),
        ("end", NOON - 1, {"expirationInSeconds": 1}),
        ("end", None, {"expirationInSeconds": None}),
        ("units", 2, {"decreaseRemainingUnits": 2}),
    ],
)
def test_each_field_is_sent_as_the_interface_has_it(
    field: str, value: str | int | None, body: dict[str, Any]
) -> None:
    """The rest of its object is sent along: a server may replace that object as a whole."""
    assert edit_body(change(field, value), link(), EDIT_ADDRESSES, NOON) == body


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", "Tea"), ("description", None), ("picture", "x"), ("end", LATER), ("email", "a@b")],
)
def test_an_edit_changes_only_its_field_of_the_spec(field: str, value: str | int | None) -> None:
    other: dict[str, Any] = {EDITS[field].attribute: value}
    assert apply_edit(DROP, change(field, value)) == replace(DROP, **other)


@pytest.mark.parametrize(("number", "left"), [(1, 4), (4, 1), (5, 1), (9, 1)])
def test_removed_units_are_subtracted_from_the_spec_which_keeps_at_least_one(
    number: int, left: int
) -> None:
    """A spec of 0 units could not be parsed any more."""
    assert apply_edit(DROP, change("units", number)).units == left


@pytest.mark.parametrize(
    ("number", "told", "problem"),
    [
        (2, {"remaining_units": 3}, None),
        (3, {"remaining_units": 3}, None),
        (4, {"remaining_units": 3}, "units-too-many"),
        (5, {"remaining_units": 5}, "units-all"),
        (4, {}, None),
        (6, {}, "units-too-many"),
    ],
)
def test_at_most_the_units_left_are_removed_and_never_all_of_a_drop(
    number: int, told: dict[str, Any], problem: str | None
) -> None:
    assert removal_problem(link(DROP, **told), change("units", number)) == problem


@pytest.mark.parametrize(
    ("before", "later", "gone"),
    [
        (UnitCounts(10, 8, None, 2), UnitCounts(10, 6, None, 2), 2),
        (UnitCounts(10, 8, None, 2), UnitCounts(10, 8, None, 2), 0),
        (UnitCounts(10, 8, None, 2), UnitCounts(10, 5, None, 3), 2),
        (UnitCounts(10, 8, None, 2), UnitCounts(10, 5, None, 2), 3),
        (UnitCounts(10, 8, 2, 2), UnitCounts(10, 5, 3, 2), 2),
        (UnitCounts(10, 8, 2, 0), UnitCounts(10, 7, 3, 0), 0),
        (UnitCounts(10, 8, None, 2), UnitCounts(8, 5, None, 2), 2),
        (UnitCounts(10, None, None, 2), UnitCounts(10, 5, None, 2), None),
        (UnitCounts(10, 8, None, 2), UnitCounts(10, None, None, 2), None),
    ],
)
def test_removed_units_are_distinguished_from_sold_ones(
    before: UnitCounts, later: UnitCounts, gone: int | None
) -> None:
    """Payments are subtracted, by the server's count or ours; a lower total is the exact answer."""
    assert before.removed_until(later) == gone


def test_reserved_units_do_not_count_as_removed() -> None:
    before = count_units(service_answer(total_units=5, remaining_units=5), 0)
    later = count_units(service_answer(total_units=5, remaining_units=2, reserved_units=1), 0)
    assert before.removed_until(later) == 2


@pytest.mark.parametrize(
    ("edited", "told", "made"),
    [
        (change("name", "Tea"), {"product": {"name": "Tea", "imageUrl": None}}, True),
        (change("name", "Tea"), {"product": {"name": "Coffee"}}, False),
        (change("name", "Tea"), {}, False),
        (change("description", None), {"product": {"name": "Coffee", "description": ""}}, True),
        (change("description", None), {"product": {"name": "Coffee"}}, True),
        (change("description", None), {"product": {"name": "Coffee", "description": "x"}}, False),
        (change("picture", "x"), {"product": {"name": "Coffee"}}, False),
        (change("email", "a@b"), {"notifications": {"email": "a@b", "webhook": {}}}, True),
        (change("email", None), {"notifications": {"webhook": HOOK}}, True),
        (change("redirect", None), {"redirectUrl": "https://x.test"}, False),
    ],
)
def test_an_edit_counts_as_made_if_the_server_has_its_values(
    edited: Change, told: dict[str, Any], *, made: bool
) -> None:
    body = edit_body(edited, link(COFFEE), EDIT_ADDRESSES, NOON)
    assert is_edit_made(edited, body, service_answer(), told) is made


@pytest.mark.parametrize(
    ("value", "ends", "made"),
    [(None, None, True), (None, LATER, False), (LATER, None, False), (LATER, LATER + 900, True),
     (LATER, LATER + 900_000, False)],
)  # fmt: skip
def test_an_end_counts_as_made_if_the_servers_end_is_near(
    value: int | None, ends: int | None, *, made: bool
) -> None:
    edited = change("end", value)
    body = edit_body(edited, link(), EDIT_ADDRESSES, NOON)
    assert is_edit_made(edited, body, service_answer(expires_at=ends), {}) is made


def test_a_confirmed_edit_is_assumed_in_the_known_answer() -> None:
    known = service_answer(remaining_units=3, expires_at=NOON, is_enabled=False)
    assert assume_edit(known, change("units", 2)).remaining_units == 1
    assert assume_edit(known, change("end", None)) == replace(
        known, expires_at=None, is_enabled=True
    )
    assert assume_edit(known, change("name", "Tea")) == known


def test_a_duplicate_has_no_times_that_have_passed() -> None:
    """Otherwise it would have ended as soon as it is created."""
    past = replace(COFFEE, starts_at=NOON - 2, ends_at=NOON - 1)
    ahead = replace(COFFEE, starts_at=NOON + 1, ends_at=NOON + 2)
    assert (copy_spec(past, NOON), copy_spec(ahead, NOON)) == (COFFEE, ahead)


# How currencies are spelled, and when a price is the seller's.


@pytest.mark.parametrize(
    ("known", "names"),
    [
        (None, ["typed", "corrected", "sample"]),
        ("corrected", ["corrected", "typed", "sample"]),
        ("sample", ["sample", "typed", "corrected"]),
        ("of a later version", ["typed", "corrected", "sample"]),
    ],
)
def test_the_known_dialect_is_tried_first(known: str | None, names: list[str]) -> None:
    assert [one.name for one in dialects_to_try(known, COFFEE, "BSV")] == names


def test_dialects_that_spell_a_spec_alike_are_tried_once() -> None:
    """A price in the instrument currency needs no denomination."""
    tried = dialects_to_try(None, COFFEE, "USD")
    assert [one.spell(COFFEE, "USD") for one in tried] == [
        {"instrumentCurrencyCode": "USD"},
        {"currencyCode": "USD"},
    ]


def test_each_dialect_names_both_currencies() -> None:
    assert [one.spell(COFFEE, "BSV") for one in DIALECTS] == [
        {"instrumentCurrencyCode": "BSV", "denominationCurrencyCode": "USD"},
        {"instrumentCurrencyCode": "BSV", "currency": "USD"},
        {"currencyCode": "BSV", "denominatedIn": "USD"},
    ]


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (None, None),
        (ServerPrice("5", "USD", "BSV"), True),
        (ServerPrice("5.000", "USD"), True),
        (ServerPrice("5", "BSV", "BSV"), False),
        (ServerPrice("5.01", "USD", "BSV"), False),
        (ServerPrice("0", "USD", "BSV"), False),
        (ServerPrice("5", "USD", "MNEE"), False),
        (ServerPrice("1E+999999", "USD", "BSV"), False),
    ],
)
def test_a_price_is_right_to_the_last_decimal_and_in_both_currencies(
    price: ServerPrice | None, *, said: bool | None
) -> None:
    assert is_price_right(replace(service_answer(), price=price), COFFEE, "BSV") is said


def test_a_price_is_right_only_with_the_choice_that_was_wished_for() -> None:
    price, choice = ServerPrice("5", "USD", "BSV"), AmountChoice(300, (500, 1000))
    chosen = replace(COFFEE, choice=choice)
    answer = replace(service_answer(), price=price)
    assert is_price_right(answer, chosen, "BSV") is False
    assert is_price_right(replace(answer, choice=choice), chosen, "BSV") is True
    assert is_price_right(replace(answer, choice=choice), COFFEE, "BSV") is False
    other = replace(answer, choice=AmountChoice(300, (500, 900)))
    assert is_price_right(other, chosen, "BSV") is False


@pytest.mark.parametrize(
    ("field", "message", "expected"),
    [
        ("currency", "is not allowed", True),
        ("body.denominatedIn", "is not allowed", True),
        ("instrumentCurrencyCode", "is required", True),
        ("", "Unknown denomination", True),
        ("", "The currencies differ", True),
        ("", "Bad request", False),
        ("product.name", "names a currency", False),
        ("receivers.0.sendAmount", "is too small", False),
    ],
)
def test_only_a_refusal_about_currencies_may_be_about_their_spelling(
    field: str, message: str, *, expected: bool
) -> None:
    assert is_about_spelling(FieldProblem(field, message)) is expected
