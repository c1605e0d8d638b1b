"""Jobs that send a seller's mark on a payment to the service, which notifies the buyer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.jobs import SendMark
from bot.chat.messages.queues import BACKGROUND
from bot.core.outbox import outbox
from bot.core.outbox.queue_policy import NOTICE

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.store.payment_search import FoundPayment

NOTE_TIME = 10 * 60 * 1000
"""Milliseconds that a seller has for the note: after them the buyer hears of the mark alone."""


def send_mark(context: EventContext, found: FoundPayment, mark: str, *, delay: int = 0) -> None:
    """Queue the job that sends a payment's mark, due in `delay` ms.

    One with a delay has a lane of its own: other jobs of the listing would wait behind it.
    Another server than the embedded one knows no marks: there they stay with the chat.
    """
    if context.seller.paid_at.host is not None:
        return
    now, reply_to = context.now, context.reply_to()
    job = SendMark(found.listing_id, reply_to, *found.ids, mark, now)
    lane = f"{BACKGROUND}{found.listing_id}:marks" if delay else found.listing_id
    outbox.put(context.tx, context.queues.jobs, lane, job, now, priority=NOTICE, due_at=now + delay)
