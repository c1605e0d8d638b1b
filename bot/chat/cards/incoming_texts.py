"""`/payments`: claims that wait for their seller, the latest payments, and one payment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.card_text import page_buttons
from bot.chat.cards.claim_text import IN_LIST, accept_rows, waiting_lines, waiting_rows
from bot.chat.cards.payer_words_text import ON_INCOMING, ON_VIEW, hide_button
from bot.chat.cards.payment_texts import fitting, receipt_line, receipt_text, zone_line
from bot.chat.cards.rail_text import refund_hint
from bot.chat.fields.offers import in_rows
from bot.chat.messages.reply import Button, Reply, escaped
from bot.chat.model.payment_marks import NOTED, SENT, UNDO
from bot.chat.times import display, zones
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.messages.reply import Rows
    from bot.chat.model.draft import Seller
    from bot.chat.store.claims import Claim
    from bot.chat.store.listings import Listing
    from bot.chat.store.payment_search import FoundPayment

_NAME = 60  # UTF-16 units


def incoming_page(
    waiting: Sequence[tuple[Claim, Listing]],
    payments: Sequence[FoundPayment],
    place: tuple[int, int, bool],
    seller: Seller,
) -> Reply:
    """Show a page of what waits for its seller, then of payments, newest first.

    `place` is the page's number, from 0, how many claims wait in all, and whether pages follow.
    """
    language, (page, count, has_more) = seller.language, place
    parts = []
    if waiting:
        parts.append(t(language, "claims-waiting-list", count=count))
        parts += [waiting_lines(claim, listing, seller) for claim, listing in waiting]
    if payments or not waiting:
        key = "claims-latest" if payments or page else "claims-nothing"
        parts.append(t(language, key, page=page + 1))

    def text(most: int) -> str:
        listed = [_numbered(number, one, seller, most) for number, one in enumerate(payments, 1)]
        zone = zone_line(seller.zone or zones.UTC_ZONE, language)
        return "\n\n".join([*parts, *listed, *([zone] if payments or waiting else [])])

    numbers = tuple(
        Button(f"🧾 {number}", action=("payment", *one.key.words))
        for number, one in enumerate(payments, 1)
        if one.payment.transaction_id is not None
    )
    hides = tuple(
        Button(f"🙈 {number}", action=("hide", *one.key.words, f"{ON_INCOMING}{page}"))
        for number, one in enumerate(payments, 1)
        if one.payment.words
    )
    pages = page_buttons(("incoming",), page, page + 1 + has_more, language)
    rows = (*waiting_rows([claim for claim, _ in waiting], language), numbers, hides, *pages)
    return Reply(fitting(text, language), tuple(row for row in rows if row))


def _numbered(number: int, found: FoundPayment, seller: Seller, most: int) -> str:
    at = _moment(found.payment.received_at, seller)
    name = t(seller.language, "card-name", name=escaped(found.name, _NAME))
    lines = [f"{number}. {name}", receipt_line(found.payment, at, seller, most)]
    if found.is_short:
        lines.append(t(seller.language, "claims-underpaid-choice", number=number))
    return "\n".join(lines)


def payment_reply(found: FoundPayment, seller: Seller, claim_id: str | None) -> Reply:
    """Show one payment with all that is known of it, and the marks that its seller may set.

    `claim_id` is the claim by which its seller may accept an underpaid one.
    """
    language, payment = seller.language, found.payment
    head = t(language, "find-payment", name=escaped(found.name, _NAME))
    place = zones.place_name(seller.zone or zones.UTC_ZONE, language)
    at = f"{_moment(payment.received_at, seller)} ({place})"
    parts = [head, receipt_text(payment, at, seller)]
    hints = [t(language, "claims-accept-hint")] if claim_id else []
    if payment.paid_by is not None and payment.marks.paid_back_at is None:
        hints.append(refund_hint(payment.paid_by, language))
    accept = accept_rows(claim_id, language, IN_LIST) if claim_id else ()
    rows = (*accept, *payment_rows(found, language))
    return Reply("\n".join([*parts, *([""] if hints else []), *hints]), rows)


def payment_rows(found: FoundPayment, language: str) -> Rows:
    """Return the buttons of one payment: its marks, and its card."""
    rows: list[tuple[Button, ...]] = []
    if found.payment.transaction_id is not None:
        rows += [*_marks(found, language), *_hiding(found, language)]
    if found.is_listed:
        card = Button(t(language, "button-show-card"), action=("card", found.listing_id))
        rows.append((card,))
    return tuple(rows)


def _marks(found: FoundPayment, language: str) -> Rows:
    """Return the buttons that set the marks of a payment, or take them back.

    Nothing is sent for money that sold nothing. Half a row is too narrow for what takes one back.
    """
    payment = found.payment
    is_sale = not (payment.oversold or payment.underpaid)
    shown = [mark for mark in NOTED if mark != SENT or is_sale or payment.marks.sent_at is not None]
    words = [mark if payment.marks.noted(mark)[0] is None else UNDO[mark] for mark in shown]
    buttons = [
        Button(t(language, f"button-{word}"), action=(word, *found.key.words)) for word in words
    ]
    return in_rows(buttons, len(words) if words == shown else 1)


def _hiding(found: FoundPayment, language: str) -> Rows:
    """Return the button that hides the payer's words, or shows them again."""
    if found.payment.marks.is_hidden:
        again = Button(t(language, "button-hide-undo"), action=("hide-undo", *found.key.words))
        return ((again,),)
    words = found.payment.words
    return ((hide_button(words, found.key, language, ON_VIEW),),) if words else ()


def _moment(at: int, seller: Seller) -> str:
    return display.button_label(at, seller.zone or zones.UTC_ZONE, seller.language)
