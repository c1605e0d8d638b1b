"""Fixtures that several files share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from bot.service.notify.webhook_delivery import WebhookDelivery
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.chromium import CHROMIUM
from tests.support.command_line import DATABASE_URL
from tests.support.empty_database import open_in
from tests.support.real_rails import ScriptedRail, make_bank, open_real_service
from tests.support.scripted_server import ScriptedServer, open_scripted_server
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import LOOPBACK, Clock, ServiceHarness, open_service
from tests.support.webhook_receiver import Receiver, open_receiver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bot.core.database.database import Database

settings.register_profile(
    "slow machine",
    settings(),  # whatever is active: hypothesis has a profile of its own for build servers
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("slow machine")

FOLDER_MARKERS = {
    "browser": "browser",
    "e2e": "process",
    "floods": "process",
    "lnbits": "process",
    "simulation": "simulation",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their folder, and those that draw examples."""
    no_chromium = pytest.mark.skipif(
        not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}: apt install chromium"
    )
    for item in items:
        folder, *_ = item.path.relative_to(Path(__file__).parent).parts
        if folder in FOLDER_MARKERS:
            item.add_marker(FOLDER_MARKERS[folder])
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker("property")
        if item.get_closest_marker("browser"):
            item.add_marker(no_chromium)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter an empty folder, in which the commands keep their database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", DATABASE_URL)
    return tmp_path


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = open_in(tmp_path)
    yield database
    database.close()


@pytest.fixture
def chat(db: Database, clock: Clock) -> ChatHarness:
    """Build the chat on that database, without a network."""
    return ChatHarness(db, clock)


@pytest.fixture
async def sending(chat: ChatHarness) -> AsyncIterator[SenderHarness]:
    """Start the sender on that chat's Telegram."""
    async with telegram_of(chat.world) as bot:
        yield SenderHarness(chat, bot)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    async with open_service(tmp_path) as it:
        yield it


@pytest.fixture
async def real(tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    """Open the service with a bank and a wallet that follow a script, instead of test money."""
    async with open_real_service(tmp_path, make_bank(), ScriptedRail()) as it:
        yield it


@pytest.fixture
async def notifier(service: ServiceHarness) -> AsyncIterator[WebhookDelivery]:
    """Start the webhooks of that service, which may reach this machine too."""
    async with WebhookDelivery(service.db, service.vault, service.clock, LOOPBACK) as it:
        yield it


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as it:
        yield it


@pytest.fixture
async def peer() -> AsyncIterator[ScriptedServer]:
    """Serve the answers that the test scripts."""
    async with open_scripted_server() as it:
        yield it
