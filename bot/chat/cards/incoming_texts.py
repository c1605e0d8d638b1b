"""`/payments`: claims that wait for their seller, the latest payments, and one payment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.card_text import page_buttons
from bot.chat.cards.claim_text import IN_LIST, accept_rows, waiting_lines, waiting_rows
from bot.chat.cards.payment_texts import receipt_text, zone_line
from bot.chat.cards.rail_text import refund_hint
from bot.chat.messages.reply import Button, Reply, escaped
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
    place: tuple[int, bool, bool],
    seller: Seller,
) -> Reply:
    """Show what waits for its seller, then a page of payments, newest first.

    `place` is the page's number, from 0, whether more claims wait, and whether more pages follow.
    """
    language, (page, more_waiting, more_pages) = seller.language, place
    parts = []
    if waiting:
        parts.append(t(language, "claims-waiting-list", count=len(waiting)))
        parts += [waiting_lines(claim, listing, seller) for claim, listing in waiting]
        parts += [t(language, "claims-waiting-more")] * more_waiting
    if payments or not waiting:
        key = "claims-latest" if payments or page else "claims-nothing"
        parts.append(t(language, key, page=page + 1))
    parts += [_numbered(number, one, seller) for number, one in enumerate(payments, 1)]
    if payments or waiting:
        parts.append(zone_line(seller.zone or zones.UTC_ZONE, language))
    numbers = tuple(
        Button(f"🧾 {number}", action=("payment", *one.key.words))
        for number, one in enumerate(payments, 1)
        if one.payment.transaction_id is not None
    )
    pages = page_buttons(("incoming",), page, page + 1 + more_pages, language)
    rows = (*waiting_rows([claim for claim, _ in waiting], language), numbers, *pages)
    return Reply("\n\n".join(parts), tuple(row for row in rows if row))


def _numbered(number: int, found: FoundPayment, seller: Seller) -> str:
    at = _moment(found.payment.received_at, seller)
    name = t(seller.language, "card-name", name=escaped(found.name, _NAME))
    lines = [f"{number}. {name}", receipt_text(found.payment, at, seller)]
    if found.is_short:
        lines.append(t(seller.language, "claims-underpaid-choice", number=number))
    return "\n".join(lines)


def payment_reply(found: FoundPayment, seller: Seller, claim_id: str | None) -> Reply:
    """Show one payment with all that is known of it, and whether it was paid back.

    `claim_id` is the claim by which its seller may accept an underpaid one.
    """
    language, payment = seller.language, found.payment
    head = t(language, "find-payment", name=escaped(found.name, _NAME))
    place = zones.place_name(seller.zone or zones.UTC_ZONE, language)
    at = f"{_moment(payment.received_at, seller)} ({place})"
    parts = [head, receipt_text(payment, at, seller, in_full=True)]
    hints = [t(language, "claims-accept-hint")] if claim_id else []
    if payment.paid_by is not None and payment.paid_back_at is None:
        hints.append(refund_hint(payment.paid_by, language))
    accept = accept_rows(claim_id, language, IN_LIST) if claim_id else ()
    rows = (*accept, *payment_rows(found, language))
    return Reply("\n".join([*parts, *([""] if hints else []), *hints]), rows)


def payment_rows(found: FoundPayment, language: str) -> Rows:
    """Return the buttons of one payment: paid back or not, its card, all payments."""
    rows: list[tuple[Button, ...]] = []
    payment, words = found.payment, found.key.words
    if payment.transaction_id is not None:
        word = "paid-back" if payment.paid_back_at is None else "paid-back-undo"
        rows.append((Button(t(language, f"button-{word}"), action=(word, *words)),))
    if found.is_listed:
        card = Button(t(language, "button-show-card"), action=("card", found.listing_id))
        rows.append((card,))
    return tuple(rows)


def _moment(at: int, seller: Seller) -> str:
    return display.button_label(at, seller.zone or zones.UTC_ZONE, seller.language)
