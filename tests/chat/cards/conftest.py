"""Fixtures of kept receipts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.chat_harness import ChatHarness
from tests.support.receipt_steps import ReceiptSteps, open_receipt_steps


@pytest.fixture
async def purchase(chat: ChatHarness) -> AsyncIterator[ReceiptSteps]:
    async with open_receipt_steps(chat) as it:
        yield it
