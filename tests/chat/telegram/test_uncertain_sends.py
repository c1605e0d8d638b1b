"""Uncertain messages: none holds up its chat, each repetition is marked once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from structlog.testing import capture_logs

from bot.chat.model.payloads import Alert, AlertPayment
from bot.chat.model.queues import SENT_AT_ONCE
from bot.chat.telegram import sender
from bot.chat.telegram.sender import Sender
from bot.chat.telegram.transport import RETRIES, make_bot
from bot.core.outbox.queue_policy import ALERT
from bot.sandbox.world.world import TOKEN
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.outbox_queue import handle_all
from tests.support.sender_harness import SenderHarness

if TYPE_CHECKING:
    import pytest


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
