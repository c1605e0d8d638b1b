"""Readiness: needed checks decide, servers only degrade and are asked rarely."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest
from fastapi import FastAPI

from bot.core.database.database import Database
from bot.core.ops import readiness
from bot.core.ops.metrics import ReplicaState
from bot.core.ops.readiness import DEGRADED, NOT_READY, OK, CachedCheck, Ops, Readiness
from tests.support.service_harness import Clock


def says(word: str | None) -> Callable[[], Awaitable[str | None]]:
    async def check() -> str | None:
        return word

    return check


class Other:
    """Another server, which counts calls; closed, it does not answer."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer: str | None = None
        self.error: Exception | None = None
        self.open = asyncio.Event()
        self.open.set()
        self.at = 0.0

    async def __call__(self) -> str | None:
        self.asked += 1
        await self.open.wait()
        if self.error:
            raise self.error
        return self.answer

    def time(self) -> float:
        return self.at


@pytest.fixture
def other() -> Other:
    return Other()


@pytest.fixture
def glance(other: Other) -> CachedCheck:
    return CachedCheck(other, other.time)


@pytest.mark.parametrize(
    ("needed", "beside", "status", "told"),
    [
        (None, None, OK, {"database": "ok", "mail": "ok"}),
        (None, "away", DEGRADED, {"database": "ok", "mail": "away"}),
        ("full", None, NOT_READY, {"database": "full", "mail": "ok"}),
        ("full", "away", NOT_READY, {"database": "full", "mail": "away"}),
    ],
)
async def test_only_needed_checks_make_it_not_ready(
    needed: str | None, beside: str | None, status: str, told: dict[str, str]
) -> None:
    asked = Readiness(needed={"database": says(needed)})
    asked.watch("mail", says(beside))
    assert await asked.ask() == (status, told)
    await asked.close()


async def test_a_server_that_is_needed_at_first_has_one_result() -> None:
    """Telegram is needed until it was asked once."""
    asked = Readiness(at_first={"telegram": says("not reached yet")})
    asked.watch("telegram", says(None))
    assert await asked.ask() == (NOT_READY, {"telegram": "not reached yet"})
    asked.at_first["telegram"] = says(None)
    asked.servers["telegram"] = CachedCheck(says("NetworkError"))
    assert await asked.ask() == (DEGRADED, {"telegram": "NetworkError"})


async def test_telegram_is_the_leads_matter_alone() -> None:
    """Else an outage of Telegram at the start would keep every replica from serving payers."""
    asked = Readiness({"database": says(None)}, {"telegram": says("away")}, leads=lambda: False)
    asked.watch("telegram", says("away"))
    assert await asked.ask() == (OK, {"database": "ok"})


async def test_a_ready_replica_that_takes_over_while_telegram_is_away_stays_ready() -> None:
    leads = False
    asked = Readiness({"database": says(None)}, {"telegram": says("away")}, leads=lambda: leads)
    asked.watch("telegram", says("away"))
    await asked.ask()
    leads = True
    asked.servers["telegram"] = CachedCheck(says("away"))
    assert await asked.ask() == (DEGRADED, {"database": "ok", "telegram": "away"})


async def test_a_server_that_was_never_reached_degrades_until_it_is_and_is_not_asked(
    other: Other,
) -> None:
    problem: str | None = "NetworkError"
    asked = Readiness({"database": says(None)})
    asked.watch("telegram", other, lambda: problem)
    for _ in range(2):
        assert await asked.ask() == (DEGRADED, {"database": "ok", "telegram": "NetworkError"})
    assert other.asked == 0
    problem = None
    assert await asked.ask() == (OK, {"database": "ok", "telegram": "ok"})
    await asyncio.sleep(0)
    assert other.asked == 1
    problem = "BadRequest"
    assert await asked.ask() == (DEGRADED, {"database": "ok", "telegram": "BadRequest"})
    await asked.close()


async def test_a_replica_that_begins_as_the_lead_waits_until_telegram_was_asked() -> None:
    asked = Readiness({"database": says(None)}, {"telegram": says("away")})
    asked.watch("telegram", says("away"))
    for _ in range(2):
        assert await asked.ask() == (NOT_READY, {"database": "ok", "telegram": "away"})


async def test_a_replica_that_stops_is_not_ready_and_asks_nobody(other: Other) -> None:
    asked = Readiness({"database": other}, is_stopping=True)
    asked.watch("mail", other)
    assert await asked.ask() == (NOT_READY, {"process": "stopping"})
    assert other.asked == 0


async def test_another_server_is_asked_rarely_however_often_we_are(
    glance: CachedCheck, other: Other
) -> None:
    assert await asyncio.gather(*(glance() for _ in range(50))) == [None] * 50
    other.answer = "away"
    assert (await glance(), other.asked) == (None, 1)
    other.at += readiness.FRESH_SECONDS
    assert (await glance(), other.asked) == ("away", 2)


async def test_a_server_that_hangs_is_asked_once_and_not_waited_for(
    glance: CachedCheck, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile the last result counts; at first, that there is no answer yet."""
    monkeypatch.setattr(readiness, "CHECK_SECONDS", 0.01)
    other.open.clear()
    assert [await glance(), await glance(), other.asked] == ["no answer yet", "no answer yet", 1]
    other.open.set()
    monkeypatch.setattr(readiness, "CHECK_SECONDS", 5.0)
    assert (await glance(), other.asked) == (None, 1)
    monkeypatch.setattr(readiness, "CHECK_SECONDS", 0.01)
    other.open.clear()
    other.at += readiness.FRESH_SECONDS
    assert (await glance(), other.asked) == (None, 2)
    await glance.close()


async def test_a_check_of_another_server_has_a_time_limit(
    glance: CachedCheck, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "SERVER_SECONDS", 0.01)
    other.open.clear()
    assert await glance() == "TimeoutError"


async def test_an_error_is_reported_by_its_name_alone(glance: CachedCheck, other: Other) -> None:
    """Anyone may read it, and its message may contain an address or a secret."""
    other.error = LookupError("smtp://user:password@mail.example.org")
    assert await glance() == "LookupError"


async def test_readyz_is_200_and_degraded_while_another_server_is_down(
    db: Database, clock: Clock
) -> None:
    """A load balancer keeps sending payers: messages to that server wait in the outbox."""
    desk, app = Ops(db, clock), FastAPI()
    app.include_router(desk.router())
    desk.readiness.watch("mail", says("MailRefused"))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot.test") as http:
        answer = await http.get("/readyz")
    checks = {"database": "ok", "mail": "MailRefused"}
    told = {"status": "degraded", "checks": checks, "role": "all", "lead": True}
    assert (answer.status_code, answer.json()) == (200, told)


@pytest.mark.parametrize("leads", [True, False])
async def test_readyz_and_metrics_name_the_role_and_the_lead(
    *, db: Database, clock: Clock, leads: bool
) -> None:
    replica = ReplicaState("api", lambda: leads, lambda: 3)
    desk, app = Ops(db, clock, replica=replica), FastAPI()
    app.include_router(desk.router())
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        ready, figures = await http.get("/readyz"), await http.get("/metrics")
    assert (ready.json()["role"], ready.json()["lead"]) == ("api", leads)
    assert f"\nbot_lead {float(leads)}\n" in figures.text
    assert "\nbot_replicas 3.0\n" in figures.text
