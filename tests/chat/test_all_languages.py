"""What holds in every language: marks, examples and names of buttons as in English, and room."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from telegram.constants import CallbackQueryLimit

from bot.chat.cards.card_text import list_page, seller_card
from bot.chat.cards.payment_texts import payment_rows
from bot.chat.cards.request_card import Card
from bot.chat.conversation.actions import COMMANDS, described
from bot.chat.forms import questions
from bot.chat.forms.one_line import one_line
from bot.chat.model.drafts import Seller
from bot.chat.model.payment import PaymentMarks
from bot.chat.model.replies import units
from bot.chat.model.request_spec import KINDS
from bot.chat.store.payment_marks import FoundPayment, ListedPayment
from bot.core.text.translations import DEFAULT, languages, t
from tests.support.form_harness import OTHER, Talk, form_at_step
from tests.support.source_tree import VARIABLE, messages
from tests.support.telegram_limits import check, labels, parsed

TEXTS = {language: messages(language) for language in languages()}

TAG = re.compile(r"</?[a-z]+>")
COMMAND = re.compile(rf"/(?:{'|'.join(COMMANDS)})\b")
CALL = re.compile(r"(?:NUMBER|DATETIME)\([^)]*\)")
MOMENT = re.compile(r"DATETIME\(\$([a-z]+)")
EXAMPLE = re.compile(r"<code>/(donation|oneoff|drop) (.+)</code>")
IN_MENU = re.compile(r": (.+)")
AMOUNT = re.compile(r"<code>([^</]*[0-9][^</]* ?[A-Z]{3}|[^</]*€)</code>")

BESIDE = 18
"""Characters of a label that a narrow phone shows whole where two buttons share a row."""

TOASTS = (
    *(key for key in TEXTS[DEFAULT] if key.startswith("toast-")),
    *("only-in-private", "not-allowed", "button-unknown", "listing-gone", "listing-not-ready"),
)
NAMED = {
    "start": "button-new",
    "not-understood": "button-new",
    "ask-options": "button-done",
    "service-unchanged": "button-refresh",
    "service-no-news": "button-refresh",
    "service-silent": "button-refresh",
}
"""Texts that tell somebody to press a button, and the button."""

PLAIN = re.compile(r"(?:page|mail|bot|command|button|option|toast|mark|inline)-")
"""Keys of texts that are no message: pages and letters, buttons, what Telegram shows of a bot."""

DROP = Card(
    "abcdefghij", "drop", "Sticker", None, 250, "USD", 10, 7, 3, "active", "https://pay.example/1"
)


def marked(sent_at: int | None, paid_back_at: int | None) -> FoundPayment:
    """A payment with its seller's marks."""
    marks = PaymentMarks(sent_at=sent_at, paid_back_at=paid_back_at)
    paid = ListedPayment(
        250, "USD", {}, oversold=False, found=False, in_doubt=False, received_at=1,
        transaction_id="t1", marks=marks,
    )  # fmt: skip
    return FoundPayment(paid, DROP.link_id, DROP.name, is_listed=True, ids=("r", "t1"))


every_language = pytest.mark.parametrize("language", languages())


def marks(source: str) -> set[str]:
    """What of a text is no language: markup, commands, calls of functions, pictograms."""
    pictograms = {char for char in source if unicodedata.category(char) == "So"}
    return {*TAG.findall(source), *COMMAND.findall(source), *CALL.findall(source), *pictograms}


def filled(language: str, key: str, number: int) -> str:
    """A text with this number for every value, and a time where it wants one."""
    source = TEXTS[DEFAULT][key]
    values: dict[str, object] = dict.fromkeys(VARIABLE.findall(source), number)
    values |= dict.fromkeys({"example", "other"} & {*values}, "5 USD")
    values |= dict.fromkeys(MOMENT.findall(source), datetime(2027, 1, 15, tzinfo=UTC))
    return t(language, key, **values)


@every_language
def test_a_text_has_the_same_marks_in_every_language(language: str) -> None:
    theirs = TEXTS[language]
    other = {
        key: marks(source) ^ marks(theirs[key])
        for key, source in TEXTS[DEFAULT].items()
        if marks(source) != marks(theirs[key])
    }
    assert not other


@every_language
@pytest.mark.parametrize("number", [0, 1, 2, 5, 1000])
def test_every_text_can_be_filled_with_any_number(language: str, number: int) -> None:
    """And where Telegram reads markup, it finds no fault."""
    for key in TEXTS[language]:
        text = filled(language, key, number)
        if not PLAIN.match(key):
            parsed(text)


@every_language
def test_a_toast_fits_into_an_answer_to_a_press(language: str) -> None:
    longest = {"bot": "x" * 32}
    for key in TOASTS:
        values = {name: longest[name] for name in VARIABLE.findall(TEXTS[language][key])}
        assert units(t(language, key, **values)) <= (
            CallbackQueryLimit.ANSWER_CALLBACK_QUERY_TEXT_LENGTH
        )


@every_language
def test_buttons_that_share_a_row_are_short(language: str) -> None:
    talk = form_at_step("review")
    talk.seller = Seller(language, "$anna", "USD")
    talk.press("options")
    shown = (
        *(questions.menu(language), seller_card(DROP, language).rows, talk.replies[-1].rows),
        *(
            seller_card(replace(DROP, status=each), language).rows
            for each in ("stopped", "soldOut")
        ),
        list_page([DROP], 1, 3, language).rows,
        *(payment_rows(marked(sent, back), language) for sent in (None, 1) for back in (None, 1)),
    )
    shared = [label for rows in shown for row in rows if len(row) > 1 for label in labels((row,))]
    assert len(shared) > 2 * 5
    assert [label for label in shared if len(label) > BESIDE] == []


@every_language
def test_a_text_names_a_button_as_the_button_does(language: str) -> None:
    for key, button in NAMED.items():
        label = t(language, button).lstrip("".join(marks(t(language, button)))).strip()
        assert label in filled(language, key, 1), key


@every_language
def test_every_example_of_a_line_creates_at_once(language: str) -> None:
    """In the help, below what was wrong, and in Telegram's menu."""
    texts = [t(language, key) for key in ("help", *(f"line-form-{kind}" for kind in KINDS))]
    examples = [found for text in texts for found in EXAMPLE.findall(text)]
    menu = dict(described(language))
    examples += [(kind, "".join(IN_MENU.findall(menu[kind]))) for kind in KINDS]
    assert len(examples) == 3 * len(KINDS)
    for kind, line in examples:
        talk = Talk(Seller(language, "$anna", None))
        talk.take(one_line(kind, line, OTHER, talk.seller))
        assert [spec.kind for spec in talk.specs] == [kind], line


@every_language
def test_every_example_of_an_amount_can_be_typed(language: str) -> None:
    found = {
        amount: key
        for key in TEXTS[language]
        if key.startswith(("ask-amount", "problem-"))
        for amount in AMOUNT.findall(filled(language, key, 2))
    }
    assert len(found) > 1
    for amount, key in found.items():
        talk = form_at_step("amount")
        talk.seller = Seller(language, "$anna", None)
        talk.say(amount)
        assert (talk.step, key) == ("units", key), amount


@every_language
def test_a_form_can_be_gone_through(language: str) -> None:
    """Every question can be asked, and the review shows what was answered."""
    talk = form_at_step("units")
    talk.seller = Seller(language, "$anna", None)
    talk.say("1000")
    assert "Coffee" in check(talk.replies[-1])
    assert t(language, "review") in talk.replies[-1].text
