"""Texts and buttons of a request: the seller's card, the public card and the list entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.chat.cards import payment_lines, request_card
from bot.chat.model import moments, replies
from bot.core.text import links, translations
from bot.interface import vocabulary

# Limits in UTF-16 units: texts from other servers may have any length.
_NAME = 200  # at most 100 characters of two units each
_SELLER = 60
_LINE_NAME = 24  # on a button of the list
_MAX_LINK = 500  # in a text; a longer link would fill the caption, and a button has it anyway
_ARTICLE_LINE = 120
_EMAIL = 64
_MIN_DESCRIPTION = 16  # a shorter excerpt would be meaningless

DEEP_LINK_PREFIX = "r_"
"""Prefix of a link's id in a deep link's `/start` parameter."""

STAMPED_STATUSES = frozenset(["soldOut", "expired", "stopped", "completed", "deleted"])
"""Statuses that are stamped across the QR code."""

EMAIL_STATES = frozenset(["unconfirmed", "confirmed", "ended"])
"""The states of an email address that its owner must confirm."""

_CAN_PAY = frozenset(["active", "scheduled"])
_CAN_STOP = _CAN_PAY | {vocabulary.NO_PAYOUT}
_REVIVALS = {
    **dict.fromkeys(["stopped", "expired"], "resume"),
    **dict.fromkeys(["soldOut", "completed", request_card.OUTDATED], "duplicate"),  # ended for good
}
"""For requests that can't be paid: the button, next to More, that makes them payable again."""


@dataclass(frozen=True, slots=True)
class Article:
    """A request as an inline result: its entry in the list, and the message to post."""

    title: str
    description: str
    text: str
    rows: replies.Rows


def seller_card(card: request_card.Card, language: str) -> replies.Reply:
    """Render a request's card for the seller: product, status, QR code and actions."""
    if card.status == "deleted":
        text = translations.t(language, "listing-deleted", name=replies.escaped(card.name, _NAME))
        return replies.Reply(text, picture=_picture(card))
    text = _card_caption(card, language, _state(card, language))
    return replies.Reply(text, _card_rows(card, language), _picture(card))


def public_card(card: request_card.Card, language: str) -> replies.Reply:
    """Render a request's card for others: product and availability, without the revenue."""
    if card.status == "deleted":
        text = translations.t(language, "public-gone", name=replies.escaped(card.name, _NAME))
        return replies.Reply(text, picture=_picture(card))
    lines = [_seller_line(card, language, replies.escaped(card.seller.name or "", _SELLER))]
    style: str | None = replies.SUCCESS
    label = translations.t(language, "button-pay-choice")
    if card.status == "scheduled":
        label, style = translations.t(language, "button-open"), None
        lines.append(translations.t(language, "status-scheduled"))
    elif card.choice is None:
        price = request_card.price_text(card, language)
        label = translations.t(language, "button-pay", amount=price)
    if card.status in _CAN_PAY:
        lines += [units_left(card, language), _start_or_end(card, language)]
    else:
        is_closed = card.status in ("stopped", vocabulary.NO_PAYOUT, request_card.OUTDATED)
        key = "public-closed" if is_closed else f"status-{card.status}"
        lines.append(translations.t(language, key))
    text = _card_caption(card, language, "\n".join(filter(None, lines)))
    is_or_will_be_payable = card.status in _CAN_PAY and replies.linkable(card.url)
    rows = ((replies.Button(label, url=card.url, style=style),),) if is_or_will_be_payable else ()
    return replies.Reply(text, rows, card.link_id)


def visitor_card(card: request_card.Card, language: str) -> replies.Reply:
    """Render a request's card for someone who followed its deep link, with a refresh button."""
    shown = public_card(card, language)
    refresh = replies.text_button(language, "button-refresh", "look", card.link_id)
    rows = () if card.status == "deleted" else (*shown.rows, (refresh,))
    return replies.Reply(shown.text, rows, shown.picture)


def stamp_text(card: request_card.Card, language: str) -> str | None:
    """Return the text stamped across the QR code, or None if the request has no stamp."""
    is_stamped = card.status in STAMPED_STATUSES
    return translations.t(language, f"stamp-{card.status}") if is_stamped else None


def page_buttons(action: replies.Action, page: int, pages: int, language: str) -> replies.Rows:
    """Return buttons to the previous and next page: `action` plus page number, counted from 0."""
    buttons = tuple(
        replies.text_button(language, f"button-{way}", *action, str(target))
        for way, target in (("previous", page - 1), ("next", page + 1))
        if 0 <= target < pages
    )
    return (buttons,) if buttons else ()


def deep_link(bot_name: str, link_id: str) -> str:
    """Return the URL that opens a request's public card in the bot's chat."""
    return f"https://t.me/{bot_name}?start={DEEP_LINK_PREFIX}{link_id}"


def list_page(
    cards: Sequence[request_card.Card],
    page: int,
    pages: int,
    language: str,
    *,
    pending: Sequence[str] = (),
) -> replies.Reply:
    """Render one page of requests, each a button to its card; `page` counts from 0.

    `pending` are the names of requests that the service has not created yet.
    """
    new = (replies.text_button(language, "button-new", "new"),)
    waiting = [
        translations.t(language, "list-pending", name=replies.escaped(name, _NAME))
        for name in pending
    ]
    if not cards:
        return replies.Reply("\n".join(waiting) or translations.t(language, "list-empty"), (new,))
    lines = tuple(
        (replies.Button(list_label(card, language), action=("card", card.link_id)),)
        for card in cards
    )
    text = "\n".join([translations.t(language, "list", page=page + 1, pages=pages), *waiting])
    return replies.Reply(text, (*lines, *page_buttons(("list",), page, pages, language), new))


def mark_possibly_repeated(text: str, language: str) -> str:
    """Mark a text that may be a repetition, because Telegram's answer was lost."""
    mark = translations.t(language, "possibly-repeated")
    marked = text if text.startswith(mark) else f"{mark}\n{text}"
    return marked if replies.shown_units(marked) <= replies.TEXT_LIMIT else text


def inline_article(card: request_card.Card, language: str) -> Article:
    """Render a request as an inline result, with a pay button if it can be paid."""
    shown = public_card(card, language)
    status = stamp_text(card, language) or units_left(card, language)
    if card.status == "scheduled":
        status = translations.t(language, "status-scheduled")
    seller = _seller_line(card, language, replies.plain(card.seller.name or "", _SELLER))
    goal = request_card.goal_brief(card, language)
    facts = [request_card.price_text(card, language), goal, status, seller, card.description]
    about = " · ".join(filter(None, facts))
    title = replies.plain(card.name, _ARTICLE_LINE)
    return Article(title, replies.plain(about, _ARTICLE_LINE), shown.text, shown.rows)


def _picture(card: request_card.Card) -> str | None:
    """Return the id of the link whose picture is shown, or None if it has no URL to draw yet."""
    return card.link_id if card.url else None


def _card_caption(card: request_card.Card, language: str, state: str) -> str:
    """Fit the card into a caption: cut a long description, and omit a very long link.

    This leaves room for the mark of a repetition.
    """
    limit = replies.CAPTION_LIMIT - replies.shown_units(mark_possibly_repeated("", language))
    amount = replies.escaped(request_card.price_text(card, language))
    name = translations.t(language, "card-name", name=replies.escaped(card.name, _NAME))
    facts = translations.t(
        language, "card-facts", kind=translations.t(language, f"kind-{card.kind}"), amount=amount
    )
    facts = "\n".join([facts, *request_card.offer_lines(card, language)])
    link = replies.escaped(card.url, len(card.url)) if len(card.url) <= _MAX_LINK else ""
    if replies.shown_units(f"{name}\n{facts}\n{state}\n{link}") > limit:
        link = ""
    rest = "\n".join(filter(None, [facts, state, link]))
    room = limit - replies.shown_units(f"{name}\n\n{rest}\n")
    if not card.description or room < _MIN_DESCRIPTION:
        return f"{name}\n{rest}"
    return f"{name}\n{replies.escaped(card.description, room)}\n\n{rest}"


def _state(card: request_card.Card, language: str) -> str:
    """Return lines with status, open checkouts, revenue, start or end, and email address."""
    totals, lines = card.totals, [_status(card, language)]
    if card.reserved_units and card.status == "active":
        lines.append(translations.t(language, "card-reserved", reserved=card.reserved_units))
    if totals.earned:
        amount = payment_lines.total_text(totals.earned, language)
        lines.append(
            translations.t(language, "card-taken", amount=amount, paid=totals.earned_count)
        )
    elif card.kind == "donation" and card.paid_count is not None and not totals.to_refund:
        lines.append(translations.t(language, "card-paid", paid=card.paid_count))
    lines += payment_lines.other_money(totals, language)
    lines += filter(
        None, [_start_or_end(card, language), request_card.codes_line(card.codes, language)]
    )
    if card.email is not None and card.email_state in EMAIL_STATES:
        email = replies.escaped(links.shown_address(card.email), _EMAIL)
        at = card.email_confirmed_at
        moment = "" if at is None else moments.short_text(at, card.zone, language)
        key = f"card-email-{card.email_state}"
        lines.append(translations.t(language, key, email=email, moment=moment))
    return "\n".join(lines)


def _start_or_end(card: request_card.Card, language: str) -> str | None:
    if card.status not in _CAN_STOP:
        return None
    key, at = "card-ends", card.ends_at
    if card.status == "scheduled" and card.starts_at is not None:
        key, at = "card-starts", card.starts_at
    moment = "" if at is None else moments.short_text(at, card.zone, language)
    return translations.t(language, key, moment=moment) if moment else None


def _status(card: request_card.Card, language: str) -> str:
    left = units_left(card, language)
    if _is_reserved(card):
        return translations.t(language, "status-reserved-left", left=left or "")
    if card.status == "active" and left:
        return translations.t(language, "status-active-left", left=left)
    if card.status == "active" and card.kind == "oneoff":
        return translations.t(language, "status-active-oneoff")
    if card.status == "soldOut" and card.total_units is not None:
        return translations.t(language, "status-sold-out-of", total=card.total_units)
    status = translations.t(language, f"status-{card.status}")
    is_sentence = card.status in (vocabulary.NO_PAYOUT, request_card.OUTDATED)
    return ("\n" if is_sentence else " · ").join(filter(None, [status, left]))


def _seller_line(card: request_card.Card, language: str, name: str) -> str | None:
    """Return the line with the seller's name, given in the text's form; None without a name."""
    return translations.t(language, "card-seller", kind=card.kind, name=name) if name else None


def _is_reserved(card: request_card.Card) -> bool:
    """True if open checkouts hold all units left, so that nobody else can pay now."""
    return card.status == "active" and card.remaining_units == 0 and card.reserved_units > 0


def units_left(card: request_card.Card, language: str) -> str | None:
    """Return "7 of 10 left" for a drop that is not sold out."""
    if card.remaining_units is None or card.status == "soldOut":
        return None
    return payment_lines.left_text(card.remaining_units, card.total_units, language)


def _card_rows(card: request_card.Card, language: str) -> replies.Rows:
    """Return the most used buttons, two in a row so that labels fit on phones."""

    def act(word: str) -> replies.Button:
        return replies.text_button(language, f"button-{word}", word, card.link_id)

    revival = _REVIVALS.get(card.status)
    last_row = (act(revival), act("more")) if revival else (act("more"),)
    if not card.url:
        return ((act("refresh"),), last_row)
    open_page = replies.Button(translations.t(language, "button-open"), url=card.url)
    copy_link = replies.Button(translations.t(language, "button-copy"), copy=card.url)
    share = replies.Button(translations.t(language, "button-share"), share=card.link_id)
    rows = ((open_page, copy_link), (share, act("edit")), last_row)
    if card.status != vocabulary.NO_PAYOUT:
        return rows
    return (
        (replies.text_button(language, "button-payout-connect", "getpaid"),),
        *rows,
    )


def list_label(card: request_card.Card, language: str) -> str:
    """Return a request's list entry: mark, name, price and units left."""
    name, cost = replies.plain(card.name, _LINE_NAME), request_card.price_text(card, language)
    mark = translations.t(language, f"mark-{'reserved' if _is_reserved(card) else card.status}")
    line = translations.t(language, "list-line", mark=mark, name=name, price=cost)
    return " · ".join(filter(None, [line, units_left(card, language)]))
