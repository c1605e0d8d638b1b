"""Orders: amounts read as people write them, never guessed; quantity, name and message."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from bot.core.errors import FieldProblem, InvalidBody
from bot.core.text import sanitize
from bot.interface.parts import AmountChoice
from bot.interface.vocabulary import Kind
from bot.service.checkouts.order import AMOUNT, TOO_LARGE, TOO_SMALL
from bot.service.pages.payer_form import (
    AmountProblem,
    ChosenAmount,
    read_amount,
    read_order,
    with_amount_problem,
    write_amount,
)
from bot.service.requests.request import Product, Receiver, Terms
from tests.support.real_rails import OWNER, ScriptedRail, connect, open_real_service
from tests.support.service_harness import REQUESTS_PATH, ServiceHarness, form_token, only_problem

CHOICE: dict[str, Any] = {
    "receivers": [{"sendAmount": 5, "destination": "a"}],
    "amountChoice": {"minimum": 3, "suggested": [5, 10, 20], "maximum": 2000},
}
EUROS = AmountChoice(300, (500, 1000, 2000), 200_000)


def terms(choice: AmountChoice[int] | None = EUROS, currency: str = "EUR", **more: Any) -> Terms:
    price = choice.first if choice else 500
    return Terms(
        Kind.NEVER, Product("Tea"), (Receiver("a", price),), currency, choice=choice, **more
    )


@pytest.mark.parametrize(
    ("values", "amount"),
    [
        ([], None),
        (["5.00", ""], 500),
        (["other", "7.50"], 750),
        (["7.50"], 750),
        (["7,50"], 750),
        (["٧٫٥٠"], 750),
        (["٥"], 500),
        (["other", "€ 7,50"], 750),
        (["1 000"], 100_000),
        (["5.00", "5"], 500),
        (["3"], 300),
        (["2000"], 200_000),
        (["1000", "1.000"], 100_000),
    ],
)
def test_an_amount_is_read_as_people_write_it(values: list[str], amount: int | None) -> None:
    """From the button, the text, or one of them alone; a form without it means the price."""
    assert read_amount(values, terms()) == ChosenAmount(amount)


@pytest.mark.parametrize(
    ("values", "problem", "readings"),
    [
        (["other", ""], AmountProblem.EMPTY, ()),
        ([""], AmountProblem.EMPTY, ()),
        (["other", "lots"], AmountProblem.UNREADABLE, ()),
        (["5 or 6"], AmountProblem.UNREADABLE, ()),
        (["7 USD"], AmountProblem.CURRENCY, ()),
        (["7 quatloos"], AmountProblem.CURRENCY, ()),
        (["2.99"], AmountProblem.LOW, ()),
        (["0"], AmountProblem.LOW, ()),
        (["-5"], AmountProblem.LOW, ()),
        (["2000.01"], AmountProblem.HIGH, ()),
        (["9999999999"], AmountProblem.HIGH, ()),
        (["7.505555"], AmountProblem.DECIMALS, ()),
        (["5.00", "7.50"], AmountProblem.BOTH, (500, 750)),
        (["7.50", "8"], AmountProblem.BOTH, (750, 800)),
        (["5.000"], AmountProblem.AMBIGUOUS, (500,)),
        (["1.000"], AmountProblem.AMBIGUOUS, (100_000,)),
        (["1.005"], AmountProblem.AMBIGUOUS, (100_500,)),
        (["3.000", "other"], AmountProblem.AMBIGUOUS, (300,)),
    ],
)
def test_what_is_no_amount_is_asked_about(
    values: list[str], problem: AmountProblem, readings: tuple[int, ...]
) -> None:
    assert read_amount(values, terms()) == ChosenAmount(None, problem, readings)


@pytest.mark.parametrize(
    ("currency", "text", "minor", "problem"),
    [
        ("JPY", "500", 500, None),
        ("JPY", "500.5", None, AmountProblem.DECIMALS),
        ("KWD", "1.5005", None, AmountProblem.DECIMALS),
        ("KWD", "1,25", 1250, None),
        ("BTC", "0.00012345", 12_345, None),
    ],
)
def test_each_currency_has_its_own_decimals(
    currency: str, text: str, minor: int | None, problem: AmountProblem | None
) -> None:
    assert read_amount([text], terms(AmountChoice(1), currency)) == ChosenAmount(minor, problem)


@pytest.mark.parametrize("currency", ["EUR", "JPY", "KWD", "BTC", "SAT"])
def test_the_value_of_a_button_can_be_read_in_one_way(currency: str) -> None:
    """Three decimals would look like thousands."""
    for amount in (1, 500, 1_500, 1_501, 1_234_567):
        choice, value = AmountChoice(1, (amount,)), write_amount(amount, currency)
        assert read_amount([value], terms(choice, currency)).amount == amount


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["5"], None),
        (["5,00"], None),
        (["other", ""], None),
        (["7"], AmountProblem.FIXED),
        (["5.000"], AmountProblem.FIXED),
        (["5 USD"], AmountProblem.FIXED),
        (["lots"], AmountProblem.FIXED),
    ],
)
def test_a_fixed_price_takes_no_other_amount(
    values: list[str], problem: AmountProblem | None
) -> None:
    assert read_amount(values, terms(None)) == ChosenAmount(None, problem)


def test_the_sum_of_all_units_has_the_bound_of_amounts() -> None:
    drop = terms(AmountChoice(1), max_quantity=100)
    assert read_order(drop, ["10000000"], {"quantity": "100"}).is_sound
    refused = read_order(drop, ["10000000.01"], {"quantity": "100"})
    assert refused.chosen.problem is AmountProblem.HIGH


async def refused(service: ServiceHarness, request_id: str, *amounts: str) -> httpx.Response:
    answer = await post(service, request_id, *amounts)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert await service.rows("payments") == []
    return answer


async def post(
    service: ServiceHarness, request_id: str, *amounts: str, token: str = "t" * 32
) -> httpx.Response:
    form = {"token": token, "amount": [*amounts]}
    return await service.anyone.post(f"/pay/{request_id}", data=form)


def buttons(page: str) -> list[tuple[str, bool]]:
    """Return the values of the radio buttons, and which is pressed."""
    found = re.findall(r'type="radio" name="amount" value="([^"]+)"( checked)?', page)
    return [(value, bool(checked)) for value, checked in found]


async def test_the_page_offers_the_suggestions_and_an_own_amount(service: ServiceHarness) -> None:
    made = await service.create(**CHOICE, instrumentCurrencyCode="EUR")
    german = await service.anyone.get(f"/pay/{made['id']}", headers={"Accept-Language": "de"})
    assert buttons(german.text) == [
        ("5.00", True), ("10.00", False), ("20.00", False), ("other", False),
    ]  # fmt: skip
    for text in (
        "Ab 3\xa0€",
        "3\xa0€ bis 2.000\xa0€",
        ">10\xa0€<",
        "Mit Testgeld bezahlen",
    ):
        assert text in german.text


async def test_the_chosen_amount_is_paid(service: ServiceHarness) -> None:
    """By its button, as an own one, in the digits of the payer; the receipt shows the sum."""
    made = await service.create(**CHOICE)
    for token, amounts in (("a", ("10.00", "")), ("b", ("other", "٧٫٥٠")), ("c", ("3",))):
        answer = await post(service, made["id"], *amounts, token=token * 32)
        assert answer.status_code == 303
    assert "$3.00" in (await service.anyone.get(answer.headers["location"])).text
    listed = await service.seller.get(f"{REQUESTS_PATH}/{made['id']}/payments")
    assert sorted(one["amount"] for one in listed.json()["items"]) == [3, 7.5, 10]


async def test_a_refused_amount_is_reported_at_its_field(service: ServiceHarness) -> None:
    """With what to do, and the form as the payer left it."""
    made = await service.create(**CHOICE)
    answer = await refused(service, made["id"], "other", "1,50")
    assert only_problem(answer.text, "amount") == "The minimum is $3.00. Enter that or more."
    assert 'name="amount" value="1,50"' in answer.text
    assert ("other", True) in buttons(answer.text)
    assert (
        await post(service, made["id"], "other", "3", token=form_token(answer.text))
    ).is_redirect


async def test_an_ambiguous_amount_is_asked_about(service: ServiceHarness) -> None:
    """Its readings are buttons; one of them, with the text still there, is paid."""
    made = await service.create(**CHOICE | {"amountChoice": {"minimum": 1, "suggested": [5]}})
    answer = await refused(service, made["id"], "other", "1.500")
    assert "That can be read in more than one way." in answer.text
    assert buttons(answer.text) == [
        ("1.50", False), ("1500.00", False), ("5.00", False), ("other", False),
    ]  # fmt: skip
    assert 'name="amount" value="1.500"' in answer.text
    paid = await post(service, made["id"], "1500.00", "1.500")
    assert paid.status_code == 303
    assert [row["amount"] for row in await service.rows("payments")] == [150_000]


async def test_the_one_reading_that_can_be_paid_is_asked_about(service: ServiceHarness) -> None:
    """Of `1.505` in dollars the other one has too many decimals, so it is not spoken of."""
    made = await service.create(**CHOICE)
    answer = await refused(service, made["id"], "other", "1.505")
    assert "Did you mean $1,505.00? Choose it, or enter another amount." in answer.text
    assert buttons(answer.text)[0] == ("1505.00", False)
    assert (await post(service, made["id"], "1505.00", "1.505")).status_code == 303


async def test_a_button_and_another_text_are_asked_about(service: ServiceHarness) -> None:
    """Both are buttons then, none is pressed, and the text is empty."""
    made = await service.create(**CHOICE)
    answer = await refused(service, made["id"], "5.00", "7.50")
    assert buttons(answer.text)[:2] == [("5.00", False), ("7.50", False)]
    assert not any(checked for _, checked in buttons(answer.text))
    assert 'id="amount" name="amount" value=""' in answer.text
    assert (await post(service, made["id"], "7.50", "")).status_code == 303


async def test_a_fixed_price_refuses_another_amount(service: ServiceHarness) -> None:
    made = await service.create()
    answer = await refused(service, made["id"], "6")
    assert "The price is $5.00. Please check it before you pay." in answer.text
    assert (await post(service, made["id"], "5.00")).status_code == 303


async def test_a_field_with_several_values_is_refused(service: ServiceHarness) -> None:
    """But for the amount; the same value twice is one."""
    made = await service.create()
    for tokens, status in ((["t" * 32, "u" * 32], 400), (["t" * 32, "t" * 32], 303)):
        answer = await service.anyone.post(f"/pay/{made['id']}", data={"token": tokens})
        assert answer.status_code == status


@pytest.mark.parametrize(
    ("field", "code", "problem"),
    [
        (AMOUNT, TOO_SMALL, AmountProblem.TINY),
        (AMOUNT, TOO_LARGE, AmountProblem.HIGH),
        ("way", TOO_SMALL, None),
    ],
)
def test_an_amount_that_a_way_cannot_take_is_reported_at_its_field(
    field: str, code: str, problem: AmountProblem | None
) -> None:
    """Only the way to pay decides what it comes to in its currency."""
    order = read_order(terms(), ["other", "3"], {})
    misfit = with_amount_problem(order, InvalidBody(info=[FieldProblem(field, "is odd", code)]))
    assert (misfit and misfit.chosen.problem) == problem


async def test_a_chosen_price_in_another_currency_shows_its_rate(service: ServiceHarness) -> None:
    """No sum of the price that the payer may not choose."""
    made = await service.create(
        **CHOICE | {"instrumentCurrencyCode": "BSV", "denominationCurrencyCode": "EUR"}
    )
    page = (await service.anyone.get(f"/pay/{made['id']}")).text
    assert "You&#39;ll pay in BSV (1 EUR = " in page


async def test_a_way_is_open_for_the_amounts_that_come_to_something_there(
    database_url: str,
) -> None:
    """1 IDR is less than half a satoshi: it is refused where it is chosen, and 10,000 are paid."""
    async with open_real_service(database_url, ScriptedRail()) as service:
        assert (await connect(service)).status_code == 200
        rupiahs = {"instrumentCurrencyCode": "IDR", "amountChoice": {"minimum": 1}}
        to_anna = [{"sendAmount": 1, "destination": f"account:{OWNER}"}]
        made = await service.create(**rupiahs, receivers=to_anna)
        page = (await service.anyone.get(f"/pay/{made['id']}")).text
        assert 'id="amount" name="amount"' in page
        assert "1 IDR = " in page
        answer = await refused(service, made["id"], "other", "1")
        assert "That&#39;s too little to pay this way. Enter a larger amount." in answer.text
        again = await post(service, made["id"], "other", "10000", token=form_token(answer.text))
        assert again.status_code == 303
        (row,) = await service.rows("checkouts")
        assert json.loads(row["quote"])["amount"] == 606


async def test_a_way_is_closed_if_no_amount_comes_to_something_there(database_url: str) -> None:
    async with open_real_service(database_url, ScriptedRail()) as service:
        assert (await connect(service)).status_code == 200
        made = await service.create(
            instrumentCurrencyCode="IDR",
            amountChoice={"minimum": 1, "maximum": 5},
            receivers=[{"sendAmount": 1, "destination": f"account:{OWNER}"}],
        )
        page = (await service.anyone.get(f"/pay/{made['id']}")).text
        assert "Price unavailable" in page


DROP: dict[str, Any] = {"expirationType": "limit", "totalUnits": 5, "maxQuantity": 3}
FAMILY = "👨\u200d👩\u200d👧"
"""One character to its reader, five code points."""


def quantities(page: str) -> list[tuple[str, bool]]:
    found = re.findall(r"<option( selected)?>(\d+)</option>", page)
    return [(number, bool(selected)) for selected, number in found]


async def test_several_units_are_one_payment(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    page = (await service.anyone.get(f"/pay/{made['id']}")).text
    assert quantities(page) == [("1", True), ("2", False), ("3", False)]
    assert "$5.00 each" in page
    path = (await service.pay(made["id"], quantity="3")).headers["location"]
    receipt = (await service.anyone.get(path)).text
    assert "3 × $5.00" in receipt
    assert "$15.00" in receipt
    assert (await service.get(made["id"]))["remainingUnits"] == 2


async def test_more_than_are_left_are_refused_whole(service: ServiceHarness) -> None:
    """The page says how many are left, and its form offers them with the rest as it was."""
    made = await service.create(**DROP, requestedUserData=["email"])
    await service.pay(made["id"], quantity="3", email="a@b.example")
    given = {"email": "c@b.example", "name": "Mia", "message": "Hello"}
    answer = await service.pay(made["id"], "u" * 32, quantity="3", **given)
    assert answer.status_code == 409
    assert only_problem(answer.text, "quantity").startswith("Only 2 left.")
    assert quantities(answer.text) == [("1", False), ("2", True)]
    for value in ('value="c@b.example"', 'value="Mia"', "Hello</textarea>"):
        assert value in answer.text
    assert (await service.get(made["id"]))["remainingUnits"] == 2
    token = form_token(answer.text)
    assert (await service.pay(made["id"], token, quantity="2", **given)).status_code == 303


async def test_a_quantity_that_is_none_is_reported_at_its_field(service: ServiceHarness) -> None:
    for quantity in (
        "0",
        "4",
        "-1",
        "1.5",
        "many",
        "1" * 50,
    ):
        made = await service.create(**DROP)
        answer = await service.pay(made["id"], quantity=quantity)
        assert answer.status_code == 400, quantity
        assert only_problem(answer.text, "quantity") == "You can buy 1 to 3 at once.", quantity
        assert await service.rows("payments") == [], quantity


async def test_without_a_quantity_one_unit_is_bought(service: ServiceHarness) -> None:
    """Where the seller allows no more, no quantity is asked for, and another is refused."""
    made = await service.create(expirationType="limit", totalUnits=5)
    assert quantities((await service.anyone.get(f"/pay/{made['id']}")).text) == []
    assert (await service.pay(made["id"], quantity="2")).status_code == 400
    assert (await service.pay(made["id"], quantity="1")).status_code == 303


async def test_name_and_message_reach_the_seller(service: ServiceHarness) -> None:
    """Without what could harm; the receipt, which people share, shows a letter of the name."""
    made = await service.create()
    words = {"name": " Mia\u202e \x00Ferreira\n", "message": "For the drums!\r\n\u2066Play on\x1b"}
    answer = await service.pay(made["id"], **words)
    assert answer.status_code == 303
    listed = await service.seller.get(f"{REQUESTS_PATH}/{made['id']}/payments")
    payment = listed.json()["items"][0]
    assert payment["name"] == "Mia Ferreira"
    assert payment["message"] == "For the drums!\nPlay on"
    receipt = (await service.anyone.get(answer.headers["location"])).text
    for hidden in ("Ferreira", "drums"):
        assert hidden not in receipt


async def test_without_words_a_payer_is_anonymous(service: ServiceHarness) -> None:
    made = await service.create()
    page = (await service.anyone.get(f"/pay/{made['id']}")).text
    assert '<details class="words">' in page
    await service.pay(made["id"], name=" \u200b", message="\n")
    listed = await service.seller.get(f"{REQUESTS_PATH}/{made['id']}/payments")
    assert not {"name", "message"} & listed.json()["items"][0].keys()


@pytest.mark.parametrize(("field", "most"), [("name", 80), ("message", 280)])
async def test_words_are_counted_as_people_see_them(
    service: ServiceHarness, field: str, most: int
) -> None:
    """A text that is too long is reported at its field, which stays open with it."""
    made = await service.create()
    fits, long = "é" * (most - 1) + FAMILY, "x" * (most + 1)
    answer = await service.pay(made["id"], **{field: long})
    assert answer.status_code == 400
    problem = f"That's {most + 1} characters; the limit is {most}. Please shorten it."
    assert only_problem(answer.text, field) == problem
    assert '<details class="words" open>' in answer.text
    assert long in answer.text
    assert (await service.pay(made["id"], **{field: fits})).status_code == 303


def test_marks_piled_on_a_letter_count_beyond_a_bound() -> None:
    """A reader sees one character; alerts and letters have bounds of their own."""
    piled = "a" + "\u0301" * 31
    assert read_order(terms(), [], {"name": piled}).too_long == {}
    assert read_order(terms(), [], {"name": piled * 11}).too_long == {"name": 352}


def test_a_text_much_too_long_is_counted_at_once() -> None:
    """To split it takes a tenth of a second, for which all payers wait."""
    accented = "e\u0301"
    assert read_order(terms(), [], {"name": accented * 81}).too_long == {"name": 81}
    assert read_order(terms(), [], {"message": accented * 30_000}).too_long == {"message": 60_000}


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (FAMILY, FAMILY),
        (
            "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627",
            "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627",
        ),
        ("\U0001f3f4\U000e0067\U000e0062\U000e007f", "\U0001f3f4\U000e0067\U000e0062\U000e007f"),
        ("a\u2028b\tc", "a\nb c"),
        ("a\vb\fc\x85d\u2029e\rf\r\ng\x1eh", "a\nb\nc\nd\ne\nf\ng\nh"),
        ("\u202eevil", "evil"),
        (" \u200d ", ""),
        ("\ud800x", "x"),
    ],
)
def test_words_keep_joiners_and_lose_what_reorders_text(raw: str, kept: str) -> None:
    assert sanitize.words(raw) == kept
