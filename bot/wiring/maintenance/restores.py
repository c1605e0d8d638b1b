"""Restores of a backup into a SQLite file."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bot.core.database import private_files, snapshot
from bot.core.database.database import sqlite_path
from bot.core.database.sqlite.files import REPLACED, STAMP
from bot.core.errors import BotError
from bot.service.usecases.applications import EMBEDDED
from bot.wiring.maintenance import key_files, prepared_copies
from bot.wiring.maintenance.key_files import KEY

if TYPE_CHECKING:
    from bot.config import Settings
    from bot.core.database.snapshot import Contents


@dataclass(frozen=True, slots=True)
class Restored:
    """A restored backup; `place` names the database, `aside` what it replaced, None if nothing.

    `doubtful`: queued messages that may have been sent after the backup was made; `unreadable`:
    queued messages that can't be read and became dead letters.
    """

    place: str
    aside: str | None
    contents: Contents
    doubtful: int
    unreadable: int


def restore(settings: Settings, source: Path, moment: int, *, replace: bool) -> Restored:
    """Replace the database of DATABASE_URL by a backup, while the bot is stopped.

    `moment` is in epoch ms. A database with data is moved aside, with `replace` only. Raises
    BotError and ConfigProblem, and then nothing has changed.
    """
    path = Path(sqlite_path(settings.database_url))
    check_source(source, path)
    has_data = snapshot.holds_data(path, EMBEDDED)
    if has_data and not replace:
        raise BotError(f"{path}: holds data: restore --replace moves it aside, under another name")
    _make_folder(path.parent)
    with ExitStack() as stack:
        made = stack.enter_context(snapshot.temporary_file(path))
        snapshot.copy_database(source, made)
        snapshot.check_foreign(made, source)
        found = snapshot.read_contents(made)
        chosen = key_files.find_key(settings, made, source, path)
        own = key_files.kept_key(settings, path) or chosen
        if settings.secret_key is not None:
            own = settings.secret_key.get_secret_value()
        with prepared_copies.refusing_strange_rows(source):
            doubtful, lost = prepared_copies.prepare_restored(settings, made, moment, (chosen, own))
        _lock_out(stack, path)
        _delete_leftovers(path, made)
        aside = path.with_name(
            REPLACED.format(path.stem, prepared_copies.stamp(moment), path.suffix)
        )
        old_key = key_files.kept_key(settings, path) if has_data else None
        with (
            key_files.beside(old_key, aside.with_suffix(KEY)),
            key_files.beside(key_files.new_key(settings, path, own), path.with_suffix(KEY)),
        ):
            snapshot.replace(made, path, aside)
    if not has_data:
        aside.unlink(missing_ok=True)
    return Restored(str(path), str(aside) if has_data else None, found, doubtful, lost)


def check_source(source: Path, path: Path | None = None) -> None:
    """Raise BotError where a backup isn't a file, or is the database at `path` itself."""
    if not source.is_file():
        raise BotError(f"{source}: there is no such file")
    if path and path.exists() and source.samefile(path):
        raise BotError(f"{source}: is the database itself: name a backup of it")


def _make_folder(folder: Path) -> None:
    try:
        private_files.make_folder(folder)
    except OSError as error:
        raise BotError(f"{folder}: can't be made: {error.strerror}") from error


def _lock_out(stack: ExitStack, path: Path) -> None:
    """Lock the database against other processes until `stack` closes; none can use a damaged one.

    Raises BotError where one has it open.
    """
    if not path.exists() or not snapshot.is_database(path):
        return
    try:
        is_alone = stack.enter_context(snapshot.exclusive(path))
    except BotError:
        return
    if not is_alone:
        raise BotError(f"{path}: is in use: stop the bot, restore, then start it again")


def _delete_leftovers(path: Path, made: Path) -> None:
    """Delete the leftovers of a restore that was killed: copies, and second names of the file."""
    stem, suffix = re.escape(path.stem), re.escape(path.suffix)
    second_name, second_key = (
        REPLACED.format(stem, STAMP, ending) for ending in (suffix, r"\.key")
    )
    ours = "|".join([stem + suffix, re.escape(path.with_suffix(KEY).name), second_key])
    for left in snapshot.find_leftovers(path.parent, ours):
        if not left.name.startswith(made.name):
            left.unlink()
    for second in [*path.parent.iterdir()]:
        is_second = re.fullmatch(second_name, second.name)
        if is_second and path.exists() and second.samefile(path):
            second.with_suffix(KEY).unlink(missing_ok=True)
            second.unlink()
