"""Fixtures that several files share."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

from bot.chat.provider.client import Client
from bot.core.database.database import open_database
from bot.sandbox.world import people
from bot.sandbox.world.limits import NO_LIMITS
from bot.sandbox.world.world import World
from bot.service.notify.webhooks import Webhooks
from tests import telegraph
from tests.asking import Cloud, clouded
from tests.marketing import Resting
from tests.peer import Peer, listening_peer
from tests.receiving import Receiver, receiving
from tests.relaying import Relay, telegram_of
from tests.sending import Sending
from tests.serving import LOOPBACK, Clock, Shop, opened
from tests.sharing import Sharing, sharing
from tests.stage import Process, Stage, product

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from bot.core.database.database import Database

settings.register_profile(
    "slow machine",
    settings(),  # whatever is active: hypothesis has a profile of its own for build servers
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("slow machine")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema of today, made once: making it waits for the disk many times."""
    path = tmp_path_factory.mktemp("empty") / "bot.db"
    open_database(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def db(tmp_path: Path, empty_file: Path) -> Iterator[Database]:
    """A real SQLite file of this test's own."""
    path = shutil.copy(empty_file, tmp_path / "bot.db")
    database = open_database(f"sqlite:///{path}")
    yield database
    database.close()


@pytest.fixture
def relay(db: Database, clock: Clock) -> Relay:
    """The chat's parts on that file, without a network."""
    return Relay(db, clock)


@pytest.fixture
async def sending(relay: Relay) -> AsyncIterator[Sending]:
    """The sender at work on that chat's Telegram."""
    async with telegram_of(relay.world) as bot:
        yield Sending(relay, bot)


@pytest.fixture
async def show(relay: Relay) -> AsyncIterator[Sharing]:
    """The same, with who shares requests inline."""
    async with sharing(relay) as it:
        yield it


@pytest.fixture
def resting() -> Resting:
    """Sleep that is only noted."""
    return Resting()


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with opened(tmp_path) as it:
        yield it


@pytest.fixture
async def notifier(shop: Shop) -> AsyncIterator[Webhooks]:
    """What sends the webhooks of that service, to this machine as well."""
    async with Webhooks(shop.db, shop.vault, shop.clock, LOOPBACK) as it:
        yield it


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as it:
        yield it


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    """A server that answers what it is told to."""
    async with listening_peer() as it:
        yield it


@pytest.fixture
async def client(peer: Peer) -> AsyncIterator[Client]:
    """The chat's client of that server."""
    made = Client(peer.url, "app-1", "s3cret")
    yield made
    await made.close()


@pytest.fixture
async def cloud(relay: Relay) -> AsyncIterator[Cloud]:
    """A server that speaks HandCash Cloud's dialect, with the relay's calls of it."""
    async with clouded(relay) as it:
        yield it


@pytest.fixture
def sandbox_clock() -> telegraph.Clock:
    return telegraph.Clock()


@pytest.fixture
async def bot(sandbox_clock: telegraph.Clock) -> AsyncIterator[telegraph.Bot]:
    """A bare client of a sandbox without limits."""
    async with telegraph.serving(World(limits=NO_LIMITS, now=sandbox_clock)) as client:
        yield client


@pytest.fixture
def sam(bot: telegraph.Bot) -> people.Person:
    """Somebody who has started that bot."""
    return people.join(bot.world, "Sam", started=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Stage, Process]]:
    """The whole product, once for a file of tests; each test brings people of its own."""
    async with product(tmp_path_factory.mktemp("running")) as both:
        yield both


@pytest.fixture
def world(running: tuple[Stage, Process]) -> World:
    return running[0].world


@pytest.fixture
def run(running: tuple[Stage, Process]) -> Process:
    return running[1]
