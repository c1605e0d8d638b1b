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
from tests.support import sandbox_server
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.product_process import Process, ProductSetup, running_product
from tests.support.reconciler_service import RecordedSleep
from tests.support.scripted_server import Peer, listening_peer
from tests.support.sender_harness import Sending
from tests.support.service_calls import HandCashJobs, handcash_jobs
from tests.support.service_harness import LOOPBACK, Clock, ServiceHarness, opened
from tests.support.shared_cards import SharedCards, sharing
from tests.support.webhook_receiver import Receiver, receiving

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
def chat(db: Database, clock: Clock) -> ChatHarness:
    """The chat's parts on that file, without a network."""
    return ChatHarness(db, clock)


@pytest.fixture
async def sending(chat: ChatHarness) -> AsyncIterator[Sending]:
    """The sender at work on that chat's Telegram."""
    async with telegram_of(chat.world) as bot:
        yield Sending(chat, bot)


@pytest.fixture
async def cards(chat: ChatHarness) -> AsyncIterator[SharedCards]:
    """The same, with who shares requests inline."""
    async with sharing(chat) as it:
        yield it


@pytest.fixture
def recorded_sleep() -> RecordedSleep:
    """Sleep that is only noted."""
    return RecordedSleep()


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    async with opened(tmp_path) as it:
        yield it


@pytest.fixture
async def notifier(service: ServiceHarness) -> AsyncIterator[Webhooks]:
    """What sends the webhooks of that service, to this machine as well."""
    async with Webhooks(service.db, service.vault, service.clock, LOOPBACK) as it:
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
async def cloud(chat: ChatHarness) -> AsyncIterator[HandCashJobs]:
    """A server that speaks HandCash Cloud's dialect, with the chat's jobs for it."""
    async with handcash_jobs(chat) as it:
        yield it


@pytest.fixture
def sandbox_clock() -> sandbox_server.Clock:
    return sandbox_server.Clock()


@pytest.fixture
async def bot(sandbox_clock: sandbox_server.Clock) -> AsyncIterator[sandbox_server.Bot]:
    """A bare client of a sandbox without limits."""
    async with sandbox_server.serving(World(limits=NO_LIMITS, now=sandbox_clock)) as client:
        yield client


@pytest.fixture
def sam(bot: sandbox_server.Bot) -> people.Person:
    """Somebody who has started that bot."""
    return people.join(bot.world, "Sam", started=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[ProductSetup, Process]]:
    """The whole product, once for a file of tests; each test brings people of its own."""
    async with running_product(tmp_path_factory.mktemp("running")) as both:
        yield both


@pytest.fixture
def world(running: tuple[ProductSetup, Process]) -> World:
    return running[0].world


@pytest.fixture
def run(running: tuple[ProductSetup, Process]) -> Process:
    return running[1]
