"""Calls of the Bot API over HTTP, and what a failed one may have reached."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import pytest
from telegram import InputFile
from telegram.error import TelegramError

from bot.chat.telegram import transport
from bot.chat.telegram.transport import FailureKind, call, classify, make_bot
from bot.sandbox.world.world import TOKEN
from tests.support.webhook_receiver import Receiver, open_receiver

if TYPE_CHECKING:
    from telegram import Bot


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
