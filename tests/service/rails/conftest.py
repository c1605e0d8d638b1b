"""Relays on this machine, dialled as in the product."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.core.net.guarded_transport import GuardedDialler
from bot.core.net.http_client import ssl_context
from bot.service.rails.relays import Relays, guarded_dial
from tests.support.service_harness import LOOPBACK


@pytest.fixture
async def relays() -> AsyncIterator[Relays]:
    pool = Relays(guarded_dial(GuardedDialler(LOOPBACK), ssl_context()))
    yield pool
    await pool.close()
    assert pool.connections == 0
