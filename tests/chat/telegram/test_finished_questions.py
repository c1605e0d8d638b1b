"""A question of a form loses its buttons once it is answered or left; nothing waits for that."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.chat.model.payloads import ButtonRemoval
from bot.chat.store.message_rows import MOST_WAITING
from bot.core.database.database import Database
from bot.sandbox.world.model import Message
from bot.sandbox.world.people import Person
from tests.support.chat_harness import limited_chat, telegram_of
from tests.support.form_questions import question_of
from tests.support.outbox_queue import bodies
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import Clock

MOMENT = 0.1
"""Seconds between two acts, so that no limit of the whole bot counts."""

METHODS = ("sendMessage", "editMessageText", "editMessageReplyMarkup")


async def say(sending: SenderHarness, person: Person, *texts: str) -> Message:
    """Type these texts, each after the answer to the one before; return the last message."""
    for text in texts:
        await sending.chat.says(person, text)
        await sending.work_later(MOMENT)
    return person.chat.from_bot()[-1]


async def press(sending: SenderHarness, person: Person, message: Message, button: str) -> Message:
    person.press(message, button)
    await sending.chat.take()
    await sending.work_later(MOMENT)
    return person.chat.from_bot()[-1]


def buttons(person: Person) -> list[bool]:
    """Return of each message of the bot whether it has buttons."""
    return [bool(message.buttons) for message in person.chat.from_bot()]


async def test_a_question_that_is_answered_by_typing_loses_its_buttons(
    sending: SenderHarness, sam: Person
) -> None:
    """Its text stays, and a wrong answer is an answer: the question is asked again below."""
    kind = await say(sending, sam, "/new")
    await press(sending, sam, kind, "Donation")
    await say(sending, sam, "Coffee")
    name, _amount = sam.chat.from_bot()
    assert buttons(sam) == [False, True]
    assert question_of("ask-name") in name.text
    await say(sending, sam, "free")
    assert buttons(sam) == [False, False, True]


async def test_a_press_takes_no_call_more_than_its_answer(
    sending: SenderHarness, sam: Person
) -> None:
    """The pressed message becomes the next question."""
    kind = await say(sending, sam, "/new")
    await press(sending, sam, kind, "Limited drop")
    await press(sending, sam, kind, "Back")
    calls = sending.chat.world.calls_of(*METHODS)
    assert [call.method for call in calls] == ["sendMessage", *["editMessageText"] * 2]
    assert buttons(sam) == [True]


async def test_the_review_loses_its_buttons_once_the_link_is_being_made(
    sending: SenderHarness, sam: Person
) -> None:
    await say(sending, sam, "/new")
    await press(sending, sam, sam.chat.from_bot()[-1], "Donation")
    review = await say(sending, sam, "Coffee", "5 USD", "$anna")
    assert "right?" in review.text
    await press(sending, sam, review, "Create")
    assert buttons(sam) == [False] * 4
    assert len(sending.chat.jobs) == 1


@pytest.mark.parametrize("leaves", ["/cancel", "Cancel"])
async def test_the_question_of_a_form_that_is_left_loses_its_buttons(
    sending: SenderHarness, sam: Person, leaves: str
) -> None:
    """The menu that takes its place or comes below keeps them."""
    kind = await say(sending, sam, "/new")
    await press(sending, sam, kind, "Donation")
    if leaves == "/cancel":
        await say(sending, sam, leaves)
        assert buttons(sam) == [False, True]
    else:
        menu = await press(sending, sam, kind, leaves)
        assert (menu is kind, buttons(sam)) == (True, [True])
    assert "New payment link" in str(sam.chat.from_bot()[-1].buttons)


async def test_a_question_that_is_sent_after_its_form_ended_has_no_buttons(
    sending: SenderHarness, sam: Person
) -> None:
    chat = sending.chat
    await chat.says(sam, "/new")
    await chat.says(sam, "/cancel")
    await sending.work()
    assert buttons(sam) == [False, True]


async def test_a_question_without_buttons_is_not_edited_once_more(
    sending: SenderHarness, sam: Person
) -> None:
    """Cancel leaves a text without buttons in its place, and the interrupted form asks again."""
    kind = await say(sending, sam, "/new")
    await press(sending, sam, kind, "Donation")
    settings = await say(sending, sam, "/settings")
    question = await press(sending, sam, settings, "payout address")
    await press(sending, sam, question, "Cancel")
    assert buttons(sam) == [False, False, True]
    assert sending.chat.world.refused == []


async def test_a_button_of_an_answered_question_still_works(
    sending: SenderHarness, sam: Person
) -> None:
    """Its message asks then, and the question asked last loses its buttons."""
    kind = await say(sending, sam, "/new")
    name = await press(sending, sam, kind, "Donation")
    back = name.button("Back")["callback_data"]
    await say(sending, sam, "Coffee")
    sam.press_old(name, back)
    await sending.chat.take()
    await sending.work()
    assert buttons(sam) == [True, False]
    await say(sending, sam, "/cancel")
    sam.press_old(name, back)
    await sending.chat.take()
    assert "closed" in str(sending.chat.answers[-1].text)


@pytest.mark.parametrize("code", [400, 404, 500])
async def test_a_removal_that_fails_is_dropped(
    sending: SenderHarness, sam: Person, code: int
) -> None:
    """Another server of the Bot API may not know the method; no form depends on it."""
    method = "editMessageReplyMarkup"
    sending.fault("error", method=method, code=code, description="No", times=9)
    kind = await say(sending, sam, "/new")
    await press(sending, sam, kind, "Donation")
    await say(sending, sam, "Coffee")
    assert [(call.method, call.code) for call in sending.chat.world.refused] == [(method, code)]
    assert [row["state"] for row in sending.chat.rows("outbox") if row["queue"] == "messages"] == []
    back = await press(sending, sam, kind, "Back")
    assert back is not kind


@pytest.fixture
async def limited(db: Database, clock: Clock) -> AsyncIterator[SenderHarness]:
    """Open the sender at Telegram's rates, with a sandbox that enforces the limits."""
    chat = limited_chat(db, clock)
    async with telegram_of(chat.world) as bot:
        yield SenderHarness(chat, bot)


async def test_no_question_waits_for_a_removal(limited: SenderHarness) -> None:
    """It comes once the chat has its whole burst again."""
    sam = limited.chat.add_person("Sam")
    kind = await say(limited, sam, "/new")
    await press(limited, sam, kind, "Donation")
    await say(limited, sam, "Coffee", "5 USD")
    assert len(sam.chat.from_bot()) == 3, "four calls at once: the whole burst"
    assert buttons(sam) == [True] * 3
    await limited.work_later(2)
    assert buttons(sam) == [True] * 3
    await limited.work_later(2)
    await limited.work_later(2)
    assert buttons(sam) == [False, False, True]
    assert limited.chat.world.refused == []


async def test_a_message_that_shows_something_else_by_then_keeps_its_buttons(
    limited: SenderHarness,
) -> None:
    sam = limited.chat.add_person("Sam")
    kind = await say(limited, sam, "/new")
    await press(limited, sam, kind, "Donation")
    await say(limited, sam, "Coffee")
    await press(limited, sam, kind, "Back")
    assert "Donation" in str(kind.buttons)
    await limited.work_later(9)
    await limited.work_later(9)
    assert buttons(sam) == [True, False]


async def test_a_chat_has_a_bounded_number_of_removals_waiting(limited: SenderHarness) -> None:
    """Of a flood of answers the others keep their buttons, which still work."""
    sam = limited.chat.add_person("Sam")
    kind = await say(limited, sam, "/new")
    await press(limited, sam, kind, "Donation")
    for _ in range(3 * MOST_WAITING):
        await limited.chat.says(sam, "free\nof charge")
        await limited.work_later(1)
    waiting = bodies(limited.chat.db, limited.queues.messages)
    assert sum(isinstance(body, ButtonRemoval) for body in waiting) <= MOST_WAITING
