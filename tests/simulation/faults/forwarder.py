"""An application that passes requests on over a socket, where things can go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx

from tests.simulation.faults.fault_proxy import HANG_SECONDS

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


class Forwarder:
    """Passes posts on to an address; one whose answer is lost ends without an answer."""

    def __init__(self, address: Callable[[], tuple[str, int]]) -> None:
        self._address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host, port = self._address()
        url = f"http://{host}:{port}{scope['raw_path'].decode()}"
        body, headers = (await receive())["body"], scope["headers"]
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=HANG_SECONDS) as client:
                answer = await client.post(url, content=body, headers=headers)
        except httpx.HTTPError:
            return
        start = {"status": answer.status_code, "headers": answer.headers.raw}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": answer.content})
