"""Groups with topics, anonymous admins and forwarded posts: an answer in its place, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bot.core.text.translations import t
from tests.support.chat_harness import ChatHarness
from tests.support.sender_harness import SenderHarness

if TYPE_CHECKING:
    from bot.sandbox.world.model import Chat
    from bot.sandbox.world.people import Person

WORDS = t("en", "only-in-private", bot="PaymentRequestBot")
ANONYMOUS = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
TELEGRAM = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
CHANNEL = {"id": -1001, "type": "channel", "title": "News"}
FORWARDED: dict[str, dict[str, Any]] = {
    "post": {
        "from": TELEGRAM, "sender_chat": CHANNEL, "is_automatic_forward": True,
        "forward_origin": {"type": "channel", "chat": CHANNEL, "message_id": 3, "date": 1},
    },
    "post of an older server": {"from": TELEGRAM, "sender_chat": CHANNEL, "forward_date": 1},
    "message": {"forward_origin": {"type": "hidden_user", "sender_user_name": "x", "date": 1}},
}  # fmt: skip


def answers(forum: Chat) -> list[tuple[str, int | None]]:
    return [(one.text, one.options.get("message_thread_id")) for one in forum.from_bot()]


async def work(chat: ChatHarness, sending: SenderHarness) -> None:
    await chat.take()
    await sending.work()


async def test_a_command_in_a_topic_is_answered_there(
    chat: ChatHarness, sending: SenderHarness, sam: Person
) -> None:
    forum = sam.migrate(sam.new_group("Market"))
    topic = sam.open_topic(forum, "Sales")
    sam.send("/new", forum, topic=topic)
    sam.send("/list@PaymentRequestBot", forum)
    await work(chat, sending)
    assert answers(forum) == [(WORDS, topic), (WORDS, None)]


async def test_an_anonymous_admin_is_answered_in_the_topic(
    chat: ChatHarness, sending: SenderHarness, sam: Person
) -> None:
    forum = sam.migrate(sam.new_group("Market"))
    topic = sam.open_topic(forum, "Sales")
    where = {"message_thread_id": topic, "is_topic_message": True}
    sent = {"text": "/new", "from": ANONYMOUS, "sender_chat": forum.json()}
    sam.send_content(sent | where, forum)
    await work(chat, sending)
    assert answers(forum) == [(WORDS, topic)]
    assert chat.rows("sellers") == []


async def test_a_thread_of_replies_is_no_topic(
    chat: ChatHarness, sending: SenderHarness, sam: Person
) -> None:
    group = sam.migrate(sam.new_group("Market"))
    sam.send_content({"text": "/new", "message_thread_id": 5}, group)
    await work(chat, sending)
    assert answers(group) == [(WORDS, None)]


@pytest.mark.parametrize("origin", FORWARDED)
async def test_what_is_forwarded_to_a_group_gets_no_answer(
    chat: ChatHarness, sending: SenderHarness, sam: Person, origin: str
) -> None:
    group = sam.migrate(sam.new_group("Market"))
    sam.send_content({"text": "/new", **FORWARDED[origin]}, group)
    await work(chat, sending)
    assert answers(group) == []


async def test_the_answer_in_a_deleted_topic_is_dropped(
    chat: ChatHarness, sending: SenderHarness, sam: Person
) -> None:
    forum = sam.migrate(sam.new_group("Market"))
    sam.send("/new", forum, topic=sam.open_topic(forum, "Sales"))
    await chat.take()
    forum.topics.clear()
    await sending.work()
    assert (answers(forum), sending.waiting) == ([], [])
    assert chat.states(chat.queues.messages) == []
