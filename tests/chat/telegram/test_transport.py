"""Calls of the Bot API over HTTP, and what a failed one may have reached."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from structlog.testing import capture_logs
from telegram import Bot, InputFile
from telegram import error as telegram
from telegram.error import TelegramError

from bot.chat.conversation.actions import described
from bot.chat.model.payloads import Alert, AlertPayment
from bot.chat.model.queues import SENT_AT_ONCE
from bot.chat.telegram import sender, transport
from bot.chat.telegram.sender import Sender
from bot.chat.telegram.transport import (
    LONGEST_DELAY,
    RETRIES,
    Failure,
    FailureKind,
    call,
    classify,
    make_bot,
    set_profile,
)
from bot.core.outbox.queue_policy import ALERT
from bot.core.text.translations import t
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.world import TOKEN
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.http_peers import Receiver, open_receiver
from tests.support.outbox_queue import handle_all
from tests.support.sender_harness import SenderHarness

SENT = {"ok": True, "result": {"message_id": 5, "date": 1, "chat": {"id": 7, "type": "private"}}}
TEXT: dict[str, Any] = {"chat_id": 7, "text": "<b>Zoë</b> & co"}


def answer(payload: object, status: str = "200 OK") -> bytes:
    body = json.dumps(payload)
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.fixture
async def server() -> AsyncIterator[Receiver]:
    async with open_receiver() as it:
        yield it


def root_of(server: Receiver) -> str:
    return f"http://127.0.0.1:{server.port}"


@asynccontextmanager
async def breaking_off(answered: bytes) -> AsyncIterator[str]:
    """Serve the beginning of an answer and hang up; the root of the server."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answered)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def failure_of(bot: Bot) -> FailureKind:
    with pytest.raises(TelegramError) as failed:
        await call(bot, "sendMessage", TEXT)
    await bot.request.shutdown()
    return classify(failed.value, 1).kind


async def test_calls_go_out_as_forms_over_one_kept_connection(server: Receiver) -> None:
    bot = make_bot(root_of(server), TOKEN, 1)
    server.answers += [answer(SENT), answer(SENT)]
    for _ in range(2):
        assert await call(bot, "sendMessage", TEXT) == SENT["result"]
    sent = server.received[0]
    assert sent.line == f"POST /bot{TOKEN}/sendMessage HTTP/1.1"
    assert parse_qs(sent.body.decode()) == {"chat_id": ["7"], "text": ["<b>Zoë</b> & co"]}
    assert len(server.open) == 1
    await bot.request.shutdown()
    await server.left()


async def test_a_file_goes_out_in_parts(server: Receiver) -> None:
    bot = make_bot(root_of(server), TOKEN, 1)
    server.answers.append(answer(SENT))
    file = InputFile(b"%PDF", "poster.pdf", attach=True)
    await call(bot, "sendDocument", {"chat_id": 7, "document": file})
    await bot.request.shutdown()
    assert b"%PDF" in server.received[0].body


async def test_a_proxy_of_the_environment_is_used(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", root_of(server))
    bot = make_bot("http://telegram.invalid", TOKEN, 1)
    server.answers.append(answer(SENT))
    await call(bot, "sendMessage", TEXT)
    await bot.request.shutdown()
    line = server.received[0].line
    assert line == f"POST http://telegram.invalid/bot{TOKEN}/sendMessage HTTP/1.1"


async def test_a_server_on_this_machine_is_reached_without_the_proxy(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    bot = make_bot(root_of(server), TOKEN, 1)
    server.answers.append(answer(SENT))
    assert await call(bot, "sendMessage", TEXT) == SENT["result"]
    await bot.request.shutdown()


async def test_a_call_that_found_no_connection_in_time_reached_nobody(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "CONNECT_SECONDS", 0.0)
    assert await failure_of(make_bot(root_of(server), TOKEN, 1)) is FailureKind.NOT_SENT


async def test_a_server_that_is_down_got_nothing() -> None:
    async with open_receiver() as gone:
        root = root_of(gone)
    assert await failure_of(make_bot(root, TOKEN, 1)) is FailureKind.NOT_SENT


async def test_a_call_that_is_never_answered_is_uncertain(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "READ_SECONDS", 0.01)
    server.silent = True
    assert await failure_of(make_bot(root_of(server), TOKEN, 1)) is FailureKind.UNCERTAIN
    server.release.set()


@pytest.mark.parametrize(
    "cut", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{", b"no HTTP"]
)
async def test_an_answer_that_breaks_off_is_uncertain(cut: bytes) -> None:
    async with breaking_off(cut) as root:
        assert await failure_of(make_bot(root, TOKEN, 1)) is FailureKind.UNCERTAIN


@pytest.mark.parametrize("result", [True, {}, {"message_id": 5}, [{"update_id": 1}], "text", None])
async def test_an_accepted_call_returns_its_result_whatever_it_is(
    server: Receiver, result: object
) -> None:
    bot = make_bot(root_of(server), TOKEN, 1)
    server.answers.append(answer({"ok": True, "result": result}))
    assert await call(bot, "sendMessage", TEXT) == result
    await bot.request.shutdown()


@pytest.mark.parametrize("payload", [{"ok": True}, [1], "ok", None])
async def test_an_answer_without_a_result_is_uncertain(server: Receiver, payload: object) -> None:
    server.answers.append(answer(payload))
    assert await failure_of(make_bot(root_of(server), TOKEN, 1)) is FailureKind.UNCERTAIN


@pytest.mark.parametrize(
    ("status", "description", "kind"),
    [
        ("401 Unauthorized", "Unauthorized", FailureKind.NOT_SENT),
        ("404 Not Found", "Not Found", FailureKind.UNKNOWN_METHOD),
        ("404 Not Found", "Not Found: method not found", FailureKind.UNKNOWN_METHOD),
    ],
)
async def test_a_refused_token_is_told_from_an_unknown_method(
    server: Receiver, status: str, description: str, kind: FailureKind
) -> None:
    """Also once the bot was reached: its token may be revoked later."""
    me = {"id": 42, "is_bot": True, "first_name": "Bot", "username": "bot"}
    for is_reached in (False, True):
        bot = make_bot(root_of(server), TOKEN, 1)
        if is_reached:
            server.answers.append(answer({"ok": True, "result": me}))
            await bot.initialize()
        server.answers.append(answer({"ok": False, "description": description}, status))
        assert await failure_of(bot) is kind


# Failed calls of the Bot API, classified by the errors of python-telegram-bot.


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


# Uncertain messages: none holds up its chat, each repetition is marked once.


SECONDS = 10.0
DRIP_SECONDS = 0.02
MARK = "You may have seen this already.\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
COFFEE = AlertPayment("abcdefghij", "donation", "Coffee", 500, "USD", repeated=True)


@asynccontextmanager
async def dripping() -> AsyncIterator[str]:
    """Serve an answer that drips a byte at a time and never ends."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD)
            while not reader.at_eof():
                writer.write(b"1\r\n \r\n")
                await writer.drain()
                await asyncio.sleep(DRIP_SECONDS)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def test_an_answer_that_never_ends_delays_its_chat_for_a_limited_time(
    chat: ChatHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A timeout that restarts with each byte would never fire."""
    monkeypatch.setattr(sender, "CALL_SECONDS", 10 * DRIP_SECONDS)
    sam = chat.add_person("Sam")
    async with dripping() as root:
        bot = make_bot(root, TOKEN, SENT_AT_ONCE)
        sending = SenderHarness(chat, bot)
        sending.put(sam.chat, "paid", priority=ALERT)
        with capture_logs() as logs:
            async with asyncio.timeout(SECONDS):
                await sending.work()
        await bot.request.shutdown()
    assert [line["kind"] for line in logs if line["event"] == "telegram call failed"] == [
        "uncertain"
    ]
    (row,) = chat.rows("outbox")
    assert (row["state"], row["uncertain"], sending.waits) == ("waiting", 1, RETRIES.delays[0])
    async with telegram_of(chat.world) as bot:
        chat.clock.advance(RETRIES.delays[0] / 1000)
        again = Sender(chat.db, bot, chat.queues, chat.clock)
        await handle_all(chat.db, chat.queues.messages, again.send, chat.clock)
    assert [message.text for message in sam.chat.from_bot()] == [f"{MARK}paid"]


async def test_a_repetition_is_marked_only_once(chat: ChatHarness) -> None:
    """The payment may have an earlier alert, and the answer to this one is lost too."""
    sam = chat.add_person("Sam")
    async with telegram_of(chat.world) as bot:
        sending = SenderHarness(chat, bot)
        sending.fault("cut", method="sendMessage")
        sending.put_body(sam.chat, Alert((COFFEE,), "en"), ALERT)
        await sending.work()
        await sending.work_later()
    told = f"{MARK}💰 $5.00 received for Coffee"
    assert [message.text for message in sam.chat.from_bot()] == [told, told]


# The bot's profile at Telegram.


@pytest.mark.parametrize(("code", "language"), [("", "en"), ("de", "de"), ("nl", "en")])
async def test_commands_and_descriptions_are_set_in_each_language(
    chat: ChatHarness, code: str, language: str
) -> None:
    """English is for all languages that the bot lacks."""
    async with telegram_of(chat.world) as bot:
        await set_profile(bot)
        menu = await bot.get_my_commands(language_code=code) or await bot.get_my_commands()
        assert [(one.command, one.description) for one in menu] == described(language)
        told = await bot.get_my_description(language_code=code)
        assert told.description == t(language, "bot-description")
        short = await bot.get_my_short_description(language_code=code)
        assert short.short_description == t(language, "bot-short-description")


@pytest.mark.parametrize("fault", [Fault("error", times=9), Fault("error", retry_after=60)])
async def test_a_refused_profile_is_logged_and_the_bot_works_without_it(
    chat: ChatHarness, fault: Fault
) -> None:
    async with telegram_of(chat.world) as bot:
        chat.world.faults.add(fault)
        with capture_logs() as logs:
            await set_profile(bot)
    assert [line["event"] for line in logs] == ["commands not set at telegram"]
    assert "exc_info" not in logs[0]


async def test_a_refused_profile_is_logged_in_telegrams_words(chat: ChatHarness) -> None:
    async with telegram_of(chat.world) as bot:
        fault = Fault(
            "error", "setMyCommands", code=400, description="Bad Request: no such command"
        )
        chat.world.faults.add(fault)
        with capture_logs() as logs:
            await set_profile(bot)
    assert [line["reason"] for line in logs] == ["No such command"]
