"""Alerts in the whole product: in bursts, after a block and a restart, of money that is late."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from bot.sandbox.world.errors import Fault
from tests.support.form_questions import question_of
from tests.support.product_process import Process, patient_client, running_product, until
from tests.support.sellers_and_payers import (
    SECONDS,
    Seller,
    labels,
    lines_of,
    link_of,
    pay,
    seller_with_destination,
    texts,
)
from tests.support.web_payers import WebReceipt, buyer, said

if TYPE_CHECKING:
    import httpx

    from bot.sandbox.world.model import Message


UNITS = 30
MARK = "You may have seen this already."
DAY = 24 * 3600 * 1000


def endings(sam: Seller) -> list[Message]:
    return [message for message in sam.said if message.text.startswith("🏁")]


async def test_a_drop_sold_in_a_burst_has_one_closing_line_even_if_answers_are_lost(
    tmp_path: Path,
) -> None:
    """At Telegram's pace: digests with the total, and every unit told at least once."""
    paces = {"PAYER_RATE": "0", "TELEGRAM_CHAT_RATE": "1/second"}
    async with running_product(tmp_path, **paces) as (stage, _):
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


async def test_alerts_that_did_not_arrive_are_listed_and_sent_later(tmp_path: Path) -> None:
    """Those of a block by themselves, and one that was given up by its button."""
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

        told = len(sam.alerts)
        coffee = await sam.card("/donation 5 USD Coffee", "Coffee")
        await sam.say("/help", "In one line")
        stage.world.faults.add(
            Fault("error", "sendMessage", code=400, description="Bad Request: no")
        )
        assert (await pay(link_of(coffee))).status_code == 303

        async def refused() -> bool:
            waiting = "SELECT COUNT(*) FROM outbox WHERE state = 'waiting' AND note IS NOT NULL"
            return run.rows(waiting) == [(1,)]

        await until(refused)
        await run.stop()
        # What ten refusals within ten minutes do.
        given_up = "UPDATE outbox SET state = 'dead', settled_at = due_at WHERE state = 'waiting'"
        change(run, f"{given_up} AND priority = 1")
        async with stage.started(PAYER_RATE="0"):
            listed = await sam.say("/alerts", "Telegram rejected the message")
            await sam.press(listed, "Send again", "it's on its way")
            await stage.world.wait_for(lambda: len(sam.alerts) > told, SECONDS)
            assert lines_of(sam.alerts[-1])[0] == "💰 $5.00 received for Coffee"
            assert await sam.words(listed, "undelivered:again") == "All your alerts were delivered."


def change(run: Process, *statements: str) -> None:
    """Change the database of a process that has ended."""
    with closing(sqlite3.connect(run.database)) as database, database:
        for sql in statements:
            database.execute(sql)


def silent(sam: Seller) -> list[bool]:
    """Return for each alert whether it made no sound."""
    calls = sam.world.calls_of("sendMessage")
    told = [call for call in calls if "received for" in str(call.params["text"])]
    return [call.params.get("disable_notification") == "true" for call in told]


async def test_the_daily_summary_and_quiet_hours_survive_a_restart(tmp_path: Path) -> None:
    """A summary that was missed comes once at the start; quiet hours from midnight to midnight."""
    async with running_product(tmp_path, PAYER_RATE="0") as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/donation 5 USD Coffee", "Coffee")
        await sam.alert(pay(link_of(card)))
        await run.stop()
        change(
            run,
            "UPDATE sellers SET quiet = '0-1440', summary = 600, summary_at = 1",
            f"UPDATE received_payments SET received_at = received_at - {3 * DAY}",
        )
        async with stage.started(PAYER_RATE="0", PORT=run.port):
            await stage.world.wait_for(
                lambda: any("📊" in text for text in texts(sam.said)), SECONDS
            )
            await sam.alert(pay(link_of(card)))
            assert silent(sam) == [False, True]
            told = [text for text in texts(sam.said) if "📊" in text]
            assert told == ["📊 No payments in the last 24 hours."]


async def goes_on(page: str) -> httpx.Response:
    """Follow the page as a browser does that looks again every few seconds, to its end."""
    found = []

    async def look() -> bool:
        async with patient_client() as payer:
            found.append(await payer.get(page, follow_redirects=True))
        return 'http-equiv="refresh"' not in found[-1].text

    await until(look, 4 * SECONDS)
    return found[-1]


async def alerts_of(sam: Seller, number: int) -> list[list[str]]:
    await sam.world.wait_for(lambda: len(sam.alerts) >= number, 4 * SECONDS)
    return [lines_of(message) for message in sam.alerts]


async def test_delayed_late_and_oversold_money_has_its_alert(tmp_path: Path) -> None:
    """The last unit is held for who pays later; money after that is told as owed back.

    The payer whom it is owed to can keep their receipt, which has nothing of what is sold, and
    hears of the refund.
    """
    async with running_product(tmp_path, PAYER_RATE="0", RESERVATION_SECONDS="5") as (stage, run):
        sam, pat = await seller_with_destination(stage.world), buyer(stage.world)
        link = link_of(await sam.card("/drop 1 5 USD Painting", "Painting"))
        late = await pay(link, manner="late")
        assert re.fullmatch(r"/pay/[0-9a-f]{24}/checkout/[0-9a-f]{24}", late.headers["location"])
        held = await pay(link, token="t" * 32)
        assert (held.status_code, "payment for the last one" in held.text) == (409, True)
        other = await sam.card("/drop 1 5 USD Print", "Print")
        later = await pay(link_of(other), manner="later")

        async def free_again() -> bool:
            return (await pay(link, token="t" * 32)).status_code == 303

        await until(free_again, 4 * SECONDS)
        end = await goes_on(urljoin(run.url, late.headers["location"]))
        assert "Refund due" in end.text
        done = await goes_on(urljoin(run.url, later.headers["location"]))
        assert "Thank you! Your payment went through." in done.text
        lines = await alerts_of(sam, 3)
        sold = "🏁 SOLD OUT: that was the last one."
        assert sorted(one[:2] for one in lines if one[1] == sold) == [
            ["💰 $5.00 received for Painting", sold],
            ["💰 $5.00 received for Print", sold],
        ]
        assert sum(one[1].startswith("⚠️ OVERSOLD") for one in lines) == 1

        (receipt,) = re.findall(r'href="([^"]+)">View receipt</a>', end.text)
        kept = await WebReceipt(run.url + receipt).keep(pat, "Painting")
        assert "refund" in kept.text
        assert "Yours" not in kept.text
        opened = await sam.press(await said(sam, "OVERSOLD"), "Details", "Payment for Painting")
        question = await sam.press(opened, "↩ Paid back", question_of("ask-paidback"))
        await sam.press(question, "Skip", "I've let the buyer know in Telegram.")
        await said(pat, "for Painting as paid back")
        assert labels(await pat.say("/bought", "What you've bought"))[0].startswith("↩ Painting")
        assert stage.world.refused == []
