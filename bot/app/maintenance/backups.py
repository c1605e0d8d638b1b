"""Backups: a copy of the database, of either engine, as a SQLite file with its key file."""

from __future__ import annotations

import re
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

from bot import config
from bot.app.maintenance import prepared_copies
from bot.core import errors
from bot.core.database import migrations, opening, private_files, snapshot, urls
from bot.core.ops import audit
from bot.service.requests import applications

SERVERS_NAME = Path("bot.db")
"""Backups of a server are named after this file, like backups of the default file."""

LONGEST_BACKUP = 24 * 3600 * 1000
"""Milliseconds after which every backup has ended."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A new backup; `key` is the key file next to it, None if SECRET_KEY opens the backup.

    `problem` is why the audit log has no entry about the backup; `refusal` is why `restore` would
    refuse it.
    """

    path: Path
    key: Path | None
    contents: snapshot.Contents
    problem: str | None = None
    refusal: str | None = None


def backup(settings: config.Settings, to: Path, moment: int) -> Backup:
    """Copy the database to `to`, a new file or a folder, while others use it.

    In a folder, the file is named after `moment` (epoch ms). Raises BotError, and then leaves no
    file.
    """
    url = settings.database_url
    live = SERVERS_NAME if urls.is_postgres(url) else urls.existing_file(url)
    target = to / f"{live.stem}-{prepared_copies.stamp(moment)}{live.suffix}" if to.is_dir() else to
    key = target.with_suffix(prepared_copies.KEY)
    if key == target:
        raise errors.BotError(
            f"{to}: {prepared_copies.KEY} is the ending of the key beside a backup:"
            " give another name"
        )
    if taken := [one for one in (target, key) if one.exists()]:
        raise errors.BotError(
            f"{taken[0]}: already exists, and no backup replaces another: rename TO"
        )
    with snapshot.temporary_file(target) as made:
        _delete_old_copies(target, live, moment)
        _copy(url, live, made)
        snapshot.check_sound(made, live)
        found = snapshot.read_contents(made)
        refusal = _refusal(made, live)
        with prepared_copies.key_beside(_key(settings, live), key) as kept:
            snapshot.publish(made, target)
    problem = None
    if found.version == len(migrations.MIGRATIONS):  # an older file stays as it is
        problem = _note_backup(settings, found, target.name, moment)
    return Backup(target, key if kept else None, found, problem, refusal)


def _copy(url: str, live: Path, made: Path) -> None:
    """Copy a file or a server, without the rows about the processes that use it."""
    if urls.is_postgres(url):
        from bot.core.database.postgres import transfer  # noqa: PLC0415 - psycopg is for servers

        transfer.back_up(url, made)
        return
    snapshot.copy_database(live, made, live=True)
    snapshot.forget_processes(made)


def _key(settings: config.Settings, live: Path) -> str | None:
    """Return the key to store with a backup; a server uses SECRET_KEY instead of a key file."""
    return (
        None
        if urls.is_postgres(settings.database_url)
        else prepared_copies.kept_key(settings, live)
    )


def _note_backup(
    settings: config.Settings, found: snapshot.Contents, name: str, moment: int
) -> str | None:
    """Record the backup in the audit log; return the error's text, as the backup exists already."""
    details = {"payments": found.payments, "bytes": found.size}
    try:
        with closing(opening.open_for_command(settings.database_url)) as database:
            database.run(
                lambda tx: audit.record(tx, audit.operator(), "backup.made", name, moment, details)
            )
    except errors.BotError as error:
        return str(error)
    return None


def _refusal(made: Path, live: Path) -> str | None:
    """Return why `restore` would refuse this copy: another program changed the live database."""
    try:
        snapshot.check_schema(made, live)
    except errors.BotError as error:
        return str(error)
    return None


def _delete_old_copies(target: Path, live: Path, moment: int) -> None:
    """Delete the temporary files that killed backups left next to `target`.

    Newer files may belong to a running backup.
    """
    names = [re.escape(target.stem), rf"{re.escape(live.stem)}-{urls.STAMP}"]
    endings = [re.escape(ending) for ending in (target.suffix, prepared_copies.KEY)]
    ours = f"(?:{'|'.join(names)})(?:{'|'.join(endings)})"
    for left in snapshot.find_leftovers(target.parent, ours):
        with suppress(OSError):
            if left.stat().st_mtime * 1000 < moment - LONGEST_BACKUP:
                left.unlink()


# Restoring a backup into a SQLite file.


@dataclass(frozen=True, slots=True)
class Restored:
    """A restored backup; `place` names the database, `aside` the replaced database, if any.

    `doubtful` counts queued messages that may have been sent after the backup was made.
    `unreadable` counts queued messages that can't be read and became dead letters.
    """

    place: str
    aside: str | None
    contents: snapshot.Contents
    doubtful: int
    unreadable: int


def restore_into_file(
    settings: config.Settings, source: Path, moment: int, *, replace: bool
) -> Restored:
    """Replace the database of DATABASE_URL by a backup, while the bot is stopped.

    `moment` is in epoch ms. A database with data is moved aside, but only with `replace`. Raises
    BotError and ConfigProblem, and then nothing has changed.
    """
    path = Path(urls.sqlite_path(settings.database_url))
    check_source(source, path)
    has_data = snapshot.holds_data(path, applications.EMBEDDED)
    if has_data and not replace:
        raise errors.BotError(
            f"{path}: holds data: restore --replace moves it aside, under another name"
        )
    _make_folder(path.parent)
    with ExitStack() as stack:
        made = stack.enter_context(snapshot.temporary_file(path))
        snapshot.copy_database(source, made)
        snapshot.check_foreign(made, source)
        found = snapshot.read_contents(made)
        chosen = prepared_copies.find_key(settings, made, source, path)
        own = prepared_copies.kept_key(settings, path) or chosen
        if settings.secret_key is not None:
            own = settings.secret_key.get_secret_value()
        with prepared_copies.refusing_strange_rows(source):
            doubtful, lost = prepared_copies.prepare_restored(settings, made, moment, (chosen, own))
        _lock_out(stack, path)
        _delete_leftovers(path, made)
        aside = path.with_name(
            urls.REPLACED.format(path.stem, prepared_copies.stamp(moment), path.suffix)
        )
        old_key = prepared_copies.kept_key(settings, path) if has_data else None
        with (
            prepared_copies.key_beside(old_key, aside.with_suffix(prepared_copies.KEY)),
            prepared_copies.key_beside(
                prepared_copies.new_key(settings, path, own), path.with_suffix(prepared_copies.KEY)
            ),
        ):
            snapshot.replace(made, path, aside)
    if not has_data:
        aside.unlink(missing_ok=True)
    return Restored(str(path), str(aside) if has_data else None, found, doubtful, lost)


def check_source(source: Path, path: Path | None = None) -> None:
    """Raise BotError if the backup isn't a file, or is the database at `path` itself."""
    if not source.is_file():
        raise errors.BotError(f"{source}: there is no such file")
    if path and path.exists() and source.samefile(path):
        raise errors.BotError(f"{source}: is the database itself: name a backup of it")


def _make_folder(folder: Path) -> None:
    try:
        private_files.make_folder(folder)
    except OSError as error:
        raise errors.BotError(f"{folder}: can't be made: {error.strerror}") from error


def _lock_out(stack: ExitStack, path: Path) -> None:
    """Lock the database against other processes until `stack` closes; a damaged one needs no lock.

    Raises BotError if another process has the database open.
    """
    if not path.exists() or not snapshot.is_database(path):
        return
    try:
        is_alone = stack.enter_context(snapshot.exclusive(path))
    except errors.BotError:
        return
    if not is_alone:
        raise errors.BotError(f"{path}: is in use: stop the bot, restore, then start it again")


def _delete_leftovers(path: Path, made: Path) -> None:
    """Delete the leftovers of a killed restore: copies, and second names of the file."""
    stem, suffix = re.escape(path.stem), re.escape(path.suffix)
    second_name, second_key = (
        urls.REPLACED.format(stem, urls.STAMP, ending) for ending in (suffix, r"\.key")
    )
    ours = "|".join(
        [stem + suffix, re.escape(path.with_suffix(prepared_copies.KEY).name), second_key]
    )
    for left in snapshot.find_leftovers(path.parent, ours):
        if not left.name.startswith(made.name):
            left.unlink()
    for second in [*path.parent.iterdir()]:
        is_second = re.fullmatch(second_name, second.name)
        if is_second and path.exists() and second.samefile(path):
            second.with_suffix(prepared_copies.KEY).unlink(missing_ok=True)
            second.unlink()
