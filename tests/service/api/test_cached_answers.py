"""Pages that are the same for everybody are rendered once."""

from __future__ import annotations

from functools import _lru_cache_wrapper

import pytest

from bot.core.net.rates import Rate
from bot.service.app import _openapi_text, create_app
from bot.service.pages import render, site_routes
from tests.support.raw_http import get, open_web_server
from tests.support.service_harness import ServiceHarness, make_service

PAGE = "/pay/" + "0" * 24


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "written"),
    [("/docs", site_routes._documentation), ("/openapi.json", _openapi_text)],
)
async def test_the_documents_are_rendered_once(
    service: ServiceHarness, path: str, written: _lru_cache_wrapper[bytes]
) -> None:
    written.cache_clear()
    app = create_app(make_service(service.db, service.clock))
    async with open_web_server(app) as site:
        bodies = {(await site.ask(get(path))).body for _ in range(5)}
    assert len(bodies) == 1
    assert written.cache_info().misses == 1


async def test_a_refusal_is_rendered_once_for_each_language_and_wait(
    service: ServiceHarness,
) -> None:
    """However many dialects of a language a caller invents."""
    render._refusal.cache_clear()
    app = create_app(make_service(service.db, service.clock, payer_rate=Rate(1, 60)))
    async with open_web_server(app) as site:
        await site.ask(get(PAGE))
        missing = render._refusal.cache_info().misses
        answers = [
            await site.ask(get(PAGE, f"Accept-Language: de-{region}"))
            for region in ("AT", "CH", "DE", "LI", "LU")
        ]
    assert {answer.status for answer in answers} == {429}
    waits = {answer.headers["retry-after"] for answer in answers}
    assert render._refusal.cache_info().misses - missing == len(waits)
