"""Payers of the whole product in a language, without scripts, and the receipts they get."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.product_process import patient_client
from tests.support.sellers_and_payers import SECONDS, Seller, seller
from tests.support.service_harness import form_token

if TYPE_CHECKING:
    import httpx

    from bot.sandbox.world.model import Message
    from bot.sandbox.world.world import World


SPACES = str.maketrans("\xa0\u202f", "  ")
KEEP = re.compile(r"https://t\.me/\w+\?start=([\w-]+)")


@dataclass(frozen=True)
class WebReceipt:
    """A receipt by its address alone."""

    address: str
    language: str = "en"

    @property
    def transaction(self) -> str:
        return self.address.rpartition("/")[2]

    async def page(self) -> str:
        """Return the receipt's page."""
        return read((await self._get(self.address)).text)

    async def json(self) -> dict[str, Any]:
        """Return what the interface says of it."""
        host, _, rest = self.address.partition("/pay/")
        request_id, _, transaction = rest.partition("/receipt/")
        path = f"/v3/paymentRequests/public/{request_id}/receipts/{transaction}"
        found: dict[str, Any] = (await self._get(host + path)).json()
        return found

    async def download(self) -> bytes:
        """Return the file that was bought."""
        return (await self._get(f"{self.address}/file")).content

    async def link(self) -> str:
        """Return the payload of "Keep it in Telegram"."""
        found = KEEP.search(await self.page())
        assert found
        return found[1]

    async def keep(self, buyer: Seller, expect: str) -> Message:
        """Follow "Keep it in Telegram" in an account; the bot's answer with these words."""
        payload = await self.link()
        return await buyer.seen(lambda: buyer.person.start(payload), expect)

    async def _get(self, url: str) -> httpx.Response:
        async with patient_client(headers={"Accept-Language": self.language}) as browser:
            answer = await browser.get(url)
        assert answer.status_code == 200, answer.text
        return answer


@dataclass
class WebPayer:
    """A payer whose browser speaks a language."""

    language: str = "en"
    receipts: list[WebReceipt] = field(default_factory=list)

    async def order(self, link: str, **form: Any) -> httpx.Response:
        """Open a pay page and send its form."""
        async with patient_client(headers={"Accept-Language": self.language}) as browser:
            page = await browser.get(link)
            assert page.status_code == 200, page.text
            return await browser.post(link, data={"token": form_token(page.text), **form})

    async def asked(self, link: str, **form: Any) -> str:
        """Send a form that is not taken; the text of the page that asks again."""
        answer = await self.order(link, **form)
        assert answer.status_code in (400, 409, 422), (answer.status_code, answer.text)
        return read(answer.text)

    async def buy(self, link: str, **form: Any) -> WebReceipt:
        """Pay; the receipt."""
        answer = await self.order(link, **form)
        assert answer.status_code == 303, answer.text
        host = link.partition("/pay/")[0]
        self.receipts.append(WebReceipt(host + answer.headers["location"], self.language))
        return self.receipts[-1]


def read(text: str) -> str:
    """Return a text as people read it: no entities of HTML, every space the usual one."""
    return html.unescape(text).translate(SPACES)


def buyer(world: World, name: str = "Pat", *, language: str = "en") -> Seller:
    """Add an account that buys; it does all that a seller's does."""
    return seller(world, name, language=language)


async def said(who: Seller, words: str, after: int = 0) -> Message:
    """Wait until the bot has said these words to somebody, beyond their first messages."""

    def look() -> Message | None:
        return next((one for one in who.said[after:] if words in read(one.text)), None)

    found: Message = await waited(who, look)
    return found


async def shown(who: Seller, message: Message, words: str) -> None:
    """Wait until a message has these words."""
    await waited(who, lambda: words in read(message.text))


async def waited(who: Seller, look: Callable[[], Any]) -> Any:
    try:
        return await who.world.wait_for(look, SECONDS)
    except TimeoutError:
        raise AssertionError([one.text for one in who.said[-6:]]) from None
