"""Fixtures of the tests of the whole product."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.product_process import Process, ProductSetup, running_product, sandbox_telegram

if TYPE_CHECKING:
    from bot.sandbox.world.world import World


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[ProductSetup, Process]]:
    """Start the whole product once for a file of tests; each test adds its own people."""
    async with running_product(tmp_path_factory.mktemp("running")) as both:
        yield both


@pytest.fixture
def world(running: tuple[ProductSetup, Process]) -> World:
    return running[0].world


@pytest.fixture
def run(running: tuple[ProductSetup, Process]) -> Process:
    return running[1]


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[ProductSetup]:
    """Set up a product that each test starts, and stops, by itself."""
    async with sandbox_telegram(tmp_path) as it:
        yield it
