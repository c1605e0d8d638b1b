"""A person of the demo, acted over the control API of its chat page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.form_questions import question_of
from tests.support.product_process import until
from tests.support.sellers_and_payers import pay

if TYPE_CHECKING:
    import httpx


SELLER = 1001


async def say(http: httpx.AsyncClient, text: str) -> None:
    answer = await http.post("send", json={"user_id": SELLER, "text": text})
    assert answer.status_code == 200, answer.text


async def offer_vase(http: httpx.AsyncClient) -> str:
    """Start the bot and make a one-off request; its pay link."""
    await http.post("start", json={"user_id": SELLER})
    await say(http, "/oneoff 9 EUR Vase")
    await shown(http, question_of("ask-destination"))
    await say(http, "$anna")
    card = await shown(http, "One-off · €9.00")
    return str(next(button["url"] for button in buttons(card) if "url" in button))


async def sell_vase(http: httpx.AsyncClient, link: str) -> None:
    """Pay the request and wait for the seller's alert."""
    assert (await pay(link)).status_code == 303
    alert = await shown(http, "received for Vase")
    assert "\n✅ Paid and closed\n🧾 " in alert["text"]


async def shown(http: httpx.AsyncClient, words: str) -> Any:
    """Wait for a message of the bot in the demo's chat."""
    found: list[Any] = []

    async def look() -> bool:
        state = (await http.get("state", params={"user": SELLER})).json()
        chat = state["chats"][0]["messages"]
        found[:] = [
            one for one in chat
            if not one["out"] and words in str(one.get("text") or one.get("caption") or "")
        ]  # fmt: skip
        return bool(found)

    await until(look)
    return found[0]


def buttons(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [button for row in message["reply_markup"]["inline_keyboard"] for button in row]
