"""The front page and the page for lost addresses in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser_payer import open_service_on_port
from tests.support.chromium import DESK, SMALL, accessibility_problems, fits, watch

if TYPE_CHECKING:
    from playwright.async_api import Browser


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

LONG = {"bot_name": lambda: "B" * 32, "operator_contact": f"https://example.org/{'help' * 50}"}


@pytest.mark.parametrize("size", [SMALL, DESK], ids=["320", "1280"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_and_nothing_sticks_out(
    browser: Browser, tmp_path: Path, size: Any, scheme: Any
) -> None:
    """With a long name of the bot and a long contact, in German too."""
    async with open_service_on_port(tmp_path, **LONG) as service:
        home = str(service.anyone.base_url)
        for locale in ("en", "de"):
            look = {"viewport": size, "color_scheme": scheme, "locale": locale}
            context = await browser.new_context(base_url=home, **look)
            problems = watch(context, home)
            page = await context.new_page()
            for path, status in (("/", 200), ("/nothing/here", 404)):
                answer = await page.goto(path)
                assert answer
                assert answer.status == status
                assert await accessibility_problems(page) == []
                assert await fits(page)
            await context.close()
            assert [one for one in problems if "404" not in one] == []
