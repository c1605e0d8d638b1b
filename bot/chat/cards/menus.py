"""The menus of a request: more, edit, delete and poster, and the replies to an edit.

A menu replaces the card whose button was pressed, so the card stays one message, and is refreshed
with it. The poster's menu is not: nothing in it changes by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.cards.card_text import (
    deep_link,
    seller_card,
)
from bot.chat.cards.goods_texts import send_codes_button
from bot.chat.fields.goods_text import fit_line
from bot.chat.fields.offers import in_rows
from bot.chat.fields.registry import AFTER_PAYMENT, EDITS, GOODS, POSTER_TEXT
from bot.chat.messages.reply import DANGER, Button, Reply, escaped
from bot.chat.model.answers import NO_PAYOUT
from bot.chat.model.goods import CODES, Goods
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.cards.request_card import Card
    from bot.chat.forms.outcome import Change
    from bot.chat.model.draft import Seller

DESIGNS = ("print-light", "print-dark", "square-light", "square-dark")
"""The designs of posters: for paper, and square for stories."""

# Limits in UTF-16 units: texts of another server and of payers may have any length.
_NAME = 200
_SAVED = 600
_MAX_LINK = 300


_CHANGES = {
    **dict.fromkeys(["active", "scheduled", NO_PAYOUT], "stop"),
    **dict.fromkeys(["stopped", "expired"], "resume"),
}
"""The change of state that is possible, by status."""


def open_menu(card: Card, menu: str, language: str) -> Reply:
    """Show one of MENUS in the place of the card, below the card's picture if it has one."""
    return replace(
        MENUS[menu](card, language),
        picture=seller_card(card, language).picture,
        menu=menu,
    )


def more_menu(card: Card, language: str) -> Reply:
    """Show what the card itself has no room for, below the text of the card."""

    def act(word: str, *more: str, style: str | None = None) -> Button:
        label = t(language, f"button-{word}")
        return Button(label, action=(word, card.listing_id, *more), style=style)

    poster = (act("poster"),) if card.url else ()
    change = (act(_CHANGES[card.status]),) if card.status in _CHANGES else ()
    buttons = [act("payments", "0"), *poster, act("alerts"), act("refresh"), act("duplicate")]
    buttons += [send_codes_button(card.listing_id, language)] if card.codes else []
    buttons += [*change, act("delete", style=DANGER), _back(card, language)]
    return Reply(seller_card(card, language).text, in_rows(buttons, 2))


def edit_menu(card: Card, language: str) -> Reply:
    """Show the fields that can be edited, below the text of the card."""
    edits = (
        Button(t(language, f"button-edit-{name}"), action=("edit", card.listing_id, name))
        for name, field in EDITS.items()
        if card.kind in field.kinds and (card.is_embedded or not field.needs_embedded)
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


MENUS = {
    "more": more_menu,
    "edit": edit_menu,
    "edit-not": fixed_menu,
    "delete": delete_question,
}
"""The menus that are opened on a card, by the word of their button."""


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


def poster_refused(card: Card, file: str, language: str) -> Reply:
    """Send the link in place of a poster's file that Telegram refused, which may be tried again."""
    link = card.url if len(card.url) <= _MAX_LINK else ""
    lines = [
        t(language, "poster-refused", name=escaped(card.name, _NAME)),
        link and t(language, "poster-link", link=escaped(link, len(link))),
    ]
    again = ("poster", card.listing_id, file.partition(".")[0])
    row = (Button(t(language, "button-poster-again"), action=again),)
    return Reply("\n".join(filter(None, lines)), (row,))


def saved_reply(card: Card, change: Change, seller: Seller, now: int) -> Reply:
    """Confirm an edit, with the status where the request still can't be paid."""
    language, field = seller.language, EDITS[change.field]
    if change.value is None:
        text = t(language, f"cleared-{change.field}")
    else:
        value = field.changed_words(change.value, card.currency, seller, now, _SAVED)
        if field is GOODS:
            value = _codes_for_pieces(card, change.value, language) or value
        text = t(language, f"saved-{change.field}", value=value)
    lines = [t(language, "saved", name=escaped(card.name, _NAME)), text]
    if change.value is not None and card.has_receipt_first and field.name in AFTER_PAYMENT:
        lines.append(t(language, "redirect-receipt-first"))
    if field.edit and field.edit.decides_status and card.status not in ("active", "deleted"):
        lines.append(t(language, f"status-{card.status}"))
    poster = Button(t(language, "button-poster"), action=("poster", card.listing_id))
    first = ((poster,),) if field is POSTER_TEXT else ()
    return Reply("\n".join(lines), (*first, _card_and_edit(card, language)))


def _codes_for_pieces(card: Card, change: object, language: str) -> str | None:
    """Return whether new codes are enough for the pieces on sale; None where no code is for them.

    Codes that buyers wait for are none of these: the card says how many are missing.
    """
    goods, left = Goods.from_json(change), card.remaining_units
    if goods is None or goods.kind != CODES or card.kind != "drop" or left is None:
        return None
    if card.codes and card.codes.waiting:
        return None
    return fit_line(goods, left + card.reserved_units, language)


def unsaved_reply(card: Card, why: str, language: str) -> Reply:
    """Explain why an edit can't be made, with a button for another one."""
    return Reply(why, (_card_and_edit(card, language),))


def _card_and_edit(card: Card, language: str) -> tuple[Button, Button]:
    show = Button(t(language, "button-show-card"), action=("card", card.listing_id))
    return show, Button(t(language, "button-edit"), action=("edit", card.listing_id))


def _back(card: Card, language: str) -> Button:
    return Button(t(language, "button-back"), action=("refresh", card.listing_id))
