"""Calls of the Bot API: their clients, the consequences of failures, and the bot's profile."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import httpx
import structlog
from telegram import Bot, BotCommand
from telegram.error import (
    BadRequest,
    ChatMigrated,
    EndPointNotFound,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)
from telegram.request import BaseRequest, HTTPXRequest
from telegram.warnings import PTBUserWarning

from bot.chat.conversation import actions
from bot.chat.model import payloads
from bot.core.net import http_client
from bot.core.outbox import outbox, queue_policy
from bot.core.text import translations

log = structlog.get_logger()

CONNECT_SECONDS = 5.0
READ_SECONDS = 20.0

UNREADABLE = (AttributeError, KeyError, RecursionError, TypeError, ValueError)
"""The errors that the library raises if an answer's shape differs from Telegram's."""

# The library would rather have its own methods called; `call` says why they aren't.
warnings.filterwarnings("ignore", "Please use 'Bot", PTBUserWarning)


class SeparateRequests(BaseRequest):
    """Gives each simultaneous call an HTTPXRequest of its own; keeps at most `kept` idle ones.

    httpcore compares all connections of a pool at each call: with twelve calls at once, a shared
    pool takes two thirds more processor time.
    """

    def __init__(self, root: str, kept: int) -> None:
        self._root = root
        self._kept = kept
        self._idle: list[HTTPXRequest] = []

    @property
    def read_timeout(self) -> float:
        return READ_SECONDS

    async def initialize(self) -> None:
        pass

    async def shutdown(self) -> None:
        while self._idle:
            await self._idle.pop().shutdown()

    async def do_request(self, *given: Any, **named: Any) -> tuple[int, bytes]:
        request = self._idle.pop() if self._idle else self._make()
        try:
            return await request.do_request(*given, **named)
        finally:
            if len(self._idle) < self._kept:
                self._idle.append(request)
            else:
                await request.shutdown()

    def _make(self) -> HTTPXRequest:
        return HTTPXRequest(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            proxy=http_client.proxy_for(self._root),
            httpx_kwargs={
                "limits": httpx.Limits(
                    max_connections=1, keepalive_expiry=http_client.KEPT_SECONDS
                ),
                "verify": http_client.ssl_context(),
                "trust_env": False,
            },
        )


def make_bot(root: str, token: str, connections: int) -> Bot:
    """Return a client that keeps at most this number of idle connections."""
    request = SeparateRequests(root, connections)
    return Bot(
        token, base_url=f"{root}/bot", base_file_url=f"{root}/file/bot",
        request=request, get_updates_request=request,
    )  # fmt: skip


async def call(
    bot: Bot, method: str, args: dict[str, Any], read_seconds: float | None = None
) -> Any:
    """Make a call and return the result as JSON. Raises TelegramError.

    The library's own methods parse a result before they return it. Other Bot API servers may send
    fewer fields than Telegram, and then an accepted call would seem to have failed.
    """
    try:
        return await bot.do_api_request(
            method, args, read_timeout=read_seconds or bot.request.read_timeout
        )
    except UNREADABLE as error:
        raise TelegramError(f"the answer can't be read: {type(error).__name__}") from error


# Failed calls: their consequences for the message, and their text in the log.


MAX_ATTEMPTS = 10
"""Attempts before a message is given up because it is refused or never clearly answered."""

RETRIES = queue_policy.RetryTable((1_000, 2_000, 5_000, 15_000, 30_000, 60_000), repeats=True)
"""Delays while Telegram can't be reached."""

LONGEST_DELAY = RETRIES.delays[-1]
"""Milliseconds until a retry, if an earlier retry would be useless."""

UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Errors that httpx raises before anything reaches the server."""

TOO_MANY = "too many requests"
"""Words in a 429, which is a refusal even if it doesn't say how long to wait."""


class FailureKind(Enum):
    """The consequences that a failed call may have for its message."""

    POINTLESS = auto()  # nothing is left to do
    MESSAGE_GONE = auto()  # it can no longer be edited
    NOT_SENT = auto()
    UNKNOWN_FILE = auto()  # the file_id belongs to another bot
    PICTURE = auto()  # the same text may be accepted without the picture
    UNCERTAIN = auto()  # the message may have been sent
    RATE_LIMITED = auto()
    CHAT_CLOSED = auto()  # the bot may not write to the chat
    CHAT_MOVED = auto()
    UNKNOWN_METHOD = auto()
    REFUSED = auto()


CONTENT_REFUSED = {FailureKind.UNKNOWN_FILE, FailureKind.PICTURE, FailureKind.REFUSED}
"""Refusals of a message's content, for example because a person accepts no voice messages."""

NEEDLESS = "needless"
"""The metrics label of a message that became pointless before it was sent."""

FAILURE_LABELS = {
    FailureKind.POINTLESS: NEEDLESS,
    FailureKind.MESSAGE_GONE: NEEDLESS,
    FailureKind.NOT_SENT: "failed",
    FailureKind.UNKNOWN_FILE: "failed",
    FailureKind.PICTURE: "refused",
    FailureKind.UNCERTAIN: "unclear",
    FailureKind.RATE_LIMITED: "throttled",
    FailureKind.CHAT_CLOSED: "blocked",
    FailureKind.CHAT_MOVED: "moved",
    FailureKind.UNKNOWN_METHOD: "refused",
    FailureKind.REFUSED: "refused",
}
"""The metrics labels of failures, in addition to `sent` and `repeated`."""

BAD_REQUESTS = {
    "message is not modified": FailureKind.POINTLESS,
    "query is too old": FailureKind.POINTLESS,
    "message thread not found": FailureKind.POINTLESS,
    "topic_closed": FailureKind.POINTLESS,
    "message to delete not found": FailureKind.POINTLESS,
    "message can't be deleted": FailureKind.POINTLESS,
    "message to edit not found": FailureKind.MESSAGE_GONE,
    "message can't be edited": FailureKind.MESSAGE_GONE,
    "message_id_invalid": FailureKind.MESSAGE_GONE,
    "wrong file identifier": FailureKind.UNKNOWN_FILE,
    "wrong remote file": FailureKind.UNKNOWN_FILE,
    "chat not found": FailureKind.CHAT_CLOSED,
    "user is deactivated": FailureKind.CHAT_CLOSED,
    "chat_write_forbidden": FailureKind.CHAT_CLOSED,
    "need administrator": FailureKind.CHAT_CLOSED,
    **dict.fromkeys(
        (
            *("image_process_failed", "photo_", "media_", "webpage_", "file_part", "mismatch"),
            *("failed to get http url", "web page content", "file is too big"),
            *("to send photos", "to send documents", "to send media"),
            *("send_photos_forbidden", "send_docs_forbidden", "send_media_forbidden"),
        ),
        FailureKind.PICTURE,
    ),
}
"""The kinds of refusals by a part of Telegram's text; any other refusal is REFUSED."""

TOO_LARGE = ("request entity too large", "(413)")
"""Words in a 413, from Telegram or a proxy in front of it: nothing was accepted."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call."""

    kind: FailureKind
    note: str
    value: int = 0
    """The delay in ms, or the id of the new chat for CHAT_MOVED."""


def classify(error: TelegramError, attempts: int) -> Failure:
    """Determine a failure's kind from the call's error and the number of attempts."""
    delay = RETRIES.delay_or_last(attempts)
    kind, note, value = FailureKind.NOT_SENT, describe_error(error), delay
    # `do_api_request` replaces Telegram's words about a token or a method.
    told = error.__cause__ if isinstance(error.__cause__, InvalidToken) else error
    match error:
        case RetryAfter():
            kind, note = FailureKind.RATE_LIMITED, "Telegram asks to wait"
            value = retry_after_ms(error)
        case ChatMigrated():
            kind, note = FailureKind.CHAT_MOVED, "the group became a supergroup"
            value = error.new_chat_id
        case Forbidden() if _kind_by_words(error) is FailureKind.PICTURE:
            kind, value = FailureKind.PICTURE, LONGEST_DELAY
        case Forbidden() if attempts > 1:  # at the first attempt, the chat may just have reopened
            kind, value = FailureKind.CHAT_CLOSED, 0
        case InvalidToken() | EndPointNotFound() if "not found" in told.message.lower():
            kind, note = FailureKind.UNKNOWN_METHOD, "the server knows no such method"
            value = LONGEST_DELAY
        case InvalidToken() | EndPointNotFound():
            note, value = "Telegram refuses the token", LONGEST_DELAY
        case BadRequest():
            kind, note = _kind_by_words(error), error.message
            value = LONGEST_DELAY if kind in CONTENT_REFUSED else 0
        case _ if any(part in error.message.lower() for part in TOO_LARGE):
            kind, value = FailureKind.PICTURE, LONGEST_DELAY
        case _ if _is_uncertain(error):
            kind, note = FailureKind.UNCERTAIN, f"Telegram's answer was lost: {note}"
    return Failure(kind, note, value)


def _kind_by_words(error: TelegramError) -> FailureKind:
    words = error.message.lower()
    found = (kind for part, kind in BAD_REQUESTS.items() if part in words)
    return next(found, FailureKind.REFUSED)


def _is_uncertain(error: TelegramError) -> bool:
    """True if the call may have succeeded: it was sent, and there is no conclusive answer.

    A 5xx or an answer that can't be read is not conclusive.
    """
    cause = error.__cause__
    if isinstance(cause, httpx.HTTPError):
        return not isinstance(cause, UNSENT)
    is_unreadable = isinstance(cause, (*UNREADABLE, TelegramError))
    is_unclear = isinstance(error, NetworkError) and cause is None
    return is_unreadable or (is_unclear and TOO_MANY not in error.message.lower())


def describe_error(error: TelegramError) -> str:
    """Describe an error without any address, because addresses contain the token.

    The text of an answer that is no JSON, such as a proxy's page, is left out.
    """
    cause = error.__cause__
    if isinstance(cause, httpx.HTTPError):
        return type(cause).__name__
    return error.message.partition(". Parsing the server response")[0]


def retry_after_ms(error: RetryAfter) -> int:
    """Return the milliseconds that Telegram asks us to wait."""
    wait = error.retry_after
    return int((wait if isinstance(wait, int) else wait.total_seconds()) * 1000)


def is_dropped(
    payload: payloads.MessagePayload | payloads.CallbackAnswer, kind: FailureKind
) -> bool:
    """True if the message can be dropped without loss; a file's receipt links to the download."""
    if isinstance(payload, payloads.ReceiptMessage) and payload.is_file and kind in CONTENT_REFUSED:
        return True
    return kind is FailureKind.MESSAGE_GONE


def is_given_up(message: outbox.Message, kind: FailureKind) -> bool:
    """True if there is no further attempt; payment alerts are retried longer than others."""
    is_last = message.attempts >= MAX_ATTEMPTS
    if message.priority == queue_policy.ALERT:
        return kind is FailureKind.REFUSED and is_last
    if kind in {FailureKind.UNCERTAIN, FailureKind.UNKNOWN_FILE}:
        return is_last
    return kind in {FailureKind.REFUSED, FailureKind.UNKNOWN_METHOD}


async def set_profile(bot: Bot) -> None:
    """Set the bot's commands and descriptions in each language.

    A refusal is only logged, because the bot works without a profile.
    """
    try:
        for language in translations.languages():
            code = "" if language == translations.DEFAULT else language
            await bot.set_my_commands(
                [BotCommand(*pair) for pair in actions.described(language)], language_code=code
            )
            await bot.set_my_description(
                translations.t(language, "bot-description"), language_code=code
            )
            short = translations.t(language, "bot-short-description")
            await bot.set_my_short_description(short, language_code=code)
    except TelegramError as error:
        log.warning("commands not set at telegram", reason=describe_error(error))
