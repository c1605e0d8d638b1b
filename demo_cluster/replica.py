"""`python -m demo_cluster.replica`: `bot run`, except that the chat is the demo's chat page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uvloop

from bot.cli import console
from bot.core.errors import BotError
from bot.sandbox.web.framing import AllowOwnFrames
from bot.wiring.app.application import Application

if TYPE_CHECKING:
    from bot.config import Settings

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
