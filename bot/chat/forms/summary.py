"""What a draft says so far: in a line of the review, short on a button, as a mark of it all."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from bot.chat.forms.receivers import resolve
from bot.chat.messages.problem import Problem
from bot.chat.messages.reply import escaped, plain
from bot.chat.times import moments, zones
from bot.core.money.amounts import format_money, from_minor, to_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from bot.chat.forms.draft import Draft
    from bot.chat.model.seller import Seller
    from bot.chat.model.wish import Share

SHOWN_RECEIVERS = 10
"""So many are listed, so that a review fits into one message; the others are counted."""

_SHORT = 24  # UTF-16 units of a value on a button
_ADDRESS = 300  # UTF-16 units of a long address
_HANDLE = 48  # UTF-16 units of one of several receivers

ORDER = (
    *("name", "kind", "amount", "instrument", "units", "description", "picture"),
    *("destination", "receivers", "starts", "ends", "asks", "redirect", "email"),
)
"""In which the review says what a request will be."""


def minor_of(draft: Draft) -> int:
    """Give the price in minor units; 0 while it is not known."""
    if draft.amount is None or draft.currency is None:
        return 0
    return to_minor(draft.amount, draft.currency)


def shares_of(draft: Draft) -> tuple[Share, ...] | Problem:
    """Give who gets how much, () for one receiver only; the problem where they can't all."""
    if not draft.receivers or draft.currency is None:
        return ()
    return resolve(draft.receivers, minor_of(draft), draft.currency)


def fact(draft: Draft, seller: Seller, step: str) -> str | None:
    """Say a step's answer in one or more lines of HTML; None where there is none."""
    return _FACTS[step](draft, seller) if step in _FACTS else None


def _name(draft: Draft, seller: Seller) -> str | None:
    return draft.name and t(seller.language, "review-name", name=escaped(draft.name))


def _kind(draft: Draft, seller: Seller) -> str | None:
    language = seller.language
    return draft.kind and t(language, "review-kind", kind=t(language, f"kind-{draft.kind}"))


def _amount(draft: Draft, seller: Seller) -> str | None:
    amount = shown_amount(draft.amount, draft.currency, seller)
    return amount and t(seller.language, "review-amount", amount=escaped(amount))


def _instrument(draft: Draft, seller: Seller) -> str | None:
    code = draft.instrument
    return code and t(seller.language, "review-instrument", currency=code)


def _units(draft: Draft, seller: Seller) -> str | None:
    if draft.units is None:
        return None
    return t(seller.language, "review-units", units=draft.units)


def _description(draft: Draft, seller: Seller) -> str | None:
    words = draft.description
    return (words or None) and t(seller.language, "review-description", description=escaped(words))


def _picture(draft: Draft, seller: Seller) -> str | None:
    return draft.image and t(seller.language, "review-picture")


def _destination(draft: Draft, seller: Seller) -> str | None:
    if draft.receivers or seller.destination is None:
        return None
    destination = escaped(seller.destination)
    return t(seller.language, "review-destination", destination=destination)


def _receivers(draft: Draft, seller: Seller) -> str | None:
    """List who gets how much, and how many more there are."""
    if not draft.receivers:
        return None
    language, shares = seller.language, shares_of(draft)
    if isinstance(shares, Problem):
        said = [(portion.destination, portion.measure) for portion in draft.receivers]
    else:
        currency = draft.currency or ""
        said = [(s.destination, format_money(s.amount, currency, language)) for s in shares]
    lines = [
        t(language, "review-receiver", destination=escaped(who, _HANDLE), share=escaped(share))
        for who, share in said[:SHOWN_RECEIVERS]
    ]
    if more := len(said) - len(lines):
        lines.append(t(language, "review-receivers-more", count=more))
    return "\n".join([t(language, "review-receivers"), *lines])


def _starts(draft: Draft, seller: Seller) -> str | None:
    moment = _moment(draft.starts_at, seller)
    return moment and t(seller.language, "review-starts", moment=moment)


def _ends(draft: Draft, seller: Seller) -> str | None:
    moment = _moment(draft.ends_at, seller)
    return moment and t(seller.language, "review-ends", moment=moment)


def _moment(at: int | None, seller: Seller) -> str | None:
    """Say a time in full, in the seller's zone; who has none yet is told UTC."""
    if at is None:
        return None
    return escaped(moments.spelled(at, at, seller.zone or zones.UNIVERSAL, seller.language))


def _asks(draft: Draft, seller: Seller) -> str | None:
    fields = ", ".join(t(seller.language, f"payer-{asked}") for asked in draft.asks)
    return (fields or None) and t(seller.language, "review-asks", fields=fields)


def _redirect(draft: Draft, seller: Seller) -> str | None:
    url = draft.redirect_url
    return url and t(seller.language, "review-redirect", url=escaped(url, _ADDRESS))


def _email(draft: Draft, seller: Seller) -> str | None:
    return draft.email and t(seller.language, "review-email", email=escaped(draft.email))


def _poster_text(draft: Draft, seller: Seller) -> str | None:
    words = draft.poster_text
    return words and t(seller.language, "poster-text", text=escaped(words))


_FACTS: dict[str, Callable[[Draft, Seller], str | None]] = {
    "name": _name,
    "kind": _kind,
    "amount": _amount,
    "instrument": _instrument,
    "units": _units,
    "description": _description,
    "picture": _picture,
    "destination": _destination,
    "receivers": _receivers,
    "starts": _starts,
    "ends": _ends,
    "asks": _asks,
    "redirect": _redirect,
    "email": _email,
    "postertext": _poster_text,
}


def shown_amount(amount: Decimal | None, currency: str | None, seller: Seller) -> str | None:
    """Write an amount for people, also one whose currency is still to be asked for."""
    if amount is None or currency is None:
        return None if amount is None else f"{amount:f}"  # Fluent would round it
    return format_money(to_minor(amount, currency), currency, seller.language)


def short(draft: Draft, seller: Seller, step: str) -> str | None:
    """Say a step's answer in a few words for a button, unescaped; None where there is none."""
    language = seller.language
    values = {
        "name": draft.name,
        "amount": shown_amount(draft.amount, draft.currency, seller),
        "units": draft.units and t(language, "count", count=draft.units),
        "description": draft.description,
        "picture": draft.image and t(language, "option-picture-set"),
        "instrument": draft.instrument,
        "receivers": str(len(draft.receivers) or ""),
        "starts": _label(draft.starts_at, seller),
        "ends": _label(draft.ends_at, seller),
        "asks": ", ".join(t(language, f"payer-{asked}") for asked in draft.asks),
        "redirect": draft.redirect_url,
        "email": draft.email,
        "destination": seller.destination,
    }
    value = values.get(step)
    return plain(value, _SHORT) if value else None


def _label(at: int | None, seller: Seller) -> str | None:
    if at is None:
        return None
    return moments.button_label(at, seller.zone or zones.UNIVERSAL, seller.language)


def fingerprint(draft: Draft, seller: Seller) -> str:
    """Mark of exactly what a review shows, so that an old Create can't create something else."""
    shown = (
        *(draft.kind, draft.name, draft.description, draft.amount),
        *(draft.currency, draft.units, seller.destination, draft.instrument),
        *(draft.image, draft.receivers, draft.starts_at, draft.ends_at),
        *(draft.asks, draft.redirect_url, draft.email),
    )
    return f"{zlib.crc32(repr(shown).encode()):08x}"


def price_of(minor: int, currency: str) -> str:
    """Write a price as a button carries it."""
    return f"{from_minor(minor, currency):f}"
