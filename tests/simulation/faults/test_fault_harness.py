"""The tools of the schedules: skipped time, faults by name, repeatable stories."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.simulation.faults.fault_proxy import HANG_SECONDS, Proxy
from tests.simulation.faults.fault_weights import Fault
from tests.simulation.schedule_runner import play, players
from tests.simulation.simulated_time import NOON, Clock, Loop
from tests.support.http_peers import ScriptedServer, http_response, open_scripted_server

Ask = Callable[[], Coroutine[Any, Any, httpx.Response]]
YES, NO = http_response(200, {"answer": "yes"}), http_response(404, {"answer": "no"})


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run it on the loop of a schedule."""
    with asyncio.Runner(loop_factory=lambda: Loop(1)) as runner:
        runner.run(main())


@asynccontextmanager
async def standing(
    fault: Fault, *answers: bytes
) -> AsyncIterator[tuple[ScriptedServer, Proxy, Ask]]:
    """Serve a peer behind a proxy with this fault; yield a way to ask through it."""
    proxy = Proxy(1, "page", lambda request: request.method, severity=1.0, always=fault)
    async with (
        open_scripted_server(*answers) as peer,
        proxy.door() as port,
        httpx.AsyncClient(trust_env=False, timeout=60) as http,
    ):
        proxy.target = peer.port
        yield peer, proxy, lambda: http.post(f"http://127.0.0.1:{port}/x", content=b"body")


def test_an_hour_of_waiting_passes_at_once_and_the_clock_with_it() -> None:
    async def main() -> None:
        clock = Clock(asyncio.get_running_loop())
        await asyncio.sleep(3600)
        assert clock() == NOON + 3_600_000
        clock.leap(NOON + 7_200_000)
        clock.leap(NOON)
        assert clock() == NOON + 7_200_000

    run(main)


def test_an_exchange_without_a_fault_passes_unchanged() -> None:
    async def main() -> None:
        async with standing(Fault.PASS, YES) as (peer, proxy, ask):
            answer = await ask()
            assert (answer.status_code, answer.json()) == (200, {"answer": "yes"})
            assert [(one.path, one.body) for one in peer.calls] == [("/x", b"body")]
            assert not proxy.exchanges[0].doubtful

    run(main)


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (Fault.CUT_BEFORE, 0),
        (Fault.CUT_AFTER, 1),
        (Fault.CUT_WITHIN, 1),
        (Fault.HANG_BEFORE, 0),
        (Fault.HANG_AFTER, 1),
    ],
)
def test_after_a_cut_the_client_cannot_know_the_result(fault: Fault, seen: int) -> None:
    async def main() -> None:
        async with standing(fault, YES) as (peer, proxy, ask):
            with pytest.raises(httpx.TransportError):
                await ask()
            assert len(peer.calls) == seen
            (exchange,) = proxy.exchanges
            assert (exchange.seen, exchange.doubtful) == (bool(seen), True)
            took = asyncio.get_running_loop().time() - exchange.at
            assert (took >= HANG_SECONDS) == fault.value.startswith("hangs")

    run(main)


@pytest.mark.parametrize(
    ("fault", "seen", "doubtful"),
    [(Fault.REFUSED, 0, False), (Fault.BROKEN, 0, True), (Fault.BROKEN_AFTER, 1, True)],
)
def test_an_answer_of_a_proxy_is_a_refusal_or_uncertain(
    fault: Fault, seen: int, *, doubtful: bool
) -> None:
    async def main() -> None:
        async with standing(fault, YES) as (peer, proxy, ask):
            answer = await ask()
            assert (answer.status_code == 429) == (not doubtful)
            assert answer.status_code in {429, 502, 503}
            assert len(peer.calls) == seen
            assert proxy.exchanges[0].doubtful == doubtful

    run(main)


def test_a_repeated_request_has_one_answer() -> None:
    async def main() -> None:
        async with standing(Fault.TWICE, YES, NO) as (peer, proxy, ask):
            assert (await ask()).json()["answer"] in {"yes", "no"}
            assert [one.body for one in peer.calls] == [b"body", b"body"]
            assert not proxy.exchanges[0].doubtful

    run(main)


def test_an_overtaken_request_arrives_after_the_next_one() -> None:
    async def main() -> None:
        async with standing(Fault.OVERTAKEN, YES, YES) as (peer, proxy, ask):
            first = asyncio.create_task(ask())
            await asyncio.sleep(0.1)
            proxy.always = Fault.PASS
            await ask()
            assert len(peer.calls) == 1
            assert not first.done()
            assert (await first).status_code == 200
            assert len(peer.calls) == 2

    run(main)


def test_cut_connections_end_at_once() -> None:
    async def main() -> None:
        async with standing(Fault.HANG_BEFORE) as (_, proxy, ask):
            asked = asyncio.create_task(ask())
            await asyncio.sleep(1)
            assert proxy.busy
            proxy.cut_all()
            with pytest.raises(httpx.TransportError):
                await asked
            assert not proxy.busy
            assert asyncio.get_running_loop().time() < HANG_SECONDS

    run(main)


def test_a_seed_gives_the_same_story_each_time() -> None:
    with players(1) as pool:
        first, second, other = pool.map(play, [3, 3, 4])
    assert first.story == second.story
    assert first.story != other.story
