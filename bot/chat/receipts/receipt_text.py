"""A kept receipt as a message: what was bought, how it stands, and what was delivered."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.cards.card_text import mark_possibly_repeated, short_moment
from bot.chat.messages.buttons import MAX_COPY, linkable
from bot.chat.messages.reply import (
    TEXT_LIMIT,
    Button,
    Reply,
    Rows,
    escaped,
    shortened,
    shown_units,
    units,
)
from bot.chat.model.receipt import OVERSOLD
from bot.chat.receipts.notices import CODE, PAID_BACK, SENT
from bot.core.money.amounts import format_money
from bot.core.text import lists
from bot.core.text.translations import choose, t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.model.receipt import Delivery, Receipt, Units

NAME = 200
"""UTF-16 units of what was bought, and of who sells it."""

NOTE = 400
"""UTF-16 units of a seller's note, which has 200 characters."""

_LEAST_TEXT = 20
"""UTF-16 units below which no text is begun."""

MOST_NAMED = 3
"""Unit numbers that are named one by one; more are shown as a range."""

_ARRIVED = {True: "receipt-news-code", False: "receipt-news-goods"}
"""The news that what a buyer waited for is there, by whether these are codes alone."""

MEGABYTE, KILOBYTE = 1024 * 1024, 1024
"""Bytes, counted as Telegram counts its 20 MB."""


def receipt_reply(
    receipt: Receipt, language: str, zone: str | None, kept_id: str | None = None
) -> Reply:
    """Render a receipt with what was delivered, as much of it as one message has room for.

    `kept_id` names it in the button that removes it from the list.
    """
    lines = [_head(receipt, language, zone), *state_lines(receipt, language, zone)]
    if receipt.thanks:
        lines += ["", f"<blockquote>{_several_lines(receipt.thanks)}</blockquote>"]
    text = _with_delivery("\n".join(lines), receipt, language)
    return Reply(text, _rows(receipt, language, kept_id))


def notice_reply(
    receipt: Receipt, event: str, language: str, zone: str | None, kept_id: str
) -> Reply | None:
    """Render the news of an event; None if the seller took it back, or it hasn't happened yet.

    A code that arrived comes with the whole receipt.
    """
    if event == CODE:
        if receipt.delivery is None or receipt.delivery.waits:
            return None
        shown = receipt_reply(receipt, language, zone, kept_id)
        key = _ARRIVED[receipt.delivery.text is None and receipt.delivery.file is None]
        news = t(language, key, count=receipt.quantity)
        return replace(shown, text=f"{news}\n\n{shown.text}")
    at, note = {
        SENT: (receipt.sent_at, receipt.sent_note),
        PAID_BACK: (receipt.paid_back_at, receipt.paid_back_note),
    }[event]
    if at is None:
        return None
    name, amount = escaped(receipt.product, NAME), _amount(receipt, language)
    key = "receipt-news-sent" if event == SENT else "receipt-news-back"
    lines = [t(language, key, name=name, amount=amount)]
    lines += [t(language, "receipt-kept-note", note=escaped(note, NOTE))] if note else []
    show = Button(t(language, "button-receipt-show"), action=("receipt", kept_id))
    return Reply("\n".join(lines), ((show,),))


def state_lines(receipt: Receipt, language: str, zone: str | None) -> list[str]:
    """Return what became of the payment: oversold, sent, paid back."""
    lines = []
    if receipt.status == OVERSOLD and receipt.paid_back_at is None:
        lines.append(t(language, "receipt-kept-oversold"))
    marks = (
        ("receipt-kept-sent", receipt.sent_at, receipt.sent_note),
        ("receipt-kept-back", receipt.paid_back_at, receipt.paid_back_note),
    )
    for key, at, note in marks:
        if at is not None:
            lines.append(t(language, key, moment=short_moment(at, zone, language) or ""))
            lines += [t(language, "receipt-kept-note", note=escaped(note, NOTE))] if note else []
    return lines


def unit_numbers(found: Units, language: str) -> str:
    """Return the numbers of the units: "7", "7, 8 and 9" or "7 to 16"."""
    numbers = [str(number) for number in range(found.first, found.first + MOST_NAMED + 1)]
    named = numbers[: found.last - found.first + 1]
    if len(named) > MOST_NAMED:
        return t(language, "receipt-kept-range", first=found.first, last=found.last)
    return lists.join(named, choose(language))


def file_size(size: int, language: str) -> str:
    """Format a number of bytes for people, at least 1 KB."""
    if size >= MEGABYTE:
        return t(language, "receipt-kept-megabytes", size=round(size / MEGABYTE, 1))
    return t(language, "receipt-kept-kilobytes", size=max(1, size // KILOBYTE))


def _head(receipt: Receipt, language: str, zone: str | None) -> str:
    lines = [t(language, "receipt-kept", name=escaped(receipt.product, NAME))]
    if receipt.seller:
        lines.append(t(language, "receipt-kept-seller", name=escaped(receipt.seller, NAME)))
    at = receipt.completed_at
    moment = None if at is None else short_moment(at, zone, language)
    lines.append(" · ".join(filter(None, [f"<b>{_amount(receipt, language)}</b>", moment])))
    if receipt.units:
        lines.append(_yours(receipt.units, language))
    elif receipt.quantity > 1:
        lines.append(t(language, "receipt-kept-quantity", count=receipt.quantity))
    return "\n".join(lines)


def _amount(receipt: Receipt, language: str) -> str:
    return escaped(format_money(receipt.amount, receipt.currency, language))


def _yours(found: Units, language: str) -> str:
    numbers = unit_numbers(found, language)
    if found.total is None:
        return t(language, "receipt-kept-units", numbers=numbers)
    return t(language, "receipt-kept-units-of", numbers=numbers, total=found.total)


def _with_delivery(head: str, receipt: Receipt, language: str) -> str:
    """Add what was delivered to the text, or that it is on its way."""
    delivery = receipt.delivery
    if delivery is None:
        return _with_address(head, receipt, language)
    if delivery.waits:
        there = len(delivery.codes) or int(bool(delivery.text or delivery.file))
        wait = t(language, "receipt-kept-waits", there=there, count=receipt.quantity)
        head = f"{head}\n\n{wait}"
    if delivery.file is not None:
        size = file_size(delivery.file.size, language)
        line = t(language, "receipt-kept-file", name=escaped(delivery.file.name, NAME), size=size)
        head = f"{head}\n\n{line}"
    if delivery.text is None and not delivery.codes:
        return _with_address(head, receipt, language)
    rest = t(language, "receipt-kept-rest")
    end = f"\n\n{rest}"
    room = TEXT_LIMIT - shown_units(_with_address(head, receipt, language) + end)
    news = [t(language, key, count=2) for key in _ARRIVED.values()]
    room -= max(shown_units(mark_possibly_repeated(one, language)) for one in news)
    shown, is_whole = _contents(delivery, room, language)
    return _with_address(f"{head}\n\n{shown}{'' if is_whole else end}", receipt, language)


def _contents(delivery: Delivery, room: int, language: str) -> tuple[str, bool]:
    """Return the codes and the text in `room` units, and whether that is all of it.

    Units of one payment have both where its seller replaced codes that some of them waited for.
    """
    parts, is_whole = [], True
    if delivery.codes:
        title = t(language, "receipt-kept-codes", count=len(delivery.codes))
        codes = _fitting(delivery.codes, room - shown_units(title) - 2)
        lines = [title, *(f"<code>{html.escape(code)}</code>" for code in codes)]
        parts, is_whole = ["\n".join(lines)], len(codes) == len(delivery.codes)
        room -= shown_units(parts[0]) + 2
    if delivery.text is not None and room > _LEAST_TEXT:
        kept = shortened(delivery.text, room - 2)
        parts.append(html.escape(kept))
        is_whole = is_whole and kept == delivery.text
    elif delivery.text is not None:
        is_whole = False
    return "\n\n".join(parts), is_whole


def _fitting(codes: Sequence[str], room: int) -> list[str]:
    """Return the first codes that fit, each on a line; a code is never cut."""
    kept: list[str] = []
    for code in codes:
        room -= units(code) + 1
        if room < 0:
            break
        kept.append(code)
    return kept


def _with_address(text: str, receipt: Receipt, language: str) -> str:
    """Add the receipt's address where no button may open it."""
    if not receipt.url or linkable(receipt.url):
        return text
    return f"{text}\n\n{t(language, 'receipt-kept-page', url=escaped(receipt.url))}"


def _rows(receipt: Receipt, language: str, kept_id: str | None) -> Rows:
    rows: list[tuple[Button, ...]] = []
    codes = receipt.delivery.codes if receipt.delivery else ()
    if len(codes) == 1 and units(codes[0]) <= MAX_COPY:
        rows.append((Button(t(language, "button-copy-code"), copy=codes[0]),))
    if receipt.url:
        rows.append((Button(t(language, "button-receipt"), url=receipt.url),))
    if kept_id is not None:
        mine = Button(t(language, "button-bought"), action=("bought",))
        gone = Button(t(language, "button-receipt-remove"), action=("receipt-remove", kept_id))
        rows.append((mine, gone))
    return tuple(rows)


def _several_lines(text: str) -> str:
    """Escape a text of several lines, each as one line."""
    return "\n".join(escaped(line) for line in text.splitlines())
