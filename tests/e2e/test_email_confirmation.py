"""A seller names an email address in the chat, and its holder confirms it and gets letters.

Over the whole product, with a mail server beside it.
"""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.consent_letters import link, plain
from tests.support.demo_client import SELLER, buttons, offer_vase, say, shown
from tests.support.free_ports import free_port
from tests.support.letters import SENDER
from tests.support.mail_servers import MailServerStub, mail_server
from tests.support.product_process import (
    PATIENCE,
    patient_client,
    running_product,
    start_bot,
    until,
)
from tests.support.sellers_and_payers import link_of, pay, seller_with_destination

if TYPE_CHECKING:
    import httpx


ADDRESS = "anna@example.org"


async def arrived(post: MailServerStub, number: int) -> EmailMessage:
    """Wait for so many letters; the last of them."""

    async def all_here() -> bool:
        return len(post.letters) >= number

    await until(all_here, PATIENCE)
    assert len(post.letters) == number
    return post.letters[-1]


async def test_an_address_named_in_the_chat_gets_letters_once_its_holder_confirms(
    tmp_path: Path,
) -> None:
    async with mail_server() as post:
        smtp = f"smtp://127.0.0.1:{post.port}"
        async with (
            running_product(tmp_path, SMTP_URL=smtp, SMTP_FROM=SENDER) as (stage, run),
            patient_client() as reader,
        ):
            sam = await seller_with_destination(stage.world)
            await sam.say("/donation 5 USD Coffee", "Donation · $5.00")
            card = await sam.first_card()
            await sam.edit(card)
            await sam.press(card, "Payment emails", "Who should get an email")
            await sam.say(ADDRESS, "Saved")
            question = await arrived(post, 1)
            assert question["To"] == ADDRESS
            assert "Coffee" not in plain(question)
            await stage.world.wait_for(
                lambda: f"{ADDRESS} isn't confirmed yet" in card.text, PATIENCE
            )
            for _ in range(2):
                assert (await pay(link_of(card))).status_code in (200, 303)
            confirm = run.url + link(question, "confirm", run.url)
            assert "Confirm" in (await reader.get(confirm)).text
            assert len(post.letters) == 1
            assert "Address confirmed" in (await reader.post(confirm)).text
            summary = await arrived(post, 2)
            assert summary["Subject"] == "2 payments received"
            await sam.refresh(card, f"Payments are also emailed to {ADDRESS} (confirmed")
            stop = run.url + link(summary, "stop", run.url)
            await reader.post(stop, data={"List-Unsubscribe": "One-Click"})
            await pay(link_of(card))
            await sam.refresh(card, "has unsubscribed from payment emails")
            assert len(post.letters) == 2


async def test_the_demos_mailbox_shows_the_confirmation_and_later_letters(tmp_path: Path) -> None:
    """A newcomer sees all of it: the letter that asks, its page, the summary."""
    async with start_bot(tmp_path, "demo", "--no-browser", PORT=free_port()) as run:
        await run.ready()
        api = f"{run.url}/chat/api/"
        async with patient_client(api) as http:
            link = await offer_vase(http)
            await press(http, "Edit")
            await press(http, "Payment emails")
            await shown(http, "Who should get an email")
            await say(http, ADDRESS)
            await shown(http, f"{ADDRESS} isn't confirmed yet")
            (question,) = await mails(http, 1)
            assert question["subject"].startswith("Confirm your email address at 127.0.0.1")
            await pay(link)
            (confirm,) = [word for word in question["text"].split() if "/email/confirm/" in word]
            assert (await http.post(confirm)).status_code == 200
            told, _ = await mails(http, 2)
            assert told["subject"] == "€9.00 for Vase"


async def press(http: httpx.AsyncClient, label: str) -> None:
    """Press the button whose label ends so, once there is one."""
    found: list[dict[str, Any]] = []

    async def look() -> bool:
        state = (await http.get("state", params={"user": SELLER})).json()
        found[:] = [
            {"user_id": SELLER, "message_id": message["message_id"], "button": one["callback_data"]}
            for message in state["chats"][0]["messages"]
            if "reply_markup" in message
            for one in buttons(message)
            if one["text"].endswith(label)
        ]
        return bool(found)

    await until(look)
    answer = await http.post("press", json=found[0])
    assert answer.status_code == 200, answer.text


async def mails(http: httpx.AsyncClient, number: int) -> list[dict[str, Any]]:
    """Wait for so many letters in the demo's mailbox, the newest first."""
    found: list[dict[str, Any]] = []

    async def look() -> bool:
        found[:] = (await http.get("mails")).json()["mails"]
        return len(found) == number

    await until(look)
    return found
