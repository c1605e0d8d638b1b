"""Alerts in the whole product: as the seller chose, in bursts, after a block."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from bot.sandbox.world.errors import Fault
from tests.support.product_process import Process, running_product, until
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    lines_of,
    link_of,
    pay,
    seller_with_destination,
    texts,
)

if TYPE_CHECKING:
    from bot.sandbox.world.model import Message


UNITS = 30
MARK = "You may have seen this already."
DAY = 24 * 3600 * 1000


def silent(sam: Seller) -> list[bool]:
    """Return for each alert whether it made no sound."""
    calls = sam.world.calls_of("sendMessage")
    told = [call for call in calls if "received for" in str(call.params["text"])]
    return [call.params.get("disable_notification") == "true" for call in told]


def endings(sam: Seller) -> list[Message]:
    return [message for message in sam.said if message.text.startswith("🏁")]


async def test_alerts_are_on_silent_or_off_as_the_seller_chose(tmp_path: Path) -> None:
    """Off, the card alone says what came in; then on again, with the total of all."""
    async with running_product(tmp_path, PAYER_RATE="0") as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/donation 5 USD Coffee", "Coffee")
        link = link_of(card)
        await sam.alert(pay(link))
        menu = await sam.press(card, "Alerts", "How should I notify you")
        toast = await sam.toast(menu, "Silent")
        assert toast == "Alerts are silent. You'll get a message without sound for each payment."
        second = await sam.alert(pay(link))
        assert second.text.splitlines()[-1] == "Total: $10.00 from 2 payments"
        await sam.press(menu, "Off", "✅" if menu.photo is None else "How should I notify you")
        assert (await pay(link)).status_code == 303

        async def recorded() -> bool:
            return run.rows("SELECT payments, rest FROM takings") == [(3, 1500)]

        await until(recorded)
        await sam.press(card, "Back", "$15.00")
        menu = await sam.press(card, "Alerts", "How should I notify you")
        await sam.press(menu, "On", "How should I notify you")
        fourth = await sam.alert(pay(link))
        assert fourth.text.splitlines()[-1] == "Total: $20.00 from 4 payments"
        assert silent(sam) == [False, True, False]
        assert stage.world.refused == []


async def test_a_drop_sold_in_a_burst_has_one_closing_line_even_if_answers_are_lost(
    tmp_path: Path,
) -> None:
    """At Telegram's pace: digests with the total, and every unit told at least once."""
    async with running_product(tmp_path, PAYER_RATE="0", TELEGRAM_CHAT_RATE="1/second") as (
        stage,
        _,
    ):
        sam = await seller_with_destination(stage.world)
        card = await sam.card(f"/drop {UNITS} 2.50 USD Sticker", "Sticker")
        stage.world.faults.add(Fault("cut", "sendMessage", times=3, chance=0.5))
        answers = await asyncio.gather(*(pay(link_of(card)) for _ in range(UNITS)))
        assert {answer.status_code for answer in answers} == {303}
        await stage.world.wait_for(lambda: endings(sam), 4 * SECONDS)
        (line,) = endings(sam)
        assert line.text == f"🏁 Sticker\nSold out: all {UNITS} sold."
        told = [text for text in texts(sam.alerts) if not text.startswith(MARK)]
        assert len(told) < UNITS
        assert any(f"Total: $75.00 from {UNITS} payments" in text for text in told)
        await sam.say("/help", "In one line")
        assert len(endings(sam)) == 1


async def test_alerts_during_a_block_are_listed_and_sent_later(tmp_path: Path) -> None:
    async with running_product(tmp_path, PAYER_RATE="0") as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/drop 2 5 USD Mug", "Mug")
        await sam.say("/help", "In one line")  # behind the question about the profile
        blocked = "Forbidden: bot was blocked by the user"
        stage.world.faults.add(
            Fault("error", "sendMessage", times=2, code=403, description=blocked)
        )
        for _ in range(2):
            assert (await pay(link_of(card))).status_code == 303

        async def paused() -> bool:
            waiting = "SELECT COUNT(*) FROM outbox WHERE priority = 1"
            lanes = "SELECT COUNT(*) FROM lanes WHERE paused IS NOT NULL"
            return (run.rows(waiting), run.rows(lanes)) == ([(2,)], [(1,)])

        await until(paused)
        assert sam.alerts == []
        listed = await sam.say("/alerts", "Alerts that didn't reach you")
        assert "you'd blocked me; it's on its way now" in listed.text
        await stage.world.wait_for(lambda: endings(sam), SECONDS)
        assert endings(sam)[0].text == "🏁 Mug\nSold out: all 2 sold."
        await sam.say("/alerts", "All your alerts were delivered")


async def test_an_alert_that_was_given_up_is_sent_again_by_its_button(tmp_path: Path) -> None:
    async with running_product(tmp_path, PAYER_RATE="0") as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/donation 5 USD Coffee", "Coffee")
        await sam.say("/help", "In one line")  # behind the question about the profile
        refusal = "Bad Request: no"
        stage.world.faults.add(Fault("error", "sendMessage", code=400, description=refusal))
        assert (await pay(link_of(card))).status_code == 303

        async def refused() -> bool:
            return run.rows("SELECT state FROM outbox WHERE note IS NOT NULL") == [("waiting",)]

        await until(refused)
        await run.stop()
        give_up(run)
        async with stage.run(PAYER_RATE="0") as again:
            await again.ready()
            listed = await sam.say("/alerts", "Telegram rejected the message")
            await sam.press(listed, "Send again", "it's on its way")
            await stage.world.wait_for(lambda: sam.alerts, SECONDS)
            (alert,) = sam.alerts
            assert lines_of(alert)[0] == "💰 $5.00 received for Coffee"
            assert await sam.words(listed, "undelivered:again") == "All your alerts were delivered."


def give_up(run: Process) -> None:
    """End the waiting messages, as ten refusals within ten minutes do."""
    with closing(sqlite3.connect(run.database)) as database, database:
        database.execute("UPDATE outbox SET state = 'dead', settled_at = due_at WHERE priority = 1")


async def test_the_daily_summary_and_quiet_hours_survive_a_restart(
    tmp_path: Path,
) -> None:
    """A summary that was missed comes once at the start; quiet hours from midnight to midnight."""
    async with running_product(tmp_path, PAYER_RATE="0") as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/donation 5 USD Coffee", "Coffee")
        await sam.alert(pay(link_of(card)))
        await run.stop()
        with closing(sqlite3.connect(run.database)) as database, database:
            database.execute("UPDATE sellers SET quiet = '0-1440', summary = 600, summary_at = 1")
            database.execute(f"UPDATE received_payments SET received_at = received_at - {3 * DAY}")
        async with stage.run(PAYER_RATE="0", PORT=run.port) as again:
            await again.ready()
            await stage.world.wait_for(
                lambda: any("📊" in text for text in texts(sam.said)), SECONDS
            )
            await sam.alert(pay(link_of(card)))
            assert silent(sam) == [False, True]
            told = [text for text in texts(sam.said) if "📊" in text]
            assert told == ["📊 No payments in the last 24 hours."]
