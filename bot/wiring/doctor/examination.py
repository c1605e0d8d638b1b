"""What the doctor looks at: everything that an operator can get wrong, and how to mend it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.core.clock import now
from bot.wiring.doctor import address, machine, peers, storage, telegram
from bot.wiring.doctor.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.config import Settings

LONGEST = 30.0
"""Seconds that one part may take; each has shorter bounds of its own."""


async def examine(settings: Settings, now: Callable[[], int] = now) -> list[Finding]:
    """Look at everything once; a database that is not there yet is made. `now` gives epoch ms."""
    kept = await asyncio.to_thread(storage.look, settings)
    parts = await asyncio.gather(
        _bounded("BOT_TOKEN", telegram.look(settings, now, kept.feedback)),
        _bounded("PUBLIC_URL", address.look(settings, kept.deployment)),
        _bounded("PAYMENTS_URL", peers.payments(settings)),
        _bounded("SMTP_URL", peers.mail(settings, kept.mails)),
    )
    return [*kept.findings, *machine.look(settings), *(one for part in parts for one in part)]


async def _bounded(name: str, looking: Awaitable[list[Finding]]) -> list[Finding]:
    try:
        async with asyncio.timeout(LONGEST):
            return await looking
    except TimeoutError:
        text = f"no answer within {LONGEST:.0f} seconds: look again later"
        return [Finding(name, well=False, text=text)]
