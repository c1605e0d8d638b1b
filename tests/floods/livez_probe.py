"""Measures how long /livez takes, each time on a new connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from tests.floods.payer_clients import PATIENCE, browser

EVERY = 0.25
SOURCE = "127.9.0.1"


@asynccontextmanager
async def probing(url: str) -> AsyncIterator[list[float]]:
    """Ask during the block; the seconds that each answer took, `PATIENCE` where none came."""
    taken: list[float] = []

    async def ask() -> None:
        began = time.perf_counter()
        try:
            async with browser(url, SOURCE) as http:
                (await http.get("/livez")).raise_for_status()
            taken.append(time.perf_counter() - began)
        except httpx.HTTPError:
            taken.append(PATIENCE)

    async def steadily() -> None:
        async with asyncio.TaskGroup() as asking:
            while True:
                asking.create_task(ask())
                await asyncio.sleep(EVERY)

    probe = asyncio.create_task(steadily())
    try:
        yield taken
    finally:
        probe.cancel()
        await asyncio.gather(probe, return_exceptions=True)
