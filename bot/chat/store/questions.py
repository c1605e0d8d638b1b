"""SQL of the questions of forms: the messages that lose their buttons once they are answered.

A message that only says that something is under way is deleted instead.
Nothing waits for a removal: it comes in the lowest class, once the chat has its whole burst again,
and a chat that still has many waiting gets no more of them. A button that stays is answered anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.payloads import ButtonRemoval
from bot.chat.store import shown_texts
from bot.chat.store.posts import MessagePlace
from bot.core.outbox import lanes, outbox
from bot.core.outbox.queries import WAITING, count_of_lane
from bot.core.outbox.queue_policy import NOTICE

if TYPE_CHECKING:
    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Transaction

MOST_WAITING = 8
"""Notices that wait in a chat, beyond which no removal is added: a form has no more questions.

Twice as many for a deletion: a button that stays does no harm, but a message that says for ever
that something is under way is wrong.
"""

ASKED = "SELECT question FROM drafts WHERE chat_id = :chat AND seller_id = :chat"
ASK = "UPDATE drafts SET question = :message_id WHERE chat_id = :chat AND seller_id = :chat"


def record_question(tx: Transaction, queues: Queues, place: MessagePlace, now: int) -> None:
    """Store that a message asks the question of the form in its private chat.

    The message that asked before loses its buttons; this one does if the form has ended meanwhile.
    """
    chat = int(place.lane)
    row = tx.one(ASKED, chat=chat)
    if row is None:
        remove_buttons(tx, queues, place, now)
    elif row["question"] != place.message_id:
        tx.execute(ASK, chat=chat, message_id=place.message_id)
        if row["question"] is not None:
            remove_buttons(tx, queues, MessagePlace(place.lane, row["question"]), now)


def remove_buttons(tx: Transaction, queues: Queues, place: MessagePlace, now: int) -> None:
    """Queue the removal of a message's buttons, unless it has none or shows something else then.

    A passing message is removed as a whole.
    """
    queue, lane = queues.messages, place.lane
    shown = shown_texts.text_key_at(tx, place)
    if shown is None or shown.startswith(shown_texts.BARE):
        return
    most = MOST_WAITING * (2 if shown.startswith(shown_texts.PASSING) else 1)
    if count_of_lane(tx, queue, lane, NOTICE, WAITING) >= most:
        return
    rested_at = lanes.stored(tx, queue, lane, "arrival_at")
    body = ButtonRemoval(place.message_id, shown)
    outbox.put(tx, queue, lane, body, now, priority=NOTICE, due_at=rested_at)
