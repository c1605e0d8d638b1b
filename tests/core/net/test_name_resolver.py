"""Look-ups of names that hang delay no others, and are not repeated at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from bot.core.net import guarded_transport
from bot.core.net.guarded_transport import FAILURE_SECONDS, LOOKUPS, ZONE_LOOKUPS, SystemResolver

ADDRESS = "192.0.2.1"
HANGING = """
import asyncio, time
from bot.core.net.guarded_transport import SystemResolver
resolve = SystemResolver(lambda host: time.sleep(600))
async def main():
    try:
        async with asyncio.timeout(0.1):
            await resolve("slow.example", 80)
    except TimeoutError:
        print("left")
asyncio.run(main())
"""


class System:
    """A system that answers at once, except for names in `slow`, until `release` is set."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.most = LOOKUPS
        self.full = threading.Event()
        self.release = threading.Event()
        self.now = 0.0

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        if len(self.asked) == self.most:
            self.full.set()
        if host.startswith("slow"):
            self.release.wait()
        if host.startswith("no"):
            raise OSError(f"{host} is not known")
        return [ADDRESS]


@pytest.fixture
def system() -> Iterator[System]:
    it = System()
    yield it
    it.release.set()


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No look-up reaches its time limit within a test."""
    monkeypatch.setattr(guarded_transport, "LOOKUP_SECONDS", 60.0)


@pytest.fixture
def resolve(system: System) -> SystemResolver:
    return SystemResolver(system, lambda: system.now)


async def test_the_system_knows_this_machine() -> None:
    addresses = await SystemResolver()("localhost", 80)
    assert "127.0.0.1" in addresses
    assert len(set(addresses)) == len(addresses)


@pytest.mark.usefixtures("_patient")
async def test_names_that_hang_delay_no_others(resolve: SystemResolver, system: System) -> None:
    """More than the share of a zone hang; names of other zones are answered.

    Strangers buy domains below `com.br`.
    """
    system.most = 3 * ZONE_LOOKUPS
    hanging = [
        asyncio.create_task(resolve(f"slow{number}.{zone}", 80))
        for zone in ("a.example", "b.example", "hostile.com.br")
        for number in range(ZONE_LOOKUPS * 3)
    ]
    assert await asyncio.to_thread(system.full.wait, 20)
    async with asyncio.timeout(20):
        for name in ("quick.other", "quick.honest.com.br"):
            assert await resolve(name, 80) == [ADDRESS]
    system.release.set()
    assert await asyncio.gather(*hanging) == [[ADDRESS]] * len(hanging)


@pytest.mark.usefixtures("_patient")
async def test_simultaneous_look_ups_are_limited(resolve: SystemResolver, system: System) -> None:
    """A zone has a share of them; waiting ones are answered afterwards."""
    names = [f"slow{number}.a.zone{zone}" for zone in range(9) for number in range(20)]
    hanging = [asyncio.create_task(resolve(name, 80)) for name in names]
    assert await asyncio.to_thread(system.full.wait, 20)
    assert len(system.asked) == LOOKUPS
    zones = [name.rpartition(".")[2] for name in system.asked]
    assert max(map(zones.count, zones)) <= ZONE_LOOKUPS
    system.release.set()
    await asyncio.gather(*hanging)
    assert sorted(system.asked) == sorted(names)


async def test_simultaneous_calls_for_a_name_share_a_look_up(
    resolve: SystemResolver, system: System
) -> None:
    """One of them gives up, and the others get their answer."""
    first, *others = [asyncio.create_task(resolve("slow.example", 80)) for _ in range(5)]
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    system.release.set()
    assert await asyncio.gather(*others) == [[ADDRESS]] * 4
    assert system.asked == ["slow.example"]


async def test_an_answer_is_not_remembered(resolve: SystemResolver, system: System) -> None:
    await resolve("quick.example", 80)
    await resolve("quick.example", 80)
    assert system.asked == ["quick.example"] * 2


async def test_a_failure_is_remembered_for_a_moment(
    resolve: SystemResolver, system: System
) -> None:
    """For less time than passes before the second attempt of a webhook."""
    for _ in range(2):
        with pytest.raises(OSError, match=r"no\.example is not known"):
            await resolve("no.example", 80)
    assert system.asked == ["no.example"]
    system.now = FAILURE_SECONDS
    with pytest.raises(OSError, match="not known"):
        await resolve("no.example", 80)
    assert system.asked == ["no.example"] * 2
    assert FAILURE_SECONDS < 4


async def test_a_look_up_that_hangs_has_a_time_limit(
    resolve: SystemResolver, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not repeated while the system still hangs on it."""
    assert guarded_transport.LOOKUP_SECONDS == 5
    monkeypatch.setattr(guarded_transport, "LOOKUP_SECONDS", 0.1)
    async with asyncio.timeout(20):
        for _ in range(3):
            with pytest.raises(OSError, match=r"no answer to its look-up within 0\.1 seconds"):
                await resolve("slow.example", 80)
            system.now += FAILURE_SECONDS
    assert system.asked == ["slow.example"]
    monkeypatch.setattr(guarded_transport, "LOOKUP_SECONDS", 20.0)
    system.release.set()
    async with asyncio.timeout(20):
        while await resolve("slow.example", 80) != [ADDRESS]:
            pass


@pytest.mark.long
async def test_a_look_up_without_a_free_slot_fails(
    resolve: SystemResolver, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread waits in vain, asks nothing and ends."""
    monkeypatch.setattr(guarded_transport, "LOOKUP_SECONDS", 1.0)
    names = [f"slow{number}.a.example" for number in range(ZONE_LOOKUPS + 1)]
    ends = await asyncio.gather(*(resolve(name, 80) for name in names), return_exceptions=True)
    assert {type(end) for end in ends} == {OSError}
    assert len(system.asked) == ZONE_LOOKUPS


def test_a_look_up_that_hangs_does_not_keep_the_process_alive() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=20, check=True
    )
    assert ended.stdout == "left\n"
