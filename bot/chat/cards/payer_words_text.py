"""A payer's name and message as their seller reads them, and the buttons that hide them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.inert_text import inert, inert_lines
from bot.chat.messages.reply import Button, escaped, plain
from bot.chat.model.payer_words import LONGEST_MESSAGE, LONGEST_NAME
from bot.chat.model.transaction_number import fold_number
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.messages.reply import Rows
    from bot.chat.model.payer_words import PayerWords
    from bot.chat.model.payment_key import PaymentKey
    from bot.chat.store.payment_search import FoundPayment

# Limits in UTF-16 units: an emoji has two.
_PAYER = 2 * LONGEST_NAME
_MESSAGE = 2 * LONGEST_MESSAGE
_BUTTON = 20

MAX_HIDES = 10
"""Most hide buttons below one message: a page of a list has as many payments at most, and an alert
shows the words of as many."""

ON_VIEW, ON_INCOMING, ON_LIST, ON_DIGEST = "v", "i", "p", "d"
"""Where a hide button stands, apart from an alert of one payment: a payment's view, `/payments`, a
request's payments, or a digest; the number of the page follows."""

BEGINNING, END, REFERENCE = FOUND_BY = ("b", "e", "r")
"""Where a hide button stands in a list of `/find`: the part of the number typed, and its length."""


def item_text(name: str, pieces: int, language: str, limit: int) -> str:
    """Return a request's name, escaped, after the number of pieces where it isn't one."""
    if pieces == 1:
        return escaped(name, limit)
    return t(language, "pieces-of", pieces=pieces, name=escaped(name, limit))


def words_head(words: PayerWords, amount: str, name: str, language: str) -> str:
    """Return the head of an alert with the payer's words; amount and name come escaped."""
    given = {"amount": amount, "name": name}
    if words.name is not None:
        given["payer"] = inert(words.name, _PAYER)
    if words.message is None:
        return t(language, "alert-from", **given)
    given["message"] = inert(words.message, _MESSAGE)
    return t(language, "alert-words" if words.name is None else "alert-words-from", **given)


def words_line(words: PayerWords, language: str, most: int = _MESSAGE) -> list[str]:
    """Return the payer's words on one line, `most` units of each; nothing without any."""
    if not words:
        return []
    name = None if words.name is None else inert(words.name, min(_PAYER, most))
    if words.message is None:
        return [t(language, "words-name", payer=name)]
    message = inert(words.message, min(_MESSAGE, most))
    if name is None:
        return [t(language, "words-message", message=message)]
    return [t(language, "words-line", payer=name, message=message)]


def words_in_full(words: PayerWords, language: str) -> list[str]:
    """Return the payer's words with the line breaks of the message, as a quotation."""
    if words.message is None:
        return words_line(words, language)
    quoted = f"<blockquote>{inert_lines(words.message, _MESSAGE)}</blockquote>"
    if words.name is None:
        return [quoted]
    return [t(language, "words-name", payer=inert(words.name, _PAYER)), quoted]


def place_found(typed: str, transaction_id: str) -> str:
    """Return where a hide button stands in the list that `/find` shows of what was typed."""
    part, number = fold_number(typed), fold_number(transaction_id)
    if number.startswith(part):
        return f"{BEGINNING}{len(part)}"
    return f"{END}{len(part)}" if number.endswith(part) else REFERENCE


def typed_for(found: FoundPayment, place: str) -> str:
    """Return what was typed for the list of `/find` in which a payment's hide button stands."""
    number, length = fold_number(found.ids[1]), int(place[1:] or 0)
    if place == REFERENCE:
        return (found.payment.paid_by and found.payment.paid_by.reference) or ""
    return number[:length] if place.startswith(BEGINNING) else number[-length:]


def hide_rows(
    said: Sequence[tuple[PayerWords, PaymentKey]], language: str, place: str = ""
) -> Rows:
    """Return the buttons that hide what payers wrote, two in a row, MAX_HIDES at most."""
    shown = [(words, key) for words, key in said if words][:MAX_HIDES]
    buttons = [
        hide_button(words, key, language, place, is_only=len(said) == 1) for words, key in shown
    ]
    return tuple(tuple(buttons[start : start + 2]) for start in range(0, len(buttons), 2))


def hide_button(
    words: PayerWords, key: PaymentKey, language: str, place: str = "", *, is_only: bool = True
) -> Button:
    """Return the button that hides a payer's words; among several ones it names whose."""
    action = ("hide", *key.words, place) if place else ("hide", *key.words)
    if not is_only:
        said = plain(words.name or words.message or "", _BUTTON)
        return Button(t(language, "button-hide-of", payer=said), action)
    return Button(
        t(language, "button-hide-name" if words.message is None else "button-hide"), action
    )
