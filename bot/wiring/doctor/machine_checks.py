"""Checks of the machine: disk space, file handles, the permissions of the key."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from bot.core.database import private_files
from bot.core.database.database import sqlite_path
from bot.wiring.app.foundation import key_path
from bot.wiring.doctor.finding import Finding, fix

if TYPE_CHECKING:
    from bot.config import Settings

MEGABYTE = 1_000_000
LEAST_FREE = 100
"""Megabytes that the database's disk should have free."""

LEAST_FILES = 1024
"""File handles that a process should have: each payer's connection is one."""


def check(settings: Settings) -> list[Finding]:
    """Return the findings that need a fix."""
    return [*_check_disk(settings), *_check_key(settings), *_check_file_limit()]


def _check_disk(settings: Settings) -> list[Finding]:
    try:
        folder = Path(sqlite_path(settings.database_url)).parent
        free = shutil.disk_usage(folder).free // MEGABYTE
    except OSError:
        return []  # the database has a finding of its own
    if free >= LEAST_FREE:
        return []
    return [fix("disk", f"only {free} MB are free for {folder}: free up space")]


def _check_key(settings: Settings) -> list[Finding]:
    """Check the file that decrypts all secrets if there is no SECRET_KEY."""
    if settings.secret_key is not None:
        return []
    path = key_path(settings)
    if not private_files.find_exposed([path]):
        return []
    text = f"other users of this machine can read or change {path}: chmod 600 {path}"
    return [fix("SECRET_KEY", text)]


def _check_file_limit() -> list[Finding]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY or most >= LEAST_FILES:
        return []
    text = f"a process may open only {most}: raise the limit (ulimit -Hn, LimitNOFILE=) to 65536"
    return [fix("files", text)]
