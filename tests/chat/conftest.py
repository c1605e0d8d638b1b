"""Fixtures that several rooms of the chat share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.chat.payments.client import Client
from bot.sandbox.world.people import Person
from tests.support.chat_harness import STICKERS, ChatHarness, service_answer
from tests.support.claim_steps import ClaimSteps, open_claim_steps
from tests.support.http_peers import ScriptedServer
from tests.support.reconciler_service import RecordedSleep
from tests.support.request_jobs import HandCashJobs, handcash_jobs
from tests.support.shared_cards import SharedCards, open_shared_cards


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
async def steps(
    cards: SharedCards, sam: Person, peer: ScriptedServer, client: Client
) -> AsyncIterator[ClaimSteps]:
    """Sell stickers, of which a payer holds one, at a service that follows a script."""
    told = service_answer(total_units=3, remaining_units=2, reserved_units=1)
    link = cards.chat.add_link(sam, STICKERS, told)
    async with open_claim_steps(cards, peer, client, link, sam) as it:
        yield it


@pytest.fixture
async def cloud(chat: ChatHarness) -> AsyncIterator[HandCashJobs]:
    """Serve HandCash Cloud's dialect, with the chat's jobs for it."""
    async with handcash_jobs(chat) as it:
        yield it
