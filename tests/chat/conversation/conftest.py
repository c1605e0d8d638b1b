"""Fixtures of the tests of dialogues."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from bot.chat.payments.client import Client
from tests.support.chat_harness import STICKERS, service_answer
from tests.support.claim_steps import ClaimSteps, open_claim_steps
from tests.support.scripted_server import ScriptedServer
from tests.support.shared_cards import SharedCards

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


@pytest.fixture
async def steps(
    cards: SharedCards, sam: Person, peer: ScriptedServer, client: Client
) -> AsyncIterator[ClaimSteps]:
    told = service_answer(total_units=3, remaining_units=2)
    link = cards.chat.add_link(sam, STICKERS, told)
    async with open_claim_steps(cards, peer, client, link, sam) as it:
        yield it
