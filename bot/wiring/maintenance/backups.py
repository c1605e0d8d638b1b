"""Backups: the database, of either engine, as one SQLite file with the key that opens it."""

from __future__ import annotations

import re
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.core.database import snapshot
from bot.core.database.database import existing_file, is_postgres, open_for_command
from bot.core.database.schema import migrations
from bot.core.database.sqlite.files import STAMP
from bot.core.errors import BotError
from bot.core.ops import audit
from bot.wiring.maintenance import key_files
from bot.wiring.maintenance.key_files import KEY
from bot.wiring.maintenance.prepared_copies import stamp

if TYPE_CHECKING:
    from bot.config import Settings
    from bot.core.database.snapshot import Contents

SERVERS_NAME = Path("bot.db")
"""What backups of a server are named after, as those of the default file are."""

LONGEST_BACKUP = 24 * 3600 * 1000
"""Milliseconds: every backup ends before."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A new backup; `key` is the key file beside it, None where SECRET_KEY opens it.

    `trouble` is why the audit log has no entry for it, `refusal` why `restore` would refuse it.
    """

    path: Path
    key: Path | None
    contents: Contents
    trouble: str | None = None
    refusal: str | None = None


def backup(settings: Settings, to: Path, moment: int) -> Backup:
    """Copy the database to `to`, a new file or a folder, while others use it.

    In a folder `moment` (epoch ms) names the file. Raises BotError, and then leaves no file.
    """
    url = settings.database_url
    live = SERVERS_NAME if is_postgres(url) else existing_file(url)
    target = to / f"{live.stem}-{stamp(moment)}{live.suffix}" if to.is_dir() else to
    key = target.with_suffix(KEY)
    if key == target:
        raise BotError(f"{to}: {KEY} is the ending of the key beside a backup: give another name")
    if taken := [one for one in (target, key) if one.exists()]:
        raise BotError(f"{taken[0]}: already exists, and no backup replaces another: rename TO")
    with snapshot.temporary_file(target) as made:
        _delete_old_copies(target, live, moment)
        _copy(url, live, made)
        snapshot.check_sound(made, live)
        found = snapshot.read_contents(made)
        refusal = _refusal(made, live)
        with key_files.beside(_key(settings, live), key) as kept:
            snapshot.publish(made, target)
    trouble = None
    if found.version == len(migrations.MIGRATIONS):  # an older one stays as it is
        trouble = _note_backup(settings, found, target.name, moment)
    return Backup(target, key if kept else None, found, trouble, refusal)


def _copy(url: str, live: Path, made: Path) -> None:
    """Copy a file or a server, without the rows about the processes that use it."""
    if is_postgres(url):
        from bot.core.database.transfer import copies  # noqa: PLC0415 - psycopg is for servers

        copies.back_up(url, made)
        return
    snapshot.copy_database(live, made, live=True)
    snapshot.forget_processes(made)


def _key(settings: Settings, live: Path) -> str | None:
    """Return the key to keep beside a backup; a server has SECRET_KEY instead of a key file."""
    return None if is_postgres(settings.database_url) else key_files.kept_key(settings, live)


def _note_backup(settings: Settings, found: Contents, name: str, moment: int) -> str | None:
    """Record the backup in the audit log; return why that failed, since the backup is made."""
    details = {"payments": found.payments, "bytes": found.size}
    try:
        with closing(open_for_command(settings.database_url)) as database:
            database.run(
                lambda tx: audit.record(tx, audit.operator(), "backup.made", name, moment, details)
            )
    except BotError as error:
        return str(error)
    return None


def _refusal(made: Path, live: Path) -> str | None:
    """Return why `restore` would refuse this copy: another program changed the live database."""
    try:
        snapshot.check_schema(made, live)
    except BotError as error:
        return str(error)
    return None


def _delete_old_copies(target: Path, live: Path, moment: int) -> None:
    """Delete the temporary files beside `target` of backups that were killed.

    Newer ones may be of a backup that runs.
    """
    names = [re.escape(target.stem), rf"{re.escape(live.stem)}-{STAMP}"]
    endings = [re.escape(ending) for ending in (target.suffix, KEY)]
    ours = f"(?:{'|'.join(names)})(?:{'|'.join(endings)})"
    for left in snapshot.find_leftovers(target.parent, ours):
        with suppress(OSError):
            if left.stat().st_mtime * 1000 < moment - LONGEST_BACKUP:
                left.unlink()
