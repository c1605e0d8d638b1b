"""Messages with kept receipts: the product, the payment's state and the delivered goods."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace

from bot.chat.cards import card_text, payment_lines
from bot.chat.model import moments, payloads, payment, queues, replies, request_spec
from bot.chat.store import link_rows, receipt_rows
from bot.core.database import database
from bot.core.money import amounts
from bot.core.text import sanitize, translations
from bot.interface import answers

NAME = 200
"""Maximum UTF-16 units of the product's name and of the seller's."""

_LEAST_TEXT = 20
"""Minimum room in UTF-16 units for showing the beginning of a text."""

_ARRIVED = {True: "receipt-news-code", False: "receipt-news-goods"}
"""Text keys of the news that the goods have arrived; the key is True if they are codes only."""


def receipt_reply(
    receipt: receipt_rows.Receipt, language: str, zone: str | None, kept_id: str | None = None
) -> replies.Reply:
    """Render a receipt with as much of the delivered goods as fits into one message.

    `kept_id` is the receipt's id for the button that removes it from the list.
    """
    lines = [_head(receipt, language, zone)]
    if receipt.status == receipt_rows.OVERSOLD and receipt.marks.paid_back_at is None:
        lines.append(translations.t(language, "receipt-kept-oversold"))
    lines += payment_lines.mark_lines(receipt.marks, zone, language, with_zone=True)
    if receipt.thanks:
        thanks = "\n".join(replies.escaped(line) for line in receipt.thanks.splitlines())
        lines += ["", f"<blockquote>{thanks}</blockquote>"]
    text = _with_delivery("\n".join(lines), receipt, language)
    rows: list[tuple[replies.Button, ...]] = []
    codes = receipt.delivery.codes if receipt.delivery else ()
    if len(codes) == 1 and replies.units(codes[0]) <= replies.MAX_COPY:
        rows.append((replies.Button(translations.t(language, "button-copy-code"), copy=codes[0]),))
    if receipt.url:
        rows.append((replies.Button(translations.t(language, "button-receipt"), url=receipt.url),))
    if kept_id is not None:
        mine = replies.text_button(language, "button-bought", "bought")
        gone = replies.text_button(language, "button-remove", "receipt-remove", kept_id)
        rows.append((mine, gone))
    return replies.Reply(text, tuple(rows))


def notice_reply(
    receipt: receipt_rows.Receipt, event: str, language: str, zone: str | None, kept_id: str
) -> replies.Reply | None:
    """Render the news of an event; None if it was undone or hasn't happened yet.

    If a code has arrived, the whole receipt is shown.
    """
    if event == CODE:
        if receipt.delivery is None or receipt.delivery.waits:
            return None
        shown = receipt_reply(receipt, language, zone, kept_id)
        key = _ARRIVED[receipt.delivery.text is None and receipt.delivery.file is None]
        news = translations.t(language, key, count=receipt.quantity)
        return replace(shown, text=f"{news}\n\n{shown.text}")
    is_sent = event == SENT
    at, note = receipt.marks.noted(payment.SENT if is_sent else payment.PAID_BACK)
    if at is None:
        return None
    name, amount = replies.escaped(receipt.product, NAME), _amount(receipt, language)
    key = "receipt-news-sent" if is_sent else "receipt-news-back"
    lines = [translations.t(language, key, name=name, amount=amount)]
    lines += payment_lines.note_line(note, language)
    show = replies.text_button(language, "button-receipt-show", "receipt", kept_id)
    return replies.Reply("\n".join(lines), ((show,),))


def _head(receipt: receipt_rows.Receipt, language: str, zone: str | None) -> str:
    lines = [translations.t(language, "receipt-kept", name=replies.escaped(receipt.product, NAME))]
    if receipt.seller:
        name = replies.escaped(receipt.seller, NAME)
        lines.append(translations.t(language, "receipt-kept-seller", name=name))
    at = receipt.completed_at
    moment = "" if at is None else moments.short_text(at, zone, language)
    lines.append(" · ".join(filter(None, [f"<b>{_amount(receipt, language)}</b>", moment])))
    if receipt.units:
        units = receipt.units
        numbers = translations.unit_numbers(units.first, units.last, language)
        values: dict[str, object] = {"numbers": numbers}
        key = "receipt-kept-units"
        if units.total is not None:
            key, values["total"] = "receipt-kept-units-of", units.total
        lines.append(translations.t(language, key, **values))
    elif receipt.quantity > 1:
        lines.append(translations.t(language, "count", count=receipt.quantity))
    return "\n".join(lines)


def _amount(receipt: receipt_rows.Receipt, language: str) -> str:
    return replies.money(receipt.amount, receipt.currency, language)


def _with_delivery(head: str, receipt: receipt_rows.Receipt, language: str) -> str:
    """Add the delivered goods to the text, or the line that they are on their way."""
    delivery = receipt.delivery
    if delivery is None:
        return _with_address(head, receipt, language)
    if delivery.waits:
        there = len(delivery.codes) or int(bool(delivery.text or delivery.file))
        wait = translations.t(language, "receipt-kept-waits", there=there, count=receipt.quantity)
        head = f"{head}\n\n{wait}"
    if delivery.file is not None:
        size = translations.file_size(delivery.file.size, language)
        line = translations.t(
            language, "receipt-kept-file", name=replies.escaped(delivery.file.name, NAME), size=size
        )
        head = f"{head}\n\n{line}"
    if delivery.text is None and not delivery.codes:
        return _with_address(head, receipt, language)
    rest = translations.t(language, "receipt-kept-rest")
    end = f"\n\n{rest}"
    room = replies.TEXT_LIMIT - replies.shown_units(_with_address(head, receipt, language) + end)
    news = [
        card_text.mark_possibly_repeated(translations.t(language, key, count=2), language)
        for key in _ARRIVED.values()
    ]
    room -= max(map(replies.shown_units, news))
    most = replies.ENTITY_LIMIT - replies.entities(head) - max(map(replies.entities, news))
    shown, is_whole = _contents(delivery, room, most, language)
    return _with_address(f"{head}\n\n{shown}{'' if is_whole else end}", receipt, language)


def _contents(
    delivery: receipt_rows.DeliveredGoods, room: int, most: int, language: str
) -> tuple[str, bool]:
    """Return at most `most` codes and the text in `room` units, and whether they are complete.

    Telegram leaves the formatting of further codes out, so they could not be copied with a tap. A
    payment has codes and a text if the seller replaced codes while some of its units were waiting.
    """
    parts, is_whole = [], True
    if delivery.codes:
        title = translations.t(language, "receipt-kept-codes", count=len(delivery.codes))
        codes, left = [], room - replies.shown_units(title) - 2
        for code in delivery.codes[: max(most, 1)]:  # one per line; a code is never cut
            left -= replies.units(code) + 1
            if left < 0:
                break
            codes.append(code)
        lines = [title, *(f"<code>{html.escape(code)}</code>" for code in codes)]
        parts, is_whole = ["\n".join(lines)], len(codes) == len(delivery.codes)
        room -= replies.shown_units(parts[0]) + 2
    if delivery.text is not None and room > _LEAST_TEXT:
        text = sanitize.in_order(delivery.text)
        kept = replies.shortened(text, room - 2)
        parts.append(html.escape(kept))
        is_whole = is_whole and kept == text
    elif delivery.text is not None:
        is_whole = False
    return "\n\n".join(parts), is_whole


def _with_address(text: str, receipt: receipt_rows.Receipt, language: str) -> str:
    """Add the receipt's address if no button can open it."""
    if not receipt.url or replies.linkable(receipt.url):
        return text
    link = translations.t(language, "receipt-kept-page", url=replies.escaped(receipt.url))
    return f"{text}\n\n{link}"


LISTED_NAME = 24
"""Maximum UTF-16 units of a product's name on a button."""


def bought_page(
    kept: Sequence[receipt_rows.KeptReceipt], page: int, pages: int, language: str
) -> replies.Reply:
    """Render one page of kept receipts, each a button that shows it; `page` counts from 0."""
    if not kept:
        return replies.Reply(translations.t(language, "bought-none"))
    lines = []
    for one in kept:
        # the state that matters most to the buyer
        standing = "sent" if one.is_sent else "paid"
        if one.status in (receipt_rows.PAID_BACK, receipt_rows.OVERSOLD):
            standing = one.status
        elif one.awaited is not None:
            standing = "waits"
        name = replies.plain(one.name, LISTED_NAME)
        price = amounts.format_money(one.amount, one.currency, language)
        label = translations.t(language, "bought-line", standing=standing, name=name, price=price)
        lines.append((replies.Button(label, action=("receipt", one.id)),))
    text = translations.t(language, "bought", page=page + 1, pages=pages)
    return replies.Reply(
        text, (*lines, *card_text.page_buttons(("bought",), page, pages, language))
    )


METHODS = {
    "document": "sendDocument",
    "photo": "sendPhoto",
    "video": "sendVideo",
    "animation": "sendAnimation",
    "audio": "sendAudio",
    "voice": "sendVoice",
}
"""Methods for resending a file; its kind can't change. Other kinds are on the receipt's page."""


def telegram_file(
    tx: database.Transaction, request_id: str, bought: answers.ReceivedFile | None = None
) -> tuple[str, str] | None:
    """Return the Bot API method and the file_id for sending a request's file, or None.

    None if the request was not made in this chat, or if Telegram doesn't have the file. Also None
    if `bought` is an earlier file of the request, because the file_id belongs to the latest.
    """
    link_id = link_rows.link_id_of(tx, request_id)
    link = link_rows.find_link(tx, link_id) if link_id else None
    goods = link.spec.goods if link else None
    if goods is None or goods.kind != request_spec.FILE or goods.telegram_id is None:
        return None
    if bought is not None and (bought.name, bought.size) != (goods.name, goods.size):
        return None
    method = METHODS.get(goods.sent_as or "")
    return None if method is None else (method, goods.telegram_id)


SENT, PAID_BACK, CODE = "sent", "paidBack", "code"
"""Events that a buyer is notified of: the goods were sent, paid back, or a code arrived."""


def notify_owner(step: queues.ChatStep, key: receipt_rows.ReceiptKey, event: str) -> bool:
    """Queue the notice of an event to the buyer; False if nobody keeps the receipt.

    Call this only after the service has recorded the event. The queued notice contains neither the
    seller's words nor delivered goods. They are fetched when it is sent, and nothing is sent if the
    seller has undone the event by then.
    """
    owner = receipt_rows.owner_of(step.tx, *key)
    if owner is None:
        return False
    queues.put_message(
        step, str(owner.account_id), payloads.BuyerNotice(*key, owner.language, event)
    )
    return True


def notify_waiting(step: queues.ChatStep, request_id: str, served: int) -> None:
    """Queue notices to buyers who waited for a code; those still waiting when it is sent get none.

    Call this after codes were added to a request or replaced by other goods; `served` is the last
    unit that may have its goods now. Only the receipt shows whether a buyer is served. A buyer gets
    one notice, even if codes are added several times before it is sent. A file follows the notice.
    """
    waited = receipt_rows.end_waits(step.tx, request_id, served)
    has_file = bool(waited) and telegram_file(step.tx, request_id) is not None
    for one in waited:
        lane, language = str(one.owner.account_id), one.owner.language
        queues.put_message(step, lane, payloads.BuyerNotice(*one.key, language, CODE))
        if has_file:
            file = payloads.ReceiptMessage(*one.key, language, is_file=True)
            queues.put_message(step, lane, file)
