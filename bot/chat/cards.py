"""A request as messages: its card, a line of the list, what others see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.keyboards import linkable
from bot.chat.replies import (
    CAPTION_LIMIT,
    TEXT_LIMIT,
    Button,
    Reply,
    Rows,
    escaped,
    plain,
    shown_units,
)
from bot.core.money import format_money
from bot.core.texts import t

if TYPE_CHECKING:
    from collections.abc import Sequence

# Bounds in UTF-16 units: another server's words may have any length.
_NAME = 200  # 100 characters at most, each two units
_LINE_NAME = 24  # on a button of the list
_LONGEST_LINK = 500  # as text: a longer one leaves no room in a caption; the button has it
_ARTICLE_LINE = 120
_LEAST_DESCRIPTION = 16  # less of it says nothing

_CAN_STOP = frozenset(["active", "scheduled"])
_CAN_RESUME = frozenset(["stopped", "expired"])


@dataclass(frozen=True, slots=True)
class Card:
    """A request as its seller sees it.

    `amount` in minor units. `status` is active, scheduled, expired, stopped, completed (a
    one-off that is paid) or soldOut. `reserved_units` are being paid right now. `url` is
    empty until the server has answered.
    """

    listing_id: str
    kind: str
    name: str
    description: str | None
    amount: int
    currency: str
    total_units: int | None
    remaining_units: int | None
    paid_count: int | None
    status: str
    url: str
    reserved_units: int = 0


@dataclass(frozen=True, slots=True)
class Article:
    """A request as an inline result: what the list shows, and the message that is posted."""

    title: str
    description: str
    text: str
    rows: Rows


def card(card: Card, language: str) -> Reply:
    """Show a request: what it is, how it stands, its QR, and what can be done with it."""
    room = CAPTION_LIMIT - shown_units(possibly_repeated("", language))
    text = _text_of(card, language, room, _state(card, language))
    return Reply(text, _card_rows(card, language), card.url or None)


def delete_question(card: Card, language: str) -> Reply:
    """Ask before deleting, saying what is lost."""
    text = t(language, "delete-question", name=escaped(card.name, _NAME))
    if card.paid_count:
        text = f"{text}\n{t(language, 'delete-paid', paid=card.paid_count)}"
    yes = Button(t(language, "button-delete-yes"), action=("delete-yes", card.listing_id))
    no = Button(t(language, "button-delete-no"), action=("refresh", card.listing_id))
    return Reply(text, ((yes,), (no,)))


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
    turns = tuple(
        Button(t(language, f"button-{way}"), action=("list", str(target)))
        for way, target in (("previous", page - 1), ("next", page + 1))
        if 0 <= target < pages
    )
    text = "\n".join([t(language, "list", page=page + 1, pages=pages), *waiting])
    return Reply(text, (*lines, *([turns] if turns else []), new))


def possibly_repeated(text: str, language: str) -> str:
    """Mark a message that may have arrived before, as Telegram's answer to it was lost."""
    mark = t(language, "possibly-repeated")
    marked = text if text.startswith(mark) else f"{mark}\n{text}"
    return marked if shown_units(marked) <= TEXT_LIMIT else text


def shared_article(card: Card, language: str) -> Article:
    """Show a request to others: a card with a Pay button, or the link where there can be none."""
    price = format_money(card.amount, card.currency, language)
    about = " · ".join(filter(None, [price, _left(card, language), card.description]))
    rows = ((Button(t(language, "button-pay", amount=price), url=card.url),),)
    return Article(
        title=plain(card.name, _ARTICLE_LINE),
        description=plain(about, _ARTICLE_LINE),
        text=_text_of(card, language, TEXT_LIMIT, _public_state(card, language)),
        rows=rows if linkable(card.url) else (),
    )


def _text_of(card: Card, language: str, limit: int, state: str) -> str:
    """Fit the card's lines into `limit`: the description gives way, then the link."""
    price = escaped(format_money(card.amount, card.currency, language))
    name = t(language, "card-name", name=escaped(card.name, _NAME))
    facts = t(language, "card-facts", kind=t(language, f"kind-{card.kind}"), amount=price)
    link = escaped(card.url, len(card.url)) if len(card.url) <= _LONGEST_LINK else ""
    rest = "\n".join(filter(None, [facts, state, link]))
    room = limit - shown_units(f"{name}\n\n{rest}\n")
    if not card.description or room < _LEAST_DESCRIPTION:
        return f"{name}\n{rest}"
    return f"{name}\n{escaped(card.description, room)}\n\n{rest}"


def _state(card: Card, language: str) -> str:
    """Say how the request stands, and how often it was paid."""
    parts = [_status(card, language)]
    if card.kind == "donation" and card.paid_count is not None:
        parts.append(t(language, "card-paid", paid=card.paid_count))
    if card.reserved_units and card.status == "active":
        parts.append(t(language, "card-reserved", reserved=card.reserved_units))
    return "\n".join(parts)


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
    if card.status == "active":
        return _left(card, language) or ""
    return t(language, "status-soldOut" if card.status == "soldOut" else "public-closed")


def _left(card: Card, language: str) -> str | None:
    """Say "7 of 10 left" of a drop that is not sold out."""
    if card.remaining_units is None or card.status == "soldOut":
        return None
    if card.total_units is None:
        return t(language, "left", left=card.remaining_units)
    return t(language, "left-of", left=card.remaining_units, total=card.total_units)


def _card_rows(card: Card, language: str) -> Rows:
    listing_id = card.listing_id
    here = [Button(t(language, "button-refresh"), action=("refresh", listing_id))]
    if card.status in _CAN_STOP:
        here.append(Button(t(language, "button-stop"), action=("stop", listing_id)))
    elif card.status in _CAN_RESUME:
        here.append(Button(t(language, "button-resume"), action=("resume", listing_id)))
    delete = Button(t(language, "button-delete"), action=("delete", listing_id))
    links: Rows = ()
    if card.url:
        links = (
            (Button(t(language, "button-open"), url=card.url),),
            (
                Button(t(language, "button-copy"), copy=card.url),
                Button(t(language, "button-share"), share=listing_id),
            ),
        )
    return (*links, tuple(here), (delete,))


def _list_line(card: Card, language: str) -> str:
    """Write a button of the list: how it stands, its name, its price, what is left."""
    price = format_money(card.amount, card.currency, language)
    name = plain(card.name, _LINE_NAME)
    line = t(language, "list-line", mark=t(language, f"mark-{card.status}"), name=name, price=price)
    return " · ".join(filter(None, [line, _left(card, language)]))
