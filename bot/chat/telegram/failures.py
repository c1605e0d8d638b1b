"""Failed calls of the Bot API: their consequences for the message, and their text in the log.

An accepted call is never repeated, even where the library can't read its answer: another server of
the Bot API may answer less than Telegram. So `Transport` keeps the answer.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import httpx
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)
from telegram.request import HTTPXRequest

from bot.core import exact_json
from bot.core.outbox.queue_policy import RetryTable

RETRIES = RetryTable((1_000, 2_000, 5_000, 15_000, 30_000, 60_000), repeats=True)
"""Delays while Telegram can't be reached."""

LONGEST = RETRIES.delays[-1]
"""Milliseconds until an attempt that an earlier one would not help."""

UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Errors of httpx after which nothing can have reached the other side."""

POINTLESS = (
    "message is not modified",
    "query is too old",
    "message to delete not found",
    "message can't be deleted",
)
"""Telegram's answers after which nothing is left to do."""

MESSAGE_GONE = ("message to edit not found", "message can't be edited", "message_id_invalid")
"""Telegram's answers about a message that can't be edited now or later."""

UNKNOWN_FILE = ("wrong file identifier", "wrong remote file")
"""Telegram's answers about a file_id that it doesn't know: each bot has its own."""

CHAT_CLOSED = (
    "chat not found",
    "user is deactivated",
    "chat_write_forbidden",
    "need administrator",
)
"""Telegram's answers about a chat in which the bot may not write."""

TOO_MANY = "too many requests"
"""A 429 that does not name a wait is a refusal all the same."""


_answer: ContextVar[bytes] = ContextVar("answer", default=b"")


class FailureKind(Enum):
    """The consequences that a failed call may have for its message."""

    POINTLESS = auto()
    MESSAGE_GONE = auto()
    NOT_SENT = auto()
    UNKNOWN_FILE = auto()
    UNCERTAIN = auto()
    RATE_LIMITED = auto()
    CHAT_CLOSED = auto()
    CHAT_MOVED = auto()
    UNKNOWN_METHOD = auto()
    REFUSED = auto()


BAD_REQUESTS = (
    (POINTLESS, FailureKind.POINTLESS),
    (MESSAGE_GONE, FailureKind.MESSAGE_GONE),
    (UNKNOWN_FILE, FailureKind.UNKNOWN_FILE),
    (CHAT_CLOSED, FailureKind.CHAT_CLOSED),
)
"""The kinds of refusals by their words; any other refusal is REFUSED."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call; `value` is the delay in ms, or the id of the chat moved to."""

    kind: FailureKind
    note: str
    value: int = 0


def classify(error: TelegramError, attempts: int) -> Failure:
    """Derive the kind of a failure from the error of a call and the number of attempts."""
    delay = RETRIES.delay_or_last(attempts)
    kind, note, value = FailureKind.NOT_SENT, describe_error(error), delay
    match error:
        case RetryAfter():
            kind, note = FailureKind.RATE_LIMITED, "Telegram asks to wait"
            value = retry_after_ms(error)
        case ChatMigrated():
            kind, note = FailureKind.CHAT_MOVED, "the group became a supergroup"
            value = error.new_chat_id
        case Forbidden() if attempts > 1:  # at the first one the chat may just have been reopened
            kind, value = FailureKind.CHAT_CLOSED, 0
        case InvalidToken() if "not found" in error.message.lower():
            kind, note = FailureKind.UNKNOWN_METHOD, "the server knows no such method"
            value = LONGEST
        case InvalidToken():
            note, value = "Telegram refuses the token", LONGEST
        case BadRequest():
            return _bad_request(error)
        case _ if _is_uncertain(error):
            kind, note = FailureKind.UNCERTAIN, f"Telegram's answer was lost: {note}"
    return Failure(kind, note, value)


def _bad_request(error: BadRequest) -> Failure:
    words = error.message.lower()
    for parts, kind in BAD_REQUESTS:
        if any(part in words for part in parts):
            delay = LONGEST if kind is FailureKind.UNKNOWN_FILE else 0
            return Failure(kind, error.message, delay)
    return Failure(FailureKind.REFUSED, error.message, LONGEST)


def _is_uncertain(error: TelegramError) -> bool:
    """Check whether the call may have succeeded: it was sent, and no answer decides.

    A 5xx decides nothing, nor does an answer that is no JSON.
    """
    cause = error.__cause__
    if isinstance(cause, httpx.HTTPError):
        return not isinstance(cause, UNSENT)
    is_unreadable = isinstance(cause, ValueError | TelegramError)
    is_unclear = isinstance(error, NetworkError) and cause is None
    return is_unreadable or (is_unclear and TOO_MANY not in error.message.lower())


def describe_error(error: TelegramError) -> str:
    """Return the error in words that can't contain an address, which has the token in it."""
    cause = error.__cause__
    return type(cause).__name__ if isinstance(cause, httpx.HTTPError) else error.message


def retry_after_ms(error: RetryAfter) -> int:
    """Return the milliseconds that Telegram asks us to wait."""
    wait = error.retry_after
    return int((wait if isinstance(wait, int) else wait.total_seconds()) * 1000)


class Transport(HTTPXRequest):
    """A transport that keeps the last answer of each task, where the call succeeded."""

    async def do_request(self, *given: Any, **named: Any) -> tuple[int, bytes]:
        """Make one call, as the library's BaseRequest."""
        _answer.set(b"")
        code, payload = await super().do_request(*given, **named)
        if httpx.codes.is_success(code):
            _answer.set(payload)
        return code, payload


def last_call_accepted() -> bool:
    """Return whether the last call of this task was answered 2xx with `ok` true."""
    try:
        data = exact_json.loads(_answer.get())
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("ok") is True
