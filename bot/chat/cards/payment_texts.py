"""Payments as their seller looks them up: the list of a request, and what `/find` finds."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from bot.chat.cards.card_text import (
    list_label,
    number_line,
    page_buttons,
    refund_line,
    total_text,
)
from bot.chat.messages.reply import Button, Reply, escaped, plain
from bot.chat.model.wish import PAYER_FIELDS
from bot.chat.times import display, zones
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.chat.cards.request_card import Card
    from bot.chat.model.draft import Seller
    from bot.chat.store.payment_search import FoundPayment
    from bot.chat.store.queries import ListedPayment
    from bot.chat.store.received_payments import Takings

# Limits in UTF-16 units: texts of another server and of payers may have any length.
_NAME = 200
_BUTTON_NAME = 24
_PAYER_LINE = 160
_PAYER_LABEL = 40
_TYPED = 80


def payments_page(
    card: Card, receipts: Sequence[ListedPayment], place: tuple[int, int], seller: Seller
) -> Reply:
    """Show a page of a request's payments, newest first; `place` is its number, from 0, and all.

    `card.takings` are those of all payments; times are in the seller's zone.
    """
    language, (page, pages) = seller.language, place
    zone = seller.zone or zones.UTC_ZONE
    head = [t(language, "payments", name=escaped(card.name, _NAME), page=page + 1, pages=pages)]
    if not receipts:
        head.append(t(language, "payments-none"))
    else:
        head += _totals(card.takings, language)
        head.append(_zone_line(zone, language))
    back = Button(t(language, "button-back"), action=("card", card.listing_id))
    lines = [_receipt(each, _moment(each, zone, language), language) for each in receipts]
    turns = page_buttons(("payments", card.listing_id), page, pages, language)
    return Reply("\n\n".join(["\n".join(head), *lines]), (*turns, (back,)))


def _totals(takings: Takings, language: str) -> list[str]:
    """Return a line of what was earned and one of what has to be paid back, where there is any."""
    total, count = total_text(takings.earned, language), takings.earned_count
    earned = t(language, "payments-total", total=total, count=count) if count else None
    refund = refund_line(takings.to_refund, takings.refund_count, language)
    return [*filter(None, [earned, refund])]


def found_payments(found: Sequence[FoundPayment], seller: Seller, *, more: bool) -> Reply:
    """Show the payments that a number may mean; `more`: there are others beside them."""
    language, zone = seller.language, seller.zone or zones.UTC_ZONE
    if len(found) == 1:
        (only,) = found
        head = t(language, "find-payment", name=escaped(only.name, _NAME))
        at = f"{_moment(only.payment, zone, language)} ({zones.place_name(zone, language)})"
        return Reply(f"{head}\n{_receipt(only.payment, at, language)}", _found_rows(only, language))
    names = {one.listing_id: plain(one.name, _BUTTON_NAME) for one in found if one.is_listed}
    rows = tuple((_card_button(listing, name),) for listing, name in names.items())
    parts = [t(language, "find-several", count=len(found))]
    for one in found:
        name = t(language, "card-name", name=escaped(one.name, _NAME))
        at = _moment(one.payment, zone, language)
        parts.append(f"{name}\n{_receipt(one.payment, at, language)}")
    parts += [t(language, "find-more-payments")] * more
    return Reply(_paragraphs([*parts, _zone_line(zone, language)]), rows)


def found_links(cards: Sequence[Card], text: str, language: str, *, more: bool) -> Reply:
    """Show the payment links whose names contain what was typed, each a button to its card."""
    rows = tuple((_card_button(card.listing_id, list_label(card, language)),) for card in cards)
    parts = [t(language, "find-links", text=escaped(text, _TYPED))]
    parts += [t(language, "find-more-links")] * more
    return Reply("\n".join(parts), rows)


def _found_rows(found: FoundPayment, language: str) -> tuple[tuple[Button, ...], ...]:
    """Return buttons to the card and to all payments; none where the request is deleted."""
    if not found.is_listed:
        return ()
    payments = ("payments", found.listing_id, "0")
    return (
        (_card_button(found.listing_id, t(language, "button-show-card")),),
        (Button(t(language, "button-payments"), action=payments),),
    )


def _card_button(listing_id: str, label: str) -> Button:
    return Button(label, action=("card", listing_id))


def _zone_line(zone: str, language: str) -> str:
    return t(language, "payments-zone", zone=escaped(zones.place_name(zone, language)))


def _paragraphs(parts: Sequence[str]) -> str:
    return "\n\n".join(parts)


def _moment(receipt: ListedPayment, zone: str, language: str) -> str:
    return display.button_label(receipt.received_at, zone, language)


def _receipt(receipt: ListedPayment, at: str, language: str) -> str:
    amount = escaped(format_money(receipt.amount, receipt.currency, language))
    head = t(language, "payments-line", at=escaped(at), amount=amount)
    marks = [
        t(language, "payments-oversold") if receipt.oversold else "",
        t(language, "payments-found") if receipt.found else "",
        t(language, "payments-in-doubt") if receipt.in_doubt else "",
    ]
    number = number_line(receipt.transaction_id, language)
    payer = _payer_line(receipt.payer, language)
    return "\n".join(filter(None, [head, " · ".join(filter(None, marks)), payer, number]))


def _payer_line(payer: Mapping[str, object], language: str) -> str:
    """Return the payer's data on one line, whatever JSON values it holds."""
    pairs = [
        t(
            language,
            "alert-payer",
            label=t(language, f"payer-{name}")
            if name in PAYER_FIELDS
            else plain(name, _PAYER_LABEL),
            value=plain(value, _PAYER_LINE),
        )
        for name, value in islice(payer.items(), len(PAYER_FIELDS))
        if value not in (None, "")
    ]
    return escaped(" · ".join(pairs), _PAYER_LINE)
