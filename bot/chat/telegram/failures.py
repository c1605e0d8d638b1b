"""What becomes of a message whose call Telegram failed: a table, from its answer to a fate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

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

from bot.chat.telegram.errors import asked_wait, told

BACKOFF = (1_000, 2_000, 5_000, 15_000, 30_000, 60_000)
"""Milliseconds until the next try while Telegram can't be reached, the last for ever."""

UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Failures of httpx that leave no doubt: nothing reached the other side."""

POINTLESS = (
    "message is not modified",
    "query is too old",
    "message to delete not found",
    "message can't be deleted",
)
"""Telegram's answers after which nothing is left to do."""

LOST = ("message to edit not found", "message can't be edited", "message_id_invalid")
"""Telegram's answers about a message that is not there to be changed, and never will be."""

STRANGE = ("wrong file identifier", "wrong remote file")
"""Telegram's answers about a file_id that it doesn't know: each bot has its own."""

TOO_MANY = "too many requests"
"""A 429 that does not say how long to wait is a refusal all the same."""

CHAT_GONE = ("chat not found", "user is deactivated", "chat_write_forbidden", "need administrator")


class Fate(Enum):
    """What becomes of a message whose call failed."""

    DONE = auto()
    LOST = auto()
    AGAIN = auto()
    STRANGE = auto()
    IN_DOUBT = auto()
    HELD = auto()
    PAUSED = auto()
    MOVED = auto()
    UNHEARD = auto()
    DEAD = auto()


BAD_REQUESTS = (
    (POINTLESS, Fate.DONE),
    (LOST, Fate.LOST),
    (STRANGE, Fate.STRANGE),
    (CHAT_GONE, Fate.PAUSED),
)
"""What a refusal's words mean; any other refusal is for good."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A fate with its reason; `value` is the wait in ms, or the chat moved to."""

    fate: Fate
    note: str
    value: int = 0


def verdict(error: TelegramError, attempts: int) -> Verdict:
    """Say what becomes of a message whose call ended in `error`."""
    wait = BACKOFF[min(attempts, len(BACKOFF)) - 1]
    match error:
        case RetryAfter():
            found = Verdict(Fate.HELD, "Telegram asks to wait", asked_wait(error))
        case ChatMigrated():
            found = Verdict(Fate.MOVED, "the group became a supergroup", error.new_chat_id)
        case Forbidden() if attempts == 1:  # let in since, that update may have come before this
            found = Verdict(Fate.AGAIN, error.message, wait)
        case Forbidden():
            found = Verdict(Fate.PAUSED, error.message)
        case InvalidToken() if "not found" in error.message.lower():
            found = Verdict(Fate.UNHEARD, "the server knows no such method", BACKOFF[-1])
        case InvalidToken():
            found = Verdict(Fate.AGAIN, "Telegram refuses the token", BACKOFF[-1])
        case BadRequest():
            found = _bad_request(error)
        case _ if _in_doubt(error):
            found = Verdict(Fate.IN_DOUBT, f"Telegram's answer was lost: {told(error)}", wait)
        case _:
            found = Verdict(Fate.AGAIN, told(error), wait)
    return found


def _bad_request(error: BadRequest) -> Verdict:
    words = error.message.lower()
    for parts, fate in BAD_REQUESTS:
        if any(part in words for part in parts):
            return Verdict(fate, error.message, BACKOFF[-1] if fate is Fate.STRANGE else 0)
    return Verdict(Fate.DEAD, error.message, BACKOFF[-1])


def _in_doubt(error: TelegramError) -> bool:
    """Whether the call may have been done: something was sent, and no answer says what came of it.

    A 5xx says nothing, nor does an answer that is no JSON.
    """
    cause = error.__cause__
    if isinstance(cause, httpx.HTTPError):
        return not isinstance(cause, UNSENT)
    unread = isinstance(cause, ValueError | TelegramError)
    unclear = isinstance(error, NetworkError) and cause is None
    return unread or (unclear and TOO_MANY not in error.message.lower())
