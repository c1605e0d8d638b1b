"""The bot's profile at Telegram: commands and descriptions in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from telegram import BotCommand
from telegram.error import TelegramError

from bot.chat.forms.bot_texts import commands
from bot.chat.telegram.failures import describe_error
from bot.core.text.translations import DEFAULT, languages, t

if TYPE_CHECKING:
    from telegram import Bot

log = structlog.get_logger()


async def set_profile(bot: Bot) -> None:
    """Set commands and descriptions. A refusal is only logged: the bot works without them."""
    try:
        for language in languages():
            code = "" if language == DEFAULT else language
            await bot.set_my_commands(
                [BotCommand(*pair) for pair in commands(language)], language_code=code
            )
            await bot.set_my_description(t(language, "bot-description"), language_code=code)
            short = t(language, "bot-short-description")
            await bot.set_my_short_description(short, language_code=code)
    except TelegramError as error:
        log.warning("commands not set at telegram", reason=describe_error(error))
