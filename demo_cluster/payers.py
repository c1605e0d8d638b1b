"""Payers who come one after the other, so that there is something to lose."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from bot.sandbox.world.world import World


PAY_LINK = re.compile(r"/pay/\w+")
TOKEN = re.compile(r'name="token" value="([^"]+)"')
PAUSE = 1.0
TRIES = 20


@dataclass(slots=True)
class Payers:
    """One payer a second at the newest link; `front` is the address of the proxy.

    A payer who gets an error posts the same form again, as people do; the form's token keeps the
    payment single. `paid` had their receipt, `refused` an answer that they can't pay, `given_up`
    errors alone.
    """

    world: World
    front: str
    is_on: bool = False
    paid: int = 0
    refused: int = 0
    given_up: int = 0
    repeated: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def link(self) -> str | None:
        """Return the path of the pay page that was sent last."""
        for call in reversed(self.world.calls):
            if found := PAY_LINK.search(str(call.params)):
                return found[0]
        return None

    async def run(self) -> None:
        """Send payers until cancelled."""
        async with httpx.AsyncClient(base_url=self.front, timeout=40) as http:
            while True:
                if self.is_on and (link := self.link()):
                    task = asyncio.create_task(self._pay(http, link))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                await asyncio.sleep(PAUSE)

    async def _pay(self, http: httpx.AsyncClient, link: str) -> None:
        token = ""
        for _ in range(TRIES):
            try:
                if not token:
                    found = TOKEN.search((await http.get(link)).text)
                    token = found[1] if found else ""
                if token:
                    answer = await http.post(link, data={"token": token})
                    if answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
                        self.paid += answer.is_redirect
                        self.refused += not answer.is_redirect
                        return
            except httpx.TransportError:
                pass
            self.repeated += 1
            await asyncio.sleep(PAUSE)
        self.given_up += 1
