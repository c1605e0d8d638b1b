"""What Telegram said against a call, in words for the log and the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from telegram.error import RetryAfter, TelegramError


def told(error: TelegramError) -> str:
    """Give the error in words that can't carry an address with the token in it."""
    cause = error.__cause__
    return type(cause).__name__ if isinstance(cause, httpx.HTTPError) else error.message


def asked_wait(error: RetryAfter) -> int:
    """Return the milliseconds that Telegram asks us to wait."""
    wait = error.retry_after
    return int((wait if isinstance(wait, int) else wait.total_seconds()) * 1000)
