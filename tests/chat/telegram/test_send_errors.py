"""Failed calls of the Bot API, classified by the errors of python-telegram-bot."""

from __future__ import annotations

import httpx
import pytest
from telegram import error as telegram

from bot.chat.telegram.transport import LONGEST_DELAY, RETRIES, Failure, FailureKind, classify
from bot.sandbox.world.world import TOKEN


def caused(error: telegram.TelegramError, cause: Exception) -> telegram.TelegramError:
    """Link an error to its cause, as python-telegram-bot raises it."""
    error.__cause__ = cause
    return error


def replaced(words: str) -> list[telegram.TelegramError]:
    """Return the errors that `do_api_request` raises in place of one about the token."""
    told = "Either the bot token was rejected by Telegram or the endpoint does not exist."
    return [
        caused(error, telegram.InvalidToken(words))
        for error in (telegram.InvalidToken(told), telegram.EndPointNotFound("no endpoint"))
    ]


LOST = [
    caused(telegram.TimedOut(), httpx.ReadTimeout("")),
    caused(telegram.TimedOut(), httpx.WriteTimeout("")),
    caused(telegram.NetworkError("x"), httpx.ReadError("")),
    caused(telegram.NetworkError("x"), httpx.RemoteProtocolError("")),
    telegram.NetworkError("Internal Server Error"),
    telegram.NetworkError("Bad Gateway"),
    caused(telegram.NetworkError("Bad Gateway (502)"), telegram.TelegramError("Invalid")),
    caused(telegram.TelegramError("Invalid server response"), ValueError("no JSON")),
    caused(telegram.TelegramError("the answer can't be read: KeyError"), KeyError("result")),
]
UNSENT = [
    caused(telegram.NetworkError("x"), httpx.ConnectError("")),
    caused(telegram.TimedOut(), httpx.ConnectTimeout("")),
    caused(telegram.TimedOut(), httpx.PoolTimeout("")),
    caused(telegram.NetworkError("x"), RuntimeError("not initialized")),
    telegram.NetworkError("Too Many Requests (429)"),
    telegram.Conflict("another one"),
]
POINTLESS = [
    "Message is not modified: specified new message content",
    "Query is too old and response timeout expired or query ID is invalid",
]
LOST_MESSAGES = ["Message to edit not found", "Message can't be edited", "MESSAGE_ID_INVALID"]
STRANGE = ["Wrong file identifier/HTTP URL specified", "Wrong remote file identifier specified"]
GONE = ["Chat not found", "CHAT_WRITE_FORBIDDEN", "Need administrator rights in the channel chat"]


@pytest.mark.parametrize("error", LOST, ids=repr)
def test_a_call_whose_answer_was_lost_is_uncertain(error: telegram.TelegramError) -> None:
    found = classify(error, 1)
    assert (found.kind, found.value) == (FailureKind.UNCERTAIN, RETRIES.delays[0])


@pytest.mark.parametrize("error", UNSENT, ids=repr)
def test_a_call_that_did_not_arrive_is_retried_and_not_uncertain(
    error: telegram.TelegramError,
) -> None:
    found = classify(error, 1)
    assert (found.kind, found.value) == (FailureKind.NOT_SENT, RETRIES.delays[0])


@pytest.mark.parametrize(
    ("error", "kind", "value"),
    [
        (telegram.RetryAfter(17), FailureKind.RATE_LIMITED, 17_000),
        (telegram.ChatMigrated(-1001), FailureKind.CHAT_MOVED, -1001),
        (telegram.Forbidden("Forbidden: bot was blocked by the user"), FailureKind.CHAT_CLOSED, 0),
        (telegram.InvalidToken("Unauthorized"), FailureKind.NOT_SENT, LONGEST_DELAY),
        (telegram.InvalidToken("Not Found"), FailureKind.UNKNOWN_METHOD, LONGEST_DELAY),
        *((error, FailureKind.NOT_SENT, LONGEST_DELAY) for error in replaced("Unauthorized")),
        *((error, FailureKind.UNKNOWN_METHOD, LONGEST_DELAY) for error in replaced("Not Found")),
        (telegram.BadRequest("Can't parse entities"), FailureKind.REFUSED, LONGEST_DELAY),
        (telegram.BadRequest("Message is too long"), FailureKind.REFUSED, LONGEST_DELAY),
        *((telegram.BadRequest(words), FailureKind.POINTLESS, 0) for words in POINTLESS),
        *((telegram.BadRequest(words), FailureKind.MESSAGE_GONE, 0) for words in LOST_MESSAGES),
        *(
            (telegram.BadRequest(words), FailureKind.UNKNOWN_FILE, LONGEST_DELAY)
            for words in STRANGE
        ),
        *((telegram.BadRequest(words), FailureKind.CHAT_CLOSED, 0) for words in GONE),
    ],
    ids=repr,
)
def test_every_other_answer_has_its_kind(
    error: telegram.TelegramError, kind: FailureKind, value: int
) -> None:
    found = classify(error, 2)
    assert (found.kind, found.value) == (kind, value)


def test_the_first_refusal_of_a_chat_is_retried_because_it_may_be_open_again() -> None:
    found = classify(telegram.Forbidden("Forbidden: bot was blocked by the user"), 1)
    assert (found.kind, found.value) == (FailureKind.NOT_SENT, RETRIES.delays[0])


def test_the_delay_grows_with_the_attempts() -> None:
    waits = [classify(UNSENT[0], attempts).value for attempts in range(1, 9)]
    assert waits == [*RETRIES.delays, LONGEST_DELAY, LONGEST_DELAY]


def test_no_failure_contains_the_address_with_the_token() -> None:
    address = f"https://api.telegram.org/bot{TOKEN}/sendMessage"
    error = caused(telegram.NetworkError(f"httpx.ConnectError: {address}"), httpx.ConnectError("x"))
    assert classify(error, 1) == Failure(FailureKind.NOT_SENT, "ConnectError", RETRIES.delays[0])


def test_a_page_of_a_proxy_is_left_out_of_the_log() -> None:
    page = b"<html>You asked for https://api.telegram.org/bot42:secret/sendMessage</html>"
    words = f"Bad Gateway (502). Parsing the server response {page!r} failed"
    error = caused(telegram.NetworkError(words), telegram.TelegramError("Invalid server response"))
    assert classify(error, 1).note == "Telegram's answer was lost: Bad Gateway (502)"
