"""`uploads`: sellers upload their largest files while payers pay.

A payment service runs as a process on a SQLite file of the current folder's disk. Four applications
upload files of 20 MiB at once, from a process of their own, while one payer after the other pays.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from bot.service.goods import files
from tests.proofs import clusters, flood_stage, proof
from tests.support.free_ports import free_port
from tests.support.raw_payers import REQUESTS_PATH

CALM_SECONDS = 3.0
"""For which payers pay before the uploads."""

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


async def prove(size: proof.Size) -> proof.Figures:
    """Upload from so many clients at once, at most 16; each payment meanwhile is quick."""
    figures = proof.Figures()
    with TemporaryDirectory(dir=Path.cwd()) as folder:
        settings = {
            "PORT": free_port(),
            "DATABASE_URL": f"sqlite:///{folder}/shop.db",
            "PAYER_RATE": "0",
            "API_RATE": "0",
        }
        service = clusters.Replica("shop", settings, Path(folder), clusters.SERVICE)
        made = [
            clusters.app_headers(await service.run("-m", "bot", "apps", "create", f"shop {n}"))
            for n in range(APPS)
        ]
        async with service.running():
            async with httpx.AsyncClient(base_url=service.url, headers=made[0]) as app:
                answer = await app.post(REQUESTS_PATH, json=REQUEST)
            path = f"/pay/{answer.json()['id']}"
            keys = [f"{app['App-Id']} {app['App-Secret']}" for app in made]
            uploading = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", UPLOADING, service.url.removeprefix("http://")),
                *(str(files.MOST_BYTES), *keys),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            before = await _pay_until(asyncio.sleep(CALM_SECONDS), service.url, path)
            began = time.perf_counter()
            told = asyncio.create_task(uploading.communicate(f"{size.clients}\n".encode()))
            meanwhile = await _pay_until(told, service.url, path)
            figures.note("seconds of uploading", time.perf_counter() - began)
        figures.hold("uploads stored", told.result()[0].split().count(b"200"), size.clients)
        figures.note("payments before, p50/p99/max", proof.Spread.of(before))
        figures.note("payments meanwhile", len(meanwhile))
        figures.note("payments meanwhile, p50/p99/max", proof.Spread.of(meanwhile))
        figures.at_most("longest payment meanwhile, seconds", max(meanwhile), PROMISED)
        figures.hold("tracebacks in the log", service.tracebacks(), 0)
    return figures


async def _pay_until(done: Awaitable[object], url: str, path: str) -> list[float]:
    """Pay again and again until `done`; return the seconds of each payment."""
    taken: list[float] = []
    end = asyncio.ensure_future(done)
    while not end.done():
        began = time.perf_counter()
        answer = await flood_stage.pay_once(url, path, flood_stage.address(len(taken)))
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        taken.append(time.perf_counter() - began)
        await asyncio.sleep(BETWEEN)
    await end
    return taken
