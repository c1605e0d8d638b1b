"""The chat page in a browser, its control API, and messages to show on it."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from PIL import Image

from tests.support.chromium import PHONE, STILL, watch
from tests.support.sandbox_server import Bot

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page


A = {"text": "Yes", "callback_data": "y"}
KEYBOARD = {
    "inline_keyboard": [
        [A, {"text": "Copy link", "copy_text": {"text": "https://example.com/pay"}}],
        [{"text": "Share", "switch_inline_query": "coffee"}],
        [{"text": "Pay", "url": "https://example.com/pay"}],
    ]
}

PLAYWRIGHTS_OWN = "Blocked script execution in 'about:blank'"
"""What Chromium says when playwright's clock starts in the letters' empty frame, without scripts.

A letter's own scripts are blocked in `about:srcdoc`.
"""

HOSTILE_MAIL = b"""\
From: Shop <shop@example.org>
Subject: =?utf-8?q?=3Cb=3EPaid=3C/b=3E_=E2=98=95?=
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=x

--x
Content-Type: text/plain

As text <b>

--x
Content-Type: text/html

<style>h1 { color: rgb(1, 2, 3) }</style>
<h1>As HTML</h1>
<img src="https://thief.example/seen.png">
<script>parent.document.title = "taken"; document.querySelector("h1").textContent = "run"</script>
--x--
"""


async def act(bot: Bot, name: str, **body: Any) -> Any:
    response = await bot.http.post(f"/chat/api/{name}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def picture(width: int = 300, height: int = 200, colour: str = "teal") -> bytes:
    """Draw a whole PNG of one colour."""
    written = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(written, "PNG")
    return written.getvalue()


@asynccontextmanager
async def open_chat_page(
    browser: Browser, bot: Bot, foreseen: tuple[str, ...] = (), **look: Any
) -> AsyncIterator[Page]:
    """Open the chat page, on a phone unless `look` has another size.

    A problem that has none of the words `foreseen` in it fails the test.
    """
    home = str(bot.http.base_url)
    allowed = {"permissions": ["clipboard-read", "clipboard-write"]}
    context = await browser.new_context(
        base_url=home, **({"viewport": PHONE} | STILL | allowed | look)
    )
    problems = watch(context, home)
    try:
        page = await context.new_page()
        await page.goto("/chat")
        yield page
    finally:
        await context.close()
    words = (*foreseen, PLAYWRIGHTS_OWN)
    assert [one for one in problems if not any(word in one for word in words)] == []


async def stop_clock(page: Page) -> None:
    """Let the page's time stand still until the test moves it: what ends by time stays."""
    await page.clock.install()
    await page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))


async def offer(bot: Bot, update: dict[str, Any], title: str, text: str) -> dict[str, Any]:
    """Answer an inline query with one article; the article."""
    result = {
        "type": "article",
        "id": "1",
        "title": title,
        "input_message_content": {"message_text": text},
    }
    number = update["inline_query"]["id"]
    await bot.done("answerInlineQuery", inline_query_id=number, results=[result])
    return result
