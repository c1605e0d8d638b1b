"""What becomes of a message whose call failed, as a table of python-telegram-bot's errors."""

from __future__ import annotations

import httpx
import pytest
from telegram import error as telegram

from bot.chat.telegram.failures import BACKOFF, Fate, Verdict, verdict
from bot.sandbox.world.world import TOKEN


def caused(error: telegram.TelegramError, cause: Exception) -> telegram.TelegramError:
    """As python-telegram-bot raises it: from what httpx or JSON said."""
    error.__cause__ = cause
    return error


LOST = [
    caused(telegram.TimedOut(), httpx.ReadTimeout("")),
    caused(telegram.TimedOut(), httpx.WriteTimeout("")),
    caused(telegram.NetworkError("x"), httpx.ReadError("")),
    caused(telegram.NetworkError("x"), httpx.RemoteProtocolError("")),
    telegram.NetworkError("Internal Server Error"),
    telegram.NetworkError("Bad Gateway"),
    caused(telegram.NetworkError("Bad Gateway (502)"), telegram.TelegramError("Invalid")),
    caused(telegram.TelegramError("Invalid server response"), ValueError("no JSON")),
]
UNSENT = [
    caused(telegram.NetworkError("x"), httpx.ConnectError("")),
    caused(telegram.TimedOut(), httpx.ConnectTimeout("")),
    caused(telegram.TimedOut(), httpx.PoolTimeout("")),
    caused(telegram.NetworkError("x"), RuntimeError("not initialized")),
    telegram.NetworkError("Too Many Requests (429)"),
    telegram.Conflict("another one"),
    telegram.EndPointNotFound("x"),
]
POINTLESS = [
    "Message is not modified: specified new message content",
    "Query is too old and response timeout expired or query ID is invalid",
]
LOST_MESSAGES = ["Message to edit not found", "Message can't be edited", "MESSAGE_ID_INVALID"]
STRANGE = ["Wrong file identifier/HTTP URL specified", "Wrong remote file identifier specified"]
GONE = ["Chat not found", "CHAT_WRITE_FORBIDDEN", "Need administrator rights in the channel chat"]


@pytest.mark.parametrize("error", LOST, ids=repr)
def test_a_call_whose_answer_was_lost_is_in_doubt(error: telegram.TelegramError) -> None:
    found = verdict(error, 1)
    assert (found.fate, found.value) == (Fate.IN_DOUBT, BACKOFF[0])


@pytest.mark.parametrize("error", UNSENT, ids=repr)
def test_a_call_that_did_not_arrive_comes_again_without_doubt(
    error: telegram.TelegramError,
) -> None:
    found = verdict(error, 1)
    assert (found.fate, found.value) == (Fate.AGAIN, BACKOFF[0])


@pytest.mark.parametrize(
    ("error", "fate", "value"),
    [
        (telegram.RetryAfter(17), Fate.HELD, 17_000),
        (telegram.ChatMigrated(-1001), Fate.MOVED, -1001),
        (telegram.Forbidden("Forbidden: bot was blocked by the user"), Fate.PAUSED, 0),
        (telegram.InvalidToken("Unauthorized"), Fate.AGAIN, BACKOFF[-1]),
        (telegram.InvalidToken("Not Found"), Fate.UNHEARD, BACKOFF[-1]),
        (telegram.BadRequest("Can't parse entities"), Fate.DEAD, BACKOFF[-1]),
        (telegram.BadRequest("Message is too long"), Fate.DEAD, BACKOFF[-1]),
        *((telegram.BadRequest(words), Fate.DONE, 0) for words in POINTLESS),
        *((telegram.BadRequest(words), Fate.LOST, 0) for words in LOST_MESSAGES),
        *((telegram.BadRequest(words), Fate.STRANGE, BACKOFF[-1]) for words in STRANGE),
        *((telegram.BadRequest(words), Fate.PAUSED, 0) for words in GONE),
    ],
    ids=repr,
)
def test_every_other_answer_has_its_fate(
    error: telegram.TelegramError, fate: Fate, value: int
) -> None:
    found = verdict(error, 2)
    assert (found.fate, found.value) == (fate, value)


def test_a_first_refusal_to_a_chat_is_tried_again_for_it_may_have_let_us_in_since() -> None:
    found = verdict(telegram.Forbidden("Forbidden: bot was blocked by the user"), 1)
    assert (found.fate, found.value) == (Fate.AGAIN, BACKOFF[0])


def test_the_wait_grows_with_the_attempts() -> None:
    waits = [verdict(UNSENT[0], attempts).value for attempts in range(1, 9)]
    assert waits == [*BACKOFF, BACKOFF[-1], BACKOFF[-1]]


def test_no_verdict_carries_the_address_with_the_token() -> None:
    address = f"https://api.telegram.org/bot{TOKEN}/sendMessage"
    error = caused(telegram.NetworkError(f"httpx.ConnectError: {address}"), httpx.ConnectError("x"))
    assert verdict(error, 1) == Verdict(Fate.AGAIN, "ConnectError", BACKOFF[0])
