"""Two replicas over one PostgreSQL database: one leads, both serve, and either may end."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.databases import PostgresDatabases, rows
from tests.support.free_ports import free_port
from tests.support.product_process import Process, ProductSetup, patient_client, start_bot, until
from tests.support.sellers_and_payers import Seller, link_of, pay, seller_with_destination

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


FAILOVER_SECONDS = 12.0
"""From the end of a lead until another replica leads: ten without a beat, and two between looks."""

HAND_OVER_SECONDS = 4.0
"""From the word to stop until another replica leads, on a busy machine."""


@dataclass
class Cluster:
    """Replicas over one database, on one Telegram."""

    stage: ProductSetup
    database: str
    env: dict[str, str] = field(default_factory=dict)

    @asynccontextmanager
    async def replica(self, role: str = "all", **env: str) -> AsyncIterator[Process]:
        shared = {"DATABASE_URL": self.database, "SECRET_KEY": "s" * 32, "PAYER_RATE": "0"}
        settings = {**self.stage.settings, **shared, **self.env, **env}
        async with start_bot(self.stage.folder, "run", "--role", role, **settings) as run:
            yield await run.ready()

    async def two(self, stack: AsyncExitStack) -> tuple[Process, Process]:
        """Start two replicas; return the one that leads first."""
        first = await stack.enter_async_context(self.replica())
        await until(lambda: leads(first))
        return first, await stack.enter_async_context(self.replica())

    def rows(self, sql: str) -> list[Any]:
        return rows(self.database, sql)


async def state(run: Process) -> dict[str, Any]:
    """Return what /readyz says; nothing of a process that doesn't answer."""
    async with patient_client() as http:
        try:
            told: dict[str, Any] = (await http.get(f"{run.url}/readyz", timeout=1)).json()
        except httpx.TransportError:
            return {}
    return told


async def leads(run: Process) -> bool:
    return (await state(run)).get("lead") is True


async def time_until_led(run: Process) -> float:
    began = time.monotonic()
    await until(lambda: leads(run), FAILOVER_SECONDS + 3)
    return time.monotonic() - began


def link_at(run: Process, card: Message) -> str:
    """Return a card's pay link as it is at a replica."""
    return f"{run.url}/pay/{link_of(card).rpartition('/')[2]}"


def assert_told_once(sam: Seller, *, payments: int) -> None:
    """Check that each of so many payments has one alert, sent as Telegram allows.

    A long poll of a lead that is gone is ended by that of the next one.
    """
    numbers = [line for alert in sam.alerts for line in alert.text.splitlines() if "🧾" in line]
    assert len(numbers) == len(set(numbers)) == payments
    assert [call for call in sam.world.refused if call.method != "getUpdates"] == []


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as it:
        yield it


@pytest.fixture
def cluster(stage: ProductSetup, postgres: PostgresDatabases) -> Iterator[Cluster]:
    database = postgres.new()
    yield Cluster(stage, database)
    postgres.drop(database)


async def test_payments_at_either_replica_are_told_once(
    cluster: Cluster, stack: AsyncExitStack
) -> None:
    """One that is told to stop serves until proxies noticed."""
    lead, other = await cluster.two(stack)
    assert (await state(other))["lead"] is False
    sam = await seller_with_destination(cluster.stage.world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    for run in (lead, other, other, lead):
        await sam.alert(pay(link_at(run, card)))
    assert_told_once(sam, payments=4)
    assert cluster.rows("SELECT payments FROM takings") == [(4,)]
    other.child.send_signal(signal.SIGTERM)
    began = time.monotonic()
    answers = []
    while told := await state(other):
        answers.append((time.monotonic() - began, told["status"]))
        await asyncio.sleep(0.05)
    assert {status for _, status in answers[1:]} == {"not ready"}
    assert answers[-1][0] > 1.0
    assert await other.end() == 0


async def test_a_lead_that_is_told_to_stop_is_unready_first_and_hands_over_at_once(
    cluster: Cluster, stack: AsyncExitStack
) -> None:
    lead, other = await cluster.two(stack)
    stopping = asyncio.create_task(lead.stop())
    assert await time_until_led(other) < HAND_OVER_SECONDS
    told = await state(lead)
    assert not told or told["checks"] == {"process": "stopping"}
    assert await stopping == 0
    assert cluster.rows("SELECT COUNT(*) FROM replicas") == [(1,)]
    await seller_with_destination(cluster.stage.world)


async def test_a_lead_that_stood_still_settles_nothing_and_leads_after_the_next_was_killed(
    cluster: Cluster, stack: AsyncExitStack
) -> None:
    """It wakes amid its work, finds another lead, and goes on serving."""
    lead, other = await cluster.two(stack)
    sam = await seller_with_destination(cluster.stage.world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    lead.child.send_signal(signal.SIGSTOP)
    assert (await pay(link_at(other, card))).status_code == 303
    assert await time_until_led(other) < FAILOVER_SECONDS
    await sam.world.wait_for(lambda: sam.alerts, FAILOVER_SECONDS)
    terms = cluster.rows("SELECT owner, term FROM slices WHERE name = 'chat'")
    lead.child.send_signal(signal.SIGCONT)
    await until(lambda: is_ready_without_lead(lead))
    await sam.alert(pay(link_at(lead, card)))
    assert_told_once(sam, payments=2)
    assert cluster.rows("SELECT owner, term FROM slices WHERE name = 'chat'") == terms
    assert cluster.rows("SELECT COUNT(*) FROM outbox WHERE state = 'dead'") == [(0,)]
    await other.kill()
    assert (await pay(link_at(lead, card))).status_code == 303
    assert await time_until_led(lead) < FAILOVER_SECONDS
    await sam.world.wait_for(lambda: len(sam.alerts) == 3, FAILOVER_SECONDS)
    assert_told_once(sam, payments=3)


async def is_ready_without_lead(run: Process) -> bool:
    told = await state(run)
    return told.get("status") in {"ok", "degraded"} and told["lead"] is False


async def test_updates_sent_to_any_replica_are_worked_by_the_lead(
    cluster: Cluster, stack: AsyncExitStack
) -> None:
    """In webhook mode; inline queries are answered by the replica that gets them."""
    port = free_port()
    cluster.env = {"TELEGRAM_MODE": "webhook", "PUBLIC_URL": f"http://127.0.0.1:{port}"}
    lead = await stack.enter_async_context(cluster.replica())
    await until(lambda: leads(lead))
    other = await stack.enter_async_context(cluster.replica(PORT=port))
    for run in (lead, other):
        run.secrets.add(cluster.stage.world.webhook.secret)
    sam = await seller_with_destination(cluster.stage.world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    await sam.alert(pay(link_at(lead, card)))
    assert not await leads(other)
    modes = cluster.stage.world.calls_of("setWebhook")
    assert len(modes) == 1


async def test_roles_share_the_work(cluster: Cluster, stack: AsyncExitStack) -> None:
    """One serves and never leads; the other leads, and serves operators alone."""
    api = await stack.enter_async_context(cluster.replica("api"))
    lead = await stack.enter_async_context(cluster.replica("lead"))
    await until(lambda: leads(lead))
    assert not await leads(api)
    sam = await seller_with_destination(cluster.stage.world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    await sam.alert(pay(link_at(api, card)))
    async with patient_client() as http:
        assert (await http.get(f"{lead.url}/livez")).status_code == 200
        assert (await http.get(link_at(lead, card))).status_code == 404
