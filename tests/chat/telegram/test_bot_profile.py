"""The bot's profile at Telegram."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from bot.chat.conversation.actions import described
from bot.chat.telegram.transport import set_profile
from bot.core.text.translations import t
from bot.sandbox.world.errors import Fault
from tests.support.chat_harness import ChatHarness, telegram_of


@pytest.mark.parametrize(("code", "language"), [("", "en"), ("de", "de"), ("nl", "en")])
async def test_commands_and_descriptions_are_set_in_each_language(
    chat: ChatHarness, code: str, language: str
) -> None:
    """English is for all languages that the bot lacks."""
    async with telegram_of(chat.world) as bot:
        await set_profile(bot)
        menu = await bot.get_my_commands(language_code=code) or await bot.get_my_commands()
        assert [(one.command, one.description) for one in menu] == described(language)
        told = await bot.get_my_description(language_code=code)
        assert told.description == t(language, "bot-description")
        short = await bot.get_my_short_description(language_code=code)
        assert short.short_description == t(language, "bot-short-description")


@pytest.mark.parametrize("fault", [Fault("error", times=9), Fault("error", retry_after=60)])
async def test_a_refused_profile_is_logged_and_the_bot_works_without_it(
    chat: ChatHarness, fault: Fault
) -> None:
    async with telegram_of(chat.world) as bot:
        chat.world.faults.add(fault)
        with capture_logs() as logs:
            await set_profile(bot)
    assert [line["event"] for line in logs] == ["commands not set at telegram"]
    assert "exc_info" not in logs[0]


async def test_a_refused_profile_is_logged_in_telegrams_words(chat: ChatHarness) -> None:
    async with telegram_of(chat.world) as bot:
        fault = Fault(
            "error", "setMyCommands", code=400, description="Bad Request: no such command"
        )
        chat.world.faults.add(fault)
        with capture_logs() as logs:
            await set_profile(bot)
    assert [line["reason"] for line in logs] == ["No such command"]
