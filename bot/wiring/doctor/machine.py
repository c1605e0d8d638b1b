"""What the machine gives: room on its disk, file handles, a key that nobody else can read."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from bot.core.database import private_files
from bot.core.database.database import sqlite_path
from bot.wiring.app.foundation import key_path
from bot.wiring.doctor.finding import Finding, mend

if TYPE_CHECKING:
    from bot.config import Settings

MEGABYTE = 1_000_000
LEAST_FREE = 100
"""Megabytes on the database's disk below which it is to be mended before it is full."""

LEAST_FILES = 1024
"""File handles that a process should get: each payer's connection is one."""


def look(settings: Settings) -> list[Finding]:
    """Give what is to be mended, nothing where all is well."""
    return [*_disk(settings), *_key(settings), *_files()]


def _disk(settings: Settings) -> list[Finding]:
    try:
        folder = Path(sqlite_path(settings.database_url)).parent
        free = shutil.disk_usage(folder).free // MEGABYTE
    except OSError:
        return []  # the database has a finding of its own
    if free >= LEAST_FREE:
        return []
    return [mend("disk", f"only {free} MB left for {folder}: make room")]


def _key(settings: Settings) -> list[Finding]:
    """Look at the file that opens all secrets, where no SECRET_KEY does."""
    if settings.secret_key is not None:
        return []
    path = key_path(settings)
    if not private_files.find_exposed([path]):
        return []
    text = f"others on this machine may read or write {path}: chmod 600 {path}"
    return [mend("SECRET_KEY", text)]


def _files() -> list[Finding]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY or most >= LEAST_FILES:
        return []
    text = f"a process may open {most} only: raise the limit (ulimit -Hn, LimitNOFILE=) to 65536"
    return [mend("files", text)]
