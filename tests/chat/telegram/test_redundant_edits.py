"""Calls that Telegram would refuse are not made: edits without a change, messages too soon."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bot.chat.alerts import alert_text
from bot.chat.model.payloads import new_message, replacement
from bot.chat.model.queues import make_queues
from bot.chat.model.replies import Button, Reply, markup
from bot.chat.store import message_rows
from bot.core.database.database import Database
from bot.core.net.rates import Rate
from bot.core.outbox.outbox import Message
from bot.sandbox.world.errors import Limits
from bot.sandbox.world.model import Draft
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.outbox_queue import handle_all
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import Clock

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


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
    chat = ChatHarness(
        db,
        clock,
        queues=make_queues(Rate(30, 1), Rate(1, 1), Rate(20, 60), gather=alert_text.join_alerts),
    )
    chat.world.limiter.limits = Limits()
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
