"""`hour`: the memory of `bot run` before, during and after steady load.

A process that was just started has loaded neither Pillow nor a font: the first minute shows what
sellers and payers need, the rest of the hour what is not given back.

It only counts memory, so it may run while the machine does something else.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle

from bench import load
from bench.hook import Hook
from bench.processes import FREE_SERVICE, Server, product
from bench.service import ALL, FORM, OFFER, SEE_OTHER
from bench.stage import telegram
from bot.sandbox.world.errors import Limits
from tests.proofs import clusters, proof

MINUTE = 60.0
GROWTH_MIB = 5.0
MOST_MIB = 140.0
SETTINGS = {**FREE_SERVICE, "WEBHOOK_ALLOW": "127.0.0.1", "LOG_LEVEL": "error"}
"""Telegram's rates hold, so that alerts become digests as they do for an operator."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Calls that `write` makes, so many a second; each is to be answered with `status`."""

    a_second: float
    write: Callable[[], bytes]
    status: int = 200


async def prove(size: proof.Size) -> proof.Figures:
    """Pay, create, look and list for so long; the memory beside that after the first minute."""
    figures = proof.Figures()
    async with (
        telegram() as here,
        Hook.listening() as hook,
        product(here.url, here.world.token, SETTINGS) as server,
    ):
        await asyncio.sleep(2)
        figures.note("MiB when just started", await server.memory())
        pages = await here.sellers(size.sellers)
        here.world.limiter.limits = Limits()
        async with asyncio.TaskGroup() as group:
            streams = await _streams(server, hook.url, cycle(pages.values()))
            until = time.monotonic() + size.seconds
            for one in streams:
                group.create_task(_keep_up(server.url, one, until))
            minutes: list[float] = []
            while len(minutes) < round(size.seconds / MINUTE):
                await asyncio.sleep(MINUTE)
                minutes.append(await server.memory())
                figures.note(f"MiB after minute {len(minutes)}", minutes[-1])
        await asyncio.sleep(min(MINUTE, size.seconds))
        last = await server.memory()
        figures.at_most("MiB after a quiet minute", last, MOST_MIB)
        if minutes:
            figures.at_most("MiB more than after minute 1", last - minutes[0], GROWTH_MIB)
    return figures


async def _streams(server: Server, hook: str, pages: Iterator[str]) -> list[Stream]:
    """Return what is asked for all the time; an application of ours has webhooks to `hook`."""
    told = await server.command("apps", "create", "hour")
    keys = clusters.app_headers(told.splitlines())
    headers = "".join(f"{name}: {value}\r\n" for name, value in keys.items())
    offer = OFFER | {"notifications": {"webhook": {"webhookUrl": hook}}}
    create = load.post(ALL, "application/json", json.dumps(offer).encode(), headers)
    answer = await load.drive([server.url], [create], clients=1)
    own = f"/pay/{json.loads(answer.body)['id']}"
    return [
        Stream(40, partial(_form, own), SEE_OTHER),
        Stream(20, lambda: _form(next(pages)), SEE_OTHER),
        Stream(40, lambda: load.get(next(pages))),
        Stream(5, lambda: create),
        Stream(2, lambda: load.get(f"{ALL}?limit=20", headers)),
    ]


def _form(path: str) -> bytes:
    return load.post(path, FORM, f"token={secrets.token_hex(16)}".encode())


async def _keep_up(url: str, stream: Stream, until: float) -> None:
    """Ask at the times that the rate says, up to `until`; a call that was late is made at once."""
    line, due = await load.connect(url, stream.status), time.monotonic()
    while due < until:
        due += 1 / stream.a_second
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await line.ask(stream.write())
    line.close()
