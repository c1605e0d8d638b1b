"""A seller names an e-mail address in the chat, its holder confirms it, and is told of payments.

Over the whole product, with a mail server beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from tests.consenting import plain
from tests.mailing import SENDER, office
from tests.playing import link_of, pay, settled_seller, told
from tests.stage import PATIENCE, product, until

if TYPE_CHECKING:
    from email.message import EmailMessage
    from pathlib import Path

    from tests.mailing import Office

ADDRESS = "anna@example.org"


async def arrived(post: Office, number: int) -> EmailMessage:
    """Wait for so many letters; the last of them."""

    async def all_here() -> bool:
        return len(post.letters) >= number

    await until(all_here, PATIENCE)
    assert len(post.letters) == number
    return post.letters[-1]


async def opened_as(letter: EmailMessage, kind: str, url: str) -> str:
    """The address of a link in a letter, which must lead to us."""
    (found,) = [word for word in plain(letter).split() if f"/email/{kind}/" in word]
    assert found.startswith(url)
    return found


async def test_an_address_named_in_the_chat_is_told_once_its_holder_confirms(
    tmp_path: Path,
) -> None:
    async with office() as post:
        smtp = f"smtp://127.0.0.1:{post.port}"
        async with (
            product(tmp_path, SMTP_URL=smtp, SMTP_FROM=SENDER) as (stage, run),
            httpx.AsyncClient(trust_env=False) as reader,
        ):
            sam = await settled_seller(stage.world)
            await sam.say("/donation 5 USD Coffee", "Donation · $5.00")
            card = await sam.first_card()
            menu = await sam.press(card, "Edit", "Coffee")
            await sam.press(menu, "E-mail", "Who gets an e-mail")
            await sam.say(ADDRESS, "Saved")
            question = await arrived(post, 1)
            assert question["To"] == ADDRESS
            assert "Coffee" not in plain(question)
            await stage.world.wait_for(
                lambda: f"{ADDRESS} isn't confirmed yet" in card.text, PATIENCE
            )
            for _ in range(2):
                assert (await pay(link_of(card))).status_code in (200, 303)
            confirm = await opened_as(question, "confirm", run.url)
            assert "Confirm" in (await reader.get(confirm)).text
            assert len(post.letters) == 1
            assert "Address confirmed" in (await reader.post(confirm)).text
            summary = await arrived(post, 2)
            assert summary["Subject"] == "2 payments received"
            shown = await sam.press(sam.cards[-1], "Refresh", "Donation · $5.00")
            assert f"Payments are also told to {ADDRESS} (confirmed" in "\n".join(told(shown))
            stop = await opened_as(summary, "stop", run.url)
            await reader.post(stop, data={"List-Unsubscribe": "One-Click"})
            await pay(link_of(card))
            shown = await sam.press(sam.cards[-1], "Refresh", "doesn't want e-mails")
            assert len(post.letters) == 2
