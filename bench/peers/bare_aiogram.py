"""The peer's process: `python bare_aiogram.py ROOT TOKEN` is aiogram alone, with its own Python.

It polls as aiogram does by default, each update in a task of its own, and gives every command the
answer that the environment names, nothing stored.
"""

import json
import logging
import os
import sys

import uvloop
from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.enums import ParseMode
from aiogram.types import InlineKeyboardMarkup, LinkPreviewOptions, Message

ANSWER = json.loads(os.environ["ANSWER"])


async def answer(message: Message) -> None:
    await message.answer(
        ANSWER["text"],
        reply_markup=InlineKeyboardMarkup.model_validate(ANSWER["reply_markup"]),
        parse_mode=ParseMode.HTML,
        link_preview_options=LinkPreviewOptions(is_disabled=True),
    )


async def main(root: str, token: str) -> None:
    dispatcher = Dispatcher()
    dispatcher.message.register(answer)
    session = AiohttpSession(api=TelegramAPIServer.from_base(root))
    await dispatcher.start_polling(Bot(token, session=session), allowed_updates=["message"])


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # of the signal that ends it
    uvloop.run(main(*sys.argv[1:]))
