"""The menus of a request (more, edit, delete and poster), and the replies to an edit.

A menu replaces the card whose button was pressed, so that the card stays one message, and is
refreshed like the card. The poster menu is not refreshed, because its content is static.
"""

from __future__ import annotations

from dataclasses import replace

from bot.chat.cards import card_text, request_card
from bot.chat.forms import field_texts, flow, request_fields
from bot.chat.model import drafts, replies, request_spec
from bot.core.text import translations
from bot.interface import vocabulary

DESIGNS = ("print-light", "print-dark", "square-light", "square-dark")
"""The poster designs: for print, and square for stories."""

# Limits in UTF-16 units: texts from other servers and payers may have any length.
_NAME = 200
_SAVED = 600
_MAX_LINK = 300


_CHANGES = {
    **dict.fromkeys(["active", "scheduled", vocabulary.NO_PAYOUT], "stop"),
    **dict.fromkeys(["stopped", "expired"], "resume"),
}
"""The possible change of state, by status."""


def open_menu(card: request_card.Card, menu: str, language: str) -> replies.Reply:
    """Show one of MENUS instead of the card, below the card's picture if it has one."""
    return replace(
        MENUS[menu](card, language),
        picture=card_text.seller_card(card, language).picture,
        menu=menu,
    )


def more_menu(card: request_card.Card, language: str) -> replies.Reply:
    """Show the actions for which the card has no room, below the card's text."""

    def act(word: str, *more: str, style: str | None = None) -> replies.Button:
        action = (word, card.link_id, *more)
        return replies.text_button(language, f"button-{word}", *action, style=style)

    poster = (act("poster"),) if card.url else ()
    change = (act(_CHANGES[card.status]),) if card.status in _CHANGES else ()
    buttons = [act("payments", "0"), *poster, act("alerts"), act("refresh"), act("duplicate")]
    buttons += [request_card.send_codes_button(card.link_id, language)] if card.codes else []
    buttons += [*change, act("delete", style=replies.DANGER), _back(card, language)]
    text = card_text.seller_card(card, language).text
    return replies.Reply(text, field_texts.in_rows(buttons, 2))


def edit_menu(card: request_card.Card, language: str) -> replies.Reply:
    """Show the fields that can be edited, below the card's text."""
    edits = (
        replies.text_button(language, f"button-edit-{name}", "edit", card.link_id, name)
        for name, field in request_fields.EDITS.items()
        if card.kind in field.kinds and (card.is_embedded or not field.needs_embedded)
    )
    fixed = replies.text_button(language, "button-edit-not", "edit-not", card.link_id)
    rows = (*field_texts.in_rows(edits, 2), (fixed,), (_back(card, language),))
    return replies.Reply(card_text.seller_card(card, language).text, rows)


def fixed_menu(card: request_card.Card, language: str) -> replies.Reply:
    """Explain which fields can't be edited, the reason, and the alternative."""
    text = translations.t(language, "edit-not", name=replies.escaped(card.name, _NAME))
    again = replies.text_button(language, "button-duplicate", "duplicate", card.link_id)
    back = replies.text_button(language, "button-back", "edit", card.link_id)
    return replies.Reply(text, ((again,), (back,)))


def delete_question(card: request_card.Card, language: str) -> replies.Reply:
    """Ask for confirmation before deleting; the text explains the consequences."""
    lines = [translations.t(language, "delete-question", name=replies.escaped(card.name, _NAME))]
    if card.paid_count:
        lines.append(translations.t(language, "delete-paid", paid=card.paid_count))
    if card.reserved_units:
        lines.append(translations.t(language, "delete-reserved", reserved=card.reserved_units))
    yes = replies.text_button(
        language, "button-delete-yes", "delete-yes", card.link_id, style=replies.DANGER
    )
    no = replies.text_button(language, "button-keep-it", "refresh", card.link_id)
    return replies.Reply("\n".join(lines), ((yes,), (no,)))


MENUS = {
    "more": more_menu,
    "edit": edit_menu,
    "edit-not": fixed_menu,
    "delete": delete_question,
}
"""The menus that open on a card, by button word."""


def poster_menu(
    card: request_card.Card, text: str | None, bot_name: str, language: str
) -> replies.Reply:
    """Show a request's links and poster designs; `text` is the seller's text on the poster."""
    link = replies.escaped(card_text.deep_link(bot_name, card.link_id))
    lines = _name_and_link("poster", card, language)
    lines.append(translations.t(language, "poster-deep-link", link=link))
    if text:
        lines.append(translations.t(language, "poster-text", value=replies.escaped(text, _NAME)))
    designs = (
        replies.text_button(language, f"button-{design}", "poster", card.link_id, design)
        for design in DESIGNS
    )
    key = "button-poster-text-change" if text else "button-poster-text-add"
    field = request_fields.POSTER_TEXT.name
    words = replies.text_button(language, key, "edit", card.link_id, field)
    rows = (*field_texts.in_rows(designs, 2), (words,), (_back(card, language),))
    return replies.Reply("\n".join(lines), rows)


def poster_refused(card: request_card.Card, file: str, language: str) -> replies.Reply:
    """Send the link instead of a poster file that Telegram refused, with a retry button."""
    design = file.partition(".")[0]
    again = replies.text_button(language, "button-poster-again", "poster", card.link_id, design)
    return replies.Reply("\n".join(_name_and_link("poster-refused", card, language)), ((again,),))


def _name_and_link(key: str, card: request_card.Card, language: str) -> list[str]:
    """Return the text `key` about a request's poster, and a line with its link if it is short."""
    lines = [translations.t(language, key, name=replies.escaped(card.name, _NAME))]
    if 0 < len(card.url) <= _MAX_LINK:
        link = replies.escaped(card.url, len(card.url))
        lines.append(translations.t(language, "poster-link", link=link))
    return lines


def saved_reply(
    card: request_card.Card, change: flow.Change, seller: drafts.Seller, now: int
) -> replies.Reply:
    """Confirm an edit, with the status if the request still can't be paid."""
    language, field = seller.language, request_fields.EDITS[change.field]
    if change.value is None:
        text = translations.t(language, f"cleared-{change.field}")
    else:
        value = field.changed_words(change.value, card.currency, seller, now, _SAVED)
        if field is request_fields.GOODS:
            value = _codes_for_units(card, change.value, language) or value
        text = translations.t(language, f"saved-{change.field}", value=value)
    lines = [translations.t(language, "saved", name=replies.escaped(card.name, _NAME)), text]
    is_after_payment = field.name in request_fields.AFTER_PAYMENT
    if change.value is not None and card.has_receipt_first and is_after_payment:
        lines.append(translations.t(language, "redirect-receipt-first"))
    if field.edit and field.edit.decides_status and card.status not in ("active", "deleted"):
        lines.append(translations.t(language, f"status-{card.status}"))
    poster = replies.text_button(language, "button-poster", "poster", card.link_id)
    first = ((poster,),) if field is request_fields.POSTER_TEXT else ()
    return replies.Reply("\n".join(lines), (*first, _card_and_edit(card, language)))


def _codes_for_units(card: request_card.Card, change: object, language: str) -> str | None:
    """Return a line on whether new codes suffice for the units on sale, if the edit added codes.

    None if buyers are waiting for codes: the card then shows how many are missing.
    """
    left = card.remaining_units
    if not isinstance(change, request_spec.Goods) or change.kind != request_spec.CODES:
        return None
    if card.kind != "drop" or left is None or (card.codes and card.codes.waiting):
        return None
    return field_texts.fit_line(change, left + card.reserved_units, language)


def unsaved_reply(card: request_card.Card, why: str, language: str) -> replies.Reply:
    """Explain why an edit can't be made, with a button for another edit."""
    return replies.Reply(why, (_card_and_edit(card, language),))


def _card_and_edit(card: request_card.Card, language: str) -> tuple[replies.Button, replies.Button]:
    show = replies.text_button(language, "button-show-card", "card", card.link_id)
    return show, replies.text_button(language, "button-edit", "edit", card.link_id)


def _back(card: request_card.Card, language: str) -> replies.Button:
    return replies.text_button(language, "button-back", "refresh", card.link_id)
