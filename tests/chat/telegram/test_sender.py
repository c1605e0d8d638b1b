"""The sender: messages in order, none lost, repetitions marked, chats independent."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from structlog.testing import capture_logs

from bot.chat.model.payloads import CardMessage, TextMessage, new_message
from bot.chat.model.queues import SENT_AT_ONCE
from bot.chat.model.replies import TEXT_LIMIT, Reply
from bot.chat.store.link_rows import CREATING
from bot.chat.telegram.sender import Sender
from bot.chat.telegram.transport import MAX_ATTEMPTS, RETRIES, make_bot
from bot.core.database.database import Database
from bot.core.outbox import leases, outbox
from bot.core.outbox.queue_policy import ALERT, NOTICE, REPLY
from bot.core.outbox.worker import QueueHandler, Worker
from bot.sandbox.world.errors import FaultKind
from bot.sandbox.world.model import Chat
from bot.sandbox.world.people import Person
from bot.sandbox.world.world import TOKEN
from tests.support.asgi_server import serve_asgi
from tests.support.chat_harness import (
    COFFEE,
    ChatHarness,
    limited_chat,
    service_answer,
    telegram_of,
)
from tests.support.outbox_queue import handle_all
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import Clock

MARK = "You may have seen this already.\n"


def seen(chat: Chat) -> list[str]:
    return [message.text for message in chat.from_bot()]


async def test_messages_arrive_once_in_order_and_as_html(
    sending: SenderHarness, sam: Person
) -> None:
    sending.put(sam.chat, "<b>one</b>", "two &lt;", "three")
    await sending.work()
    assert seen(sam.chat) == ["one", "two <", "three"]
    assert sam.chat.from_bot()[0].entities[0]["type"] == "bold"
    assert sending.waiting == []


async def test_replies_go_before_alerts_and_alerts_before_notices(
    sending: SenderHarness, sam: Person
) -> None:
    for text, priority in (("notice", NOTICE), ("alert", ALERT), ("reply", REPLY)):
        sending.put(sam.chat, text, priority=priority)
    await sending.work()
    assert seen(sam.chat) == ["reply", "alert", "notice"]


async def test_links_are_shown_without_a_preview(sending: SenderHarness, sam: Person) -> None:
    sending.put(sam.chat, "https://example.org")
    await sending.work()
    (call,) = sending.chat.world.calls_of("sendMessage")
    assert "is_disabled" in str(call.params["link_preview_options"])


async def test_a_429_delays_only_its_chat_as_long_as_requested(
    sending: SenderHarness, sam: Person, pat: Person
) -> None:
    sending.fault("error", chat_id=sam.id, retry_after=7)
    sending.put(sam.chat, "one", "two", priority=ALERT)
    sending.put(pat.chat, "other")
    await sending.work()
    assert (seen(sam.chat), seen(pat.chat), sending.waits) == ([], ["other"], 7000)
    sending.put(sam.chat, "urgent")
    await sending.work_later(6.999)
    assert seen(sam.chat) == []
    await sending.work_later(0.001)
    assert seen(sam.chat) == ["urgent", "one", "two"]


@pytest.mark.parametrize("kind", ["cut", "error"])
async def test_a_message_whose_answer_was_lost_is_repeated_with_a_mark(
    sending: SenderHarness, sam: Person, kind: FaultKind
) -> None:
    sending.fault(kind, method="sendMessage", accepted=True, code=504)
    sending.put(sam.chat, "paid", "next", priority=ALERT)
    await sending.work()
    assert (seen(sam.chat), sending.waits) == (["paid"], RETRIES.delays[0])
    await sending.work_later()
    assert seen(sam.chat) == ["paid", f"{MARK}paid", "next"]


async def test_a_picture_whose_answer_was_lost_is_repeated_with_a_mark(
    sending: SenderHarness, sam: Person
) -> None:
    sending.fault("cut", method="sendPhoto")
    link = sending.chat.add_link(sam, COFFEE, service_answer())
    sending.put_body(sam.chat, CardMessage(link.id, "en"))
    await sending.work()
    await sending.work_later()
    first, second = seen(sam.chat)
    assert second == f"{MARK}{first}"


async def test_a_message_that_a_dead_process_may_have_sent_is_marked(
    sending: SenderHarness, sam: Person
) -> None:
    sending.put(sam.chat, "paid", priority=ALERT)
    queue, now = sending.queues.messages, sending.chat.clock()
    sending.chat.db.run(lambda tx: outbox.claim(tx, queue, now, 1) and None)
    sending.chat.db.run(lambda tx: leases.recover(tx, queue, now))
    await sending.work()
    assert seen(sam.chat) == [f"{MARK}paid"]


async def test_a_text_without_room_for_the_mark_is_repeated_unmarked(
    sending: SenderHarness, sam: Person
) -> None:
    longest = "x" * TEXT_LIMIT
    sending.fault("cut", method="sendMessage")
    sending.put(sam.chat, longest)
    await sending.work()
    await sending.work_later()
    assert seen(sam.chat) == [longest, longest]


async def test_a_message_that_was_not_sent_is_delivered_once_and_unmarked(
    chat: ChatHarness, sam: Person
) -> None:
    """The server accepts no connection for a while."""
    async with telegram_of(chat.world) as bot:
        sending = SenderHarness(chat, bot)
        sending.put(sam.chat, "paid", priority=ALERT)
        right, bot._base_url = bot._base_url, "http://127.0.0.1:1/bot"
        await sending.work()
        assert (sending.waits, seen(sam.chat)) == (RETRIES.delays[0], [])
        bot._base_url = right
        await sending.work_later()
    assert seen(sam.chat) == ["paid"]


async def test_a_repeated_edit_is_never_marked(sending: SenderHarness, sam: Person) -> None:
    sending.put(sam.chat, "old")
    await sending.work()
    (shown,) = sam.chat.from_bot()
    sending.fault("cut", method="editMessageText")
    sending.put_body(sam.chat, TextMessage("new", "en", message_id=shown.id))
    await sending.work()
    await sending.work_later()
    assert seen(sam.chat) == ["new"]
    assert sending.waiting == []


@pytest.mark.parametrize("message_id", ["same", "unknown"])
async def test_an_edit_that_changes_nothing_is_settled(
    sending: SenderHarness, sam: Person, message_id: str
) -> None:
    sending.put(sam.chat, "old")
    await sending.work()
    number = sam.chat.from_bot()[0].id if message_id == "same" else 1
    sending.put_body(sam.chat, TextMessage("old", "en", message_id=number))
    sending.put(sam.chat, "next")
    await sending.work()
    assert (seen(sam.chat), sending.waiting) == (["old", "next"], [])


async def test_a_refused_message_is_kept_as_a_dead_letter_and_the_next_is_sent(
    sending: SenderHarness, sam: Person
) -> None:
    sending.put(sam.chat, "<b>broken", "next")
    await sending.work()
    assert seen(sam.chat) == ["next"]
    assert sending.chat.states(sending.queues.messages) == ["dead"]


@pytest.mark.parametrize("fault", ["error", "cut", "drop"])
async def test_the_order_of_a_chat_is_kept_through_failures(
    sending: SenderHarness, sam: Person, pat: Person, fault: FaultKind
) -> None:
    sending.fault(fault, chat_id=sam.id, times=2)
    for number in range(4):
        sending.put(sam.chat, f"{number}")
        sending.put(pat.chat, f"{number}")
    await sending.work()
    assert seen(pat.chat) == ["0", "1", "2", "3"]
    for _ in range(2):
        await sending.work_later()
    plain = [text.rpartition("\n")[2] for text in seen(sam.chat)]
    assert [text for n, text in enumerate(plain) if text not in plain[:n]] == ["0", "1", "2", "3"]
    assert sending.waiting == []


async def test_a_blocked_chat_keeps_its_alerts_and_drops_replies(
    sending: SenderHarness, sam: Person, pat: Person
) -> None:
    sam.block()
    sending.put(sam.chat, "reply")
    sending.put(pat.chat, "other")
    await sending.work()
    sending.put(sam.chat, "paid 1", "paid 2", priority=ALERT)
    await sending.work()
    await sending.work_later(1)
    assert (seen(sam.chat), seen(pat.chat), sending.waits) == ([], ["other"], None)
    await sending.work_later(86_400)
    assert sending.chat.world.calls_of("sendMessage") != []
    assert len(sending.chat.world.refused) == 3
    states = sorted(sending.chat.states(sending.queues.messages))
    assert states == ["dead", "waiting", "waiting"]


async def test_kept_alerts_are_delivered_unmarked_and_in_order_when_the_person_writes_again(
    sending: SenderHarness, sam: Person
) -> None:
    sam.block()
    sending.put(sam.chat, "paid 1", "paid 2", priority=ALERT)
    await sending.work()
    await sending.work_later(1)
    sam.unblock()
    await sending.chat.says(sam, "/privacy")
    await sending.work()
    assert seen(sam.chat)[1:] == ["paid 1", "paid 2"]
    assert len(seen(sam.chat)) == 3


async def test_a_person_who_unblocks_the_bot_during_a_refusal_gets_the_message(
    sending: SenderHarness, sam: Person
) -> None:
    """The update of it may arrive before the refusal, so one refusal pauses nothing."""
    sam.block()
    sending.put(sam.chat, "paid 1", priority=ALERT)
    await sending.work()
    sam.unblock()
    await sending.work_later(1)
    assert seen(sam.chat) == ["paid 1"]


async def test_messages_and_links_follow_a_group_that_moves(
    sending: SenderHarness, chat: ChatHarness, sam: Person
) -> None:
    group = sam.new_group("Market")
    link = chat.add_link(sam, COFFEE, service_answer(), chat_id=group.id)
    new = sam.migrate(group)
    sending.put(group, "one", "two")
    await sending.work()
    assert seen(new) == ["one", "two"]
    assert (chat.link(link.id).chat_id, sending.waiting) == (new.id, [])
    assert chat.link(link.id).state != CREATING


async def test_for_an_unknown_method_alerts_wait_and_other_messages_are_given_up(
    sending: SenderHarness, sam: Person
) -> None:
    """A proxy that answers 404 for a while costs no payment its alert."""
    sending.fault("error", code=404, description="Not Found", times=2)
    sending.put(sam.chat, "reply")
    sending.put(sam.chat, "paid", priority=ALERT)
    await sending.work()
    await sending.work()
    sending.chat.clock.advance(RETRIES.delays[-1] / 1000)
    await sending.work()
    assert seen(sam.chat) == ["paid"]


@pytest.mark.parametrize("result", [{"message_id": 5}, {"date": 1}, [], "sent", None])
async def test_an_accepted_call_with_an_unreadable_answer_is_not_repeated(
    sending: SenderHarness, sam: Person, result: object
) -> None:
    """Another server of the Bot API may answer `ok` and little more."""
    calls = 0

    async def answer_little(_request: Request) -> JSONResponse:
        nonlocal calls
        calls += 1
        return JSONResponse({"ok": True, "result": result})

    app = Starlette(routes=[Route("/bot{rest:path}", answer_little, methods=["POST"])])
    async with serve_asgi(app) as root:
        bot = make_bot(root, TOKEN, SENT_AT_ONCE)
        sender = Sender(sending.chat.db, bot, sending.queues, sending.chat.clock)
        sending.put(sam.chat, "one", "two")
        await handle_all(sending.chat.db, sending.queues.messages, sender.send, sending.chat.clock)
        await bot.request.shutdown()
    assert (calls, sending.waiting) == (2, [])


async def test_a_process_that_may_have_lost_the_lead_sends_nothing(
    sending: SenderHarness, sam: Person
) -> None:
    """What it had claimed waits again, and is no repetition: no call was begun."""
    chat, messages, asked = sending.chat, sending.queues.messages, asyncio.Event()

    def may_call() -> bool:
        asked.set()
        return False

    sender = Sender(chat.db, sending.sender._bot, sending.queues, chat.clock, may_call)
    worker = Worker(chat.db, QueueHandler(messages, sender.send), chat.clock)
    running = asyncio.create_task(worker.run())
    sending.put(sam.chat, "one")
    await asked.wait()
    await worker.stop(5)
    await running
    assert (seen(sam.chat), chat.states(messages)) == ([], ["waiting"])
    await sending.work_later(1)
    assert (seen(sam.chat), sending.waiting) == (["one"], [])


async def test_a_reply_without_a_clear_answer_is_given_up_but_an_alert_is_not(
    sending: SenderHarness, sam: Person
) -> None:
    sending.fault("error", code=500, description="Internal Server Error", times=1000)
    sending.put(sam.chat, "reply")
    sending.put(sam.chat, "paid", priority=ALERT)
    for _ in range(MAX_ATTEMPTS + 1):
        await sending.work_later()
    found = {row["priority"]: row["state"] for row in sending.chat.rows("outbox")}
    assert found == {REPLY: "dead", ALERT: "waiting"}


async def test_a_failure_is_one_line_in_the_log_with_its_reason(
    sending: SenderHarness, sam: Person
) -> None:
    sending.fault("cut", method="sendMessage")
    sending.put(sam.chat, "secret words")
    with capture_logs() as logs:
        await sending.work()
    (line,) = [line for line in logs if line["event"] == "telegram call failed"]
    assert (line["kind"], line["chat"], line["method"]) == ("uncertain", str(sam.id), "sendMessage")
    assert "secret words" not in str(logs)
    assert TOKEN not in str(logs)


async def test_at_telegrams_own_limits_not_one_call_is_refused(db: Database, clock: Clock) -> None:
    """Eight people and a group get five messages each, at the default rates, on a set clock."""
    chat = limited_chat(db, clock)
    async with telegram_of(chat.world) as bot:
        sending = SenderHarness(chat, bot)
        chats = [chat.add_person(f"P{number}").chat for number in range(8)]
        chats.append(chat.add_person("Owner").new_group("Market"))
        for private in chats:
            sending.put(private, *"abcde")
        while (wait := sending.waits) is not None:
            clock.at += max(wait, 0)
            await sending.work()
    assert chat.world.refused == []
    assert [seen(private) for private in chats] == [[*"abcde"]] * 9


async def test_a_running_worker_sends_new_messages(sending: SenderHarness, sam: Person) -> None:
    made = Worker(
        sending.chat.db,
        QueueHandler(sending.queues.messages, sending.sender.send),
        sending.chat.clock,
    )
    running = asyncio.create_task(made.run())
    queue, now = sending.queues.messages, sending.chat.clock()
    for number in range(5):
        body = new_message(Reply(f"{number}"), "en")
        put = partial(outbox.put, queue=queue, lane=str(sam.id), body=body, now=now)
        await sending.chat.db.transaction(put)
    await sending.chat.world.bot_message(sam.chat, "4")
    await made.stop(5)
    await running
    assert (seen(sam.chat), sending.waiting) == ([*"01234"], [])
