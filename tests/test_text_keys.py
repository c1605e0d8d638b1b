"""Code and texts agree: each key in the code has a text, and each text is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import get_args

import pytest

from bot.chat.cards.card_text import EMAIL_STATES, STAMPED_STATUSES, seller_card
from bot.chat.cards.menus import more_menu
from bot.chat.cards.request_card import Card
from bot.chat.conversation.actions import COMMANDS
from bot.chat.conversation.sharing import FILES
from bot.chat.forms.request_fields import EDITS, FIELDS, MENU, STEPS
from bot.chat.model.drafts import PROFILE_STEPS
from bot.chat.model.payment import NOTED, UNDO
from bot.chat.model.payout import BIC
from bot.chat.model.payout import WAYS as ACCOUNTS
from bot.chat.model.request_spec import GOODS_KINDS, KINDS
from bot.chat.store.link_rows import ALERTS
from bot.core import errors
from bot.core.brand import COLOURS
from bot.core.text.translations import DEFAULT
from bot.interface.vocabulary import NO_PAYOUT, PAYOUT_KINDS, DetailError, PayerField, Status
from bot.service.pages.checkout_values import BANK_FIELDS, CASES, SENT_BUTTONS
from bot.service.pages.page_values import TAP
from bot.service.pages.payer_form import WORDS, AmountProblem
from bot.service.pages.site_routes import PRIVACY_PARTS
from bot.service.rails.rail import SandboxScenario
from bot.service.requests.request import PAUSED, RESERVED, UNPRICED, WAY_CLOSED
from tests.support import source_tree
from tests.support.source_tree import BOT, messages
from tests.support.telegram_limits import actions

CODE = [path for path in source_tree.FILES if "sandbox" not in path.parts]
TEMPLATES = sorted((BOT / "service").glob("*/templates/*.html"))
TEXTS = messages(DEFAULT)

STATUSES = (
    *("active", "scheduled", "expired", "stopped", "completed", "soldOut"),
    *("noPayoutAccount", "outdated"),
)
PAYER = get_args(PayerField)
PAGE_STATES = (
    *(status for status in Status if status is not Status.ACTIVE),
    PAUSED,
    UNPRICED,
    WAY_CLOSED,
    NO_PAYOUT,
)
WAYS = ("sepa", "pix", "upi", "swiss", "lightning")
REFUSALS = (
    *(errors.InvalidBody, errors.BodyTooLarge, errors.UnsupportedMediaType),
    *(errors.RateLimited, errors.TooManyHolds, errors.MethodNotAllowed, errors.CrossSite),
)
REFUSED = (*(refusal.code for refusal in REFUSALS), "internal", "unavailable")

READING = re.compile(r"\A(\w+\.)?(read_lines?\(|partial\((\w+\.)?read_line)")
FORMS = sorted((BOT / "chat" / "forms").glob("*.py"))
HOURS = ("zone", "quiet", "summary")
ON_CARD = ("poster", "payments", "edit", "alerts", "delete", "refresh", "stop", "resume")


def read_texts() -> set[str]:
    """Return the names for which forms read a text.

    Calls are `read_line(text, "name", …)` and `partial(read_line, field="name", …)`.
    """
    named: set[object] = set()
    for _, node in source_tree.nodes(ast.Call, FORMS):
        if not READING.search(ast.unparse(node)):
            continue
        given = [keyword.value for keyword in node.keywords if keyword.arg == "field"]
        named |= {
            name.value for name in (*node.args[1:2], *given) if isinstance(name, ast.Constant)
        }
    return {str(name) for name in named}


def shown_on_cards() -> set[str]:
    """Return the first words of the buttons of a card and of its menu "More"."""
    words = set()
    for status in ("active", "stopped"):
        card = Card(
            "abcde12345", "drop", "Tea", None, 500, "USD", 9, 9, 0, status, "https://x.test"
        )
        replies = (seller_card(card, DEFAULT), more_menu(card, DEFAULT))
        words |= {action[0] for reply in replies for action in actions(reply.rows)}
    return words


TYPED = (*sorted(read_texts()), "paidback", "sent")
MANAGED = tuple(word for word in sorted(shown_on_cards()) if f"button-{word}" in TEXTS)
"""What a card's buttons do with its request."""

STANDINGS = (
    *("waiting", "lapsed", "confirming", "rejecting", "confirmed", "paid", "rejected", "closed"),
)
"""How claims stand."""

MARKS = tuple(word for mark in NOTED for word in (mark, UNDO[mark]))

CONSENTS = (
    *("confirm", "done", "lapsed", "stop", "stopped", "all-stopped", "unknown"),
    *("receipts", "receipts-stopped", "receipts-all"),
)

COMPOSED: dict[str, list[tuple[str, ...]]] = {
    "accent-{}": [(accent,) for accent in COLOURS],
    "ask-{}": [
        (step,)
        for step in sorted({step for name in STEPS if name != "payout" for step in STEPS[name]})
        if step not in ("amount", "review")
    ],
    "ask-amount-{}": [(kind,) for kind in KINDS],
    "button-{}": [
        (word,)
        for word in (
            *(*KINDS, *HOURS, *FILES, *MANAGED, *MARKS, *PROFILE_STEPS),
            *("previous", "next", "continue", "restart", "cancel"),
        )
    ],
    "button-alerts-{}": [(mode,) for mode in ALERTS],
    "button-file-{}": [("yes",), ("no",), ("photo",)],
    "button-goods-{}": [(word,) for word in (*GOODS_KINDS, "again")],
    "button-payout-{}": [(kind,) for kind in PAYOUT_KINDS],
    "button-edit-{}": [(field,) for field in EDITS],
    "card-gets-{}": [("text",), ("file",), ("codes",)],
    "card-email-{}": [(state,) for state in sorted(EMAIL_STATES)],
    "consent-{}": [(name,) for name in CONSENTS],
    "consent-{}-why": [(name,) for name in CONSENTS],
    "consent-button-{}": [("confirm",), ("seller",), ("receipts",), ("everybody",)],
    "claims-{}": [(standing,) for standing in STANDINGS],
    "cleared-{}": [(field,) for field, each in EDITS.items() if each.is_optional],
    "command-{}": [(name,) for name in COMMANDS],
    "destination-{}": [("test",), ("handcash",), ("other",)],
    "goods-codes-{}": [("fits",), ("few",), ("many",)],
    "kind-{}": [(kind,) for kind in KINDS],
    "line-form-{}": [(kind,) for kind in KINDS],
    "mark-{}": [(status,) for status in (*STATUSES, "reserved")],
    "mark-stays-{}": [(mark,) for mark in NOTED],
    "marks-{}-{}": [
        (mark, way) for mark in NOTED for way in ("telegram", "email", "none", "unsure")
    ],
    "option-{}": [(field.name,) for field in MENU],
    "page-{}": [(word,) for word in (*PAYER, *WORDS, *PAGE_STATES, *REFUSED)],
    "page-amount-{}": [(problem,) for problem in AmountProblem],
    "page-private-{}": [(part,) for part in PRIVACY_PARTS],
    "page-private-{}-why": [(part,) for part in PRIVACY_PARTS],
    "page-by-{}": [(name,) for name in WAYS],
    "page-checkout-{}": [(state,) for state in CASES],
    "page-checkout-{}-{}": [(state, case) for state, each in CASES.items() for case in each],
    "page-claimed-help-{}": [(way,) for way in SENT_BUTTONS],
    "page-code-{}": [(name,) for name in WAYS],
    "page-field-{}": [(field,) for field in BANK_FIELDS],
    "page-way-{}": [(name,) for name in (*WAYS, "other")],
    "page-way-{}-how": [(name,) for name in (*WAYS, TAP)],
    "page-manner-{}": [(scenario,) for scenario in SandboxScenario],
    "page-{}-hint": [(field,) for field in PAYER],
    "page-{}-empty": [(field,) for field in PAYER],
    "page-{}-wrong": [(field,) for field in PAYER],
    "page-{}-why": [(state,) for state in (*PAGE_STATES, RESERVED)],
    "payout-about-{}": [(kind,) for kind in PAYOUT_KINDS],
    "payout-ask-{}-{}": [
        *((way, field) for way in ACCOUNTS for field in ACCOUNTS[way]),
        ("bank-sepa", BIC),
    ],
    "payout-wrong-{}": [(wrong,) for wrong in DetailError],
    "payout-way-{}": [(way,) for way in ACCOUNTS],
    "payer-{}": [(field,) for field in PAYER],
    "photo-{}": [
        *(("unknownFormat",), ("tooLarge",), ("tooSmall",), ("tooLong",)),
        *(("tooHeavy",), ("damaged",), ("unreachable",), ("noProfile",)),
    ],
    "problem-amount-{}": [("notPositive",), ("tooLarge",)],
    "problem-{}-empty": [(word,) for word in TYPED],
    "problem-{}-long": [(word,) for word in TYPED],
    "review-{}": [
        (field.name,)
        for field in FIELDS
        if field.display and not (field.display.line or field.display.key)
    ],
    "saved-{}": [(field,) for field in EDITS],
    "settings-{}": [(name,) for name in HOURS],
    "stamp-{}": [(status,) for status in sorted(STAMPED_STATUSES)],
    "status-{}": [(status,) for status in STATUSES],
    "toast-alerts-{}": [(mode,) for mode in ALERTS],
    "{}-why": [(f"page-{word}",) for word in (*REFUSED, "missing", "nowhere")],
}
"""What the code composes keys of, by the shape of the key."""

SEND_TEXT = "outcome.send_text"
"""The call that gives every text the request's name."""

CALLS = {
    "translations.t": 1,
    "t": 1,
    "_t": 0,
    "translate": 0,
    "reader.t": 0,
    "who.t": 0,
    "context.text": 0,
    "seller.text": 0,
    "press.seller.text": 0,
    "replies.text_button": 1,
    "replies.Problem": 0,
    "Problem": 0,
    SEND_TEXT: 0,
}
"""Where the key stands among the arguments of each call that asks for a text."""

NO_KEYS = {"{}-{}", "update-{}-{}", "{}-wal", "{}-{}{}"}
"""Composed names that look like a key and are none."""

VARIABLE = re.compile(r"\{[^{}]*?\$([a-zA-Z][\w-]*)")
TEMPLATE_KEY = re.compile(r'"((?:page|payment|receipt)-[\w-]+)"(?! *~)')
TEMPLATE_CALL = re.compile(r't\("([\w-]+)"((?:, \w+=[^()]*)?)\)')
TEMPLATE_COMPOSED = re.compile(r'"(page-(?:[\w-]+-)?)" ~ [\w.]+(?: ~ "([\w-]+)")?')
SHAPE = re.compile(r"(?:[a-z]+-|\{\}-)(?:[a-z-]|\{\})*")


def asked() -> Iterator[tuple[str, str, set[str] | None]]:
    """Return the place, the key and the values of a text look-up; None if the code hides them."""
    for path, node in source_tree.nodes(ast.Call, CODE):
        if (called := source_tree.dotted(node.func)) in CALLS:
            where = f"{path.relative_to(BOT.parent)}:{node.lineno}"
            place = CALLS[called]
            known = {"name"} if called == SEND_TEXT else set()
            for key in _keys(node.args[place]):
                values = _values(node, place)
                given = set(VARIABLE.findall(TEXTS.get(key, ""))) & known
                yield where, key, None if values is None else values | given
    for path in TEMPLATES:
        source = path.read_text("utf-8")
        for found in TEMPLATE_CALL.finditer(source):
            yield path.name, found[1], set(re.findall(r"(\w+)=", found[2]))


def _keys(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return [*_keys(node.body), *_keys(node.orelse)]
    return [str(node.value)] if isinstance(node, ast.Constant) else []


def _values(call: ast.Call, place: int) -> set[str] | None:
    names = {keyword.arg for keyword in call.keywords}
    for node in call.args[place + 1 :]:
        if not isinstance(node, ast.Dict):
            return None
        names |= {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
    return None if None in names else {str(name) for name in names}


def shapes() -> set[str]:
    """Return shapes of the keys that code and templates compose, `{}` for what is filled in."""
    starts = {key.partition("-")[0] for key in TEXTS} | {"{}"}
    found = {
        "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        for _, node in source_tree.nodes(ast.JoinedStr, CODE)
    }
    composed = {shape for shape in found if shape.partition("-")[0] in starts}
    drawn = {
        f"{start}{{}}{end}"
        for path in TEMPLATES
        for start, end in TEMPLATE_COMPOSED.findall(path.read_text("utf-8"))
    }
    return {shape for shape in composed - NO_KEYS if SHAPE.fullmatch(shape)} | drawn


def constants() -> set[str]:
    """Return every string in the code and every key in a template."""
    code = {
        node.value
        for _, node in source_tree.nodes(ast.Constant, CODE)
        if isinstance(node.value, str)
    }
    pages = {key for path in TEMPLATES for key in TEMPLATE_KEY.findall(path.read_text("utf-8"))}
    return code | pages


def composed() -> set[str]:
    return {shape.format(*words) for shape, each in COMPOSED.items() for words in each}


def test_the_ways_to_compose_a_key_are_those_listed() -> None:
    assert sorted(COMPOSED) == sorted(shapes())


@pytest.mark.parametrize("shape", COMPOSED)
def test_every_composed_key_has_a_text(shape: str) -> None:
    assert not {shape.format(*words) for words in COMPOSED[shape]} - TEXTS.keys()


def test_every_key_in_the_code_has_a_text() -> None:
    missing = [f"{where} asks for {key}" for where, key, _ in asked() if key not in TEXTS]
    assert not missing
    pages = {key for path in TEMPLATES for key in TEMPLATE_KEY.findall(path.read_text("utf-8"))}
    assert not pages - TEXTS.keys()


def test_every_text_is_used() -> None:
    assert sorted(TEXTS.keys() - constants() - composed()) == []


def test_every_text_is_given_its_values_and_no_others() -> None:
    wrong = [
        f"{where} gives {key} {sorted(values)}"
        for where, key, values in asked()
        if values is not None and values != set(VARIABLE.findall(TEXTS[key]))
    ]
    assert not wrong
