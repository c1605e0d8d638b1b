"""Updates answered a second, beside two bot frameworks that give the same answer."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.peers import environments
from bench.peers.section import Comparison
from bench.processes import bare_bot, product, running
from bench.stage import telegram
from bench.table import Row
from bench.updates import BARE, ROUNDS, Burst, answered, same

BARE_AIOGRAM = "bare aiogram, a task an update"
SCRIPT = Path(__file__).with_name("bare_aiogram.py")


async def bots() -> list[Comparison]:
    """Measure pending updates of a starting bot, from the first answer to the last, in turns."""
    ours: list[Burst] = []
    peers: dict[str, list[Burst]] = {BARE: [], BARE_AIOGRAM: []}
    for _ in range(ROUNDS):
        async with telegram() as here:
            ours.append(await answered(here, product(here.url, here.world.token)))
        for name, run in ((BARE, bare_bot), (BARE_AIOGRAM, _bare_aiogram)):
            async with telegram() as here:
                bot = run(here.url, here.world.token, ours[0].answer)
                peers[name].append(await answered(here, bot))
    same([*ours, *(burst for bursts in peers.values() for burst in bursts)])
    what = "updates answered a second, ours stored"
    mine = median(burst.rate for burst in ours)
    return [
        Comparison(Row(what, mine, "", median(burst.rate for burst in bursts), name), more=True)
        for name, bursts in peers.items()
    ]


@asynccontextmanager
async def _bare_aiogram(server: str, token: str, answer: Mapping[str, Any]) -> AsyncIterator[None]:
    env = {"PATH": os.environ["PATH"], "ANSWER": json.dumps(answer)}
    process = await asyncio.create_subprocess_exec(
        environments.libraries(), str(SCRIPT), server, token, env=env
    )
    async with running(process):
        yield
