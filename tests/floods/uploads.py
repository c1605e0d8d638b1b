"""`python -m tests.floods.uploads`: sellers upload their largest files while payers pay.

A payment service runs as a process on a SQLite file of the current folder's disk. Four applications
upload files of 20 MiB at once, from a process of their own, while one payer after the other pays.
Prints how long payments took before and meanwhile. Exits with 1 if one took longer than promised.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path

import httpx

from bench.stage import TOKEN
from bot.service.goods import files
from tests.floods.alert_delays import Spread
from tests.floods.payer_clients import address, browser
from tests.floods.result_table import spread
from tests.support.product_process import patient_client, run_command, start_bot

PROMISED = 0.5
"""The longest wait for a payment, in seconds."""

BETWEEN = 0.02
"""Seconds between two payments."""

APPS = 4
REQUEST = {
    "product": {"name": "Album"},
    "instrumentCurrencyCode": "EUR",
    "receivers": [{"sendAmount": 5, "destination": "anna"}],
    "expirationType": "never",
}

UPLOADING = """
import http.client, os, sys, threading
address, size, *apps = sys.argv[1:]
data = os.urandom(int(size))
def upload(number):
    app, secret = apps[number % len(apps)].split()
    headers = {"App-Id": app, "App-Secret": secret, "Content-Type": "application/zip",
               "Idempotency-Key": f"upload-{number}"}
    http_ = http.client.HTTPConnection(address, timeout=300)
    http_.request("POST", f"/v3/files?name={number}.zip", data, headers)
    print(http_.getresponse().status, flush=True)
threads = [threading.Thread(target=upload, args=(n,)) for n in range(int(sys.stdin.readline()))]
[one.start() for one in threads]
[one.join() for one in threads]
"""
"""The program that uploads; it reads how many uploads, and prints the status of each."""


async def pay_until(done: Awaitable[object], url: str, path: str) -> list[float]:
    """Pay again and again until `done`; return the seconds of each payment."""
    taken: list[float] = []
    end = asyncio.ensure_future(done)
    while not end.done():
        began = time.perf_counter()
        async with browser(url, address(len(taken))) as http:
            token = TOKEN.search((await http.get(path)).text)
            answer = await http.post(path, data={"token": token[1] if token else ""})
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        taken.append(time.perf_counter() - began)
        await asyncio.sleep(BETWEEN)
    await end
    return taken


async def measure(folder: Path, uploads: int, calm: float) -> bool:
    """Print how long payments took; return whether each was quick enough."""
    apps = []
    for number in range(APPS):
        _, lines, _ = await run_command(folder, "apps", "create", f"shop {number}")
        apps.append(dict(line.split("=", 1) for line in lines))
    env = {"PAYER_RATE": "0", "API_RATE": "0", "LOG_LEVEL": "info"}
    async with AsyncExitStack() as stack:
        run = await stack.enter_async_context(start_bot(folder, "service", **env))
        await run.ready()
        keys = {"App-Id": apps[0]["APP_ID"], "App-Secret": apps[0]["APP_SECRET"]}
        async with patient_client(run.url, keys) as app:
            made = await app.post("/v3/paymentRequests", json=REQUEST)
            path = f"/pay/{made.json()['id']}"
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", UPLOADING, run.url.removeprefix("http://"),
            str(files.MOST_BYTES), *(f"{one['APP_ID']} {one['APP_SECRET']}" for one in apps),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        before = await pay_until(asyncio.sleep(calm), run.url, path)
        began = time.perf_counter()
        told = asyncio.create_task(child.communicate(f"{uploads}\n".encode()))
        meanwhile = await pay_until(told, run.url, path)
        seconds = time.perf_counter() - began
    stored = told.result()[0].split().count(b"200")
    print(  # noqa: T201 - a command
        f"{stored} of {uploads} uploads stored in {seconds:.1f} s; payments took, p50/p99/max:"
        f" {spread(Spread.of(before))} before, {spread(Spread.of(meanwhile))} meanwhile"
        f" ({len(meanwhile)} payments)"
    )
    return stored == uploads and max(meanwhile) < PROMISED


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.floods.uploads", description=__doc__)
    parser.add_argument("--uploads", type=int, default=14, help="at most 16, 4 of each application")
    parser.add_argument("--calm", type=float, default=3, help="seconds of payments before them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        is_quick = asyncio.run(measure(Path(folder), given.uploads, given.calm))
    sys.exit(0 if is_quick else 1)


if __name__ == "__main__":
    main()
