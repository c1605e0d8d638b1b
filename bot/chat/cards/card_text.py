"""A request as messages: its card, a line of the list, what others see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.messages.buttons import linkable
from bot.chat.messages.reply import (
    CAPTION_LIMIT,
    TEXT_LIMIT,
    Button,
    Reply,
    Rows,
    escaped,
    plain,
    shown_units,
)
from bot.chat.times import display, zones
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.cards.request_card import Card
    from bot.chat.messages.reply import Action

# Bounds in UTF-16 units: another server's words may have any length.
_NAME = 200  # 100 characters at most, each two units
_LINE_NAME = 24  # on a button of the list
_LONGEST_LINK = 500  # as text: a longer one leaves no room in a caption; the button has it
_ARTICLE_LINE = 120
_MOMENT = 80
_EMAIL = 64
_CURRENCIES = 6  # of one total: a request is seldom paid in two
_LEAST_DESCRIPTION = 16  # less of it says nothing

DEEP_LINK_PREFIX = "r_"
"""What `/start` brings from a request's deep link, before the listing's id."""

STAMPED_STATUSES = frozenset(["soldOut", "expired", "stopped", "completed", "deleted"])
"""States that are stamped over the picture's code."""

EMAIL_STATES = frozenset(["unconfirmed", "confirmed", "ended"])
"""How an address stands that somebody has to confirm."""

_CAN_STOP = frozenset(["active", "scheduled"])
_CAN_RESUME = frozenset(["stopped", "expired"])
_CAN_REPEAT = frozenset(["soldOut", "completed"])  # over for good: only another can be sold


@dataclass(frozen=True, slots=True)
class Article:
    """A request as an inline result: what the list shows, and the message that is posted."""

    title: str
    description: str
    text: str
    rows: Rows


def seller_card(card: Card, language: str) -> Reply:
    """Show a request: what it is, how it stands, its QR, and what can be done with it."""
    if card.status == "deleted":
        text = t(language, "listing-deleted", name=escaped(card.name, _NAME))
        return Reply(text, picture=_picture(card))
    text = _text_of(card, language, _state(card, language))
    return Reply(text, _card_rows(card, language), _picture(card))


def public_card(card: Card, language: str) -> Reply:
    """Show a request to others: what it is, whether it can be paid, and nothing of the takings."""
    if card.status == "deleted":
        text = t(language, "public-gone", name=escaped(card.name, _NAME))
        return Reply(text, picture=_picture(card))
    text = _text_of(card, language, _public_state(card, language))
    rows = ((_way_in(card, language),),) if _leads_somewhere(card) else ()
    return Reply(text, rows, card.listing_id)


def visitor_card(card: Card, language: str) -> Reply:
    """Show a request to somebody who followed its link, with a button that brings it up to date."""
    shown = public_card(card, language)
    refresh = Button(t(language, "button-refresh"), action=("look", card.listing_id))
    rows = () if card.status == "deleted" else (*shown.rows, (refresh,))
    return Reply(shown.text, rows, shown.picture)


def stamp_text(card: Card, language: str) -> str | None:
    """Say in a word or two what lies across the code of a request that can't be paid."""
    return t(language, f"stamp-{card.status}") if card.status in STAMPED_STATUSES else None


def price_text(card: Card, language: str) -> str:
    """Write the price as people of this language do."""
    return format_money(card.amount, card.currency, language)


def total_text(amounts: Sequence[tuple[int, str]], language: str) -> str:
    """Write amounts in minor units, one a currency, as one total: nothing is converted.

    Of more than there is room for, the first ones and an ellipsis; escaped.
    """
    shown = [escaped(format_money(*each, language)) for each in amounts[:_CURRENCIES]]
    return " + ".join([*shown, *(["…"] if len(amounts) > _CURRENCIES else [])])


def page_buttons(action: Action, page: int, pages: int, language: str) -> Rows:
    """Give the buttons to the pages beside `page`, from 0: `action` with the number of each."""
    buttons = tuple(
        Button(t(language, f"button-{way}"), action=(*action, str(target)))
        for way, target in (("previous", page - 1), ("next", page + 1))
        if 0 <= target < pages
    )
    return (buttons,) if buttons else ()


def deep_link(bot_name: str, listing_id: str) -> str:
    """Give the address that shows a request's public card in Telegram, at /start."""
    return f"https://t.me/{bot_name}?start={DEEP_LINK_PREFIX}{listing_id}"


def list_page(
    cards: Sequence[Card], page: int, pages: int, language: str, *, pending: Sequence[str] = ()
) -> Reply:
    """Show one page of requests, each a button to its card; `page` counts from 0.

    `pending` are the names of requests that are still being made.
    """
    new = (Button(t(language, "button-new"), action=("new",)),)
    waiting = [t(language, "list-pending", name=escaped(name, _NAME)) for name in pending]
    if not cards:
        return Reply("\n".join(waiting) or t(language, "list-empty"), (new,))
    lines = tuple(
        (Button(_list_line(card, language), action=("card", card.listing_id)),) for card in cards
    )
    text = "\n".join([t(language, "list", page=page + 1, pages=pages), *waiting])
    return Reply(text, (*lines, *page_buttons(("list",), page, pages, language), new))


def mark_possibly_repeated(text: str, language: str) -> str:
    """Mark a message that may have arrived before, as Telegram's answer to it was lost."""
    mark = t(language, "possibly-repeated")
    marked = text if text.startswith(mark) else f"{mark}\n{text}"
    return marked if shown_units(marked) <= TEXT_LIMIT else text


def inline_article(card: Card, language: str) -> Article:
    """Show a request to others: a card with a Pay button, or the link where there can be none."""
    shown = public_card(card, language)
    about = " · ".join(
        filter(None, [price_text(card, language), _brief(card, language), card.description])
    )
    return Article(
        title=plain(card.name, _ARTICLE_LINE),
        description=plain(about, _ARTICLE_LINE),
        text=shown.text,
        rows=shown.rows,
    )


def _picture(card: Card) -> str | None:
    """Name the picture; there is none before there is a link to draw."""
    return card.listing_id if card.url else None


def _brief(card: Card, language: str) -> str | None:
    """Say in a few words what is left, or why it can't be paid."""
    if card.status == "scheduled":
        return t(language, "status-scheduled")
    return stamp_text(card, language) or _left(card, language)


def _leads_somewhere(card: Card) -> bool:
    """Whether others have a use for the page: it can be paid there, or will be."""
    return card.status in _CAN_STOP and linkable(card.url)


def _way_in(card: Card, language: str) -> Button:
    if card.status == "scheduled":
        return Button(t(language, "button-open"), url=card.url)
    return Button(t(language, "button-pay", amount=price_text(card, language)), url=card.url)


def _text_of(card: Card, language: str, state: str) -> str:
    """Fit the card's lines below a picture: the description gives way, then the link.

    Room is left to say that the message may be a repetition.
    """
    limit = CAPTION_LIMIT - shown_units(mark_possibly_repeated("", language))
    amount = escaped(price_text(card, language))
    name = t(language, "card-name", name=escaped(card.name, _NAME))
    facts = t(language, "card-facts", kind=t(language, f"kind-{card.kind}"), amount=amount)
    link = escaped(card.url, len(card.url)) if len(card.url) <= _LONGEST_LINK else ""
    rest = "\n".join(filter(None, [facts, state, link]))
    room = limit - shown_units(f"{name}\n\n{rest}\n")
    if not card.description or room < _LEAST_DESCRIPTION:
        return f"{name}\n{rest}"
    return f"{name}\n{escaped(card.description, room)}\n\n{rest}"


def _state(card: Card, language: str) -> str:
    """Say how the request stands, and what it took."""
    being_paid = card.reserved_units if card.status == "active" else 0
    reserved = t(language, "card-reserved", reserved=being_paid) if being_paid else None
    told = _email(card, language)
    parts = (_status(card, language), reserved, _taken(card, language), _when(card, language), told)
    return "\n".join(filter(None, parts))


def _email(card: Card, language: str) -> str | None:
    """Return how the address stands that is told of payments."""
    if card.email is None or card.email_state not in EMAIL_STATES:
        return None
    email, at = escaped(card.email, _EMAIL), card.email_confirmed_at
    moment = "" if at is None else _moment(at, card.zone, language) or ""
    return t(language, f"card-email-{card.email_state}", email=email, moment=moment)


def _taken(card: Card, language: str) -> str | None:
    """Say what came in, from how many payments."""
    if not card.taken or not card.paid_count:
        unsaid = card.paid_count is None or card.kind != "donation"
        return None if unsaid else t(language, "card-paid", paid=card.paid_count)
    amount = total_text(card.taken, language)
    return t(language, "card-taken", amount=amount, paid=card.paid_count)


def _when(card: Card, language: str) -> str | None:
    """Say when it opens or closes, as far as that is to come."""
    if card.status == "scheduled" and card.starts_at is not None:
        moment = _moment(card.starts_at, card.zone, language)
        return moment and t(language, "card-starts", moment=moment)
    if card.status in _CAN_STOP and card.ends_at is not None:
        moment = _moment(card.ends_at, card.zone, language)
        return moment and t(language, "card-ends", moment=moment)
    return None


def _moment(at: int, zone: str | None, language: str) -> str | None:
    """Say a moment in short, with whose time it is.

    In UTC where the zone's rules can't be read; None for one beyond all calendars, as another
    server may tell.
    """
    for shown in (zone or zones.UTC_ZONE, zones.UTC_ZONE):
        try:
            label, place = (
                display.button_label(at, shown, language),
                zones.place_name(shown, language),
            )
        except (OSError, KeyError, ValueError, OverflowError):
            continue
        return escaped(f"{label} ({place})", _MOMENT)
    return None


def _status(card: Card, language: str) -> str:
    left = _left(card, language)
    if card.status == "active" and left:
        return t(language, "status-active-left", left=left)
    if card.status == "active" and card.kind == "oneoff":
        return t(language, "status-active-oneoff")
    if card.status == "soldOut" and card.total_units is not None:
        return t(language, "status-sold-out-of", total=card.total_units)
    status = t(language, f"status-{card.status}")
    return " · ".join(filter(None, [status, left]))


def _public_state(card: Card, language: str) -> str:
    """Say to payers whether they can pay, and nothing of the takings."""
    if card.status in _CAN_STOP:
        soon = t(language, "status-scheduled") if card.status == "scheduled" else None
        return "\n".join(filter(None, [soon, _left(card, language), _when(card, language)]))
    return t(language, "public-closed" if card.status == "stopped" else f"status-{card.status}")


def _left(card: Card, language: str) -> str | None:
    """Say "7 of 10 left" of a drop that is not sold out."""
    if card.remaining_units is None or card.status == "soldOut":
        return None
    if card.total_units is None:
        return t(language, "left", left=card.remaining_units)
    return t(language, "left-of", left=card.remaining_units, total=card.total_units)


def _card_rows(card: Card, language: str) -> Rows:
    """Give the buttons, the most wanted first; two in a row, so that a phone shows them whole."""
    listing_id = card.listing_id

    def does(word: str, *more: str) -> Button:
        return Button(t(language, f"button-{word}"), action=(word, listing_id, *more))

    refresh, ends = does("refresh"), [does("delete")]
    if card.status in _CAN_STOP:
        ends.insert(0, does("stop"))
    elif card.status in _CAN_RESUME:
        ends.insert(0, does("resume"))
    elif card.status in _CAN_REPEAT:
        ends.insert(0, does("duplicate"))
    if not card.url:
        return ((refresh,), tuple(ends))
    opened = Button(t(language, "button-open"), url=card.url)
    copied = Button(t(language, "button-copy"), copy=card.url)
    share = Button(t(language, "button-share"), share=listing_id)
    return (
        (opened, copied),
        (share, does("edit")),
        (does("poster"), does("payments", "0")),
        (does("alerts"), refresh),
        tuple(ends),
    )


def _list_line(card: Card, language: str) -> str:
    """Write a button of the list: how it stands, its name, its price, what is left."""
    name, cost = plain(card.name, _LINE_NAME), price_text(card, language)
    line = t(language, "list-line", mark=t(language, f"mark-{card.status}"), name=name, price=cost)
    return " · ".join(filter(None, [line, _left(card, language)]))
