"""The examination: all parts of an installation, with the checks of settings and machine.

It creates nothing. A check's fix is in its text.
"""

from __future__ import annotations

import asyncio
import resource
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from bot import config
from bot.app import resources
from bot.app.doctor import database_checks, findings, outside_checks
from bot.core import clock
from bot.core.database import private_files, urls
from bot.core.text import sanitize

MEGABYTE = 1_000_000
LEAST_FREE = 100
"""Megabytes that should be free on the database's disk."""

LONGEST = 30.0
"""Seconds that one part may take; each question to it has its own, shorter limit."""

LEAST_FILES = 1024
"""File handles that a process should have; each payer's connection uses one."""


async def examine(
    settings: config.Settings, now: Callable[[], int] = clock.now, *, chat: bool = True
) -> list[findings.Finding]:
    """Run every check once; `now` returns epoch ms.

    Without `chat`, Telegram is left out, because the service runs alone.
    """
    blank = findings.Installation(settings, now, has_chat=chat)
    it = await asyncio.to_thread(database_checks.read, blank)
    asked = await asyncio.gather(*(_ask(name, part(it)) for name, part in PARTS))
    return [
        *_names(),
        *findings.judged(config.ENV_FILE, _environment_file(it)),
        *it.database,
        *findings.judged("disk", _disk(it)),
        *findings.judged("SECRET_KEY", _key_file(it)),
        *findings.judged("files", _file_handles()),
        *(finding for found in asked for finding in found),
        *findings.judged("OPERATOR_CONTACT", _contact(it), settings.operator_contact),
    ]


PARTS: tuple[tuple[str, Callable[[findings.Installation], Awaitable[list[findings.Finding]]]], ...]
PARTS = (
    ("BOT_TOKEN", outside_checks.telegram),
    ("PUBLIC_URL", outside_checks.public_address),
    ("PAYMENTS_URL", outside_checks.payments),
    ("RATES_URLS", outside_checks.money),
    ("SMTP_URL", outside_checks.mail_server),
)
"""The parts of an installation, and the servers that it depends on, each with the name of the
finding if it doesn't answer."""


async def _ask(name: str, part: Awaitable[list[findings.Finding]]) -> list[findings.Finding]:
    try:
        async with asyncio.timeout(LONGEST):
            return await part
    except TimeoutError:
        return [findings.fix(name, f"no answer within {LONGEST:.0f} seconds: try again later")]
    except findings.Unanswered as error:
        return [findings.fix(name, str(error))]


def _names() -> Iterator[findings.Finding]:
    """Report names that look like misspelt settings; only list other programs' names."""
    for one in config.find_unknown():
        yield findings.Finding(sanitize.line(one.name), ok=not one.is_mistake, text=one.advice)


def _environment_file(it: findings.Installation) -> Iterator[str]:
    if exposed := config.find_exposed_file(it.settings):
        command = private_files.closing_command([exposed])
        yield f"other users of this machine can read the secrets in it: {command}"


def _disk(it: findings.Installation) -> Iterator[str]:
    if urls.is_postgres(it.settings.database_url):
        return
    folder = Path(urls.sqlite_path(it.settings.database_url)).parent
    try:
        free = shutil.disk_usage(folder).free // MEGABYTE
    except OSError:
        return  # the database has a finding of its own
    if free < LEAST_FREE:
        yield f"only {free} MB are free for {folder}: free up space"


def _key_file(it: findings.Installation) -> Iterator[str]:
    """Check the file with the key that decrypts all secrets if there is no SECRET_KEY."""
    path = None if it.settings.secret_key else resources.key_path(it.settings)
    if path and private_files.find_exposed([path]):
        command = private_files.closing_command([path])
        yield f"other users of this machine can read or change {path}: {command}"


def _file_handles() -> Iterator[str]:
    _soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < LEAST_FILES:
        yield f"a process may open only {most} files: raise it (ulimit -Hn, LimitNOFILE=) to 65536"


def _contact(it: findings.Installation) -> Iterator[str]:
    """Check that people on the real Telegram can contact somebody."""
    is_real = it.settings.bot_token and it.settings.telegram_api_url == config.TELEGRAM
    if is_real and it.settings.operator_contact is None:
        yield (
            "not set, so people can't ask for help or report a link: set an address, link or"
            " @username"
        )
