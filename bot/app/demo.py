"""The demo: a sandbox Telegram with people on it, in the product's own process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import SecretStr

from bot import config
from bot.interface import vocabulary
from bot.sandbox.web import server
from bot.sandbox.web.server import Mailbox
from bot.sandbox.world import people
from bot.sandbox.world.world import TOKEN, World

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp


DEMO_DATABASE = "sqlite:///data/demo.db"
DEMO_SENDER = "Payment Requests <payments@demo.example>"


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """The parts of the demo: settings for the sandbox, the sandbox's routes, and how to close it.

    `middleware` lets the chat page show pay pages.
    """

    settings: config.Settings
    routes: Sequence[BaseRoute]
    close: Callable[[], Awaitable[None]]
    page: str
    middleware: Callable[[ASGIApp], ASGIApp] = server.AllowOwnFrames


def prepare_demo(settings: config.Settings) -> DemoEnvironment:
    """Prepare the demo in the running event loop.

    The demo uses the operator's database and mail server only if the settings name them.
    """
    world = World(inline_feedback=True)
    people.cast(world)
    here = settings.local_url
    chosen = "database_url" in settings.model_fields_set
    changes: dict[str, object] = {
        "bot_token": SecretStr(TOKEN),
        "telegram_api_url": here,
        "telegram_mode": "polling",
        "rails": (vocabulary.SANDBOX,),
        "database_url": settings.database_url if chosen else DEMO_DATABASE,
    }
    closers = [world.close]
    if settings.smtp_url is None:
        mailbox = Mailbox(world)
        mailbox.open()
        closers.append(mailbox.close)
        changes |= {"smtp_url": SecretStr(mailbox.url), "smtp_from": DEMO_SENDER}

    async def close() -> None:
        await asyncio.gather(*(closer() for closer in closers))

    return DemoEnvironment(
        settings.model_copy(update=changes), server.routes(world), close, f"{here}/chat"
    )
