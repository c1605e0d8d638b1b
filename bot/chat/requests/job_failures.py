"""Failed calls of the service: time limit, retry table, log lines, and what the seller reads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import structlog

from bot.chat.messages.jobs import CreateRequest, Job
from bot.chat.requests.create_attempt import NoDialect
from bot.core.errors import (
    BadAnswer,
    MethodNotAllowed,
    NotFound,
    Refused,
    Throttled,
    Unauthorized,
    Unreachable,
)
from bot.core.outbox.queue_policy import RetryTable

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from bot.chat.messages.jobs import AccountJob

log = structlog.get_logger()
T = TypeVar("T")

TIME_LIMIT = 45.0
"""Seconds for all the calls of one attempt; less than its lease."""

RETRIES = RetryTable(
    (1_000, 3_000, 10_000, 30_000, 60_000), repeats=True, longest_asked=3600 * 1000
)
"""A seller waits at the other end, so the service may ask for an hour at most."""


async def in_time(call: Awaitable[T]) -> T:
    """Await a call within TIME_LIMIT: no read times out by itself at a server that drips bytes.

    Raises Unreachable.
    """
    try:
        async with asyncio.timeout(TIME_LIMIT):
            return await call
    except TimeoutError:
        raise Unreachable(f"no answer in {TIME_LIMIT:.0f} seconds") from None


def delay_text(error: Exception | None) -> str:
    """Return the key of the text about a create that waits, None for an unknown outcome."""
    match error:
        case None:
            return "service-unsure"
        case Throttled():
            return "service-busy"
        case BadAnswer() | Refused():
            return "service-odd"
        case _:
            return "service-waiting"


def log_failure(job: Job | AccountJob, error: Exception) -> None:
    """Log a failed call for the operator; one that only they can fix is an error with the fix."""
    of = {"listing": job.listing_id} if isinstance(job, Job) else {"seller": job.seller_id}
    line = log.bind(
        job=type(job).__name__, **of,
        error=type(error).__name__, reason=str(error),
    )  # fmt: skip
    if fix := _fix(job, error):
        line.error("service call failed", fix=fix)
    else:
        line.warning("service call failed")


def _fix(job: Job | AccountJob, error: Exception) -> str | None:
    if isinstance(error, Unauthorized):
        return "check APP_ID and APP_SECRET"
    if isinstance(error, NoDialect):
        return "check INSTRUMENT_CURRENCY"
    is_elsewhere = isinstance(error, NotFound) and isinstance(job, CreateRequest)
    is_elsewhere = is_elsewhere or isinstance(error, BadAnswer | MethodNotAllowed)
    return "check PAYMENTS_URL" if is_elsewhere else None
