"""The intake of updates: stored before they are confirmed, each once, by polling and webhook."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from bot.chat.telegram import intake
from bot.chat.telegram.intake import (
    SECRET_HEADER,
    WEBHOOK_PATH,
    Poller,
    account_of,
    lane_of,
    webhook_router,
)
from bot.chat.telegram.transport import make_bot
from bot.core import exact_json
from bot.core.net import request_body
from bot.sandbox.world.world import TOKEN
from tests.support.chat_harness import ChatHarness
from tests.support.http_peers import (
    CUT,
    SECONDS,
    ScriptedServer,
    http_response,
    open_scripted_server,
)
from tests.support.raw_http import endless_body
from tests.support.sandbox_server import serving
from tests.support.service_harness import client

SECRET = "s3cret_token"


def message(number: int, chat: int = 7) -> dict[str, Any]:
    return {"update_id": number, "message": {"chat": {"id": chat}, "text": f"{number}"}}


def stored(chat: ChatHarness) -> list[int]:
    rows = sorted(chat.rows("outbox"), key=lambda row: str(row["id"]))
    return [exact_json.loads(row["body"])["update_id"] for row in rows]


def ok(*found: Any) -> bytes:
    return http_response(200, {"ok": True, "result": found})


def refused(status: int, **parameters: Any) -> bytes:
    body = {"ok": False, "error_code": status, "description": "No", "parameters": parameters}
    return http_response(status, body)


async def test_what_a_message_quotes_is_not_stored(chat: ChatHarness) -> None:
    """It may be a receipt with a code: the buyer answers it, or pins it."""
    receipt = {"message_id": 3, "text": "Your code: ABC-123"}
    for number, field in enumerate(("reply_to_message", "pinned_message", "quote"), 1):
        update = message(number)
        await chat.intake.take([{**update, "message": update["message"] | {field: receipt}}])
    assert stored(chat) == [1, 2, 3]
    assert "ABC-123" not in str(chat.rows("outbox"))


async def test_of_a_message_with_buttons_its_place_is_stored_alone(chat: ChatHarness) -> None:
    """It may show what a payer wrote, cut off in a list, where an erasure would not find it."""
    shown = {"text": "Your code: ABC-123", "reply_markup": {"inline_keyboard": []}}
    below = {"message_id": 3, "chat": {"id": 7}, "date": 1, "photo": [{"file_id": "p"}]}
    query = {"id": "q", "data": "help", "message": below | shown}
    await chat.intake.take([{"update_id": 1, "callback_query": query}])
    (row,) = chat.rows("outbox")
    kept = exact_json.loads(row["body"])["callback_query"]
    assert kept == {"id": "q", "data": "help", "message": below}


class Polling:
    """A poller that records its delays instead of sleeping."""

    def __init__(self, chat: ChatHarness, telegram: ScriptedServer) -> None:
        self.telegram = telegram
        self.waits: list[float] = []
        self.bot = make_bot(telegram.url, TOKEN, 1)
        self.poller = Poller(self.bot, chat.intake, self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)

    async def asked(self, number: int) -> list[dict[str, str]]:
        """Wait for so many calls; their parameters."""
        calls = await self.telegram.asked(number)
        found = [parse_qs(call.body.decode()) for call in calls]
        return [{name: values[0] for name, values in one.items()} for one in found]


@asynccontextmanager
async def polling(chat: ChatHarness, *answers: bytes) -> AsyncIterator[Polling]:
    """Poll a server that returns these answers and then holds the call."""
    async with open_scripted_server(*answers) as telegram:
        made = Polling(chat, telegram)
        task = asyncio.create_task(made.poller.run())
        yield made
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await made.bot.request.shutdown()


async def test_a_poll_is_long_and_names_the_kinds_of_updates(chat: ChatHarness) -> None:
    async with polling(chat) as poll:
        (asked,) = await poll.asked(1)
    assert json.loads(asked["allowed_updates"]) == [
        *("message", "callback_query", "inline_query"),
        *("chosen_inline_result", "my_chat_member"),
    ]
    assert asked["timeout"] == "50"
    assert "offset" not in asked


async def test_an_update_is_stored_before_the_next_call_confirms_it(chat: ChatHarness) -> None:
    async with polling(chat, ok(message(5), message(9)), ok(message(10))) as poll:
        _, second, third = await poll.asked(3)
        assert (second["offset"], third["offset"]) == ("10", "11")
        assert stored(chat) == [5, 9, 10]


async def test_an_update_that_cannot_be_stored_is_not_confirmed(
    chat: ChatHarness,
) -> None:
    chat.db.run(lambda tx: tx.execute("ALTER TABLE outbox RENAME TO away"))
    with capture_logs() as logs:
        async with polling(chat, ok(message(5))) as poll:
            _, second = await poll.asked(2)
            assert "offset" not in second
            chat.db.run(lambda tx: tx.execute("ALTER TABLE away RENAME TO outbox"))
            await poll.telegram.add_answers(ok(message(5)))
            assert (await poll.asked(3))[2]["offset"] == "6"
    assert stored(chat) == [5]
    assert poll.waits == [1.0]
    assert logs[0]["event"] == "updates not stored, so not confirmed"


async def test_the_same_update_twice_is_stored_once(chat: ChatHarness) -> None:
    async with polling(chat, ok(message(5)), ok(message(5), message(6))) as poll:
        await poll.asked(3)
    assert stored(chat) == [5, 6]


async def test_an_update_that_was_handled_is_not_handled_again(chat: ChatHarness) -> None:
    sam = chat.add_person()
    await chat.says(sam, "/help")
    raw = exact_json.loads(chat.rows("outbox")[0]["body"])
    chat.clear_messages()
    await chat.intake.take([raw])
    assert chat.states(chat.queues.updates) == ["done"]
    assert chat.said == []


FAILURES = {
    "another poller": refused(409),
    "server error": refused(500),
    "bad gateway": http_response(502, b"<html>"),
    "cut": CUT,
    "no JSON": http_response(200, b"{"),
    "no result": http_response(200, {"ok": True}),
    "no list": http_response(200, {"ok": True, "result": {}}),
    "not an object": http_response(200, [1]),
    "too deep": http_response(200, b"[" * 100_000 + b"]" * 100_000),
    "wrong token": refused(401),
    "odd parameters": http_response(500, {"ok": False, "parameters": [1]}),
    "odd wait": refused(429, retry_after="soon"),
    "redirect": http_response(302, Location="http://127.0.0.1:1/"),
    "updates without id": ok({"message": {}}),
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failed_poll_is_one_line_in_the_log_without_the_token(
    chat: ChatHarness, failure: str
) -> None:
    with capture_logs() as logs:
        async with polling(chat, FAILURES[failure], ok(message(5))) as poll:
            await poll.asked(3)
    assert stored(chat) == [5]
    assert poll.waits == [1.0]
    lines = [line for line in logs if line["event"] == "no updates from telegram"]
    assert [line["again_in"] for line in lines] == [1.0]
    assert TOKEN not in str(logs)
    assert not any(line.get("exc_info") for line in logs)


async def test_after_a_429_polling_waits_as_long_as_telegram_asks(chat: ChatHarness) -> None:
    async with polling(chat, refused(429, retry_after=17), ok(message(5))) as poll:
        await poll.asked(3)
    assert poll.waits == [17]


async def test_the_delay_grows_with_failures_in_a_row(chat: ChatHarness) -> None:
    bad = refused(500)
    async with polling(chat, *[bad] * 6, ok(message(5)), bad) as poll:
        await poll.asked(9)
    assert poll.waits == [1.0, 2.0, 5.0, 15.0, 30.0, 30.0, 1.0]


async def test_a_server_that_does_not_hold_the_call_is_not_polled_in_a_busy_loop(
    chat: ChatHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MIN_WAIT", SECONDS)  # however slow this machine is
    async with polling(chat, ok(), ok()) as poll:
        await poll.asked(3)
    assert poll.waits == [SECONDS, SECONDS]


async def test_an_unreadable_update_is_confirmed_and_holds_up_nothing(
    chat: ChatHarness,
) -> None:
    """Otherwise it would return for ever and hold up all later ones."""
    odd = {"update_id": 6, "message": "no object"}
    async with polling(chat, ok(message(5), odd, "nothing")) as poll:
        assert (await poll.asked(2))[1]["offset"] == "7"
    assert stored(chat) == [5]


async def test_inline_queries_are_answered_at_once_and_never_stored(chat: ChatHarness) -> None:
    query = {"update_id": 5, "inline_query": {"id": "1", "query": "x"}}
    async with polling(chat, ok(query, message(6))) as poll:
        assert (await poll.asked(2))[1]["offset"] == "7"
    assert chat.asked == [query]
    assert stored(chat) == [6]


@pytest.mark.parametrize(
    ("update", "lane"),
    [
        (message(1, 7), "7"),
        (message(1, -1002000000001), "-1002000000001"),
        ({"callback_query": {"message": {"chat": {"id": 7}}, "from": {"id": 8}}}, "7"),
        ({"callback_query": {"from": {"id": 8}}}, "8"),
        ({"my_chat_member": {"chat": {"id": 7}, "from": {"id": 8}}}, "7"),
        ({"edited_message": {"chat": {"id": 7}}}, "0"),
        ({"message": {}}, "0"),
        ({"message": {"chat": 7}}, "0"),
        ({"message": {"chat": {"id": "seven"}}}, "0"),
        ({"callback_query": {"message": "x", "from": 8}}, "0"),
    ],
)
def test_updates_of_any_form_keep_the_order_of_their_chat(
    update: dict[str, Any], lane: str
) -> None:
    assert lane_of(update) == lane


@pytest.mark.parametrize(
    ("update", "account"),
    [
        ({"message": {"chat": {"id": -7}, "from": {"id": 8}}}, "8"),
        ({"message": {"chat": {"id": -7}}}, "-7"),
        ({"callback_query": {"message": {"chat": {"id": -7}}, "from": {"id": 8}}}, "8"),
        ({"inline_query": {"from": {"id": 8}}}, "8"),
        ({"my_chat_member": {"chat": {"id": -7}, "from": {"id": 8}}}, "8"),
        ({"message": {"chat": {"id": -7}, "from": {"id": "x"}}}, "-7"),
        ({"message": {"chat": {"id": -7}, "from": {"id": 8}, "sender_chat": {"id": -7}}}, "-7"),
        ({"edited_message": {"from": {"id": 8}}}, "0"),
    ],
)
def test_an_update_counts_for_the_person_who_caused_it_in_any_chat(
    update: dict[str, Any], account: str
) -> None:
    assert account_of(update) == account


@pytest.fixture
async def telegram(chat: ChatHarness) -> AsyncIterator[httpx.AsyncClient]:
    """Serve the webhook and yield its client."""
    app = FastAPI()
    app.include_router(webhook_router(chat.intake, SECRET))
    async with client(app, {SECRET_HEADER: SECRET}) as http:
        yield http


async def test_webhook_an_update_is_stored_and_then_answered_200(
    chat: ChatHarness, telegram: httpx.AsyncClient
) -> None:
    for _ in range(2):
        answer = await telegram.post(WEBHOOK_PATH, json=message(5))
        assert (answer.status_code, stored(chat)) == (200, [5])


async def test_webhook_a_call_without_the_secret_is_401_and_nothing_is_stored(
    chat: ChatHarness, telegram: httpx.AsyncClient
) -> None:
    del telegram.headers[SECRET_HEADER]
    for told in (None, "", "s3cret_toke", "S3CRET_TOKEN", "schlüssel"):
        headers = [] if told is None else [(SECRET_HEADER.encode(), told.encode())]
        answer = await telegram.post(WEBHOOK_PATH, json=message(5), headers=headers)
        assert (answer.status_code, stored(chat)) == (401, []), told


MALFORMED = (
    *(b"", b"{", b"[]", b"5", b"{}", b'{"update_id": "5"}', b'{"update_id": 5, "message": 1}'),
    *(b"\xff", b"[" * 100_000, b'{"update_id": NaN}', b" " * 1024 * 1024),
    b'{"update_id": 5, "message": {"a": ' + b"[" * 99 + b"]" * 99 + b"}}",
)


async def test_webhook_a_malformed_body_is_400_and_nothing_is_stored(
    chat: ChatHarness, telegram: httpx.AsyncClient
) -> None:
    answers = [await telegram.post(WEBHOOK_PATH, content=body) for body in MALFORMED]
    assert [answer.status_code for answer in answers] == [400] * len(MALFORMED)
    assert stored(chat) == []


async def test_webhook_a_body_above_a_mebibyte_is_413_and_nothing_is_stored(
    chat: ChatHarness, telegram: httpx.AsyncClient
) -> None:
    answer = await telegram.post(WEBHOOK_PATH, content=b" " * (1024 * 1024 + 1))
    assert (answer.status_code, stored(chat)) == (413, [])


async def test_webhook_an_update_of_the_greatest_depth_is_stored(
    chat: ChatHarness, telegram: httpx.AsyncClient
) -> None:
    """And so is one with more text than any other body may have."""
    deep = b'{"update_id": 5, "message": {"a": ' + b"[" * 98 + b"]" * 98 + b"}}"
    assert (await telegram.post(WEBHOOK_PATH, content=deep)).status_code == 200
    long = message(6) | {"more": "x" * 100_000}
    assert (await telegram.post(WEBHOOK_PATH, json=long)).status_code == 200
    assert stored(chat) == [5, 6]


async def test_webhook_a_body_that_stalls_is_400_and_nothing_is_stored(
    chat: ChatHarness, telegram: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.01)

    with capture_logs() as logs:
        answer = await telegram.post(WEBHOOK_PATH, content=endless_body())
    assert (answer.status_code, stored(chat)) == (400, [])
    assert [line["reason"] for line in logs] == ["The body did not arrive in time."]


async def test_webhook_an_update_that_cannot_be_stored_is_not_answered_200(
    chat: ChatHarness, telegram: httpx.AsyncClient
) -> None:
    chat.db.run(lambda tx: tx.execute("ALTER TABLE outbox RENAME TO away"))
    assert (await telegram.post(WEBHOOK_PATH, json=message(5))).status_code == 500
    chat.db.run(lambda tx: tx.execute("ALTER TABLE away RENAME TO outbox"))
    assert (await telegram.post(WEBHOOK_PATH, json=message(5))).status_code == 200
    assert stored(chat) == [5]


async def test_webhook_an_inline_query_is_answered_and_not_stored(
    chat: ChatHarness, telegram: httpx.AsyncClient
) -> None:
    query = {"update_id": 5, "inline_query": {"id": "1"}}
    assert (await telegram.post(WEBHOOK_PATH, json=query)).status_code == 200
    assert (chat.asked, stored(chat)) == ([query], [])


async def test_against_the_sandbox_every_update_arrives_once_and_is_confirmed(
    chat: ChatHarness,
) -> None:
    sam = chat.add_person()
    async with serving(chat.world) as telegram:
        bot = make_bot(str(telegram.http.base_url).rstrip("/"), TOKEN, 1)
        task = asyncio.create_task(Poller(bot, chat.intake).run())
        for number in range(5):
            sam.send(f"{number}")
        await chat.world.wait_for(lambda: chat.world.polls and not chat.world.updates.pending)
        assert len(stored(chat)) == 5
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await bot.request.shutdown()
