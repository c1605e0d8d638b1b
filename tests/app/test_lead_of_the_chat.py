"""The whole product as its lead is won and lost: it serves all the time, and works as the lead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from bot import config
from bot.app.application import Application
from bot.app.running_parts import Leadership
from bot.chat.cards.schedule import Schedule
from bot.core.errors import BotError
from bot.sandbox.world.errors import NO_LIMITS
from bot.sandbox.world.world import TOKEN, World
from tests.support.fake_election import FakeElection
from tests.support.free_ports import free_port
from tests.support.product_process import until
from tests.support.sandbox_server import serving
from tests.support.sellers_and_payers import link_of, pay, seller_with_destination


class Product:
    """The product on a sandbox, with a election that the test decides."""

    def __init__(self, folder: Path, telegram: str, world: World) -> None:
        self.world = world
        self.election = FakeElection()
        self.settings = config.load(
            database_url=f"sqlite:///{folder}/bot.db", port=int(free_port()),
            bot_token=SecretStr(TOKEN), telegram_api_url=telegram, payer_rate=None,
        )  # fmt: skip
        self.application = Application(self.settings)
        self.application._leadership = Leadership(
            self.election, self.application._lead, self.application._make_parts
        )

    async def ready(self) -> dict[str, Any]:
        async with httpx.AsyncClient(trust_env=False) as http:
            told: dict[str, Any] = (await http.get(f"{self.settings.url}/readyz")).json()
        return told

    def called(self, method: str) -> int:
        return len(self.world.calls_of(method))


@pytest.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    world = World(limits=NO_LIMITS)
    async with serving(world) as bot:
        it = Product(tmp_path, str(bot.http.base_url).rstrip("/"), world)
        yield it


@asynccontextmanager
async def running(product: Product) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(product.application.serve())
    await until(lambda: reached(product))
    try:
        yield task
    finally:
        product.application.stop()
        await asyncio.gather(task, return_exceptions=True)


async def reached(product: Product) -> bool:
    return product.application._bot_name() is not None


async def test_without_the_lead_it_serves_and_asks_telegram_for_nothing(product: Product) -> None:
    async with running(product):
        told = await product.ready()
        assert (told["status"], told["lead"]) == ("ok", False)
        assert product.called("getMe") == 1
        for method in ("deleteWebhook", "getUpdates", "setMyCommands", "sendMessage"):
            assert product.called(method) == 0


@pytest.mark.long
async def test_the_lead_works_until_it_is_lost_and_again_when_it_is_won_again(
    product: Product,
) -> None:
    async with running(product):
        await product.election.win()
        sam = await seller_with_destination(product.world)
        card = await sam.card("/donation 5 USD Coffee", "Coffee")
        await sam.alert(pay(link_of(card)))
        await product.election.lose()
        await product.election.is_candidate.wait()
        polls = product.called("getUpdates")
        assert (await pay(link_of(card))).status_code == 303
        assert (await product.ready())["lead"] is False
        assert (product.called("getUpdates"), len(sam.alerts)) == (polls, 1)
        await product.election.win()
        await product.world.wait_for(lambda: len(sam.alerts) == 2, 15)
        assert product.called("deleteWebhook") == 2
        assert product.election.hand_overs == 0
    assert product.election.hand_overs == 1


async def test_an_error_in_a_part_of_the_lead_hands_it_over_and_ends_the_process(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: Schedule) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(Schedule, "run", fail)
    async with running(product) as task:
        await product.election.win()
        with pytest.raises(BotError, match="a part of the application failed"):
            await task
    assert product.election.hand_overs == 1


OLD = (
    "INSERT INTO outbox (id, queue, lane, priority, body, state, due_at, created_at, settled_at)"
    " VALUES (:queue, :queue, 'a', 0, '{}', 'dead', 1, 1, 1)"
)
OF_EMAIL = ("mails", "receipts", "served")


async def test_the_lead_deletes_old_dead_letters_of_every_queue(product: Product) -> None:
    """A queue is swept because it has a worker; those of email also while email is not set up."""
    application = product.application
    async with running(product):
        await product.election.win()
        await until(lambda: working(application, "messages"))
        parts = application._leadership.parts
        assert parts is not None
        queues = {*parts.working, *application._parts.working, *OF_EMAIL}
        await product.election.lose()
        await product.election.is_candidate.wait()
        await application._db.transaction(
            lambda tx: [tx.execute(OLD, queue=queue) for queue in sorted(queues)]
        )
        await product.election.win()

        async def is_swept() -> bool:
            return not await application._db.query("SELECT id FROM outbox WHERE state = 'dead'")

        await until(is_swept)


async def working(application: Application, queue: str) -> bool:
    parts = application._leadership.parts
    return parts is not None and queue in parts.working
