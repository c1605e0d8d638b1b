"""One node, and one LNbits of a shop, for all tests of a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest_asyncio

from tests.lnbits.lnbits_server import Lightning, lightning_network

if TYPE_CHECKING:
    import pytest


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lightning(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lightning]:
    async with lightning_network(tmp_path_factory.mktemp("lightning")) as network:
        yield network
