"""`python -m demo_cluster.replica`: `bot run`, except that the chat is the demo's chat page."""

from __future__ import annotations

import uvloop

from bot.app.application import Application
from bot.cli import console
from bot.config import Settings
from bot.core.errors import BotError
from bot.sandbox.web.server import AllowOwnFrames

CHAT_PAGE = "/chat"


async def _run(settings: Settings) -> None:
    application = Application(settings, chat_page=CHAT_PAGE)
    application.wrap(AllowOwnFrames)
    await application.run()


if __name__ == "__main__":
    try:
        uvloop.run(_run(console.settings()))
    except BotError as error:
        console.exit_with(str(error), 1)
