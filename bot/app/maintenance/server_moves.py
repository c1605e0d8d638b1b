"""Restoring a PostgreSQL server: from a backup, or in place after the server's own recovery."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bot import config
from bot.app.maintenance import backups, prepared_copies
from bot.core import errors
from bot.core.database import snapshot, timelines, urls
from bot.core.database.postgres import transfer
from bot.core.database.vault import Vault
from bot.core.ops import audit
from bot.service.requests import applications

RESTORE_HOLDS_DATA = "restore --replace moves it aside, into another schema"


def restore_into_server(
    settings: config.Settings, source: Path, moment: int, *, replace: bool
) -> backups.Restored:
    """Load a backup into the server of DATABASE_URL, while the bot is stopped everywhere.

    `moment` is in epoch ms. Tables with data are moved aside, but only with `replace`. Raises
    BotError and ConfigProblem, and then nothing has changed.
    """
    url, own = settings.database_url, secret_key(settings)
    backups.check_source(source)
    refusal = None if replace else RESTORE_HOLDS_DATA
    with (
        workplace(source) as made,
        transfer.open_destination(url, applications.EMBEDDED, refusal) as destination,
    ):
        snapshot.copy_database(source, made)
        snapshot.check_foreign(made, source)
        found = snapshot.read_contents(made)
        keys = prepared_copies.find_key(settings, made, source), own
        with prepared_copies.refusing_strange_rows(source):
            doubtful, lost = prepared_copies.prepare_restored(settings, made, moment, keys)
            aside = destination.load(made, prepared_copies.stamp(moment))
    place = urls.safe_url(url)
    return backups.Restored(place, f"schema {aside}" if aside else None, found, doubtful, lost)


def restore_in_place(settings: config.Settings, moment: int) -> tuple[int, int]:
    """Mark the queued messages of a database that its server put back in time, as `restore` does.

    Returns the numbers of doubtful and of unreadable messages. Raises BotError and ConfigProblem,
    and then nothing has changed.
    """
    vault = Vault(secret_key(settings))
    with transfer.open_in_place(settings.database_url) as tx:
        prepared_copies.check_seals(tx, vault)
        lost = prepared_copies.dead_letter_unreadable(tx, moment)
        doubtful = prepared_copies.mark_doubtful(tx, settings, moment)
        details = {"doubtful": doubtful, "unreadable": lost}
        audit.record(tx, audit.operator(), "backup.restored", "database", moment, details)
        transfer.forget_processes(tx)
        timelines.accept(tx)
    return doubtful, lost


def secret_key(settings: config.Settings) -> str:
    """Return SECRET_KEY. Raises ConfigProblem if it is not set: a server has no key file."""
    if settings.secret_key is None:
        raise errors.ConfigProblem(
            "SECRET_KEY: PostgreSQL needs it, for no key file lies beside a server"
        )
    return settings.secret_key.get_secret_value()


@contextmanager
def workplace(source: Path) -> Iterator[Path]:
    """Create an empty file in its own folder, which only we can read; delete both at the end."""
    try:
        with TemporaryDirectory(prefix="bot-restore-") as folder:
            made = Path(folder) / source.name
            made.touch(mode=0o600)
            yield made
    except OSError as error:
        raise errors.BotError(f"{error.filename or 'TMPDIR'}: {error.strerror}") from error


# The move of an installation from its SQLite file to a PostgreSQL server.


MOVE_HOLDS_DATA = "name an empty database; after a move that was complete, set DATABASE_URL to it"


@dataclass(frozen=True, slots=True)
class Moved:
    """A moved installation: `place` names its server, `former` is its old file."""

    place: str
    former: Path
    contents: snapshot.Contents


def move(settings: config.Settings, url: str, moment: int) -> Moved:
    """Load the database of DATABASE_URL, a file, into the empty server `url`; rename the file.

    The bot must be stopped. No message is marked as doubtful, because no time is lost. Raises
    BotError and ConfigProblem, and then the file is unchanged and the server is empty.
    """
    source = _source(settings, url)
    own = _secret_key(settings, source)
    stamp = prepared_copies.stamp(moment)
    former = source.with_name(urls.MOVED.format(source.stem, stamp, source.suffix))
    with (
        snapshot.held(source) as file,
        workplace(source) as made,
        transfer.open_destination(url, applications.EMBEDDED, MOVE_HOLDS_DATA) as destination,
    ):
        snapshot.copy_held(file, made)
        snapshot.check_foreign(made, source)
        found = snapshot.read_contents(made)
        keys = prepared_copies.find_key(settings, made, source), own
        with prepared_copies.refusing_strange_rows(source):
            prepared_copies.prepare_moved(made, moment, keys)
            destination.load(made, stamp)
        _rename(source, former)
    return Moved(urls.safe_url(url), former, found)


def _source(settings: config.Settings, url: str) -> Path:
    if not urls.is_postgres(url):
        raise errors.BotError("write the address as postgresql://user@host/database")
    if urls.is_postgres(settings.database_url):
        raise errors.BotError(
            "DATABASE_URL: names a server already: set it to the SQLite file to move from"
        )
    return urls.existing_file(settings.database_url)


def _secret_key(settings: config.Settings, source: Path) -> str:
    if settings.secret_key is not None:
        return settings.secret_key.get_secret_value()
    key = source.with_suffix(prepared_copies.KEY)
    raise errors.ConfigProblem(
        "SECRET_KEY: PostgreSQL needs it, since no key file lies beside a server: set it to the"
        f" content of {key} or to a long random text of your own"
    )


def _rename(source: Path, former: Path) -> None:
    """Rename the file and its key, so that no process uses the file by mistake."""
    try:
        key = source.with_suffix(prepared_copies.KEY)
        if key.exists():
            key.rename(former.with_suffix(prepared_copies.KEY))
        source.rename(former)
    except OSError as error:
        raise errors.BotError(
            f"The move is complete, but {source} can't be renamed ({error.strerror}): move it away"
            " yourself before you start the bot"
        ) from error
