"""What a seller's letter says about an order: its units, the payer's words, codes that lack."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import exact_json
from bot.interface.events import WebhookEvent
from bot.service.notifications.letter_texts import LetterOrigin, LetterTarget, payment_letter
from bot.service.wire import to_answers
from tests.support.letters import PAY, SENDER, letter
from tests.support.payment_reports import LETTER_REPORT, WEBHOOK_REPORT

JOINER = "\N{WORD JOINER}"
ADDRESSES = [
    "https://thief.example/pay",
    "thief.example",
    "write to ceo@bank.example now",
    "www.bank.example:8080/login",
    "bank。example",
    "javascript:alert(1)",
]


def text(**changes: Any) -> str:
    part = letter(**changes).get_body(("plain",))
    assert part
    return str(part.get_content())


def html(**changes: Any) -> str:
    part = letter(**changes).get_body(("html",))
    assert part
    return str(part.get_content())


def test_a_letter_has_the_units_and_the_payer_s_words() -> None:
    lines = text(
        amount=1500, quantity=3, name="Mia", message="For the drums!\nAnd more"
    ).splitlines()
    assert lines[0] == "$15.00 received"
    for line in ("Quantity: 3", "From: Mia", "Message: For the drums! And more"):
        assert line in lines


def test_a_letter_of_one_unit_without_words_says_nothing_of_them() -> None:
    for label in ("Quantity", "From", "Message", "code"):
        assert label not in text()


@pytest.mark.parametrize("written", ADDRESSES)
def test_no_mail_program_finds_an_address_in_a_payer_s_words(written: str) -> None:
    for field in ("name", "message"):
        shown = text(**{field: written})
        assert written not in shown
        assert written in shown.replace(JOINER, "")
        assert written not in html(**{field: written})


@given(st.text(max_size=280))
def test_a_payer_s_words_add_no_line_and_no_mark_up(written: str) -> None:
    words = {"name": written, "message": written}
    extra = len(text(**words).splitlines()) - len(text().splitlines())
    assert extra in {0, 2}
    assert html(**words).count("<a ") == html().count("<a ")


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            {"remaining_units": 0},
            "This payment arrived when you didn't have enough left. Please refund the payer.",
        ),
        (
            {"remaining_units": 2, "quantity": 3},
            "This payment was for 3 items, but only 2 were left. Please refund the payer.",
        ),
        (
            {"remaining_units": 1, "quantity": 3},
            "This payment was for 3 items, but only 1 was left. Please refund the payer.",
        ),
    ],
)
def test_a_letter_says_why_an_order_was_oversold(changes: dict[str, Any], warning: str) -> None:
    assert warning in text(oversold=True, **changes).splitlines()


@pytest.mark.parametrize(
    ("count", "line"),
    [
        (1, "One item you've sold still needs a code. Please add one."),
        (1200, "1,200 items you've sold still need codes. Please add more."),
    ],
)
def test_a_letter_asks_for_the_codes_that_lack(count: int, line: str) -> None:
    assert line in text(codes_waiting=count).splitlines()


def test_a_summary_has_orders_on_one_line_and_asks_once_for_codes() -> None:
    first = replace(LETTER_REPORT, codes_waiting=5)
    second = replace(
        LETTER_REPORT, transaction_id="d4", amount=1500, quantity=3, name="Mia",
        message="see x.example", codes_waiting=8,
    )  # fmt: skip
    target = LetterTarget("mail-7", LETTER_REPORT.address, "stop-7")
    part = payment_letter([first, second], target, LetterOrigin(SENDER, PAY)).get_body(("plain",))
    assert part
    told = str(part.get_content())
    assert f"$15.00 · 3 × Coffee · Mia · see x.{JOINER}example" in told
    waiting = "8 items you've sold still need codes. Please add more."
    assert waiting in told.splitlines()


def event(**changes: Any) -> dict[str, Any]:
    report = replace(WEBHOOK_REPORT, transaction_id="0" * 24, **changes)
    body: dict[str, Any] = exact_json.loads(to_answers.event(report).json_text())
    WebhookEvent.model_validate(body)
    return body


def test_a_webhook_has_the_order_only_where_it_says_something() -> None:
    plain = event()
    assert not {"quantity", "name", "message", "codesWaiting"} & plain.keys()
    order = {"quantity": 3, "name": "Mia", "message": "Hi!\nBye"}
    assert event(**order, codes_waiting=2) == plain | order | {"codesWaiting": 2}
