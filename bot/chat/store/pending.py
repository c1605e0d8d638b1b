"""SQL of what is under way for a request: so that nothing is sent twice, or done while in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.payloads import PosterFile
from bot.chat.messages.queues import AGAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Transaction
    from bot.core.outbox.lanes import Queue

UNDER_WAY = (
    "SELECT body FROM outbox WHERE queue = :queue AND lane = :lane"
    " AND state IN ('waiting', 'leased') AND body LIKE :part"
)


def is_file_queued(
    tx: Transaction, queues: Queues, chat: str, listing_id: str, files: Sequence[str]
) -> bool:
    """Whether one of these drawn files of a listing is still to be sent to a chat."""
    found = _under_way(tx, queues.messages, chat, "poster")
    return any(
        isinstance(body, PosterFile) and body.listing_id == listing_id and body.design in files
        for body in found
    )


def is_removal_uncertain(tx: Transaction, queues: Queues, listing_id: str) -> bool:
    """Whether it is still being found out what became of an edit of a listing."""
    lane = f"{AGAIN}{listing_id}"
    return any(body["call"] == "edit" for body in _under_way(tx, queues.calls, lane, "edit"))


def _under_way(tx: Transaction, queue: Queue, lane: str, word: str) -> Iterator[Any]:
    """Give the messages of a lane that have this word in them."""
    rows = tx.query(UNDER_WAY, queue=queue.name, lane=lane, part=f"%{word}%")
    return (queue.decode(row["body"]) for row in rows)
