"""A chat whose person blocked the bot is paused until they return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.chat_harness import ChatHarness

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


async def paused(chat: ChatHarness) -> dict[str, str | None]:
    return {row["lane"]: row["paused"] for row in chat.rows("lanes") if row["queue"] == "messages"}


async def test_a_chat_is_paused_while_the_bot_is_blocked(chat: ChatHarness, sam: Person) -> None:
    sam.block()
    await chat.take()
    assert await paused(chat) == {str(sam.id): "the bot was blocked"}
    sam.unblock()
    await chat.take()
    assert await paused(chat) == {str(sam.id): None}


async def test_a_paused_chat_is_resumed_when_the_person_writes(
    chat: ChatHarness, sam: Person
) -> None:
    sam.block()
    sam.chat.bot_status = "member"
    await chat.says(sam, "/help")
    assert await paused(chat) == {str(sam.id): None}
