"""The texts and buttons that show a request: its card, a line of the list, the public card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.cards.giving_text import (
    choice_line,
    goal_brief,
    goal_lines,
    order_lines,
    price_text,
)
from bot.chat.cards.goods_texts import codes_line
from bot.chat.cards.request_card import OUTDATED
from bot.chat.messages.buttons import linkable
from bot.chat.messages.reply import (
    CAPTION_LIMIT,
    SUCCESS,
    TEXT_LIMIT,
    Button,
    Reply,
    Rows,
    escaped,
    plain,
    shown_units,
)
from bot.chat.model.answers import NO_PAYOUT
from bot.chat.times import display, zones
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.cards.request_card import Card
    from bot.chat.messages.reply import Action
    from bot.chat.store.takings import Takings

# Limits in UTF-16 units: texts of another server may have any length.
_NAME = 200  # 100 characters at most, each two units
_SELLER = 60
_LINE_NAME = 24  # on a button of the list
_MAX_LINK = 500  # as text: a longer one leaves no room in a caption; a button has it anyway
_ARTICLE_LINE = 120
_MOMENT = 80
_EMAIL = 64
_TRANSACTION = 80  # hashes have 64 digits
_MAX_CURRENCIES = 6  # in one total: a request is seldom paid in two
_MIN_DESCRIPTION = 16  # a shorter piece has no meaning

DEEP_LINK_PREFIX = "r_"
"""The prefix of a listing's id in the parameter of `/start` that a deep link sends."""

STAMPED_STATUSES = frozenset(["soldOut", "expired", "stopped", "completed", "deleted"])
"""Statuses that are stamped across the code in the picture."""

EMAIL_STATES = frozenset(["unconfirmed", "confirmed", "ended"])
"""The states of an email address that its owner has to confirm."""

_CAN_PAY = frozenset(["active", "scheduled"])
_CAN_STOP = _CAN_PAY | {NO_PAYOUT}
_REVIVALS = {
    **dict.fromkeys(["stopped", "expired"], "resume"),
    **dict.fromkeys(["soldOut", "completed", OUTDATED], "duplicate"),  # ended for good
}
"""The button of a card that can't be paid, beside More: what makes it payable again."""


@dataclass(frozen=True, slots=True)
class Article:
    """A request as an inline result: its line in the list, and the message to post."""

    title: str
    description: str
    text: str
    rows: Rows


def seller_card(card: Card, language: str) -> Reply:
    """Render a request for its seller: product, status, QR code and actions."""
    if card.status == "deleted":
        text = t(language, "listing-deleted", name=escaped(card.name, _NAME))
        return Reply(text, picture=_picture(card))
    text = _card_caption(card, language, _state(card, language))
    return Reply(text, _card_rows(card, language), _picture(card))


def public_card(card: Card, language: str) -> Reply:
    """Render a request for others: product and whether it can be paid, without the takings."""
    if card.status == "deleted":
        text = t(language, "public-gone", name=escaped(card.name, _NAME))
        return Reply(text, picture=_picture(card))
    seller = _seller_line(card, language, escaped(card.seller.name or "", _SELLER))
    state = "\n".join(filter(None, [seller, _public_state(card, language)]))
    text = _card_caption(card, language, state)
    is_or_will_be_payable = card.status in _CAN_PAY and linkable(card.url)
    rows = ((_pay_button(card, language),),) if is_or_will_be_payable else ()
    return Reply(text, rows, card.listing_id)


def visitor_card(card: Card, language: str) -> Reply:
    """Render a request for someone who followed its deep link, with a refresh button."""
    shown = public_card(card, language)
    refresh = Button(t(language, "button-refresh"), action=("look", card.listing_id))
    rows = () if card.status == "deleted" else (*shown.rows, (refresh,))
    return Reply(shown.text, rows, shown.picture)


def stamp_text(card: Card, language: str) -> str | None:
    """Return the stamp across the code of a request that can't be paid, None for others."""
    return t(language, f"stamp-{card.status}") if card.status in STAMPED_STATUSES else None


def total_text(amounts: Sequence[tuple[int, str]], language: str) -> str:
    """Format amounts in minor units, one for each currency, as one escaped total.

    Nothing is converted. Of many currencies the first ones are shown, with an ellipsis.
    """
    shown = [escaped(format_money(*each, language)) for each in amounts[:_MAX_CURRENCIES]]
    return " + ".join([*shown, *(["…"] if len(amounts) > _MAX_CURRENCIES else [])])


def number_line(transaction_id: str | None, language: str) -> str | None:
    """Return a payment's transaction number, which a tap copies; None where it is not known."""
    if transaction_id is None:
        return None
    return t(language, "payment-number", number=escaped(transaction_id, _TRANSACTION))


def refund_line(amounts: Sequence[tuple[int, str]], count: int, language: str) -> str | None:
    """Return the total of `count` oversold payments, None if there are none."""
    return (
        t(language, "to-refund", amount=total_text(amounts, language), count=count)
        if count
        else None
    )


def other_money(takings: Takings, language: str) -> list[str]:
    """Return a line for each kind of money that is no takings, or that went back, if any."""
    returned = total_text(takings.returned, language), takings.returned_count
    short = total_text(takings.short, language), takings.short_count
    lines = [
        t(language, key, amount=amount, count=count) if count else None
        for key, (amount, count) in (("claims-returned", returned), ("claims-short", short))
    ]
    refund = refund_line(takings.to_refund, takings.refund_count, language)
    return [*filter(None, [lines[0], refund, lines[1]])]


def page_buttons(action: Action, page: int, pages: int, language: str) -> Rows:
    """Return buttons to the previous and next page, `action` with its number; `page` is from 0."""
    buttons = tuple(
        Button(t(language, f"button-{way}"), action=(*action, str(target)))
        for way, target in (("previous", page - 1), ("next", page + 1))
        if 0 <= target < pages
    )
    return (buttons,) if buttons else ()


def deep_link(bot_name: str, listing_id: str) -> str:
    """Return the address that opens a request's public card in the bot's chat."""
    return f"https://t.me/{bot_name}?start={DEEP_LINK_PREFIX}{listing_id}"


def list_page(
    cards: Sequence[Card], page: int, pages: int, language: str, *, pending: Sequence[str] = ()
) -> Reply:
    """Render one page of requests, each a button to its card; `page` counts from 0.

    `pending` are the names of requests that the service has not created yet.
    """
    new = (Button(t(language, "button-new"), action=("new",)),)
    waiting = [t(language, "list-pending", name=escaped(name, _NAME)) for name in pending]
    if not cards:
        return Reply("\n".join(waiting) or t(language, "list-empty"), (new,))
    lines = tuple(
        (Button(list_label(card, language), action=("card", card.listing_id)),) for card in cards
    )
    text = "\n".join([t(language, "list", page=page + 1, pages=pages), *waiting])
    return Reply(text, (*lines, *page_buttons(("list",), page, pages, language), new))


def mark_possibly_repeated(text: str, language: str) -> str:
    """Mark a text that the chat may have already, because Telegram's answer to it was lost."""
    mark = t(language, "possibly-repeated")
    marked = text if text.startswith(mark) else f"{mark}\n{text}"
    return marked if shown_units(marked) <= TEXT_LIMIT else text


def inline_article(card: Card, language: str) -> Article:
    """Render a request as an inline result, with a pay button where it can be paid."""
    shown = public_card(card, language)
    status = stamp_text(card, language) or _units_left(card, language)
    if card.status == "scheduled":
        status = t(language, "status-scheduled")
    seller = _seller_line(card, language, plain(card.seller.name or "", _SELLER))
    goal = goal_brief(card, language)
    facts = [price_text(card, language), goal, status, seller, card.description]
    about = " · ".join(filter(None, facts))
    title, description = plain(card.name, _ARTICLE_LINE), plain(about, _ARTICLE_LINE)
    return Article(title, description, shown.text, shown.rows)


def _picture(card: Card) -> str | None:
    """Return the listing whose picture is shown; None before there is a link to draw."""
    return card.listing_id if card.url else None


def _pay_button(card: Card, language: str) -> Button:
    if card.status == "scheduled":
        return Button(t(language, "button-open"), url=card.url)
    label = t(language, "button-pay", amount=price_text(card, language))
    if card.choice is not None:
        label = t(language, "button-pay-choice")
    return Button(label, url=card.url, style=SUCCESS)


def _card_caption(card: Card, language: str, state: str) -> str:
    """Fit the card into a caption: a long description is cut, a very long link left out.

    Room is left for the mark of a repetition.
    """
    limit = CAPTION_LIMIT - shown_units(mark_possibly_repeated("", language))
    amount = escaped(price_text(card, language))
    name = t(language, "card-name", name=escaped(card.name, _NAME))
    facts = t(language, "card-facts", kind=t(language, f"kind-{card.kind}"), amount=amount)
    given = [choice_line(card, language), goal_lines(card, language), *order_lines(card, language)]
    facts = "\n".join([facts, *filter(None, given)])
    link = escaped(card.url, len(card.url)) if len(card.url) <= _MAX_LINK else ""
    if shown_units(f"{name}\n{facts}\n{state}\n{link}") > limit:
        link = ""
    rest = "\n".join(filter(None, [facts, state, link]))
    room = limit - shown_units(f"{name}\n\n{rest}\n")
    if not card.description or room < _MIN_DESCRIPTION:
        return f"{name}\n{rest}"
    return f"{name}\n{escaped(card.description, room)}\n\n{rest}"


def _state(card: Card, language: str) -> str:
    """Return status, open checkouts, takings, start or end, and email address, a line each."""
    being_paid = card.reserved_units if card.status == "active" else 0
    reserved = t(language, "card-reserved", reserved=being_paid) if being_paid else None
    takings = card.takings
    lines = [_status(card, language), reserved, _takings(card, language)]
    lines += other_money(takings, language)
    lines += [_start_or_end(card, language), codes_line(card.codes, language)]
    lines.append(_email_state(card, language))
    return "\n".join(filter(None, lines))


def _email_state(card: Card, language: str) -> str | None:
    if card.email is None or card.email_state not in EMAIL_STATES:
        return None
    email, at = escaped(card.email, _EMAIL), card.email_confirmed_at
    moment = "" if at is None else short_moment(at, card.zone, language) or ""
    return t(language, f"card-email-{card.email_state}", email=email, moment=moment)


def _takings(card: Card, language: str) -> str | None:
    takings = card.takings
    if takings.earned:
        amount = total_text(takings.earned, language)
        return t(language, "card-taken", amount=amount, paid=takings.earned_count)
    if takings.to_refund or card.paid_count is None or card.kind != "donation":
        return None
    return t(language, "card-paid", paid=card.paid_count)


def _start_or_end(card: Card, language: str) -> str | None:
    if card.status not in _CAN_STOP:
        return None
    key, at = "card-ends", card.ends_at
    if card.status == "scheduled" and card.starts_at is not None:
        key, at = "card-starts", card.starts_at
    moment = None if at is None else short_moment(at, card.zone, language)
    return moment and t(language, key, moment=moment)


def short_moment(at: int, zone: str | None, language: str, *, with_zone: bool = True) -> str | None:
    """Return a short form of a moment with its time zone, unless the text names that elsewhere.

    It is in UTC where the rules of the zone can't be read, and None for a moment of another server
    that no calendar has.
    """
    for shown in (zone or zones.UTC_ZONE, zones.UTC_ZONE):
        try:
            label = display.button_label(at, shown, language)
            place = f" ({zones.place_name(shown, language)})" if with_zone else ""
        except (OSError, KeyError, ValueError, OverflowError):
            continue
        return escaped(f"{label}{place}", _MOMENT)
    return None


def _status(card: Card, language: str) -> str:
    left = _units_left(card, language)
    if _is_reserved(card):
        return t(language, "status-reserved-left", left=left or "")
    if card.status == "active" and left:
        return t(language, "status-active-left", left=left)
    if card.status == "active" and card.kind == "oneoff":
        return t(language, "status-active-oneoff")
    if card.status == "soldOut" and card.total_units is not None:
        return t(language, "status-sold-out-of", total=card.total_units)
    status = t(language, f"status-{card.status}")
    is_sentence = card.status in (NO_PAYOUT, OUTDATED)
    return ("\n" if is_sentence else " · ").join(filter(None, [status, left]))


def _seller_line(card: Card, language: str, name: str) -> str | None:
    """Return who sells it, given the name as the text takes it; None without a name."""
    return t(language, "card-seller", kind=card.kind, name=name) if name else None


def _is_reserved(card: Card) -> bool:
    """Check whether open checkouts hold all units that are left: nobody else can pay now."""
    return card.status == "active" and card.remaining_units == 0 and card.reserved_units > 0


def _public_state(card: Card, language: str) -> str:
    """Return whether payers can pay, without the takings."""
    if card.status in _CAN_PAY:
        soon = t(language, "status-scheduled") if card.status == "scheduled" else None
        return "\n".join(
            filter(None, [soon, _units_left(card, language), _start_or_end(card, language)])
        )
    is_closed = card.status in ("stopped", NO_PAYOUT, OUTDATED)
    return t(language, "public-closed" if is_closed else f"status-{card.status}")


def _units_left(card: Card, language: str) -> str | None:
    """Return "7 of 10 left" for a drop that is not sold out."""
    if card.remaining_units is None or card.status == "soldOut":
        return None
    if card.total_units is None:
        return t(language, "left", left=card.remaining_units)
    return t(language, "left-of", left=card.remaining_units, total=card.total_units)


def _card_rows(card: Card, language: str) -> Rows:
    """Return the most used buttons, two in a row so that phones show whole labels."""

    def act(word: str) -> Button:
        return Button(t(language, f"button-{word}"), action=(word, card.listing_id))

    revival = _REVIVALS.get(card.status)
    last_row = (act(revival), act("more")) if revival else (act("more"),)
    if not card.url:
        return ((act("refresh"),), last_row)
    open_page = Button(t(language, "button-open"), url=card.url)
    copy_link = Button(t(language, "button-copy"), copy=card.url)
    share = Button(t(language, "button-share"), share=card.listing_id)
    rows = ((open_page, copy_link), (share, act("edit")), last_row)
    if card.status != NO_PAYOUT:
        return rows
    return ((Button(t(language, "button-payout-connect"), action=("getpaid",)),), *rows)


def list_label(card: Card, language: str) -> str:
    """Return a request as a line of a list: its mark, name, price and units left."""
    name, cost = plain(card.name, _LINE_NAME), price_text(card, language)
    mark = t(language, f"mark-{'reserved' if _is_reserved(card) else card.status}")
    line = t(language, "list-line", mark=mark, name=name, price=cost)
    return " · ".join(filter(None, [line, _units_left(card, language)]))
