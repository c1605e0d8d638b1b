"""A real web server for any ASGI application."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn


class _Server(uvicorn.Server):
    """A server with events for its start and its stop, so that no test polls."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.stop = asyncio.Event()

    async def main_loop(self) -> None:
        await self.stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop without uvicorn's tenth of a second of grace: all clients have gone by now."""
        del sockets
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        await self.lifespan.shutdown()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def serve_asgi(app: Any, port: int = 0, *, keep_alive: int = 5) -> AsyncIterator[str]:
    """Serve an ASGI app on a loopback port, 0 for a free one; the address without a last slash.

    Idle connections are kept for `keep_alive` seconds.
    """
    # Loggers belong to the process: a server of a test leaves them unchanged.
    config = uvicorn.Config(
        app, log_config=None, ws="none", lifespan="on", timeout_keep_alive=keep_alive
    )
    server = _Server(config)
    with socket.create_server(("127.0.0.1", port)) as listener:
        # Connections take it over; asyncio sets it for sockets of its own making alone, and an
        # answer that waits for the client's acknowledgement costs 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.create_task(server.serve([listener]))
        await server.ready.wait()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.stop.set()
            await task
