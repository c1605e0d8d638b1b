"""The payment service behind the product's web server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.service.pages.app import create_app
from tests.support.raw_http import RunningServer, open_web_server
from tests.support.service_harness import ServiceHarness, make_service


@pytest.fixture
async def site(service: ServiceHarness) -> AsyncIterator[RunningServer]:
    app = create_app(make_service(service.db, service.clock))
    async with open_web_server(app) as server:
        yield server
