"""Fixtures that several rooms of the chat share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from bot.chat.payments.client import Client
from tests.support.chat_harness import ChatHarness
from tests.support.reconciler_service import RecordedSleep
from tests.support.request_jobs import HandCashJobs, handcash_jobs
from tests.support.scripted_server import ScriptedServer
from tests.support.shared_cards import SharedCards, open_shared_cards

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


@pytest.fixture
def sam(chat: ChatHarness) -> Person:
    return chat.add_person("Sam")


@pytest.fixture
def pat(chat: ChatHarness) -> Person:
    return chat.add_person("Pat")


@pytest.fixture
async def cards(chat: ChatHarness) -> AsyncIterator[SharedCards]:
    """Open the sender and inline mode on that chat's Telegram."""
    async with open_shared_cards(chat) as it:
        yield it


@pytest.fixture
def recorded_sleep() -> RecordedSleep:
    """Sleep that is only noted."""
    return RecordedSleep()


@pytest.fixture
async def client(peer: ScriptedServer) -> AsyncIterator[Client]:
    """Make the chat's client of that server."""
    made = Client(peer.url, "app-1", "s3cret")
    yield made
    await made.close()


@pytest.fixture
async def cloud(chat: ChatHarness) -> AsyncIterator[HandCashJobs]:
    """Serve HandCash Cloud's dialect, with the chat's jobs for it."""
    async with handcash_jobs(chat) as it:
        yield it
