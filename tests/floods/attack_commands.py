"""Attacks as processes beside the product: our own, or `wrk` if it is installed."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

from tests.floods.telegram_process import helper

CLIENTS = 16
GRACE = 10.0


async def attack(
    kind: str, url: str, seconds: float, connections: int, size: int = 0
) -> dict[str, Any]:
    """Run an attack of `attack.py` to its end; what it counted, nothing where it was cut off."""
    given = (kind, url, f"{seconds}", f"{connections}", f"{size}")
    async with helper("attack_client", *given) as process:
        assert process.stdout
        async with asyncio.timeout(seconds + GRACE):
            line = await process.stdout.readline()
    return json.loads(line) if line else {}


async def hammer(url: str, seconds: float, script: Path | None = None) -> None:
    """Ask for an address as fast as it answers, on 16 connections; `script` is for wrk alone."""
    wrk = shutil.which("wrk")
    if wrk is None:
        await attack("load", url, seconds, CLIENTS)
        return
    options = ["-t1", f"-c{CLIENTS}", f"-d{max(1, round(seconds))}s"]
    scripted = ["-s", str(script)] if script else []
    process = await asyncio.create_subprocess_exec(
        wrk, *options, *scripted, url, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
