"""Exchange rates of the running product: fetched at the start, kept over a kill, shared."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.e2e.test_operator_figures import metrics
from tests.support.product_process import Process, start_bot, until
from tests.support.rate_sources import coinbase, kraken, serve_sources, yadio

USABLE = "exchange_rates_usable_currencies"


async def test_rates_are_there_at_once_and_outlive_a_kill_and_their_sources(
    tmp_path: Path,
) -> None:
    bodies = (coinbase(EUR="72000", USD="80000"), kraken(EUR="72100"), yadio(EUR="72200"))
    async with serve_sources(*bodies) as found:
        settings = {
            "RAILS": "lightning,bank",
            "RATES_URLS": ",".join(one.url for one in found),
            "PUBLIC_URL": "https://pay.example.org",
        }

        async def usable(service: Process) -> bool:
            return (await metrics(service)).get(USABLE) == 1

        async with start_bot(tmp_path, "service", **settings) as service:
            await service.ready()
            await until(lambda: usable(service))
            assert [one.asked for one in found] == [1, 1, 1]
            await service.stop(signal.SIGKILL)
        for one in found:
            one.status = 503
        async with start_bot(tmp_path, "service", **settings) as again:
            await again.ready()
            assert await usable(again)
            assert not again.leaks()
