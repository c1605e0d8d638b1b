"""Questions and values of fields in words, where the field's own text does not do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.fields.price import shares_of, shown_amount
from bot.chat.messages.reply import Problem, escaped
from bot.chat.times import display, zones
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from decimal import Decimal

    from bot.chat.model.draft import Draft, Seller

SHOWN_RECEIVERS = 10
"""So many receivers are listed, so that a review fits into one message; the rest is counted."""

_HANDLE = 48  # UTF-16 units of one of several receivers


def kind_words(kind: str, seller: Seller, _now: int | None) -> str:
    """Return the name of a kind."""
    return t(seller.language, f"kind-{kind}")


def no_brief(_kind: str, _seller: Seller) -> None:
    """Return None: the buttons below the question tick the present kind."""


def amount_question(draft: Draft, seller: Seller) -> str:
    """Ask for the price, in the usual currency where there is one."""
    usual = draft.currency or seller.currency
    hint = "ask-amount-usual" if usual else "ask-amount-hint"
    values = {"currency": usual} if usual else {}
    question = t(seller.language, f"ask-amount-{draft.kind}")
    return f"{question}\n{t(seller.language, hint, **values)}"


def price_of(draft: Draft, _seller: Seller) -> tuple[Decimal, str | None] | None:
    """Return the price of a draft; None while it has none."""
    return None if draft.amount is None else (draft.amount, draft.currency)


def price_words(price: tuple[Decimal, str | None], seller: Seller, _now: int | None) -> str:
    """Return a price as people write it."""
    return shown_amount(*price, seller) or ""


def instrument_question(draft: Draft, seller: Seller) -> str:
    """Ask for the currency that payers give."""
    return t(seller.language, "ask-instrument", currency=draft.currency or "")


def units_question(draft: Draft, seller: Seller) -> str:
    """Ask how many units there are, or how many to take out of a request that exists."""
    return t(seller.language, "ask-units-out" if draft.form == "edit" else "ask-units")


def units_line(draft: Draft, seller: Seller) -> str | None:
    """Return how many units there are, or are left of a request that exists."""
    if not draft.units:
        return None
    if draft.form == "edit":
        return t(seller.language, "left", left=draft.units)
    return t(seller.language, "review-units", value=draft.units)


def picture_brief(_image: str, seller: Seller) -> str:
    """Return that there is a picture, for a button."""
    return t(seller.language, "option-picture-set")


def destination_of(_draft: Draft, seller: Seller) -> str | None:
    """Return where the seller's money goes."""
    return seller.destination


def destination_line(draft: Draft, seller: Seller) -> str | None:
    """Return where all of the money goes; None where several receivers share it."""
    if draft.receivers or seller.destination is None:
        return None
    return t(seller.language, "review-destination", value=escaped(seller.destination))


def receivers_question(draft: Draft, seller: Seller) -> str:
    """Ask who shares the price, after the problem of the present receivers if there is one."""
    price = escaped(shown_amount(draft.amount, draft.currency, seller) or "")
    question, shares = t(seller.language, "ask-receivers", price=price), shares_of(draft)
    if isinstance(shares, Problem):
        return f"{shares.text(seller.language)}\n\n{question}"
    return question


def receivers_line(draft: Draft, seller: Seller) -> str | None:
    """List who gets how much, and count those who are not listed."""
    if not draft.receivers:
        return None
    language, shares = seller.language, shares_of(draft)
    if isinstance(shares, Problem):
        pairs = [(portion.destination, portion.measure) for portion in draft.receivers]
    else:
        currency = draft.currency or ""
        pairs = [(s.destination, format_money(s.amount, currency, language)) for s in shares]
    lines = [
        t(language, "review-receiver", destination=escaped(who, _HANDLE), share=escaped(share))
        for who, share in pairs[:SHOWN_RECEIVERS]
    ]
    if more := len(pairs) - len(lines):
        lines.append(t(language, "review-receivers-more", count=more))
    return "\n".join([t(language, "review-receivers"), *lines])


def receivers_brief(receivers: tuple[Any, ...], _seller: Seller) -> int:
    """Return the number of receivers."""
    return len(receivers)


def moment_words(at: int, seller: Seller, now: int | None) -> str:
    """Return a time in full, in the seller's zone or else UTC; with `now`, how far ahead it is."""
    return display.full_text(at, at if now is None else now, _zone(seller), seller.language)


def moment_brief(at: int, seller: Seller) -> str:
    """Return a time for a button."""
    return display.button_label(at, _zone(seller), seller.language)


def _zone(seller: Seller) -> str:
    return seller.zone or zones.UTC_ZONE


def payer_words(fields: tuple[str, ...], seller: Seller, _now: int | None) -> str:
    """Return what payers are asked for."""
    return ", ".join(t(seller.language, f"payer-{asked}") for asked in fields)
