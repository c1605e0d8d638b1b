"""Fixtures of the sandbox's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.sandbox.world import people
from bot.sandbox.world.errors import NO_LIMITS
from bot.sandbox.world.world import World
from tests.support import sandbox_server


@pytest.fixture
def sandbox_clock() -> sandbox_server.Clock:
    return sandbox_server.Clock()


@pytest.fixture
async def bot(sandbox_clock: sandbox_server.Clock) -> AsyncIterator[sandbox_server.Bot]:
    """Make a bare client of a sandbox without limits."""
    async with sandbox_server.serving(World(limits=NO_LIMITS, now=sandbox_clock)) as client:
        yield client


@pytest.fixture
def sam(bot: sandbox_server.Bot) -> people.Person:
    """Add a person who has started that bot."""
    return people.join(bot.world, "Sam", started=True)
