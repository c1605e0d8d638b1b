"""The sandbox as one ASGI application: Bot API, chat page and its control API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from bot.sandbox.bot_api import api
from bot.sandbox.web import control, page
from bot.sandbox.world.world import World


def routes(world: World) -> list[BaseRoute]:
    """List every route of the sandbox, to be served alone or beside others."""
    return [*api.routes(world), *control.routes(world), *page.routes(world)]


def create_app(world: World) -> Starlette:
    """Serve `world` at `/bot{token}/…`, `/file/bot{token}/…` and `/chat`.

    Its lifespan closes the world; whoever mounts the routes elsewhere calls `world.close()`.
    """

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        await world.close()

    return Starlette(routes=routes(world), lifespan=lifespan)
