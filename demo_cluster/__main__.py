"""`python -m demo_cluster`: three replicas over one PostgreSQL, to be killed in the browser.

PostgreSQL comes from a package, Telegram is the sandbox, money is test money. All data is gone
when it ends.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import webbrowser
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from tempfile import TemporaryDirectory

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

from bot.app.web_server import stop_signals
from bot.sandbox.web import server
from bot.sandbox.web.server import AllowOwnFrames, Mailbox
from bot.sandbox.world import people
from bot.sandbox.world.world import TOKEN, World
from demo_cluster import page
from demo_cluster.cluster import Cluster, Replica
from demo_cluster.front import Front
from demo_cluster.payers import Payers
from tests.support.free_ports import free_port
from tests.support.postgres_server import PostgresServer

PORT = 8080
REPLICAS = 3
KEEP_ALIVE_SECONDS = 75
"""As Telegram's own server does."""

SENDER = "Payment Requests <payments@demo.example>"


async def run(database: PostgresServer, port: int, number: int, *, browser: bool) -> None:
    """Run the cluster until SIGINT or SIGTERM."""
    here = f"http://127.0.0.1:{port}"
    world = World(inline_feedback=True)
    people.cast(world)
    mailbox = Mailbox(world)
    mailbox.open()
    settings = {
        "BOT_TOKEN": TOKEN,
        "TELEGRAM_API_URL": here,
        "PUBLIC_URL": here,
        "DATABASE_URL": database.clone("demo"),
        "SECRET_KEY": secrets.token_urlsafe(32),
        "SMTP_URL": mailbox.url,
        "SMTP_FROM": SENDER,
        "LOG_LEVEL": "error",
        "PAYER_RATE": "0",  # all payers come from one address here
    }
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        ports = [free_port() for _ in range(number)]
        front = Front([f"http://127.0.0.1:{each}" for each in ports])
        replicas = [
            Replica(n, upstream, settings | {"PORT": at}, folder)
            for n, (upstream, at) in enumerate(zip(front.upstreams, ports, strict=True), start=1)
        ]
        cluster, payers = Cluster(replicas, database), Payers(world, here)
        app = Starlette(
            routes=[
                *page.routes(cluster, payers), *server.routes(world), Mount("/", app=front)
            ],
            middleware=[Middleware(AllowOwnFrames)],
        )  # fmt: skip
        await stack.enter_async_context(front.watching())
        await stack.enter_async_context(serving(app, port))
        stack.push_async_callback(world.close)  # long polls end before the server does
        await stack.enter_async_context(cluster.running())
        paying = asyncio.create_task(payers.run())
        if browser:
            asyncio.get_running_loop().call_later(1.0, _open_page, f"{here}/cluster")
        print(f"\n  Kill replicas, and see everything go on: {here}/cluster\n", flush=True)
        stopping = asyncio.Event()
        with stop_signals(stopping.set):
            await stopping.wait()
        paying.cancel()
    await mailbox.close()


class Server(uvicorn.Server):
    """uvicorn that leaves signals to us."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle none."""
        yield


@asynccontextmanager
async def serving(app: Starlette, port: int) -> AsyncIterator[None]:
    """Serve for as long as the block lasts."""
    server = Server(
        uvicorn.Config(
            app, port=port, log_level="warning", lifespan="off", proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=1,
        )
    )  # fmt: skip
    task = asyncio.create_task(server.serve())
    try:
        yield
    finally:
        server.should_exit = True
        await task


def _open_page(address: str) -> None:
    with suppress(webbrowser.Error):
        browser = webbrowser.get()
        if type(browser) is not webbrowser.GenericBrowser:  # those draw in the terminal
            browser.open(address)


def main() -> None:
    """Read the options, start PostgreSQL and run."""
    parser = argparse.ArgumentParser(prog="make demo-cluster", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--replicas", type=int, default=REPLICAS, choices=range(1, 10))
    parser.add_argument("--no-browser", action="store_true")
    given = parser.parse_args()
    with PostgresServer() as database:
        asyncio.run(run(database, given.port, given.replicas, browser=not given.no_browser))


if __name__ == "__main__":
    main()
