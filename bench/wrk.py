"""`wrk` as the load client: as fast as the answers come, or at a constant rate."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LUA = Path(__file__).with_name("lua")
PACKAGES = {"wrk": "wrk", "h2load": "nghttp2-client"}
"""The Debian package of each program."""

TIMEOUT = "60s"
"""What wrk may wait for an answer: a late one is a figure, not a failure."""

MOST_SECONDS = 600
"""How long so many requests may take."""

REST = 1.0
"""Seconds that wrk runs beyond the last intended time, so that late answers are seen."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What came back: answers a second, seconds of a wait, their number.

    `client_seconds` is the processor time of the load client.
    """

    rate: float
    p50: float
    p99: float
    p999: float
    number: int
    client_seconds: float


async def closed(
    url: str, script: str, clients: int, seconds: int, settings: Mapping[str, str]
) -> Answers:
    """Send the requests of a script, each client the next one as soon as it has its answer.

    The clients are spread over SERVERS, the addresses of replicas, where that is set.
    Raise RuntimeError for an answer that is neither 2xx nor 3xx, or none.
    """
    threads = min(clients, len(settings.get("SERVERS", url).split()))
    lanes = ["-t", str(threads), "-c", str(clients)]
    return await _run(url, script, lanes, seconds, settings)


async def numbered(
    url: str, script: str, clients: int, number: int, settings: Mapping[str, str]
) -> Answers:
    """Send so many requests, each client the next one as soon as it has its answer.

    Raise RuntimeError as `closed` does.
    """
    lanes, told = ["-t", "1", "-c", str(clients)], {"NUMBER": str(number)}
    found = await _run(url, script, lanes, MOST_SECONDS, {**settings, **told})
    if found.number != number:
        raise RuntimeError(f"{found.number} answers to {number} requests")
    return found


async def constant(
    url: str,
    script: str,
    clients: int,
    seconds: int,
    rate: float,
    settings: Mapping[str, str],
) -> Answers:
    """Send `rate` requests a second; a wait counts from when its request was to be sent.

    Raise RuntimeError as `closed` does.
    """
    pace = {"RATE": str(rate), "SECONDS": str(seconds), "CLIENTS": str(clients)}
    lanes = ["-t", str(clients), "-c", str(clients)]
    return await _run(url, script, lanes, math.ceil(seconds + REST), {**settings, **pace})


async def _run(
    url: str, script: str, lanes: list[str], seconds: int, settings: Mapping[str, str]
) -> Answers:
    process = await asyncio.create_subprocess_exec(
        "wrk", *lanes, "-d", f"{seconds}s", "--timeout", TIMEOUT, "-s", str(LUA / script), url,
        env={"PATH": os.environ["PATH"], "LUA_PATH": f"{LUA}/?.lua", **settings},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    told, _ = await process.communicate()
    lines = told.decode().splitlines()
    if process.returncode or not lines or not lines[-1].startswith("{"):
        raise RuntimeError(f"wrk ended with {process.returncode}: {told.decode()}")
    found = json.loads(lines[-1])
    if found.pop("refused") + found.pop("broken") or not found["number"]:
        raise RuntimeError(f"not every answer was good: {lines[-1]}")
    return Answers(**found)


def install(packages: Mapping[str, str] = PACKAGES) -> None:
    """Install the programs that are missing, or end with a word about their packages."""
    missing = _missing(packages)
    if not missing:
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "--yes", *missing]):
            subprocess.run(["apt-get", "--quiet", *command], env=quiet, check=False)
        missing = _missing(packages)
    if missing:
        names = " ".join(missing)
        print(f"The bench needs {names}: install with apt-get install {names}", file=sys.stderr)
        raise SystemExit(2)


def _missing(packages: Mapping[str, str]) -> list[str]:
    return [package for program, package in packages.items() if not shutil.which(program)]
