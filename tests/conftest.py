"""Fixtures that several files share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from bot.core.database.database import Database
from bot.service.notifications.webhooks import WebhookSender
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.chromium import CHROMIUM
from tests.support.command_line import DATABASE_URL
from tests.support.databases import (
    ENGINES,
    POSTGRESQL,
    SQLITE,
    PostgresDatabases,
    copy_empty,
    open_quick,
    postgres_databases,
)
from tests.support.http_peers import Receiver, ScriptedServer, open_receiver, open_scripted_server
from tests.support.real_rails import ScriptedRail, make_bank, open_real_service
from tests.support.sender_harness import SenderHarness
from tests.support.service_harness import KEY, LOOPBACK, Clock, ServiceHarness, open_service
from tests.support.webhook_delivery import Endpoint

settings.register_profile(
    "slow machine",
    settings(),  # whatever is active: hypothesis has a profile of its own for build servers
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("slow machine")

BOTH = ("core/database", "core/outbox", "core/replicas", "chat/store")
"""Folders whose tests depend on the engine: `make test` runs them on both."""

FOLDER_MARKERS = {
    "browser": "browser",
    "clients": "process",
    "e2e": "process",
    "lnbits": "process",
    "proofs": "process",
    "simulation": "simulation",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their folder, and those that draw examples."""
    no_chromium = pytest.mark.skipif(
        not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}: apt install chromium"
    )
    for item in items:
        path = item.path.relative_to(Path(__file__).parent)
        folder, *_ = path.parts
        if folder in FOLDER_MARKERS:
            item.add_marker(FOLDER_MARKERS[folder])
        if isinstance(item, pytest.Function):
            if is_hypothesis_test(item.obj):
                item.add_marker("property")
            drawn = item.callspec.params if hasattr(item, "callspec") else {}
            if drawn.get("engine") == POSTGRESQL and not path.as_posix().startswith(BOTH):
                item.add_marker("postgresql")
        if item.get_closest_marker("browser"):
            item.add_marker(no_chromium)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test of a database on both engines, unless a mark names one and the reason."""
    only = metafunc.definition.get_closest_marker("only")
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", [_checked(only)] if only else ENGINES)
    else:  # a module's mark may reach tests without a database
        assert only not in metafunc.definition.own_markers, metafunc.definition.nodeid


def _checked(only: pytest.Mark) -> str:
    engine, reason = only.args
    assert engine in ENGINES
    assert reason
    return str(engine)


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
def commands_url(
    engine: str,
    empty_folder: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """Enter an empty folder, and name a database of the test's engine to the commands.

    The file is not there yet; a server's database has its tables.
    """
    del empty_folder
    if engine == SQLITE:
        return DATABASE_URL
    url: str = request.getfixturevalue("database_url")
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("SECRET_KEY", KEY)
    return url


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresDatabases]:
    with postgres_databases() as it:
        yield it


@pytest.fixture
def new_database(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[], str]]:
    """Return a function that makes an empty database of the test's engine, and returns its URL."""
    if engine == SQLITE:
        names = (tmp_path / f"bot{number or ''}.db" for number in count())
        yield lambda: f"sqlite:///{copy_empty(next(names))}"
        return
    postgres: PostgresDatabases = request.getfixturevalue("postgres")
    made: list[str] = []

    def make() -> str:
        made.append(postgres.new())
        return made[-1]

    yield make
    for url in made:
        postgres.drop(url)


@pytest.fixture
def database_url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    with closing(open_quick(database_url)) as database:
        yield database


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
async def service(database_url: str) -> AsyncIterator[ServiceHarness]:
    async with open_service(database_url) as it:
        yield it


@pytest.fixture
async def real(database_url: str) -> AsyncIterator[ServiceHarness]:
    """Open the service with a bank and a wallet that follow a script, instead of test money."""
    async with open_real_service(database_url, make_bank(), ScriptedRail()) as it:
        yield it


@pytest.fixture
async def notifier(service: ServiceHarness) -> AsyncIterator[WebhookSender]:
    """Start the webhooks of that service, which may reach this machine too."""
    async with WebhookSender(service.db, service.vault, service.clock, LOOPBACK) as it:
        yield it


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as it:
        yield it


@pytest.fixture
def endpoint(service: ServiceHarness, notifier: WebhookSender, receiver: Receiver) -> Endpoint:
    return Endpoint(service, notifier, receiver)


@pytest.fixture
async def peer() -> AsyncIterator[ScriptedServer]:
    """Serve the answers that the test scripts."""
    async with open_scripted_server() as it:
        yield it
