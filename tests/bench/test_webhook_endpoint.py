"""The endpoint of the bench notes each webhook once, with the time since its payment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from bench.processes import endpoint

pytestmark = pytest.mark.process


async def test_each_webhook_is_noted_once() -> None:
    paid = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    async with endpoint() as server, httpx.AsyncClient(base_url=server.url) as http:
        for _ in range(2):
            await http.post("/", content=f'{{"data":{{"completedAt":"{paid}"}}}}')
        await http.post("/", content='{"product": "what a yardstick posts"}')
        waits, again = (await http.get("/")).json(), (await http.get("/")).json()
    assert len(waits) == 2
    assert min(waits) >= timedelta(hours=1).total_seconds()
    assert not again


async def test_the_processor_time_of_a_server_only_grows() -> None:
    async with endpoint() as server, httpx.AsyncClient(base_url=server.url) as http:
        before = server.processor()
        while server.processor() == before:
            await http.post("/", content=b"x" * 10_000)
    assert before > 0.0
