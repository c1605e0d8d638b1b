"""Sentences about payments, each built here for cards, alerts, lists and receipts.

The payer's words and the buttons that hide them, how a payment was paid, its number, the payer's
data, the seller's marks; what is left, and totals of several payments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from bot.chat.model import moments, payment, replies
from bot.chat.store import payment_marks, payment_rows
from bot.core.text import translations
from bot.interface import fields, parts, vocabulary

# Limits in UTF-16 units; an emoji has two.
_PAYER = 2 * fields.MAX_PAYER_NAME
_MESSAGE = 2 * fields.MAX_PAYER_MESSAGE
_BUTTON = 20
_NUMBER = 80  # hashes have 64 digits
_KIND = 24
_SOURCE = 200
_LABEL = 40
_VALUE = 200

NOTE = 400
"""Maximum UTF-16 units of a seller's note, which has up to 200 characters."""

_MAX_FACTS = 10  # fields of a payer's data
_MAX_CURRENCIES = 6  # in one total; even two are rare

_MARKED = {payment.SENT: "mark-sent", payment.PAID_BACK: "claims-paid-back"}
"""The text key of each mark."""

MAX_HIDES = 10
"""Maximum hide buttons below one message: a list page has no more payments, and an alert shows the
words of no more payments."""

ON_VIEW, ON_INCOMING, ON_LIST, ON_DIGEST = "v", "i", "p", "d"
"""Places of a hide button, other than the alert of one payment: a payment's view, `/payments`, a
request's payments, or a digest. The page number follows."""

BEGINNING, END, REFERENCE = FOUND_BY = ("b", "e", "r")
"""Places of a hide button in a `/find` list: the matched part of the number; its length follows."""


def item_text(name: str, quantity: int, language: str, limit: int) -> str:
    """Return a request's escaped name, preceded by the quantity if it is not 1."""
    if quantity == 1:
        return replies.escaped(name, limit)
    return translations.t(language, "pieces-of", count=quantity, what=replies.escaped(name, limit))


def words_head(words: parts.PayerWords, amount: str, name: str, language: str) -> str:
    """Return the heading of an alert with the payer's words; amount and name must be escaped."""
    given = {"amount": amount, "name": name}
    if words.name is not None:
        given["payer"] = replies.inert(words.name, _PAYER)
    if words.message is None:
        return translations.t(language, "alert-from", **given)
    given["message"] = replies.inert(words.message, _MESSAGE)
    return translations.t(
        language, "alert-words" if words.name is None else "alert-words-from", **given
    )


def words_line(words: parts.PayerWords, language: str, most: int = _MESSAGE) -> list[str]:
    """Return the payer's words on one line, at most `most` units of each; [] if there are none."""
    if not words:
        return []
    name = None if words.name is None else replies.inert(words.name, min(_PAYER, most))
    if words.message is None:
        return [translations.t(language, "words-name", payer=name)]
    message = replies.inert(words.message, min(_MESSAGE, most))
    if name is None:
        return [translations.t(language, "words-message", message=message)]
    return [translations.t(language, "words-line", payer=name, message=message)]


def words_in_full(words: parts.PayerWords, language: str) -> list[str]:
    """Return the payer's words as a quotation, with the message's line breaks."""
    if words.message is None:
        return words_line(words, language)
    quoted = f"<blockquote>{replies.inert_lines(words.message, _MESSAGE)}</blockquote>"
    if words.name is None:
        return [quoted]
    return [translations.t(language, "words-name", payer=replies.inert(words.name, _PAYER)), quoted]


def place_found(typed: str, transaction_id: str) -> str:
    """Return the place of a hide button in the `/find` list for a typed text."""
    part, number = payment.fold_number(typed), payment.fold_number(transaction_id)
    if number.startswith(part):
        return f"{BEGINNING}{len(part)}"
    return f"{END}{len(part)}" if number.endswith(part) else REFERENCE


def typed_for(found: payment_marks.FoundPayment, place: str) -> str:
    """Return the text that was typed for the `/find` list with a payment's hide button."""
    number, length = payment.fold_number(found.ids[1]), int(place[1:] or 0)
    if place == REFERENCE:
        return (found.payment.paid_by and found.payment.paid_by.reference) or ""
    return number[:length] if place.startswith(BEGINNING) else number[-length:]


def hide_rows(
    said: Sequence[tuple[parts.PayerWords, payment.PaymentKey]], language: str, place: str = ""
) -> replies.Rows:
    """Return at most MAX_HIDES buttons that hide payers' words, two in a row."""
    shown = [(words, key) for words, key in said if words][:MAX_HIDES]
    buttons = [
        hide_button(words, key, language, place, is_only=len(said) == 1) for words, key in shown
    ]
    return tuple(tuple(buttons[start : start + 2]) for start in range(0, len(buttons), 2))


def hide_button(
    words: parts.PayerWords,
    key: payment.PaymentKey,
    language: str,
    place: str = "",
    *,
    is_only: bool = True,
) -> replies.Button:
    """Return the button that hides a payer's words; among several buttons it quotes them."""
    action = ("hide", *key.words, place) if place else ("hide", *key.words)
    if not is_only:
        said = replies.plain(words.name or words.message or "", _BUTTON)
        return replies.Button(translations.t(language, "button-hide-of", payer=said), action)
    return replies.Button(
        translations.t(language, "button-hide-name" if words.message is None else "button-hide"),
        action,
    )


def way_text(kind: str, language: str) -> str:
    """Return the text for a payment method: "by bank transfer", "by Lightning"."""
    if kind == payment.BANK:
        return translations.t(language, "claims-by-bank")
    if kind in payment.LIGHTNING_KINDS:
        return translations.t(language, "claims-by-lightning")
    if kind == payment.TEST_MONEY:
        return translations.t(language, "claims-by-sandbox")
    return translations.t(language, "claims-by-other", kind=replies.escaped(kind, _KIND))


def how_lines(
    paid: payment.PaidBy | None,
    price: tuple[int, str],
    language: str,
    *,
    is_underpaid: bool = False,
    is_listed: bool = False,
) -> list[str]:
    """Return how a payment was paid, its worth if it was converted, and its surplus.

    `price` is the amount asked, in the price's currency. A list omits the worth. Test money is not
    mentioned, because an installation uses either only test money or none.
    """
    if paid is None:
        return []
    lines = []
    if paid.kind != payment.TEST_MONEY:
        key, given = "claims-how", {"way": way_text(paid.kind, language)}
        if paid.kind == payment.BANK and paid.reference:
            key = "claims-how-reference"
            given["reference"] = replies.escaped(paid.reference, _NUMBER)
        lines.append(translations.t(language, key, **given))
        asked = None if is_underpaid or is_listed else paid.asked(*price)
        if asked is not None and price[1] != paid.currency:
            source = translations.rate_source_text(paid.source or "", language)
            worth = {
                "price": replies.money(*price, language),
                "paid": replies.money(asked, paid.currency, language),
                "source": replies.escaped(source, _SOURCE),
            }
            lines.append(translations.t(language, "claims-worth", **worth))
    return lines if is_underpaid else [*lines, *surplus_line(paid, price, language)]


def surplus_line(paid: payment.PaidBy, price: tuple[int, str], language: str) -> list[str]:
    """Return how much more or less than the price was received; [] if there is no difference."""
    more = paid.surplus(*price)
    if not more:
        return []
    amount = replies.money(abs(more), paid.currency, language)
    key = "claims-surplus" if more > 0 else "claims-shortfall"
    return [translations.t(language, key, amount=amount)]


def refund_hint(paid: payment.PaidBy, language: str) -> str:
    """Explain how to pay back money received on this rail."""
    if paid.kind in payment.LIGHTNING_KINDS:
        return translations.t(language, "claims-refund-lightning")
    return translations.t(
        language, "claims-refund-bank" if paid.kind == payment.BANK else "claims-refund-other"
    )


def number_line(number: str | None, language: str) -> list[str]:
    """Return the line with a transaction number or reference, copied by a tap; [] if unknown."""
    if not number:
        return []
    return [translations.t(language, "payment-number", number=replies.escaped(number, _NUMBER))]


def payer_facts(payer: Mapping[str, object], language: str) -> list[str]:
    """Return the payer's data as plain texts, known fields first; values may be any JSON."""
    known = [name for name in get_args(vocabulary.PayerField) if name in payer]
    names = [*known, *(name for name in payer if name not in known)][:_MAX_FACTS]
    return [
        translations.t(
            language,
            "alert-payer",
            label=translations.t(language, f"payer-{name}")
            if name in known
            else replies.plain(name, _LABEL),
            value=replies.plain(payer[name], _VALUE),
        )
        for name in names
        if payer[name] not in (None, "")
    ]


def mark_lines(
    marks: payment.PaymentMarks,
    zone: str | None,
    language: str,
    most: int = NOTE,
    *,
    with_zone: bool = False,
) -> list[str]:
    """Return when the seller marked a payment as sent or paid back, with the notes."""
    lines = []
    for mark in payment.NOTED:
        at, note = marks.noted(mark)
        if at is not None:
            moment = moments.short_text(at, zone, language, with_zone=with_zone)
            lines.append(translations.t(language, _MARKED[mark], at=moment))
            lines += note_line(note, language, most)
    return lines


def note_line(note: str | None, language: str, most: int = NOTE) -> list[str]:
    """Return the line with the seller's note on a mark; [] if there is none."""
    return (
        [translations.t(language, "claims-note", note=replies.escaped(note, most))] if note else []
    )


# Several payments.


def left_text(left: int, total: int | None, language: str) -> str:
    """Return "7 of 10 left", or "7 left" if the total is unknown."""
    if total is None:
        return translations.t(language, "left", left=left)
    return translations.t(language, "left-of", left=left, total=total)


def total_text(amounts: Sequence[tuple[int, str]], language: str) -> str:
    """Format one amount per currency, in minor units, as an escaped total.

    Nothing is converted. If there are many currencies, only the first are shown, with an ellipsis.
    """
    shown = [replies.money(*each, language) for each in amounts[:_MAX_CURRENCIES]]
    return " + ".join([*shown, *(["…"] if len(amounts) > _MAX_CURRENCIES else [])])


def total_line(amounts: Sequence[tuple[int, str]], count: int, language: str) -> str:
    """Return the total of `count` payments, given in minor units by currency."""
    total = total_text(amounts, language)
    return translations.t(language, "payments-total", total=total, count=count)


def refund_line(amounts: Sequence[tuple[int, str]], count: int, language: str) -> list[str]:
    """Return the total of `count` oversold payments; [] if there are none."""
    return _counted("to-refund", amounts, count, language)


def other_money(totals: payment_rows.RevenueTotals, language: str) -> list[str]:
    """Return a line for each kind of non-revenue or paid-back money, if any."""
    return [
        *_counted("claims-returned", totals.returned, totals.returned_count, language),
        *refund_line(totals.to_refund, totals.refund_count, language),
        *_counted("claims-short", totals.short, totals.short_count, language),
    ]


def _counted(key: str, amounts: Sequence[tuple[int, str]], count: int, language: str) -> list[str]:
    amount = total_text(amounts, language)
    return [translations.t(language, key, amount=amount, count=count)] if count else []
