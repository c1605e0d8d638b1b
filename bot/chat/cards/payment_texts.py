"""Payments as their seller looks them up: the list of a request, and what `/find` finds."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from bot.chat.cards.card_text import (
    list_label,
    mark_possibly_repeated,
    number_line,
    other_money,
    page_buttons,
    total_text,
)
from bot.chat.cards.payer_words_text import (
    ON_LIST,
    ON_VIEW,
    hide_button,
    hide_rows,
    place_found,
    words_in_full,
    words_line,
)
from bot.chat.cards.rail_text import paid_by_lines, surplus_line
from bot.chat.fields.offers import in_rows
from bot.chat.messages.reply import TEXT_LIMIT, Button, Reply, escaped, plain, shown_units
from bot.chat.model.payment_key import PaymentKey
from bot.chat.model.payment_marks import NOTED, PAID_BACK, SENT
from bot.chat.model.wish import PAYER_FIELDS
from bot.chat.times import display, zones
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bot.chat.cards.request_card import Card
    from bot.chat.model.draft import Seller
    from bot.chat.model.payment_marks import PaymentMarks
    from bot.chat.store.payment_search import FoundPayment
    from bot.chat.store.queries import ListedPayment
    from bot.chat.store.takings import Takings

# Limits in UTF-16 units: texts of another server and of payers may have any length.
_NAME = 200
_BUTTON_NAME = 24
_PAYER_LINE = 160
_PAYER_LABEL = 40
_TYPED = 80

MOST_SHOWN = (560, 160, 80, 40, 16)
"""Limits of each payer's text and each note in a list, in UTF-16 units, tried in this order until
the list fits one message. A payment shown alone has its full texts."""

_MARKED = {SENT: "mark-sent", PAID_BACK: "claims-paid-back"}
"""The text of each mark, by its name."""


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
    turns = page_buttons(("payments", card.listing_id), page, pages, language)
    said = [
        (one.words, PaymentKey.of(card.listing_id, one.received_at, one.transaction_id))
        for one in receipts
        if one.transaction_id is not None
    ]
    hides = hide_rows(said, language, f"{ON_LIST}{page}")

    def text(most: int) -> str:
        each = (receipt_line(one, _moment(one, zone, language), seller, most) for one in receipts)
        return "\n\n".join(["\n".join(head), *each])

    return Reply(fitting(text, language), (*hides, *turns, (back,)))


def fitting(text: Callable[[int], str], language: str) -> str:
    """Return a list by the first of MOST_SHOWN with which it fits into one message."""
    tried = ""
    for most in MOST_SHOWN:
        tried = text(most)
        if shown_units(mark_possibly_repeated(tried, language)) <= TEXT_LIMIT:
            break
    return tried


def _totals(takings: Takings, language: str) -> list[str]:
    """Return a line of what was earned, and what of it and beside it went or has to go back."""
    total, count = total_text(takings.earned, language), takings.earned_count
    earned = [t(language, "payments-total", total=total, count=count)] if count else []
    return [*earned, *other_money(takings, language)]


def found_payments(
    found: Sequence[FoundPayment], typed: str, seller: Seller, *, more: bool
) -> Reply:
    """Show the payments that a typed number may mean; `more`: there are others beside them."""
    language, zone = seller.language, seller.zone or zones.UTC_ZONE
    if len(found) == 1:
        (only,) = found
        head = t(language, "find-payment", name=escaped(only.name, _NAME))
        at = f"{_moment(only.payment, zone, language)} ({zones.place_name(zone, language)})"
        text = f"{head}\n{receipt_text(only.payment, at, seller)}"
        return Reply(text, _found_rows(only, language))
    names = {one.listing_id: plain(one.name, _BUTTON_NAME) for one in found if one.is_listed}
    hides = [
        hide_button(said, one.key, language, place_found(typed, one.ids[1]), is_only=False)
        for one in found
        if (said := one.payment.words)
    ]
    rows = (
        *in_rows(hides, 2),
        *((_card_button(listing, name),) for listing, name in names.items()),
    )

    def text_of_all(most: int) -> str:
        parts = [t(language, "find-several", count=len(found))]
        for one in found:
            name = t(language, "card-name", name=escaped(one.name, _NAME))
            at = _moment(one.payment, zone, language)
            parts.append(f"{name}\n{receipt_line(one.payment, at, seller, most)}")
        parts += [t(language, "find-more-payments")] * more
        return _paragraphs([*parts, zone_line(zone, language)])

    return Reply(fitting(text_of_all, language), rows)


def found_links(cards: Sequence[Card], text: str, language: str, *, more: bool) -> Reply:
    """Show the payment links whose names contain what was typed, each a button to its card."""
    rows = tuple((_card_button(card.listing_id, list_label(card, language)),) for card in cards)
    parts = [t(language, "find-links", text=escaped(text, _TYPED))]
    parts += [t(language, "find-more-links")] * more
    return Reply("\n".join(parts), rows)


def _found_rows(found: FoundPayment, language: str) -> tuple[tuple[Button, ...], ...]:
    """Return buttons to the card and all payments, unless deleted; to the facts of real money."""
    rows: tuple[tuple[Button, ...], ...] = ()
    if found.payment.transaction_id is not None:
        facts = Button(t(language, "button-payment"), action=("payment", *found.key.words))
        hides = hide_rows([(found.payment.words, found.key)], language, ON_VIEW)
        rows = ((facts,), *hides)
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


def receipt_text(receipt: ListedPayment, at: str, seller: Seller) -> str:
    """Return the lines of one payment shown alone, with its worth in both currencies."""
    language, paid = seller.language, receipt.paid_by
    words = words_in_full(receipt.words, language)
    words += [t(language, "words-hidden")] if receipt.marks.is_hidden else []
    price = (receipt.amount, receipt.currency)
    how = [] if paid is None else paid_by_lines(paid, price, language)
    return _lines(receipt, at, seller, (words, how), _PAYER_LINE)


def receipt_line(receipt: ListedPayment, at: str, seller: Seller, most: int) -> str:
    """Return the lines of one payment in a list, with `most` units of each text in it."""
    language, paid = seller.language, receipt.paid_by
    words = words_line(receipt.words, language, most)
    how = [] if paid is None else paid_by_lines(paid, None, language)
    return _lines(receipt, at, seller, (words, how), min(_PAYER_LINE, most))


def _lines(
    receipt: ListedPayment, at: str, seller: Seller, parts: tuple[list[str], list[str]], most: int
) -> str:
    """Return the lines of one payment; `parts` are the payer's words, and how it was paid."""
    language, paid, (words, how) = seller.language, receipt.paid_by, parts
    amount = escaped(format_money(receipt.amount, receipt.currency, language))
    head = t(language, "payments-line", at=escaped(at), amount=amount)
    lines = [head, " · ".join(_states(receipt, language)), *words, *how]
    if paid is not None and not receipt.underpaid:
        lines += surplus_line(paid, (receipt.amount, receipt.currency), language)
    lines.append(_payer_line(receipt.payer, language, most))
    lines += filter(None, [number_line(receipt.transaction_id, language)])
    lines += _marked(receipt.marks, seller, most)
    return "\n".join(filter(None, lines))


def _states(receipt: ListedPayment, language: str) -> list[str]:
    """Return its pieces where it has several, and what is special about a payment."""
    is_back = receipt.marks.paid_back_at is not None
    pieces = receipt.quantity
    shown = [
        t(language, "payments-pieces", pieces=pieces) if pieces > 1 else "",
        t(language, "payments-oversold") if receipt.oversold and not is_back else "",
        t(language, "claims-payment-underpaid") if receipt.underpaid else "",
        t(language, "payments-found") if receipt.found else "",
        t(language, "payments-in-doubt") if receipt.in_doubt else "",
    ]
    return [*filter(None, shown)]


def _marked(marks: PaymentMarks, seller: Seller, most: int) -> list[str]:
    """Return when it was sent and paid back, by the seller's word, with their notes."""
    language, zone, lines = seller.language, seller.zone or zones.UTC_ZONE, []
    for mark in NOTED:
        at, note = marks.noted(mark)
        if at is not None:
            moment = escaped(display.button_label(at, zone, language))
            lines.append(t(language, _MARKED[mark], at=moment))
        if at is not None and note:
            lines.append(t(language, "claims-note", note=escaped(note, most)))
    return lines


def _payer_line(payer: Mapping[str, object], language: str, most: int) -> str:
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
    return escaped(" · ".join(pairs), most)
