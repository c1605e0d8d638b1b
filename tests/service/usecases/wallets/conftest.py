"""Anna's service: its payers pay by her wallet, which follows a script, or to her bank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.service.model.payout import BANK, LIGHTNING
from tests.support.real_rails import ScriptedRail, open_annas_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.service_harness import ServiceHarness


@pytest.fixture
def wallet() -> ScriptedRail:
    return ScriptedRail()


@pytest.fixture
async def service(database_url: str, wallet: ScriptedRail) -> AsyncIterator[ServiceHarness]:
    async with open_annas_service(database_url, wallet, LIGHTNING, BANK) as it:
        yield it
