"""Fixtures that several tests of payments share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.chat.payments.client import Client
from bot.chat.payments.reconciler import Reconciler
from bot.chat.store.link_rows import PaymentLink
from bot.sandbox.world.people import Person
from tests.support.chat_harness import STICKERS, ChatHarness, service_answer
from tests.support.reconciler_service import RecordedSleep
from tests.support.service_harness import client as http_client
from tests.support.webhook_sender import WebhookSender, serve


@pytest.fixture
def link(chat: ChatHarness, sam: Person) -> PaymentLink:
    return chat.add_link(sam, STICKERS, service_answer(total_units=3, remaining_units=3))


@pytest.fixture
def looking(chat: ChatHarness, client: Client, recorded_sleep: RecordedSleep) -> Reconciler:
    return Reconciler(chat.db, client, chat.recorder, chat.clock, recorded_sleep)


@pytest.fixture
async def handcash(chat: ChatHarness, link: PaymentLink) -> AsyncIterator[WebhookSender]:
    """Start a sender whose receiver has no signing secret."""
    async with http_client(serve(chat, None)) as http:
        yield WebhookSender(chat, http, link)
