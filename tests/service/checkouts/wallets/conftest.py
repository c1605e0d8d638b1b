"""Anna's service: its payers pay by her wallet, which follows a script, or to her bank."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.interface.vocabulary import BANK, LIGHTNING
from tests.support.real_rails import ScriptedRail, open_annas_service
from tests.support.service_harness import ServiceHarness


@pytest.fixture
def wallet() -> ScriptedRail:
    return ScriptedRail()


@pytest.fixture
async def service(database_url: str, wallet: ScriptedRail) -> AsyncIterator[ServiceHarness]:
    async with open_annas_service(database_url, wallet, LIGHTNING, BANK) as it:
        yield it
