"""`kill -9` between the parts: nothing is lost, nothing is doubled without saying so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest

from bot.sandbox.faults import Fault
from tests.fronts import foreign, relayed
from tests.playing import link_of, pay, seller, settled_seller, texts, told
from tests.stage import PATIENCE, Process, Stage, free_port, staged, until

if TYPE_CHECKING:
    from pathlib import Path

    from bot.sandbox.model import Message
    from tests.playing import Seller

MARK = "Possibly repeated: I may have told you this already."
ALERT = "💰 $5.00 received for Coffee"


async def selling(stage: Stage) -> tuple[Seller, Message]:
    sam = await settled_seller(stage.world)
    return sam, await sam.card("/donation 5 USD Coffee", "Coffee")


async def seen(sam: Seller, number: int) -> list[str]:
    """The alerts, once there are that many."""
    await sam.world.wait_for(lambda: len(sam.alerts) >= number, PATIENCE)
    return texts(sam.alerts)


UNDER_WAY = "SELECT COUNT(*) FROM outbox WHERE state IN ('waiting', 'leased')"


async def quiet(run: Process) -> None:
    """See that nothing more is to be done, so that nothing more can be said."""

    async def look() -> bool:
        return run.rows(UNDER_WAY) == [(0,)]

    await until(look)


async def test_killed_right_after_the_post_each_payment_is_told(tmp_path: Path) -> None:
    """Paid is paid: the webhook or the alert that was not sent yet is sent by the next start."""
    async with staged(tmp_path) as stage:
        async with stage.run() as run:
            await run.ready()
            port = run.port
            sam, card = await selling(stage)
            answers = await asyncio.gather(*(pay(link_of(card)) for _ in range(5)))
            await run.kill()
        assert [answer.status_code for answer in answers] == [303] * 5
        async with stage.run(PORT=port) as run:
            await run.ready()
            alerts = await seen(sam, 5)
            await quiet(run)
            paid = run.rows("SELECT COUNT(*) FROM received_payments")
        assert paid == [(5,)]
        assert len([one for one in sam.alerts if not one.text.startswith(MARK)]) <= 5
        assert all(text.removeprefix(f"{MARK}\n") == ALERT for text in alerts)
        repeated = [text for text in texts(sam.alerts) if text.startswith(MARK)]
        assert len(sam.alerts) - len(repeated) <= 5 <= len(sam.alerts)


async def test_killed_before_telegram_took_the_alert_it_is_told_once(tmp_path: Path) -> None:
    """Telegram had refused it, so nothing arrived: the next start tells it, once."""
    async with staged(tmp_path) as stage:
        async with stage.run() as run:
            await run.ready()
            port = run.port
            sam, card = await selling(stage)
            stage.world.faults.add(Fault("error", "sendMessage", code=502, times=100))
            assert (await pay(link_of(card))).status_code == 303
            await run.line("telegram refused")
            await stage.world.wait_for(lambda: stage.world.refused, PATIENCE)
            await run.kill()
        stage.world.faults.clear()
        assert sam.alerts == []
        async with stage.run(PORT=port) as run:
            await run.ready()
            alerts = await seen(sam, 1)
            await quiet(run)
        assert [text.removeprefix(f"{MARK}\n") for text in alerts] == [ALERT]
        assert len(sam.alerts) == 1


@pytest.mark.parametrize("fault", ["delay", "cut"])
async def test_killed_while_telegrams_answer_is_on_its_way_the_second_is_marked(
    tmp_path: Path, fault: str
) -> None:
    """Telegram took the alert, but nobody heard so: it comes again and says that it may be one."""
    async with staged(tmp_path) as stage:
        async with stage.run() as run:
            await run.ready()
            port = run.port
            sam, card = await selling(stage)
            held = Fault("delay", "sendMessage", seconds=600)
            if fault == "cut":
                held = Fault("cut", "sendMessage")
            stage.world.faults.add(held)
            assert (await pay(link_of(card))).status_code == 303
            assert await seen(sam, 1) == [ALERT]
            await run.kill()
        async with stage.run(PORT=port) as run:
            await run.ready()
            assert await seen(sam, 2) == [ALERT, f"{MARK}\n{ALERT}"]
            await quiet(run)
        assert len(sam.alerts) == 2


async def test_answered_alerts_are_not_repeated_by_a_restart(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        async with stage.run() as run:
            await run.ready()
            port = run.port
            sam, card = await selling(stage)
            await sam.alert(pay(link_of(card)))
            await quiet(run)
            await run.kill()
        async with stage.run(PORT=port) as run:
            await run.ready()
            await sam.alert(pay(link_of(card)))
            await quiet(run)
        assert texts(sam.alerts) == [ALERT, ALERT]


async def test_killed_again_and_again_every_payment_is_told(tmp_path: Path) -> None:
    """Payers keep paying whenever the page is there; each receipt has its alert in the end."""
    async with staged(tmp_path) as stage:
        async with stage.run() as run:
            await run.ready()
            port = run.port
            sam, card = await selling(stage)
            await run.kill()
        receipts = 0
        for number in range(3):
            async with stage.run(PORT=port) as run:
                await run.ready()
                for part in range(number + 1):
                    receipts += (await pay(link_of(card))).status_code == 303
                    if part == number:
                        await run.kill()
        async with stage.run(PORT=port) as run:
            await run.ready()
            await seen(sam, receipts)
            await quiet(run)
            transactions = run.rows("SELECT id FROM payments")
            told_of = run.rows("SELECT transaction_id FROM received_payments")
        assert receipts == 6
        assert sorted(transactions) == sorted(told_of)
        unmarked = [text for text in texts(sam.alerts) if not text.startswith(MARK)]
        assert len(unmarked) <= receipts <= len(sam.alerts)


@pytest.mark.parametrize("moment", ["at once", "message stored", "created"])
async def test_killed_between_the_message_and_the_card_one_request_is_made(
    tmp_path: Path, moment: str
) -> None:
    """The seller's line is acted on exactly once, and the card comes."""
    async with staged(tmp_path) as stage:
        world = stage.world
        async with stage.run() as run:
            await run.ready()
            port = run.port
            sam = await settled_seller(world)
            if moment == "created":
                world.faults.add(Fault("drop", "sendPhoto", times=100))
            sam.person.send("/oneoff 120 EUR Painting")
            if moment == "message stored":
                await world.wait_for(lambda: not world.updates.pending, PATIENCE)
            elif moment == "created":
                await run.line("telegram refused")
            await run.kill()
        world.faults.clear()
        async with stage.run(PORT=port) as run:
            await run.ready()
            card = await sam.first_card()
            await quiet(run)
            assert run.rows("SELECT COUNT(*) FROM payment_requests") == [(1,)]
            assert run.rows("SELECT COUNT(*) FROM listings") == [(1,)]
            async with httpx.AsyncClient(trust_env=False) as http:
                assert (await http.get(link_of(card))).status_code == 200
        assert len([one for one in sam.cards if not one.text.startswith(MARK)]) <= 1
        assert [told(one)[-4:][0] for one in sam.cards] == ["Painting"] * len(sam.cards)


async def test_killed_while_the_services_answer_is_on_its_way_one_request_is_made(
    tmp_path: Path,
) -> None:
    """The service made the request and the bot never heard so: the next start finds it."""
    port = free_port()
    async with (
        staged(tmp_path) as stage,
        foreign(tmp_path) as (service, keys),
        relayed(service.port, port) as relay,
    ):
        keys["PAYMENTS_URL"] = f"http://127.0.0.1:{port}"
        async with stage.run(**keys) as run:
            await run.ready()
            sam = await settled_seller(stage.world)
            relay.answering.clear()
            relay.heard.clear()
            sam.person.send("/oneoff 120 EUR Painting")
            await asyncio.wait_for(relay.heard.wait(), PATIENCE)
            await run.kill()
        relay.answering.set()
        assert service.rows("SELECT COUNT(*) FROM payment_requests") == [(1,)]
        assert sam.cards == []
        async with stage.run(**keys) as run:
            await run.ready()
            card = await sam.first_card()
            await quiet(run)
        assert service.rows("SELECT COUNT(*) FROM payment_requests") == [(1,)]
        assert (len(sam.cards), told(card)[0]) == (1, "Painting")


async def test_a_form_under_way_goes_on_after_a_crash(tmp_path: Path) -> None:
    """Drafts live in the database: the next answer is taken as if nothing had been."""
    async with staged(tmp_path) as stage:
        async with stage.run() as run:
            await run.ready()
            port = run.port
            sam = seller(stage.world)
            kind = await sam.say("/new", "What kind of request")
            await sam.press(kind, "Donation", "What is it called")
            await sam.say("Coffee", "Describe it")
            await run.kill()
        sam.person.send("Warm")
        async with stage.run(PORT=port) as run:
            await run.ready()
            await stage.world.bot_message(
                sam.person.chat, "How much is one donation", seconds=PATIENCE
            )
            await sam.say("5 USD", "Where should the money go")
            review = await sam.say("$anna", "is everything right")
            assert "Description: Warm" in told(review)
