"""`service` beside `run` on one database: either takes payments, and alerts come at once."""

from __future__ import annotations

import time
from pathlib import Path

from bot.service.notifications.outcomes import RETRIES
from tests.support.product_process import (
    PATIENCE,
    Process,
    running_product,
    sandbox_telegram,
    start_bot,
    until,
)
from tests.support.sellers_and_payers import Seller, link_of, pay, seller_with_destination

PAYMENTS = 10
AT_ONCE = 2.0
"""Seconds to an alert whose payment another process took: queues are looked at once a second."""
SECOND_TRY = RETRIES.delays[0] / 1000 * (1 - RETRIES.jitter / 1000)
"""Seconds before a second attempt can come: a machine that pauses may delay one alert so long."""


def through(link: str, service: Process) -> str:
    """Return the address of the same page at this process."""
    return f"{service.url}/pay/{link.rpartition('/')[2]}"


async def sold(sam: Seller, link: str) -> float:
    """Pay; the seconds until the seller was told, in the words of a payment that was told."""
    began = time.monotonic()
    alert = await sam.alert(pay(link))
    assert "Found later" not in alert.text
    return time.monotonic() - began


async def attempted(run: Process, payments: int) -> None:
    """Check that each payment took one attempt, which is recorded after its alert may have gone."""
    attempts = "SELECT status FROM delivery_attempts"

    async def recorded() -> bool:
        return len(run.rows(attempts)) >= payments

    await until(recorded)
    assert run.rows(attempts) == [(200,)] * payments


async def test_payments_at_the_service_have_alerts_from_the_bot_at_once(
    tmp_path: Path,
) -> None:
    """The service has no receiver of the bot's webhooks, so it leaves them to who has one."""
    async with running_product(tmp_path) as (stage, run), start_bot(tmp_path, "service") as service:
        await service.ready()
        sam = await seller_with_destination(stage.world)
        link = through(link_of(await sam.card("/donation 5 USD Coffee", "Coffee")), service)
        waits = [await sold(sam, link) for _ in range(PAYMENTS)]
        *usual, longest = sorted(waits)
        assert max(usual) < AT_ONCE
        assert longest < SECOND_TRY
        await attempted(run, PAYMENTS)


async def test_webhooks_wait_without_attempts_until_the_bot_is_back(tmp_path: Path) -> None:
    """No attempt is spent on a receiver that nobody runs, so its alert comes with the start."""
    async with sandbox_telegram(tmp_path) as stage, start_bot(tmp_path, "service") as service:
        await service.ready()
        async with stage.run() as run:
            await run.ready()
            sam = await seller_with_destination(stage.world)
            link = through(link_of(await sam.card("/donation 5 USD Coffee", "Coffee")), service)
            assert await run.stop() == 0
        assert (await pay(link)).status_code == 303
        async with stage.run() as run:
            await stage.world.wait_for(lambda: sam.alerts, PATIENCE)
            assert "Found later" not in sam.alerts[0].text
            await attempted(run, 1)
