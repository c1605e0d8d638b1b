"""What a person bought: receipts kept through a deep link, and the list of them.

Anybody may keep a receipt, also people who may not create requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.jobs import KeepReceipt
from bot.chat.messages.payloads import ReceiptMessage
from bot.chat.messages.queues import RECEIPTS
from bot.chat.model.receipt import read_key
from bot.chat.receipts.bought_list import bought_page
from bot.chat.receipts.delivered_file import telegram_file
from bot.chat.store import kept_receipts
from bot.core.outbox import outbox

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.dialogue.events import MessageEvent
    from bot.chat.messages.reply import Action, Reply

PAGE = 8
"""Receipts on one page."""

WORDS = frozenset(["receipt", "receipt-remove"])
"""The buttons of one kept receipt."""


def is_link(event: MessageEvent) -> bool:
    """Check whether a message has a receipt's address; it is emptied after it is handled."""
    return event.command == "start" and read_key(event.text) is not None


def open_link(context: EventContext, payload: str) -> bool:
    """Queue the job that keeps a deep link's receipt; False for another payload of `/start`."""
    key = read_key(payload)
    if key is None:
        return False
    job = KeepReceipt(*key, context.reply_to(), context.now)
    lane = f"{RECEIPTS}{context.person.id}"
    outbox.put(context.tx, context.queues.jobs, lane, job, context.now)
    return True


def page(context: EventContext, number: int) -> Reply:
    """Return a page of what this person bought, the last one if there are fewer pages."""
    pages = max(1, -(-kept_receipts.count(context.tx, context.person.id) // PAGE))
    number = min(number, pages - 1)
    kept = kept_receipts.page(context.tx, context.person.id, PAGE, number * PAGE)
    return bought_page(kept, number, pages, context.seller.language)


def handle_press(context: EventContext, action: Action) -> str | None:
    """Perform a button of a kept receipt; return the text of the answer, if any."""
    word, receipt_id = action
    kept = kept_receipts.find(context.tx, receipt_id, context.person.id)
    if kept is None:
        return context.text("toast-receipt-gone")
    if word == "receipt":
        context.put(ReceiptMessage(*kept.key, context.seller.language))
        if telegram_file(context.tx, kept.key.request_id):
            context.put(ReceiptMessage(*kept.key, context.seller.language, is_file=True))
        return None
    kept_receipts.remove(context.tx, receipt_id, context.person.id)
    return context.text("toast-receipt-removed")
