"""The menus of a request: more, edit, delete, poster, payments, and the replies to an edit.

A menu replaces the card whose button was pressed, so the card stays one message.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from bot.chat.cards.card_text import (
    deep_link,
    number_line,
    page_buttons,
    refund_line,
    seller_card,
    total_text,
)
from bot.chat.fields.offers import in_rows
from bot.chat.fields.registry import EDITS, POSTER_TEXT
from bot.chat.messages.reply import DANGER, Button, Reply, escaped, plain
from bot.chat.model.wish import PAYER_FIELDS
from bot.chat.times import display, zones
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.chat.cards.request_card import Card
    from bot.chat.forms.outcome import Change
    from bot.chat.model.draft import Seller
    from bot.chat.store.queries import ListedPayment
    from bot.chat.store.received_payments import Takings

DESIGNS = ("print-light", "print-dark", "square-light", "square-dark")
"""The designs of posters: for paper, and square for stories."""

# Limits in UTF-16 units: texts of another server and of payers may have any length.
_NAME = 200
_SAVED = 600
_MAX_LINK = 300
_PAYER_LINE = 160
_PAYER_LABEL = 40


_CHANGES = {
    **dict.fromkeys(["active", "scheduled"], "stop"),
    **dict.fromkeys(["stopped", "expired"], "resume"),
}
"""The change of state that is possible, by status."""


def more_menu(card: Card, language: str) -> Reply:
    """Show what the card itself has no room for, below the text of the card."""

    def act(word: str, *more: str, style: str | None = None) -> Button:
        label = t(language, f"button-{word}")
        return Button(label, action=(word, card.listing_id, *more), style=style)

    poster = (act("poster"),) if card.url else ()
    change = (act(_CHANGES[card.status]),) if card.status in _CHANGES else ()
    buttons = [act("payments", "0"), *poster, act("alerts"), act("refresh"), act("duplicate")]
    buttons += [*change, act("delete", style=DANGER), _back(card, language)]
    return Reply(seller_card(card, language).text, in_rows(buttons, 2))


def edit_menu(card: Card, language: str) -> Reply:
    """Show the fields that can be edited, below the text of the card."""
    edits = (
        Button(t(language, f"button-edit-{name}"), action=("edit", card.listing_id, name))
        for name, field in EDITS.items()
        if card.kind in field.kinds
    )
    fixed = Button(t(language, "button-edit-not"), action=("edit-not", card.listing_id))
    rows = (*in_rows(edits, 2), (fixed,), (_back(card, language),))
    return Reply(seller_card(card, language).text, rows)


def fixed_menu(card: Card, language: str) -> Reply:
    """Explain which fields can't be edited, why, and what to do instead."""
    text = t(language, "edit-not", name=escaped(card.name, _NAME))
    again = Button(t(language, "button-duplicate"), action=("duplicate", card.listing_id))
    back = Button(t(language, "button-back"), action=("edit", card.listing_id))
    return Reply(text, ((again,), (back,)))


def delete_question(card: Card, language: str) -> Reply:
    """Ask before deleting; the text explains what is lost and what stays."""
    lines = [t(language, "delete-question", name=escaped(card.name, _NAME))]
    if card.paid_count:
        lines.append(t(language, "delete-paid", paid=card.paid_count))
    if card.reserved_units:
        lines.append(t(language, "delete-reserved", reserved=card.reserved_units))
    label = t(language, "button-delete-yes")
    yes = Button(label, action=("delete-yes", card.listing_id), style=DANGER)
    no = Button(t(language, "button-delete-no"), action=("refresh", card.listing_id))
    return Reply("\n".join(lines), ((yes,), (no,)))


def poster_menu(card: Card, text: str | None, bot_name: str, language: str) -> Reply:
    """Show the links of a request and the designs of its poster; `text` is the seller's, on it."""
    link = card.url if len(card.url) <= _MAX_LINK else ""
    lines = [
        t(language, "poster", name=escaped(card.name, _NAME)),
        link and t(language, "poster-link", link=escaped(link, len(link))),
        t(language, "poster-deep-link", link=escaped(deep_link(bot_name, card.listing_id))),
        text and t(language, "poster-text", value=escaped(text, _NAME)),
    ]
    designs = (
        Button(t(language, f"button-{design}"), action=("poster", card.listing_id, design))
        for design in DESIGNS
    )
    key = "button-poster-text-change" if text else "button-poster-text-add"
    words = Button(t(language, key), action=("edit", card.listing_id, POSTER_TEXT.name))
    rows = (*in_rows(designs, 2), (words,), (_back(card, language),))
    return Reply("\n".join(filter(None, lines)), rows)


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
        head.append(t(language, "payments-zone", zone=escaped(zones.place_name(zone, language))))
    back = Button(t(language, "button-back"), action=("card", card.listing_id))
    lines = [_receipt(receipt, zone, language) for receipt in receipts]
    turns = page_buttons(("payments", card.listing_id), page, pages, language)
    return Reply("\n\n".join(["\n".join(head), *lines]), (*turns, (back,)))


def _totals(takings: Takings, language: str) -> list[str]:
    """Return a line of what was earned and one of what has to be paid back, where there is any."""
    total, count = total_text(takings.earned, language), takings.earned_count
    earned = t(language, "payments-total", total=total, count=count) if count else None
    refund = refund_line(takings.to_refund, takings.refund_count, language)
    return [*filter(None, [earned, refund])]


def saved_reply(card: Card, change: Change, seller: Seller, now: int) -> Reply:
    """Confirm an edit, with the status where the request still can't be paid."""
    language, field = seller.language, EDITS[change.field]
    if change.value is None:
        text = t(language, f"cleared-{change.field}")
    else:
        value = field.words(change.value, seller, now, _SAVED)
        text = t(language, f"saved-{change.field}", value=value)
    lines = [t(language, "saved", name=escaped(card.name, _NAME)), text]
    if field.edit and field.edit.decides_status and card.status not in ("active", "deleted"):
        lines.append(t(language, f"status-{card.status}"))
    poster = Button(t(language, "button-poster"), action=("poster", card.listing_id))
    first = ((poster,),) if field is POSTER_TEXT else ()
    return Reply("\n".join(lines), (*first, _card_and_edit(card, language)))


def unsaved_reply(card: Card, why: str, language: str) -> Reply:
    """Explain why an edit can't be made, with a button for another one."""
    return Reply(why, (_card_and_edit(card, language),))


def _card_and_edit(card: Card, language: str) -> tuple[Button, Button]:
    show = Button(t(language, "button-show-card"), action=("card", card.listing_id))
    return show, Button(t(language, "button-edit"), action=("edit", card.listing_id))


def _back(card: Card, language: str) -> Button:
    return Button(t(language, "button-back"), action=("refresh", card.listing_id))


def _receipt(receipt: ListedPayment, zone: str, language: str) -> str:
    amount = escaped(format_money(receipt.amount, receipt.currency, language))
    at = escaped(display.button_label(receipt.received_at, zone, language))
    head = t(language, "payments-line", at=at, amount=amount)
    marks = [
        t(language, "payments-oversold") if receipt.oversold else "",
        t(language, "payments-found") if receipt.found else "",
        t(language, "payments-in-doubt") if receipt.in_doubt else "",
    ]
    number, payer = (
        number_line(receipt.transaction_id, language),
        _payer_line(receipt.payer, language),
    )
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
