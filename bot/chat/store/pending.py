"""SQL of queued messages about a request, so that nothing is sent twice or done while in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.jobs import RemoveUnits
from bot.chat.messages.payloads import PosterFile
from bot.chat.messages.queues import BACKGROUND
from bot.core.outbox import queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.messages.queues import Queues
    from bot.core.database.database import Transaction


def is_file_queued(
    tx: Transaction, queues: Queues, chat: str, listing_id: str, files: Sequence[str]
) -> bool:
    """Check whether one of these posters of a listing is still queued for a chat."""
    found = queries.unsettled_about(tx, queues.messages, listing_id)
    return any(
        lane == chat and isinstance(body, PosterFile) and body.design in files
        for lane, body in found
    )


def is_removal_uncertain(tx: Transaction, queues: Queues, listing_id: str) -> bool:
    """Check whether a removal of units is queued again because its outcome is not known."""
    jobs = queries.unsettled_of_lane(tx, queues.jobs, f"{BACKGROUND}{listing_id}")
    return any(isinstance(job, RemoveUnits) for job in jobs)
