"""Fixtures of kept receipts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.receipt_steps import open_receipt_steps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.chat_harness import ChatHarness
    from tests.support.receipt_steps import ReceiptSteps


@pytest.fixture
async def steps(chat: ChatHarness) -> AsyncIterator[ReceiptSteps]:
    async with open_receipt_steps(chat) as it:
        yield it
