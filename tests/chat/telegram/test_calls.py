"""Calls that Telegram would refuse are not made: edits without a change, messages too soon."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from bot.chat.model.payloads import new_message, replacement
from bot.chat.model.replies import DANGER, Button, Reply, markup, without_styles
from bot.chat.store import message_rows
from bot.core.database.database import Database
from bot.core.outbox import outbox
from bot.core.outbox.outbox import Message
from bot.core.text.translations import t
from bot.sandbox.world.model import CallbackQuery, Chat, Draft
from bot.sandbox.world.people import Person
from tests.support.chat_harness import ChatHarness, limited_chat, telegram_of
from tests.support.outbox_queue import bodies, handle_all
from tests.support.sender_harness import BLOCKED, REFUSAL, SenderHarness
from tests.support.service_harness import Clock

KEY = Button("Help", action=("help",))
ONE, TWO = (Reply(text, ((KEY,),)) for text in ("one", "two"))


async def cards(sending: SenderHarness, sam: Person, *replies: Reply, message_id: int) -> None:
    """Queue these texts as edits of a message, one after the other, and send them."""
    for reply in replies:
        sending.put_body(sam.chat, replacement(reply, "en", message_id, is_picture=False))
    await sending.work()


async def test_an_edit_to_the_same_text_is_not_sent(sending: SenderHarness, sam: Person) -> None:
    sending.put_body(sam.chat, new_message(ONE, "en"))
    await sending.work()
    (message,) = sam.chat.from_bot()
    await cards(sending, sam, ONE, TWO, TWO, ONE, message_id=message.id)
    assert [version.content["text"] for version in message.history] == ["one", "two"]
    assert message.text == "one"
    assert sending.chat.world.refused == []
    assert sending.waiting == []


async def test_a_message_without_a_known_text_is_edited(
    sending: SenderHarness, sam: Person
) -> None:
    """And the refusal makes its text known."""
    world, draft = sending.chat.world, Draft({"text": ONE.text}, markup(ONE.rows))
    message = world.post(sam.chat, world.bot, draft)
    await cards(sending, sam, ONE, ONE, message_id=message.id)
    assert [call.reason[:36] for call in sending.chat.world.refused] == [
        "Bad Request: message is not modified"
    ]


async def test_an_edit_that_was_given_up_leaves_no_known_text(
    sending: SenderHarness, sam: Person
) -> None:
    sending.put_body(sam.chat, new_message(ONE, "en"))
    await sending.work()
    (message,) = sam.chat.from_bot()
    sending.fault("error", method="editMessageText", code=400, description="Bad Request: odd")
    await cards(sending, sam, TWO, ONE, message_id=message.id)
    assert len(sending.chat.world.refused) == 2, "the second was tried, though it said so before"


async def test_a_text_is_known_as_long_as_a_person_may_press_twice(
    sending: SenderHarness, sam: Person
) -> None:
    sending.put_body(sam.chat, new_message(ONE, "en"))
    await sending.work()
    chat, now = sending.chat, sending.chat.clock()
    assert chat.db.run(partial(message_rows.sweep_texts, before=now)) == 0
    assert chat.db.run(partial(message_rows.sweep_texts, before=now + 1)) == 1


async def test_the_pace_counts_from_the_arrival_of_a_slow_message(
    db: Database, clock: Clock
) -> None:
    """A large picture takes a second; Telegram counts from its arrival."""
    chat = limited_chat(db, clock)
    sam = chat.add_person("Sam")
    async with telegram_of(chat.world) as bot:
        sending = SenderHarness(chat, bot)

        async def send(message: Message) -> None:
            if not sam.chat.from_bot():
                clock.advance(1)
            await sending.sender.send(message)

        sending.put(sam.chat, *(f"{number}" for number in range(6)))
        for _ in range(100):
            await handle_all(db, chat.queues.messages, send, clock)
            clock.advance(0.05)
    assert len(sam.chat.from_bot()) == 6
    assert chat.world.refused == []


# Telegram's answer to a call whose message another worker has by now changes nothing.


TAKEN = "UPDATE outbox SET lease = 'another/1' WHERE queue = 'messages' AND state = 'leased'"

THROTTLED = REFUSAL | {"code": 429, "retry_after": 30}


def lose_message(sending: SenderHarness, chat: Chat) -> Message:
    """Claim the first of two messages to a chat, and give its lease to another worker."""
    sending.put(chat, "first", "second")
    queue, now = sending.queues.messages, sending.chat.clock()
    (message,) = sending.chat.db.run(lambda tx: outbox.claim(tx, queue, now, 1))
    sending.chat.db.run(lambda tx: tx.execute(TAKEN))
    return message


@pytest.mark.parametrize("fault", [BLOCKED, THROTTLED])
async def test_a_late_answer_changes_no_lane(
    sending: SenderHarness, sam: Person, fault: dict[str, Any]
) -> None:
    message = lose_message(sending, sam.chat)
    before = sending.chat.rows("lanes"), sending.chat.rows("outbox")
    sending.fault(**fault)
    await sending.sender.send(message)
    assert (sending.chat.rows("lanes"), sending.chat.rows("outbox")) == before


async def test_a_late_answer_that_a_group_moved_moves_nothing(
    sending: SenderHarness, sam: Person
) -> None:
    group = sam.new_group("Market")
    message = lose_message(sending, group)
    sam.migrate(group)
    before = sending.chat.rows("lanes"), sending.chat.rows("outbox")
    await sending.sender.send(message)
    assert (sending.chat.rows("lanes"), sending.chat.rows("outbox")) == before


# Coloured buttons on servers of the Bot API that know styles, and on those that refuse them.


RED = {"text": "Delete", "callback_data": "help", "style": "danger"}
PLAIN = {"text": "Delete", "callback_data": "help"}
ASKED = Reply("Delete?", ((Button("Delete", action=("help",), style=DANGER),),))


async def test_a_style_reaches_the_client(sending: SenderHarness, sam: Person) -> None:
    sending.put_body(sam.chat, new_message(ASKED, "en"))
    await sending.work()
    (message,) = sam.chat.from_bot()
    assert message.buttons == [RED]


@pytest.mark.parametrize("refusal", ["Bad Request: unknown field style", "Bad Request: no"])
async def test_a_server_that_refuses_styles_gets_the_message_without(
    sending: SenderHarness, sam: Person, refusal: str
) -> None:
    """At once, in the same attempt, whatever its words are."""
    sending.fault("error", method="sendMessage", code=400, description=refusal)
    sending.put_body(sam.chat, new_message(ASKED, "en"))
    await sending.work()
    (message,) = sam.chat.from_bot()
    assert message.buttons == [PLAIN]
    assert sending.waiting == []


@pytest.mark.parametrize(
    ("code", "description"), [(429, "Too Many Requests"), (400, "Bad Request: chat not found")]
)
async def test_another_refusal_is_not_repeated_without_styles(
    sending: SenderHarness, sam: Person, code: int, description: str
) -> None:
    sending.fault("error", method="sendMessage", code=code, description=description, times=9)
    sending.put_body(sam.chat, new_message(ASKED, "en"))
    await sending.work()
    assert len(sending.chat.world.refused) == 1


def test_only_styles_are_taken_off() -> None:
    keyboard = {"inline_keyboard": [[RED, PLAIN], [PLAIN]]}
    assert without_styles(keyboard) == {"inline_keyboard": [[PLAIN, PLAIN], [PLAIN]]}
    assert keyboard["inline_keyboard"][0][0] == RED
    for plain in (None, {"inline_keyboard": [[PLAIN]]}):
        assert without_styles(plain) is None


# Answers to callbacks: sent once, settled where too late, independent of each other.


def pressed(sending: SenderHarness) -> CallbackQuery:
    """Press a button."""
    world, sam = sending.chat.world, sending.chat.add_person()
    return sam.press_old(world.post(sam.chat, world.bot, Draft({"text": "x"}, None)), "list:0")


@pytest.mark.parametrize(("text", "shown"), [(None, ""), ("", ""), ("Done", "Done")])
async def test_a_callback_is_answered_with_its_text(
    sending: SenderHarness, text: str | None, shown: str
) -> None:
    query = pressed(sending)
    await sending.answer(query.id, text)
    assert query.answer is not None
    assert query.answer["text"] == shown


async def test_a_callback_too_old_to_be_answered_is_settled(sending: SenderHarness) -> None:
    query = pressed(sending)
    sending.chat.clock.advance(3600)
    await sending.answer(query.id)
    assert (query.answer, bodies(sending.chat.db, sending.queues.answers)) == (None, [])


async def test_a_forbidden_callback_answer_pauses_no_lane(sending: SenderHarness) -> None:
    """Nothing would resume the lane of answers."""
    first, second = pressed(sending), pressed(sending)
    sending.fault("error", code=403, description="Forbidden: bot was blocked by the user")
    await sending.answer(first.id)
    await sending.answer(second.id)
    assert (first.answer is None, second.answer is None) == (True, False)


# Groups with topics, anonymous admins and forwarded posts: an answer in its place, or none.


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
