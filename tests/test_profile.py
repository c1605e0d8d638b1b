"""How the bot presents itself at Telegram."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from bot.chat.conversation import commands, description, short_description
from bot.chat.profile import present
from bot.sandbox.faults import Fault
from tests.relaying import telegram_of

if TYPE_CHECKING:
    from tests.relaying import Relay


async def test_commands_and_descriptions_are_set(relay: Relay) -> None:
    async with telegram_of(relay.world) as bot:
        await present(bot)
        shown = [(one.command, one.description) for one in await bot.get_my_commands()]
        assert shown == commands("en")
        assert (await bot.get_my_description()).description == description("en")
        assert (await bot.get_my_short_description()).short_description == short_description("en")


@pytest.mark.parametrize("fault", [Fault("error", times=9), Fault("error", retry_after=60)])
async def test_a_refusal_is_a_line_in_the_log_and_the_bot_works_without(
    relay: Relay, fault: Fault
) -> None:
    async with telegram_of(relay.world) as bot:
        relay.world.faults.add(fault)
        with capture_logs() as logs:
            await present(bot)
    assert [line["event"] for line in logs] == ["commands not set at telegram"]
    assert "exc_info" not in logs[0]


async def test_a_refusal_is_told_in_telegrams_words(relay: Relay) -> None:
    async with telegram_of(relay.world) as bot:
        fault = Fault(
            "error", "setMyCommands", code=400, description="Bad Request: no such command"
        )
        relay.world.faults.add(fault)
        with capture_logs() as logs:
            await present(bot)
    assert [line["reason"] for line in logs] == ["No such command"]
