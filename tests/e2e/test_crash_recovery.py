"""`kill -9` at each stage: nothing is lost, and a repeated message is marked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bot.sandbox.world.errors import Fault
from tests.support.asgi_server import open_tcp_relay
from tests.support.free_ports import free_port
from tests.support.machine_faults import MARK, wait_until_idle
from tests.support.product_process import (
    PATIENCE,
    Process,
    ProductSetup,
    foreign_service,
    patient_client,
)
from tests.support.sellers_and_payers import (
    Seller,
    lines_of,
    link_of,
    pay,
    seller_with_destination,
    texts,
)

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


ALERT = "💰 $5.00 received for Coffee"


@pytest.fixture
def port() -> str:
    """Choose one port for every run, so that links still lead to the page after a crash."""
    return free_port()


@asynccontextmanager
async def killed(stage: ProductSetup, port: str = "", **env: str) -> AsyncIterator[Process]:
    """Run the product; kill it when the block ends."""
    async with stage.run(PORT=port, **env) as run:
        yield await run.ready()
        await run.kill()


async def selling(stage: ProductSetup) -> tuple[Seller, Message]:
    """Sell; the offer after the card is there too, or a fault could hit it instead of an alert."""
    sam = await seller_with_destination(stage.world)
    card = await sam.card("/donation 5 USD Coffee", "Coffee")
    await stage.world.bot_message(sam.person.chat, "Payers trust a name")
    return sam, card


async def seen(sam: Seller, number: int) -> list[str]:
    """Wait for so many alerts and return them."""
    await sam.world.wait_for(lambda: len(sam.alerts) >= number, PATIENCE)
    return texts(sam.alerts)


async def test_after_a_kill_right_after_the_post_each_payment_has_an_alert(
    stage: ProductSetup, port: str
) -> None:
    """Paid is paid: the webhook or the alert that was not sent yet is sent by the next start."""
    async with killed(stage, port) as run:
        sam, card = await selling(stage)
        answers = await asyncio.gather(*(pay(link_of(card)) for _ in range(5)))
    assert [answer.status_code for answer in answers] == [303] * 5
    async with killed(stage, port) as run:
        alerts = await seen(sam, 5)
        await wait_until_idle(run)
        paid = run.rows("SELECT COUNT(*) FROM received_payments")
    assert paid == [(5,)]
    assert len([one for one in sam.alerts if not one.text.startswith(MARK)]) <= 5
    assert all(text.removeprefix(f"{MARK}\n").splitlines()[0] == ALERT for text in alerts)


async def test_after_a_kill_before_telegram_took_the_alert_it_is_sent_once(
    stage: ProductSetup, port: str
) -> None:
    """Telegram had refused it, so nothing arrived: the next start tells it, once."""
    async with killed(stage, port) as run:
        sam, card = await selling(stage)
        stage.world.faults.add(Fault("error", "sendMessage", code=502, times=100))
        assert (await pay(link_of(card))).status_code == 303
        await run.line("telegram call failed")
        await stage.world.wait_for(lambda: stage.world.refused, PATIENCE)
    stage.world.faults.clear()
    assert sam.alerts == []
    async with killed(stage, port) as run:
        alerts = await seen(sam, 1)
        await wait_until_idle(run)
    assert [text.removeprefix(f"{MARK}\n").splitlines()[0] for text in alerts] == [ALERT]
    assert len(sam.alerts) == 1


@pytest.mark.parametrize("fault", ["delay", "cut"])
async def test_after_a_kill_during_telegrams_answer_the_second_alert_is_marked(
    stage: ProductSetup, port: str, fault: str
) -> None:
    """Telegram took the alert, but nobody heard so: it comes again and says that it may be one."""
    async with killed(stage, port) as run:
        sam, card = await selling(stage)
        held = Fault("delay", "sendMessage", seconds=600)
        if fault == "cut":
            held = Fault("cut", "sendMessage")
        stage.world.faults.add(held)
        assert (await pay(link_of(card))).status_code == 303
        (first,) = await seen(sam, 1)
        assert first.startswith(f"{ALERT}\n")
    async with killed(stage, port) as run:
        assert await seen(sam, 2) == [first, f"{MARK}\n{first}"]
        await wait_until_idle(run)
    assert len(sam.alerts) == 2


async def test_answered_alerts_are_not_repeated_by_a_restart(
    stage: ProductSetup, port: str
) -> None:
    async with killed(stage, port) as run:
        sam, card = await selling(stage)
        await sam.alert(pay(link_of(card)))
        await wait_until_idle(run)
    async with killed(stage, port) as run:
        await sam.alert(pay(link_of(card)))
        await wait_until_idle(run)
    assert [text.splitlines()[0] for text in texts(sam.alerts)] == [ALERT, ALERT]


@pytest.mark.parametrize("moment", ["at once", "message stored", "created"])
async def test_after_a_kill_between_message_and_card_there_is_one_request(
    stage: ProductSetup, port: str, moment: str
) -> None:
    """The seller's line is acted on exactly once, and the card comes."""
    world = stage.world
    async with killed(stage, port) as run:
        sam = await seller_with_destination(world)
        if moment == "created":
            world.faults.add(Fault("drop", "sendPhoto", times=100))
        sam.person.send("/oneoff 120 EUR Painting")
        if moment == "message stored":
            await world.wait_for(lambda: not world.updates.pending, PATIENCE)
        elif moment == "created":
            await run.line("telegram call failed")
    world.faults.clear()
    async with killed(stage, port) as run:
        card = await sam.first_card()
        await wait_until_idle(run)
        assert run.rows("SELECT COUNT(*) FROM payment_requests") == [(1,)]
        assert run.rows("SELECT COUNT(*) FROM listings") == [(1,)]
        async with patient_client() as http:
            assert (await http.get(link_of(card))).status_code == 200
    assert len([one for one in sam.cards if not one.text.startswith(MARK)]) <= 1
    assert [lines_of(one)[-4:][0] for one in sam.cards] == ["Painting"] * len(sam.cards)


async def test_after_a_kill_during_the_services_answer_there_is_one_request(
    stage: ProductSetup, tmp_path: Path, port: str
) -> None:
    """The service made the request and the bot never heard so: the next start finds it."""
    async with (
        foreign_service(tmp_path) as (service, keys),
        open_tcp_relay(service.port, port) as relay,
    ):
        keys["PAYMENTS_URL"] = f"http://127.0.0.1:{port}"
        async with killed(stage, **keys):
            sam = await seller_with_destination(stage.world)
            relay.answering.clear()
            relay.heard.clear()
            sam.person.send("/oneoff 120 EUR Painting")
            await asyncio.wait_for(relay.heard.wait(), PATIENCE)
        relay.answering.set()
        assert service.rows("SELECT COUNT(*) FROM payment_requests") == [(1,)]
        assert sam.cards == []
        async with killed(stage, **keys) as run:
            card = await sam.first_card()
            await wait_until_idle(run)
        assert service.rows("SELECT COUNT(*) FROM payment_requests") == [(1,)]
        assert (len(sam.cards), lines_of(card)[0]) == (1, "Painting")
