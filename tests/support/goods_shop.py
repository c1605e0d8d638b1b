"""A seller who gives goods to buyers: the dialogue, downloads, jobs and a service, all real."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.chat.model.request_spec import RequestSpec
from bot.chat.store.link_rows import PaymentLink
from bot.chat.telegram.downloads import Downloads, FileIntake, FileRoute
from bot.core import exact_json
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.outbox_queue import handle_all
from tests.support.reconciler_service import ReconciledService, open_reconciled_service
from tests.support.request_jobs import RequestJobs

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


@dataclass
class GoodsShop:
    """A seller's requests, and what their buyers get."""

    chat: ChatHarness
    sam: Person
    market: ReconciledService
    files: FileIntake
    jobs: RequestJobs

    async def begin(self, spec: RequestSpec) -> PaymentLink:
        """Create a request, and ask for its goods."""
        link = await self.market.add_link(spec)
        self.chat.clear_messages()
        await self.ask(link)
        return link

    async def ask(self, link: PaymentLink) -> None:
        await self.chat.presses(self.sam, f"edit:{link.id}:goods")

    async def say(self, text: str) -> None:
        await self.chat.says(self.sam, text)
        await self.jobs.due()

    async def press(self, *words: str) -> None:
        """Press a button of the form under way."""
        (row,) = self.chat.rows("drafts")
        draft_id = str(exact_json.loads(row["body"])["id"])
        await self.chat.presses(self.sam, ":".join(["draft", draft_id, *words]))
        await self.jobs.due()

    async def send(self, name: str, data: bytes, caption: str = "") -> None:
        """Send a file, and handle all that follows."""
        self.sam.send_document(name, data, caption=caption)
        await self.chat.take()
        await self.fetch()
        await self.jobs.due()

    async def fetch(self) -> None:
        queue = self.chat.queues.files
        await handle_all(self.chat.db, queue, self.files.take, self.chat.clock)

    async def receipt(self, link: PaymentLink, transaction: str) -> dict[str, Any]:
        """Return what the holder of a payment gets."""
        path = f"/v3/paymentRequests/public/{link.request_id}/receipts/{transaction}"
        answer = await self.market.service.anyone.get(path)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["delivery"]
        return found

    async def delivery(self, link: PaymentLink) -> dict[str, Any]:
        """Return what the service says that a request delivers."""
        found: dict[str, Any] = await self.market.service.get(str(link.request_id))
        given: dict[str, Any] = found["delivery"]
        return given


@asynccontextmanager
async def open_goods_shop(database_url: str, chat: ChatHarness) -> AsyncIterator[GoodsShop]:
    """Open a shop: Telegram's server, a service on its own database, and the chat between them."""
    sam = chat.add_person("Sam")
    async with (
        telegram_of(chat.world) as bot,
        open_reconciled_service(database_url, chat, sam) as market,
    ):
        downloads = Downloads(bot, bot.base_url.removesuffix(f"/bot{bot.token}"), chat.clock)
        route = FileRoute(downloads, market.client)
        files = FileIntake(chat.db, route, chat.queues, chat.clock, chat.dialogue)
        yield GoodsShop(chat, sam, market, files, RequestJobs(chat, market.client))
        await downloads.close()
