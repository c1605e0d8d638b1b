"""The product's calls of itself go over a socket, where things can go wrong."""

from __future__ import annotations

import httpx


class ReroutedCalls(httpx.AsyncHTTPTransport):
    """A transport that leads to a port of this machine, whatever host is called."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return await super().handle_async_request(request)
