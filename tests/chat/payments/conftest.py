"""Fixtures that several tests of payments share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.chat_harness import STICKERS, ChatHarness, service_answer
from tests.support.service_harness import client
from tests.support.webhook_sender import WebhookSender, serve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.chat.store.listings import Listing
    from bot.sandbox.world.people import Person


@pytest.fixture
def listing(chat: ChatHarness, sam: Person) -> Listing:
    return chat.add_listing(sam, STICKERS, service_answer(total_units=3, remaining_units=3))


@pytest.fixture
async def handcash(chat: ChatHarness, listing: Listing) -> AsyncIterator[WebhookSender]:
    """Start a sender whose receiver has no signing secret."""
    async with client(serve(chat, None)) as http:
        yield WebhookSender(chat, http, listing)
