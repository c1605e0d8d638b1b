"""Backups: a copy of the database, of either engine, as a SQLite file with its key file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot import config
from bot.core import errors
from bot.core.database import migrations, opening, private_files, snapshot, urls
from bot.core.ops import audit

SERVERS_NAME = Path("bot.db")
"""Backups of a server are named after this file, like backups of the default file."""

LONGEST_BACKUP = 24 * 3600 * 1000
"""Milliseconds after which every backup has ended."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A new backup."""

    path: Path
    key: Path | None
    """The key file next to it; None if SECRET_KEY opens it."""
    contents: snapshot.Contents
    warnings: tuple[str, ...]
    """What is wrong although it is complete."""


def backup(settings: config.Settings, to: Path, moment: int) -> Backup:
    """Copy the database to `to`, a new file or a folder, while others use it.

    In a folder, the file is named after `moment` (epoch ms). Raises BotError, and then leaves no
    file.
    """
    url = settings.database_url
    live = SERVERS_NAME if urls.is_postgres(url) else urls.existing_file(url)
    target = to / f"{live.stem}-{stamp(moment)}{live.suffix}" if to.is_dir() else to
    key = target.with_suffix(KEY)
    if key == target:
        raise errors.BotError(
            f"{to}: {KEY} is the ending of the key beside a backup: give another name"
        )
    if taken := [one for one in (target, key) if one.exists()]:
        raise errors.BotError(
            f"{taken[0]}: already exists, and no backup replaces another: rename TO"
        )
    with private_files.temporary_file(target) as made:
        _delete_old_copies(target, live, moment)
        if urls.is_postgres(url):
            from bot.core.database.postgres import transfer  # noqa: PLC0415 - psycopg is for servers

            transfer.back_up(url, made)
        else:
            snapshot.copy_database(live, made, live=True)
            snapshot.forget_processes(made)
        snapshot.check_sound(made, live)
        found = snapshot.read_contents(made)
        warnings: tuple[str, ...] = ()
        try:
            snapshot.check_schema(made, live)
        except errors.BotError as error:  # another program changed the live database
            warnings = (f"restore will refuse it: {error}",)
        with key_beside(kept_key(settings, live), key) as kept:
            private_files.publish(made, target)
    if found.version == len(migrations.MIGRATIONS):  # an older file stays as it is
        noted = audit.operator(), "backup.made", target.name, moment
        details = {"payments": found.payments, "bytes": found.size}
        try:
            with closing(opening.open_for_command(url)) as db:
                db.run(lambda tx: audit.record(tx, *noted, details))
        except errors.BotError as error:
            warnings = (f"the audit log has no entry for it: {error}", *warnings)
    return Backup(target, key if kept else None, found, warnings)


def _delete_old_copies(target: Path, live: Path, moment: int) -> None:
    """Delete the temporary files that killed backups left next to `target`.

    Newer files may belong to a running backup.
    """
    names = [re.escape(target.stem), rf"{re.escape(live.stem)}-{urls.STAMP}"]
    endings = [re.escape(ending) for ending in (target.suffix, KEY)]
    ours = f"(?:{'|'.join(names)})(?:{'|'.join(endings)})"
    for left in private_files.find_leftovers(target.parent, ours):
        with suppress(OSError):
            if left.stat().st_mtime * 1000 < moment - LONGEST_BACKUP:
                left.unlink()


def stamp(moment: int) -> str:
    """Format a time (epoch ms) for file names, as in `urls.STAMP`."""
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


# Key files: the key to a database's secrets, next to its file, used if SECRET_KEY is not set.


KEY = ".key"
"""The extension of a key file."""


def kept_key(settings: config.Settings, path: Path) -> str | None:
    """Return the key in a database's key file; None if SECRET_KEY is set or there is no file."""
    kept = path.with_suffix(KEY)
    if settings.secret_key is not None or not kept.exists():
        return None
    return read_key(kept)


@contextmanager
def key_beside(key: str | None, path: Path) -> Iterator[bool]:
    """Store a key at `path` before its database is stored; delete the key if that fails."""
    if key is None or (path.exists() and read_key(path) == key):
        yield key is not None
        return
    with private_files.temporary_file(path) as made:
        made.write_text(key)
        private_files.publish(made, path)
    try:
        yield True
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def read_key(path: Path) -> str:
    """Return the key in a key file. Raises BotError."""
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BotError(f"{path}: can't be read: {error}") from error
