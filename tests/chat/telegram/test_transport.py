"""The transport: which client makes a call, and what a failed one may have reached."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import pytest
from telegram.error import TelegramError

from bot.app.telegram_side import make_bot
from bot.chat.telegram import transport
from bot.chat.telegram.transport import FailureKind, classify
from bot.core.net import http_client
from bot.sandbox.world.world import TOKEN
from tests.support.webhook_receiver import Receiver, open_receiver

if TYPE_CHECKING:
    from telegram import Bot


SENT = {"ok": True, "result": {"message_id": 5, "date": 1, "chat": {"id": 7, "type": "private"}}}
TEXT: dict[str, Any] = {"chat_id": 7, "text": "<b>Zoë</b> & co"}
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def answer(payload: dict[str, Any]) -> bytes:
    body = json.dumps(payload).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


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
        await bot.send_message(**TEXT)
    await bot.request.shutdown()
    return classify(failed.value, 1).kind


async def test_calls_go_out_as_forms_over_one_kept_connection(server: Receiver) -> None:
    bot = make_bot(root_of(server), TOKEN, 1)
    server.answers += [answer(SENT), answer(SENT)]
    for _ in range(2):
        assert (await bot.send_message(**TEXT)).message_id == 5
    sent = server.received[0]
    assert sent.line == f"POST /bot{TOKEN}/sendMessage HTTP/1.1"
    assert parse_qs(sent.body.decode()) == {"chat_id": ["7"], "text": ["<b>Zoë</b> & co"]}
    assert len(server.open) == 1
    await bot.request.shutdown()
    await server.left()


async def test_a_file_goes_out_in_parts(server: Receiver) -> None:
    bot = make_bot(root_of(server), TOKEN, 1)
    server.answers.append(answer(SENT))
    await bot.send_document(7, b"%PDF")
    await bot.request.shutdown()
    assert b"%PDF" in server.received[0].body


async def test_a_proxy_of_the_environment_is_used(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", root_of(server))
    bot = make_bot("http://telegram.invalid", TOKEN, 1)
    server.answers.append(answer(SENT))
    await bot.send_message(**TEXT)
    await bot.request.shutdown()
    line = server.received[0].line
    assert line == f"POST http://telegram.invalid/bot{TOKEN}/sendMessage HTTP/1.1"


@pytest.mark.parametrize("name", PROXIES)
def test_any_proxy_that_may_lead_there_counts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in PROXIES:
        monkeypatch.delenv(one, raising=False)
    assert not http_client.has_proxy("https://api.telegram.org")
    monkeypatch.setenv(name, "http://proxy.example:3128")
    assert http_client.has_proxy("https://api.telegram.org")
    assert not http_client.has_proxy("http://127.0.0.1:8081")


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
