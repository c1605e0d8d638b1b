"""Answers to callbacks: sent once, settled where too late, independent of each other."""

from __future__ import annotations

import pytest

from bot.sandbox.world.model import CallbackQuery, Draft
from tests.support.outbox_queue import bodies
from tests.support.sender_harness import SenderHarness


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
