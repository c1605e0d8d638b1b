"""Backups, made and restored: the database with the key that opens its secrets."""

from __future__ import annotations

import re
import sqlite3
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bot.core.database import private_files, snapshot
from bot.core.database.database import existing_file, open_database, sqlite_path, url_of
from bot.core.database.schema import migrations
from bot.core.database.vault import Vault
from bot.core.errors import BotError, ConfigProblem
from bot.core.ops import audit
from bot.service.usecases.applications import EMBEDDED
from bot.wiring.maintenance import restored_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bot.config import Settings
    from bot.core.database.database import Transaction
    from bot.core.database.snapshot import Contents

T = TypeVar("T")

KEY = ".key"
"""The ending of the key file beside a database, used where SECRET_KEY is not set."""

ASIDE = "{}-replaced-{}{}"
"""The name of a replaced database: its old name, the time, its ending."""

STAMP = r"\d{8}T\d{6}Z"

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


@dataclass(frozen=True, slots=True)
class Restored:
    """A restored backup; `aside` is the database that it replaced, None where there was none.

    `doubtful`: queued messages that may have been sent after the backup was made; `unreadable`:
    queued messages that can't be read and became dead letters.
    """

    path: Path
    aside: Path | None
    contents: Contents
    doubtful: int
    unreadable: int


def backup(settings: Settings, to: Path, moment: int) -> Backup:
    """Copy the database to `to`, a new file or a folder, while others use it.

    In a folder `moment` (epoch ms) names the file. Raises BotError, and then leaves no file.
    """
    live = existing_file(settings.database_url)
    target = to / f"{live.stem}-{_stamp(moment)}{live.suffix}" if to.is_dir() else to
    key = target.with_suffix(KEY)
    if key == target:
        raise BotError(f"{to}: {KEY} is the ending of the key beside a backup: give another name")
    if taken := [one for one in (target, key) if one.exists()]:
        raise BotError(f"{taken[0]}: already exists, and no backup replaces another: rename TO")
    with snapshot.temporary_file(target) as made:
        _delete_old_copies(target, live, moment)
        snapshot.copy_database(live, made, live=True)
        snapshot.check_sound(made, live)
        found = snapshot.read_contents(made)
        refusal = _refusal(made, live)
        with _beside(_kept_key(settings, live), key) as kept:
            snapshot.publish(made, target)
    trouble = None
    if found.version == len(migrations.MIGRATIONS):  # an older one stays as it is
        trouble = _note_backup(settings, found, target.name, moment)
    return Backup(target, key if kept else None, found, trouble, refusal)


def restore(settings: Settings, source: Path, moment: int, *, replace: bool) -> Restored:
    """Replace the database of DATABASE_URL by a backup, while the bot is stopped.

    `moment` is in epoch ms. A database with data is moved aside, with `replace` only. Raises
    BotError and ConfigProblem, and then nothing has changed.
    """
    path = Path(sqlite_path(settings.database_url))
    _check_source(source, path)
    has_data = snapshot.holds_data(path, EMBEDDED)
    if has_data and not replace:
        raise BotError(f"{path}: holds data: restore --replace moves it aside, under another name")
    _make_folder(path.parent)
    with ExitStack() as stack:
        made = stack.enter_context(snapshot.temporary_file(path))
        snapshot.copy_database(source, made)
        snapshot.check_foreign(made, source)
        found = snapshot.read_contents(made)
        chosen = _right_key(settings, made, source, path)
        own = _kept_key(settings, path) or chosen
        if settings.secret_key is not None:
            own = settings.secret_key.get_secret_value()
        with _refusing_strange_rows(source):
            doubtful, lost = _prepare(settings, made, moment, (chosen, own))
        _lock_out(stack, path)
        _delete_leftovers(path, made)
        aside = path.with_name(ASIDE.format(path.stem, _stamp(moment), path.suffix))
        with (
            _beside(_kept_key(settings, path) if has_data else None, aside.with_suffix(KEY)),
            _beside(_new_key(settings, path, own), path.with_suffix(KEY)),
        ):
            snapshot.replace(made, path, aside)
    if not has_data:
        aside.unlink(missing_ok=True)
    return Restored(path, aside if has_data else None, found, doubtful, lost)


def _stamp(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def _kept_key(settings: Settings, path: Path) -> str | None:
    """Return the key in the file beside a database; None where SECRET_KEY opens it."""
    kept = path.with_suffix(KEY)
    if settings.secret_key is not None or not kept.exists():
        return None
    return _read(kept)


def _new_key(settings: Settings, path: Path, own: str | None) -> str | None:
    """Return the key to store beside a database; None where there is one."""
    has_one = settings.secret_key is not None or path.with_suffix(KEY).exists()
    return None if has_one else own


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BotError(f"{path}: can't be read: {error}") from error


@contextmanager
def _beside(key: str | None, path: Path) -> Iterator[bool]:
    """Store a key at `path` before its database comes; delete it where that fails."""
    if key is None or (path.exists() and _read(path) == key):
        yield key is not None
        return
    with snapshot.temporary_file(path) as made:
        made.write_text(key)
        snapshot.publish(made, path)
    try:
        yield True
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _note_backup(settings: Settings, found: Contents, name: str, moment: int) -> str | None:
    """Record the backup in the audit log; return why that failed, since the backup is made."""
    details = {"payments": found.payments, "bytes": found.size}
    try:
        _in_file(
            Path(sqlite_path(settings.database_url)),
            lambda tx: audit.record(tx, audit.operator(), "backup.made", name, moment, details),
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


def _check_source(source: Path, path: Path) -> None:
    if not source.is_file():
        raise BotError(f"{source}: there is no such file")
    if path.exists() and source.samefile(path):
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


def _delete_leftovers(path: Path, made: Path) -> None:
    """Delete the leftovers of a restore that was killed: copies, and second names of the file."""
    stem, suffix = re.escape(path.stem), re.escape(path.suffix)
    second_name, second_key = (ASIDE.format(stem, STAMP, ending) for ending in (suffix, r"\.key"))
    ours = "|".join([stem + suffix, re.escape(path.with_suffix(KEY).name), second_key])
    for left in snapshot.find_leftovers(path.parent, ours):
        if not left.name.startswith(made.name):
            left.unlink()
    for second in [*path.parent.iterdir()]:
        is_second = re.fullmatch(second_name, second.name)
        if is_second and path.exists() and second.samefile(path):
            second.with_suffix(KEY).unlink(missing_ok=True)
            second.unlink()


def _right_key(settings: Settings, made: Path, source: Path, path: Path) -> str | None:
    """Return the key that opens a backup: the one beside it, SECRET_KEY, or this machine's.

    None where the backup has no secrets. Raises ConfigProblem where no key opens it.
    """
    beside = [one.with_suffix(KEY) for one in (source, path)]
    keys = [_read(one) for one in beside if one.exists()]
    if settings.secret_key is not None:
        keys.insert(1, settings.secret_key.get_secret_value())
    sealed = snapshot.read_sealed_secret(made)
    if sealed is None:
        return keys[0] if keys else None
    for key in keys:
        try:
            Vault(key).open(sealed)
        except ConfigProblem:
            continue
        return key
    raise ConfigProblem(
        f"SECRET_KEY: the secrets in {source} were sealed with another key: set SECRET_KEY to that"
        f" one, or put the key file that was made with it to {beside[0]}"
    )


def _prepare(
    settings: Settings, made: Path, moment: int, keys: tuple[str | None, str | None]
) -> tuple[int, int]:
    """Migrate a copy, and mark its queued messages as doubtful.

    Its secrets are opened with the first of the `keys` and sealed with the second. Returns the
    numbers of doubtful and of unreadable messages.
    """
    (chosen, own), payments = keys, snapshot.read_contents(made).payments

    def work(tx: Transaction) -> tuple[int, int]:
        if chosen and own:
            restored_messages.reseal(tx, Vault(chosen), Vault(own))
        lost = restored_messages.bury_unreadable(tx, moment)
        doubtful = restored_messages.mark_doubtful(tx, settings, moment)
        details = {"payments": payments, "doubtful": doubtful, "unreadable": lost}
        audit.record(tx, audit.operator(), "backup.restored", "database", moment, details)
        return doubtful, lost

    done = _in_file(made, work)
    snapshot.merge_log(made)
    return done


@contextmanager
def _refusing_strange_rows(source: Path) -> Iterator[None]:
    """Raise BotError for any error that rows cause which this program never writes."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise BotError(f"{source}: holds data that this program never wrote: {error!r}") from error
    except sqlite3.Error as error:
        raise BotError(f"{source}: {error}") from error


def _in_file(path: Path, work: Callable[[Transaction], T]) -> T:
    """Run `work` in a database file, after its missing migrations."""
    database = open_database(url_of(path))
    try:
        return database.run(work)
    finally:
        database.close()
