"""The examination: all checks of what an operator can get wrong."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.core import clock
from bot.wiring.doctor import (
    database_checks,
    machine_checks,
    public_address,
    server_checks,
    telegram_checks,
)
from bot.wiring.doctor.finding import Finding, fix

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.config import Settings

LONGEST = 30.0
"""Seconds that one group of checks may take; each check has a shorter limit of its own."""


async def examine(settings: Settings, now: Callable[[], int] = clock.now) -> list[Finding]:
    """Run every check once; `now` returns epoch ms. A missing database is created."""
    report = await asyncio.to_thread(database_checks.check, settings)
    groups = await asyncio.gather(
        _limited("BOT_TOKEN", telegram_checks.check(settings, now, report.inline_feedback)),
        _limited("PUBLIC_URL", public_address.check(settings, report.deployment)),
        _limited("PAYMENTS_URL", server_checks.check_payments(settings)),
        _limited("SMTP_URL", server_checks.check_mail(settings, report.unsent_mails)),
    )
    others = [finding for group in groups for finding in group]
    return [*report.findings, *machine_checks.check(settings), *others]


async def _limited(name: str, checks: Awaitable[list[Finding]]) -> list[Finding]:
    try:
        async with asyncio.timeout(LONGEST):
            return await checks
    except TimeoutError:
        return [fix(name, f"no answer within {LONGEST:.0f} seconds: try again later")]
