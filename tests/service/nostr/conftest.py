"""Relays on this machine, dialled as in the product."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.core.net.guarded_socket import GuardedDialler
from bot.core.net.http_client import ssl_context
from bot.service.nostr.relay_connection import guarded_dial
from bot.service.nostr.relays import Relays
from tests.support.service_harness import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def relays() -> AsyncIterator[Relays]:
    pool = Relays(guarded_dial(GuardedDialler(LOOPBACK), ssl_context()))
    yield pool
    await pool.close()
    assert pool.connections == 0
