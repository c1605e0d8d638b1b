"""What tests of the chat page share: its control API, what is shown on it, the browser."""

from __future__ import annotations

import io
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from PIL import Image

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, ConsoleMessage, Page, Request

    from tests.support.sandbox_server import Bot

CHROMIUM = Path("/usr/bin/chromium")
HAS_BROWSER = CHROMIUM.exists()
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
A = {"text": "Yes", "callback_data": "y"}
KEYBOARD = {
    "inline_keyboard": [
        [A, {"text": "Copy link", "copy_text": {"text": "https://example.com/pay"}}],
        [{"text": "Share", "switch_inline_query": "coffee"}],
        [{"text": "Pay", "url": "https://example.com/pay"}],
    ]
}

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
    """A whole PNG of one colour, as large as asked for."""
    written = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(written, "PNG")
    return written.getvalue()


@asynccontextmanager
async def open_chat_page(
    browser: Browser, bot: Bot, foreseen: tuple[str, ...] = (), **look: Any
) -> AsyncIterator[Page]:
    """The chat page before somebody, on a phone unless `look` says else.

    What the browser complains of, and what it asks others for, fails the test, unless it has one
    of the words `foreseen` in it.
    """
    home = str(bot.http.base_url)
    phone = {"viewport": {"width": 390, "height": 780}}
    allowed = {"permissions": ["clipboard-read", "clipboard-write"]}
    context = await browser.new_context(base_url=home, **(phone | allowed | look))
    problems: list[str] = []

    def asked(request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https") and address.netloc != urlsplit(home).netloc:
            problems.append(f"asked {request.url}")

    def complained(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"console: {message.text}")

    context.on("request", asked)
    context.on("console", complained)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    try:
        page = await context.new_page()
        await page.goto("/chat")
        yield page
    finally:
        await context.close()
    assert [one for one in problems if not any(word in one for word in foreseen)] == []


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
