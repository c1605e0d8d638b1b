"""A drop that many want at once, and one whose units a script holds without paying."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from bench.stage import TOKEN
from tests.floods.payer_clients import address, browser
from tests.floods.scenario_run import Found, Stage

UNITS = 100
BROWSERS = 200
DROP = f"/drop {UNITS} 2.50 USD Sticker pack"
WIFI = "127.2.0.1"
HOMES = ipaddress.IPv4Address("127.3.0.1")
SCRIPT = "127.4.0.1"
WANTED = 120
"""Units that the script tries to hold."""

PAYER_HOLDS = 5
"""Units that a payer without a cookie may hold, by the setting of this name."""

AGAIN_SECONDS = 1.0
"""After which a browser that was told to wait tries again, where it was not told how long."""


@dataclass(slots=True)
class Drop:
    """A drop under way: what became of its payers, and when the last unit was sold."""

    stage: Stage
    path: str
    outcomes: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.monotonic)
    sold: float = 0.0
    waits: int = 0

    async def buy(self, source: str) -> None:
        """Open the page, send its form, read the receipt; wait and try again where told to."""
        async with browser(self.stage.server.url, source) as http:
            outcome = ""
            while not outcome:
                try:
                    outcome = await self._try(http)
                except httpx.TransportError as error:
                    outcome = type(error).__name__
        self.outcomes[outcome] += 1

    async def _try(self, http: httpx.AsyncClient) -> str:
        page = await http.get(self.path)
        token = TOKEN.search(page.text)
        if page.is_success and token is None:
            return "sold out"
        answer = page
        if token:
            answer = await http.post(self.path, data={"token": token[1]})
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            self.waits += 1
            await asyncio.sleep(float(answer.headers.get("Retry-After", AGAIN_SECONDS)))
            return ""
        if answer.status_code != httpx.codes.SEE_OTHER:
            return "sold out" if answer.status_code == httpx.codes.CONFLICT else "refused"
        self.sold = time.monotonic()
        await http.get(answer.headers["location"])
        return "bought"

    def __str__(self) -> str:
        told = ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items()))
        taken = f" in {self.sold - self.began:.1f} s" if self.sold else ""
        return f"{self.outcomes['bought']} of {UNITS} units{taken}; {told}; {self.waits} waits"


async def one_address(stage: Stage, seconds: float) -> Found:
    """Send two hundred browsers behind one address to a drop of a hundred units."""
    return await rush(stage, seconds, [WIFI] * BROWSERS)


async def many_addresses(stage: Stage, seconds: float) -> Found:
    """Send two hundred browsers, each with its own address, to a drop."""
    return await rush(stage, seconds, [address(n, HOMES) for n in range(BROWSERS)])


async def rush(stage: Stage, seconds: float, sources: Sequence[str]) -> Found:
    """Pay for one unit of a new drop from each of these addresses."""
    drop = Drop(stage, await stage.telegram.ask("offer", words=DROP))
    await _buy(drop, sources, seconds)
    return Found(str(drop), _unsold(drop))


async def script(stage: Stage, seconds: float) -> Found:
    """Hold units without cookies and without paying, then let a hundred browsers try to buy."""
    drop = Drop(stage, await stage.telegram.ask("offer", words=DROP))
    held = await _hold(stage, drop.path, seconds / 2)
    await _buy(drop, [address(n, HOMES) for n in range(UNITS)], max(10.0, seconds / 2))
    left = UNITS - held
    note = f"script held {held}; then of {UNITS} honest: {drop}"
    too_many = held > PAYER_HOLDS or drop.outcomes["bought"] < left
    return Found(note, f"{held} held" if too_many else "")


async def _buy(drop: Drop, sources: Sequence[str], seconds: float) -> None:
    buyers = [asyncio.create_task(drop.buy(source)) for source in sources]
    _, late = await asyncio.wait(buyers, timeout=seconds)
    for buyer in late:
        buyer.cancel()
    await asyncio.gather(*buyers, return_exceptions=True)
    if late:
        drop.outcomes["still waiting"] = len(late)


def _unsold(drop: Drop) -> str:
    left = UNITS - drop.outcomes["bought"]
    return f"{left} unsold" if left else ""


async def hold_some(stage: Stage, seconds: float) -> int:
    """Hold units of a new drop; how many."""
    return await _hold(stage, await stage.telegram.ask("offer", words=DROP), seconds)


async def _hold(stage: Stage, path: str, seconds: float) -> int:
    """Open checkouts with money that never comes, as fast as the server allows; how many."""
    held, until = 0, time.monotonic() + seconds
    for _ in range(WANTED):
        if time.monotonic() > until:
            break
        async with browser(stage.server.url, SCRIPT) as http:
            form = {"token": secrets.token_hex(16), "manner": "never"}
            answer = await http.post(path, data=form)
        held += answer.status_code == httpx.codes.SEE_OTHER
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            await asyncio.sleep(AGAIN_SECONDS)
    return held
