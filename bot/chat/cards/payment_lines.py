"""Lines about a payment: the payer's words, the buttons that hide them, and how it was paid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bot.chat.model import payment, replies
from bot.chat.store import payment_marks
from bot.core.money import amounts
from bot.core.text import phrases, translations
from bot.interface import fields, parts

# Limits in UTF-16 units; an emoji has two.
_PAYER = 2 * fields.MAX_PAYER_NAME
_MESSAGE = 2 * fields.MAX_PAYER_MESSAGE
_BUTTON = 20
_REFERENCE = 80
_KIND = 24
_SOURCE = 200

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
    return translations.t(language, "pieces-of", pieces=quantity, name=replies.escaped(name, limit))


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


def reference_line(reference: str | None, language: str) -> list[str]:
    """Return the line with a transfer's reference, copied by a tap; [] if there is none."""
    if not reference:
        return []
    return [
        translations.t(
            language, "claims-reference", reference=replies.escaped(reference, _REFERENCE)
        )
    ]


def paid_by_lines(paid: payment.PaidBy, price: tuple[int, str] | None, language: str) -> list[str]:
    """Return how a payment was paid and, if it was converted, its worth in both currencies.

    `price` is the amount asked, in the price's currency; None omits the worth. Return [] for test
    money, because an installation uses either only test money or none.
    """
    if paid.kind == payment.TEST_MONEY:
        return []
    way = way_text(paid.kind, language)
    lines = [translations.t(language, "claims-how", way=way)]
    if paid.kind == payment.BANK and paid.reference:
        reference = replies.escaped(paid.reference, _REFERENCE)
        lines = [translations.t(language, "claims-how-reference", way=way, reference=reference)]
    asked = None if price is None else paid.asked(*price)
    if price is None or asked is None or price[1] == paid.currency:
        return lines
    worth = {"price": _money(*price, language), "paid": _money(asked, paid.currency, language)}
    return [
        *lines,
        translations.t(
            language, "claims-worth", **worth, source=_source(paid.source or "", language)
        ),
    ]


def surplus_line(paid: payment.PaidBy, price: tuple[int, str], language: str) -> list[str]:
    """Return how much more or less than the price was received; [] if there is no difference."""
    more = paid.surplus(*price)
    if not more:
        return []
    if more > 0:
        return [
            translations.t(language, "claims-surplus", more=_money(more, paid.currency, language))
        ]
    return [
        translations.t(language, "claims-shortfall", less=_money(-more, paid.currency, language))
    ]


def refund_hint(paid: payment.PaidBy, language: str) -> str:
    """Explain how to pay back money received on this rail."""
    if paid.kind in payment.LIGHTNING_KINDS:
        return translations.t(language, "claims-refund-lightning")
    return translations.t(
        language, "claims-refund-bank" if paid.kind == payment.BANK else "claims-refund-other"
    )


def _source(source: str, language: str) -> str:
    return replies.escaped(
        phrases.rate_source_text(source, partial(translations.t, language)), _SOURCE
    )


def _money(amount: int, currency: str, language: str) -> str:
    return replies.escaped(amounts.format_money(amount, currency, language))
