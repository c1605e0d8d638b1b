"""Payments as their seller looks them up: the list of a request, and what `/find` finds."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from bot.chat.cards.card_text import (
    list_label,
    number_line,
    other_money,
    page_buttons,
    total_text,
)
from bot.chat.cards.rail_text import paid_by_lines, surplus_line
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
    from bot.chat.store.takings import Takings

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
        head.append(zone_line(zone, language))
    back = Button(t(language, "button-back"), action=("card", card.listing_id))
    lines = [receipt_text(each, _moment(each, zone, language), seller) for each in receipts]
    turns = page_buttons(("payments", card.listing_id), page, pages, language)
    return Reply("\n\n".join(["\n".join(head), *lines]), (*turns, (back,)))


def _totals(takings: Takings, language: str) -> list[str]:
    """Return a line of what was earned, and what of it and beside it went or has to go back."""
    total, count = total_text(takings.earned, language), takings.earned_count
    earned = [t(language, "payments-total", total=total, count=count)] if count else []
    return [*earned, *other_money(takings, language)]


def found_payments(found: Sequence[FoundPayment], seller: Seller, *, more: bool) -> Reply:
    """Show the payments that a number may mean; `more`: there are others beside them."""
    language, zone = seller.language, seller.zone or zones.UTC_ZONE
    if len(found) == 1:
        (only,) = found
        head = t(language, "find-payment", name=escaped(only.name, _NAME))
        at = f"{_moment(only.payment, zone, language)} ({zones.place_name(zone, language)})"
        text = f"{head}\n{receipt_text(only.payment, at, seller, in_full=True)}"
        return Reply(text, _found_rows(only, language))
    names = {one.listing_id: plain(one.name, _BUTTON_NAME) for one in found if one.is_listed}
    rows = tuple((_card_button(listing, name),) for listing, name in names.items())
    parts = [t(language, "find-several", count=len(found))]
    for one in found:
        name = t(language, "card-name", name=escaped(one.name, _NAME))
        at = _moment(one.payment, zone, language)
        parts.append(f"{name}\n{receipt_text(one.payment, at, seller)}")
    parts += [t(language, "find-more-payments")] * more
    return Reply(_paragraphs([*parts, zone_line(zone, language)]), rows)


def found_links(cards: Sequence[Card], text: str, language: str, *, more: bool) -> Reply:
    """Show the payment links whose names contain what was typed, each a button to its card."""
    rows = tuple((_card_button(card.listing_id, list_label(card, language)),) for card in cards)
    parts = [t(language, "find-links", text=escaped(text, _TYPED))]
    parts += [t(language, "find-more-links")] * more
    return Reply("\n".join(parts), rows)


def _found_rows(found: FoundPayment, language: str) -> tuple[tuple[Button, ...], ...]:
    """Return buttons to the card and all payments, unless deleted; to the facts of real money."""
    rows: tuple[tuple[Button, ...], ...] = ()
    if found.payment.paid_by is not None or found.payment.oversold:
        facts = Button(t(language, "button-payment"), action=("payment", *found.key.words))
        rows = ((facts,),)
    if not found.is_listed:
        return rows
    payments = ("payments", found.listing_id, "0")
    return (
        *rows,
        (_card_button(found.listing_id, t(language, "button-show-card")),),
        (Button(t(language, "button-payments"), action=payments),),
    )


def _card_button(listing_id: str, label: str) -> Button:
    return Button(label, action=("card", listing_id))


def zone_line(zone: str, language: str) -> str:
    """Return the line that names the zone of the times above."""
    return t(language, "payments-zone", zone=escaped(zones.place_name(zone, language)))


def _paragraphs(parts: Sequence[str]) -> str:
    return "\n\n".join(parts)


def _moment(receipt: ListedPayment, zone: str, language: str) -> str:
    return display.button_label(receipt.received_at, zone, language)


def receipt_text(receipt: ListedPayment, at: str, seller: Seller, *, in_full: bool = False) -> str:
    """Return the lines of one payment; `in_full` also its worth in both currencies."""
    language, paid = seller.language, receipt.paid_by
    is_back = receipt.paid_back_at is not None
    amount = escaped(format_money(receipt.amount, receipt.currency, language))
    head = t(language, "payments-line", at=escaped(at), amount=amount)
    marks = [
        t(language, "payments-oversold") if receipt.oversold and not is_back else "",
        t(language, "claims-payment-underpaid") if receipt.underpaid else "",
        t(language, "payments-found") if receipt.found else "",
        t(language, "payments-in-doubt") if receipt.in_doubt else "",
    ]
    lines = [head, " · ".join(filter(None, marks))]
    if paid is not None:
        price = (receipt.amount, receipt.currency)
        lines += paid_by_lines(paid, price if in_full else None, language)
        lines += [] if receipt.underpaid else surplus_line(paid, price, language)
    lines.append(_payer_line(receipt.payer, language))
    lines += filter(None, [number_line(receipt.transaction_id, language)])
    lines += _paid_back(receipt, seller)
    return "\n".join(filter(None, lines))


def _paid_back(receipt: ListedPayment, seller: Seller) -> list[str]:
    """Return when it was paid back, by the seller's word, and their note."""
    if receipt.paid_back_at is None:
        return []
    language, zone = seller.language, seller.zone or zones.UTC_ZONE
    at = escaped(display.button_label(receipt.paid_back_at, zone, language))
    lines = [t(language, "claims-paid-back", at=at)]
    if receipt.paid_back_note:
        note = escaped(receipt.paid_back_note, _PAYER_LINE)
        lines.append(t(language, "claims-note", note=note))
    return lines


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
