"""Quantity, name and message on the pay page."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bot.core.text import sanitize
from bot.service.pages.payer_form import read_order
from tests.service.pages.test_chosen_amounts import terms
from tests.support.service_harness import REQUESTS_PATH, ServiceHarness, form_token, only_problem

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


@pytest.mark.parametrize("quantity", ["0", "4", "-1", "1.5", "many", "1" * 50])
async def test_a_quantity_that_is_none_is_reported_at_its_field(
    service: ServiceHarness, quantity: str
) -> None:
    made = await service.create(**DROP)
    answer = await service.pay(made["id"], quantity=quantity)
    assert answer.status_code == 400
    assert only_problem(answer.text, "quantity") == "You can buy 1 to 3 at once."
    assert await service.rows("payments") == []


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
