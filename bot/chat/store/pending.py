"""SQL of what is under way for a request: so that nothing is sent twice, or done while in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.payloads import PosterFile
from bot.chat.messages.queues import AGAIN
from bot.core.outbox import queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Transaction


def is_file_queued(
    tx: Transaction, queues: Queues, chat: str, listing_id: str, files: Sequence[str]
) -> bool:
    """Whether one of these drawn files of a listing is still to be sent to a chat."""
    found = queries.unsettled_about(tx, queues.messages, listing_id)
    return any(
        lane == chat and isinstance(body, PosterFile) and body.design in files
        for lane, body in found
    )


def is_removal_uncertain(tx: Transaction, queues: Queues, listing_id: str) -> bool:
    """Whether it is still being found out what became of an edit of a listing."""
    lane = f"{AGAIN}{listing_id}"
    return any(body["call"] == "edit" for body in queries.unsettled_of_lane(tx, queues.calls, lane))
