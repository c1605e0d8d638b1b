"""What tests of the chat page share: its control API, what is shown on it, the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.telegraph import Bot

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
