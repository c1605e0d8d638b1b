"""The yardstick process: `python -m bench.bare_bot ROOT TOKEN` is python-telegram-bot alone.

It polls, and gives every command the answer that the environment names: one update after the
other, nothing stored.
"""

import json
import os
import sys

import uvloop
from telegram import InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, Update
from telegram.constants import ParseMode
from telegram.ext import Application, ContextTypes, MessageHandler, filters

ANSWER = json.loads(os.environ["ANSWER"])


async def answer(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    rows = ANSWER["reply_markup"]["inline_keyboard"]
    keyboard = [[InlineKeyboardButton(**button) for button in row] for row in rows]
    assert update.effective_chat
    await context.bot.send_message(
        chat_id=update.effective_chat.id,
        text=ANSWER["text"],
        reply_markup=InlineKeyboardMarkup(keyboard),
        parse_mode=ParseMode.HTML,
        link_preview_options=LinkPreviewOptions(is_disabled=True),
    )


if __name__ == "__main__":
    root, token = sys.argv[1:]
    uvloop.install()
    application = Application.builder().token(token).base_url(f"{root}/bot").build()
    application.add_handler(MessageHandler(filters.COMMAND, answer))
    application.run_polling(allowed_updates=["message"])
