"""The cluster to try: its page, and a lead that is killed there."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.support.free_ports import free_port
from tests.support.source_tree import ROOT

START_SECONDS = 40.0
FAILOVER_SECONDS = 14.0
"""A new lead is there within 12 s; then the page has to ask."""

PAUSE = 0.1


@asynccontextmanager
async def cluster() -> AsyncIterator[httpx.AsyncClient]:
    """`make demo-cluster` with two replicas, told to stop at the end, and a client of its page."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "demo_cluster", "--no-browser"),
        *("--port", str(port), "--replicas", "2"),
        cwd=ROOT,
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            yield http
    finally:
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(START_SECONDS):
            assert await process.wait() == 0


async def state(http: httpx.AsyncClient) -> dict[str, Any]:
    try:
        return dict((await http.get("/cluster/state")).json())
    except httpx.TransportError:
        return {"replicas": []}


async def wait_for(
    http: httpx.AsyncClient, *wanted: str, seconds: float = START_SECONDS
) -> list[str]:
    """Wait until the replicas are in these states, in any order; return them."""
    states: list[str] = []
    for _ in range(int(seconds / PAUSE)):
        states = [each["state"] for each in (await state(http))["replicas"]]
        if sorted(states) == sorted(wanted):
            return states
        await asyncio.sleep(PAUSE)
    raise AssertionError(f"{states} after {seconds} s")


@pytest.mark.process
async def test_the_killed_lead_is_replaced_and_payers_go_on() -> None:
    async with cluster() as http:
        states = await wait_for(http, "leads", "serves")
        lead = states.index("leads") + 1
        await http.post("/cluster/acts", json={"act": "kill", "replica": lead})
        assert (await http.get("/pay/none")).status_code == 404
        await wait_for(http, "ended", "leads", seconds=FAILOVER_SECONDS)
        await http.post("/cluster/acts", json={"act": "start", "replica": lead})
        await wait_for(http, "leads", "serves")
        told = [event["text"] for event in (await state(http))["events"]]
        assert f"Replica {lead} was killed (SIGKILL)." in told
        assert (await http.post("/cluster/acts", json={"act": "none"})).status_code == 400
        other = {"Sec-Fetch-Site": "cross-site"}
        refused = await http.post(
            "/cluster/acts", json={"act": "kill", "replica": 1}, headers=other
        )
        assert refused.status_code == 403
        page = await http.get("/cluster")
        assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
