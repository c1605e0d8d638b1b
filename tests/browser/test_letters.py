"""Letters as mail programs on phones and desks show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.service.notifications.test_letter_text import html
from tests.support.chromium import DESK, PHONE, SMALL, fits
from tests.support.mail import letter

if TYPE_CHECKING:
    from playwright.async_api import Browser, ViewportSize


pytestmark = pytest.mark.asyncio(loop_scope="session")  # one browser serves all

NUMBER = "2ee4874dc76eab64eb84bf6e"


@pytest.mark.parametrize("size", [SMALL, PHONE, DESK], ids=["small phone", "phone", "desk"])
async def test_a_transaction_number_stands_on_one_line(
    browser: Browser, size: ViewportSize
) -> None:
    """Payers and sellers read it to each other."""
    page = await browser.new_page(viewport=size)
    await page.set_content(html(letter(transaction_id=NUMBER)))
    number = await page.get_by_text(NUMBER, exact=True).evaluate_handle(
        "it => { const all = document.createRange(); all.selectNodeContents(it); return all; }"
    )
    assert await number.evaluate("it => it.getClientRects().length") == 1
    assert await fits(page)
    await page.close()
