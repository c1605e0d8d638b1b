"""Restores into a PostgreSQL server: of a backup, or in place after a recovery of its own."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bot.core.database import snapshot, timelines
from bot.core.database.database import safe_url
from bot.core.database.transfer import copies
from bot.core.database.vault import Vault
from bot.core.errors import BotError, ConfigProblem
from bot.core.ops import audit
from bot.service.usecases.applications import EMBEDDED
from bot.wiring.maintenance import key_files, prepared_copies, restored_messages, restores
from bot.wiring.maintenance.restores import Restored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bot.config import Settings

HOLDS_DATA = "restore --replace moves it aside, into another schema"


def restore(settings: Settings, source: Path, moment: int, *, replace: bool) -> Restored:
    """Load a backup into the server of DATABASE_URL, while the bot is stopped everywhere.

    `moment` is in epoch ms. Tables with data are moved aside, with `replace` only. Raises BotError
    and ConfigProblem, and then nothing has changed.
    """
    url, own = settings.database_url, secret_key(settings)
    restores.check_source(source)
    refusal = None if replace else HOLDS_DATA
    with workplace(source) as made, copies.unused(url, EMBEDDED, refusal) as destination:
        snapshot.copy_database(source, made)
        snapshot.check_foreign(made, source)
        found = snapshot.read_contents(made)
        keys = key_files.find_key(settings, made, source), own
        with prepared_copies.refusing_strange_rows(source):
            doubtful, lost = prepared_copies.prepare_restored(settings, made, moment, keys)
            aside = destination.load(made, prepared_copies.stamp(moment))
    place = safe_url(url)
    return Restored(place, f"schema {aside}" if aside else None, found, doubtful, lost)


def restore_in_place(settings: Settings, moment: int) -> tuple[int, int]:
    """Mark the queued messages of a database that its server put back in time, as `restore` does.

    Returns the numbers of doubtful and of unreadable messages. Raises BotError and ConfigProblem,
    and then nothing has changed.
    """
    vault = Vault(secret_key(settings))
    with copies.in_place(settings.database_url) as tx:
        restored_messages.check_seals(tx, vault)
        lost = restored_messages.bury_unreadable(tx, moment)
        doubtful = restored_messages.mark_doubtful(tx, settings, moment)
        details = {"doubtful": doubtful, "unreadable": lost}
        audit.record(tx, audit.operator(), "backup.restored", "database", moment, details)
        copies.forget_processes(tx)
        timelines.accept(tx)
    return doubtful, lost


def secret_key(settings: Settings) -> str:
    """Return SECRET_KEY. Raises ConfigProblem where it is not set: a server has no key file."""
    if settings.secret_key is None:
        raise ConfigProblem("SECRET_KEY: PostgreSQL needs it, for no key file lies beside a server")
    return settings.secret_key.get_secret_value()


@contextmanager
def workplace(source: Path) -> Iterator[Path]:
    """Create an empty file in a folder of its own that only we can read; delete both at the end."""
    try:
        with TemporaryDirectory(prefix="bot-restore-") as folder:
            made = Path(folder) / source.name
            made.touch(mode=0o600)
            yield made
    except OSError as error:
        raise BotError(f"{error.filename or 'TMPDIR'}: {error.strerror}") from error
