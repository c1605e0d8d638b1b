"""One browser for all of these tests, and what its pages show."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from playwright.async_api import expect

from bot.sandbox.world import people
from tests.support.browser_payer import open_service_on_port
from tests.support.chromium import open_browser
from tests.support.product_process import QUICK, Process, patient_client, started_bot
from tests.support.sandbox_server import Bot, demo_cast
from tests.support.service_harness import ServiceHarness

if TYPE_CHECKING:
    from playwright.async_api import Browser


SLOW = 15_000.0
"""Milliseconds that a page may take to show something on a busy machine; by default 5,000."""

expect.set_options(timeout=SLOW)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with open_browser() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def service(tmp_path: Path) -> AsyncIterator[ServiceHarness]:
    """Serve the payment service on a real port."""
    async with open_service_on_port(tmp_path) as harness:
        yield harness


@pytest_asyncio.fixture(loop_scope="session")
async def bot() -> AsyncIterator[Bot]:
    """Serve a sandbox in which Sam has started the bot."""
    async with demo_cast() as client:
        people.person(client.world, 1001).start()
        await client.updates()
        yield client


@pytest.fixture
def sam(bot: Bot) -> people.Person:
    return people.person(bot.world, 1001)


@pytest.fixture
def pat(bot: Bot) -> people.Person:
    return people.person(bot.world, 1002)


@pytest_asyncio.fixture(loop_scope="session")
async def demo(tmp_path: Path) -> AsyncIterator[Process]:
    """Run the demo without Telegram's rates, for which a script would only wait."""
    async with started_bot(tmp_path, "demo", "--no-browser", **QUICK) as run:
        async with patient_client(run.url) as http:
            await http.post("/chat/api/limits", json={"on": False})
        yield run
