"""A copy of a database, made ready to become the database of this installation."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from bot.core.database import snapshot
from bot.core.database.database import open_database, url_of
from bot.core.database.vault import Vault
from bot.core.errors import BotError, Unreadable
from bot.core.ops import audit
from bot.core.outbox import bulk_changes
from bot.wiring.maintenance import restored_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bot.config import Settings
    from bot.core.database.database import Transaction

T = TypeVar("T")
Keys = tuple[str | None, str | None]
"""The key that opens a copy, and the key to seal its secrets with."""


def stamp(moment: int) -> str:
    """Write a time (epoch ms) as names of files have it: `files.STAMP`."""
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def prepare_restored(settings: Settings, made: Path, moment: int, keys: Keys) -> tuple[int, int]:
    """Migrate a copy that goes back in time, and mark its queued messages as doubtful.

    Returns the numbers of doubtful and of unreadable messages.
    """
    payments = snapshot.read_contents(made).payments

    def work(tx: Transaction) -> tuple[int, int]:
        _reseal(tx, keys)
        lost = restored_messages.bury_unreadable(tx, moment)
        doubtful = restored_messages.mark_doubtful(tx, settings, moment)
        details = {"payments": payments, "doubtful": doubtful, "unreadable": lost}
        audit.record(tx, audit.operator(), "backup.restored", "database", moment, details)
        return doubtful, lost

    return _finished(made, work)


def prepare_moved(made: Path, moment: int, keys: Keys) -> None:
    """Migrate a copy that goes on where its database stopped: nothing in it is doubtful."""
    payments = snapshot.read_contents(made).payments

    def work(tx: Transaction) -> None:
        _reseal(tx, keys)
        bulk_changes.end_leases(tx)
        details = {"payments": payments}
        audit.record(tx, audit.operator(), "database.moved", "database", moment, details)

    _finished(made, work)


def in_file(path: Path, work: Callable[[Transaction], T]) -> T:
    """Run `work` in a database file, after its missing migrations."""
    with closing(open_database(url_of(path))) as database:
        return database.run(work)


@contextmanager
def refusing_strange_rows(source: Path) -> Iterator[None]:
    """Raise BotError for any error that rows cause which this program never writes."""
    try:
        yield
    except Unreadable as error:
        raise BotError(f"{source}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise BotError(f"{source}: holds data that this program never wrote: {error!r}") from error
    except sqlite3.Error as error:
        raise BotError(f"{source}: {error}") from error


def _reseal(tx: Transaction, keys: Keys) -> None:
    chosen, own = keys
    if chosen and own:
        restored_messages.reseal(tx, Vault(chosen), Vault(own))


def _finished(made: Path, work: Callable[[Transaction], T]) -> T:
    done = in_file(made, work)
    snapshot.merge_log(made)
    return done
