"""When a call of the service fails: who hears what of it, and when it is made again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import structlog

from bot.chat.requests.create import NoDialect
from bot.core.errors import (
    BadAnswer,
    MethodNotAllowed,
    NotFound,
    Refused,
    Throttled,
    Unauthorized,
    Unreachable,
    requested_wait,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from bot.core.outbox.outbox import Message

log = structlog.get_logger()
T = TypeVar("T")

LONGEST = 45.0
"""Seconds for one call with all that it asks the server; less than its lease."""

BACKOFF = (1_000, 3_000, 10_000, 30_000, 60_000)
"""Milliseconds until a call is made again, the last for as long as it is made at all."""

LONGEST_RETRY_AFTER = 3600 * 1000
"""Milliseconds that the service may ask us to wait; a seller waits at the other end."""


async def in_time(asking: Awaitable[T]) -> T:
    """Bound a call as a whole: a server that drips bytes is never late by itself."""
    try:
        async with asyncio.timeout(LONGEST):
            return await asking
    except TimeoutError:
        raise Unreachable(f"no answer in {LONGEST:.0f} seconds") from None


def trouble(error: Exception | None) -> str:
    """Give the key of what the seller hears of a create that waits."""
    match error:
        case None:
            return "service-unsure"
        case Throttled():
            return "service-busy"
        case BadAnswer() | Refused():
            return "service-odd"
        case _:
            return "service-waiting"


def wait(tries: int, error: Exception | None) -> int:
    """Give the milliseconds until the next try, after so many."""
    asked = 0 if error is None else requested_wait(error) * 1000
    return max(BACKOFF[min(tries, len(BACKOFF) - 1)], int(min(asked, LONGEST_RETRY_AFTER)))


def note(message: Message, error: Exception) -> None:
    """Tell the operator; what only they can mend is an error and says how."""
    call = message.body["call"]
    told = {
        "call": call, "listing": message.body["listing"],
        "error": type(error).__name__, "reason": str(error),
    }  # fmt: skip
    if isinstance(error, Unauthorized):
        log.error("service call failed", mend="check APP_ID and APP_SECRET", **told)
    elif isinstance(error, BadAnswer | MethodNotAllowed) or (
        call == "create" and isinstance(error, NotFound)
    ):
        log.error("service call failed", mend="check PAYMENTS_URL", **told)
    elif isinstance(error, NoDialect):
        log.error("service call failed", mend="check INSTRUMENT_CURRENCY", **told)
    else:
        log.warning("service call failed", **told)
