"""The examination, which runs all checks of an operator's possible mistakes.

This module has the checks of unknown names, of the machine and of the contact.
"""

from __future__ import annotations

import asyncio
import resource
import shlex
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from bot import config
from bot.app import resources
from bot.app.doctor import database_checks, finding, money_checks, outside_checks
from bot.core import clock
from bot.core.database import private_files, urls
from bot.core.text import sanitize

LONGEST = 30.0
"""Seconds that one group of checks may take; each check has its own, shorter limit."""

MEGABYTE = 1_000_000
LEAST_FREE = 100
"""Megabytes that should be free on the database's disk."""

LEAST_FILES = 1024
"""File handles that a process should have; each payer's connection uses one."""


async def examine(
    settings: config.Settings, now: Callable[[], int] = clock.now, *, chat: bool = True
) -> list[finding.Finding]:
    """Run every check once, and create nothing; `now` returns epoch ms.

    Without `chat`, Telegram is left out, because the service runs alone.
    """
    report = await asyncio.to_thread(database_checks.check, settings, now)
    telegram = []
    if chat:
        checks = outside_checks.check_telegram(settings, now, report.inline_feedback)
        telegram = [_limited("BOT_TOKEN", checks)]
    groups = await asyncio.gather(
        *telegram,
        _limited("PUBLIC_URL", outside_checks.check_public_address(settings, report.deployment)),
        _limited("PAYMENTS_URL", outside_checks.check_payments(settings)),
        _limited("RATES_URLS", money_checks.check(settings, now, report.money)),
        _limited("SMTP_URL", outside_checks.check_mail(settings, report.unsent_mails)),
    )
    others = [finding for group in groups for finding in group]
    machine = [*_check_disk(settings), *_check_key(settings), *_check_file_limit()]
    named = [*_check_names(), *_check_file(settings)]
    return [*named, *report.findings, *machine, *others, *_check_contact(settings)]


async def _limited(name: str, checks: Awaitable[list[finding.Finding]]) -> list[finding.Finding]:
    try:
        async with asyncio.timeout(LONGEST):
            return await checks
    except TimeoutError:
        return [finding.fix(name, f"no answer within {LONGEST:.0f} seconds: try again later")]


def _check_names() -> list[finding.Finding]:
    """Check that names which look like settings are settings; only list other programs' names."""
    return [
        (finding.fix if one.is_mistake else finding.ok)(sanitize.line(one.name), one.advice)
        for one in config.find_unknown()
    ]


def _check_file(settings: config.Settings) -> list[finding.Finding]:
    """Check that `.env` keeps its secrets from other users."""
    exposed = config.find_exposed_file(settings)
    if exposed is None:
        return []
    command = f"chmod 600 {shlex.quote(str(exposed))}"
    text = f"other users of this machine can read the secrets in it: {command}"
    return [finding.fix(config.ENV_FILE, text)]


def _check_disk(settings: config.Settings) -> list[finding.Finding]:
    if urls.is_postgres(settings.database_url):
        return []
    try:
        folder = Path(urls.sqlite_path(settings.database_url)).parent
        free = shutil.disk_usage(folder).free // MEGABYTE
    except OSError:
        return []  # the database has a finding of its own
    if free >= LEAST_FREE:
        return []
    return [finding.fix("disk", f"only {free} MB are free for {folder}: free up space")]


def _check_key(settings: config.Settings) -> list[finding.Finding]:
    """Check the key file, which decrypts all secrets if there is no SECRET_KEY."""
    if settings.secret_key is not None:
        return []
    path = resources.key_path(settings)
    if not private_files.find_exposed([path]):
        return []
    text = f"other users of this machine can read or change {path}: chmod 600 {path}"
    return [finding.fix("SECRET_KEY", text)]


def _check_file_limit() -> list[finding.Finding]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY or most >= LEAST_FILES:
        return []
    text = f"a process may open only {most} files: raise it (ulimit -Hn, LimitNOFILE=) to 65536"
    return [finding.fix("files", text)]


def _check_contact(settings: config.Settings) -> list[finding.Finding]:
    """Check that people on the real Telegram can contact somebody."""
    if settings.operator_contact is not None:
        return [finding.ok("OPERATOR_CONTACT", settings.operator_contact)]
    if settings.bot_token is None or settings.telegram_api_url != config.TELEGRAM:
        return []
    text = (
        "not set, so people can't ask for help or report a link: set an address, link or @username"
    )
    return [finding.fix("OPERATOR_CONTACT", text)]
