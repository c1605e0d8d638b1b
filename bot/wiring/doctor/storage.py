"""The database: whether it opens, is whole and is ours, and what it tells of the rest."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.core.database import integrity, private_files
from bot.core.database.database import open_database
from bot.core.database.schema import migrations
from bot.core.errors import BotError, ConfigProblem, StorageError
from bot.service.usecases.letter_limits import MAILS
from bot.wiring.app.foundation import deployment, open_vault
from bot.wiring.doctor.finding import Finding, mend, well
from bot.wiring.maintenance.dead_letters import describe as left

if TYPE_CHECKING:
    from bot.config import Settings
    from bot.core.database.database import Database, Transaction

REMEDIES = {
    "is locked": "another process holds it: end that one, or look again once it is done",
    "readonly": "let the user that runs the bot write the file and its folder",
    "unable to open": "look at the path: is it a folder, is its disk there?",
    "disk I/O error": "look at the disk: is it full or failing?",
    "is full": "make room on its disk",
    "malformed": "it is damaged: take the last backup",
    "not a database": "it is another file: look at the path",
}
"""What mends what SQLite says, by words of it."""

MEGABYTE = 1_000_000
LARGEST_LOG = 512
"""Megabytes of the -wal beyond which something keeps SQLite from emptying it."""

LOOKED_THROUGH = 1000
"""How many of the newest updates are looked through for one of a kind."""

WAITING_MAILS = "SELECT COUNT(*) AS n FROM outbox WHERE queue = :queue AND state = 'waiting'"
FEEDBACK = (
    "SELECT 1 AS one FROM (SELECT body FROM outbox WHERE queue = 'updates'"
    " AND settled_at IS NOT NULL ORDER BY settled_at DESC LIMIT :most) AS newest"
    " WHERE body LIKE '%\"chosen_inline_result\":%' LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is found in the database, and what it tells of the rest.

    `deployment` is the name of this installation, None where nobody can say; `mails` how many
    e-mails wait; `feedback` whether Telegram ever told of a card that was shared.
    """

    findings: list[Finding] = field(default_factory=list)
    deployment: str | None = None
    mails: int = 0
    feedback: bool = False


def look(settings: Settings) -> Kept:
    """Open the database once, see whether it is whole, and ask it."""
    try:
        database = open_database(settings.database_url, writing=True)
    except BotError as error:
        return Kept([_unusable(str(error))])
    try:
        return _ask(settings, database)
    except StorageError as error:
        return Kept([_unusable(str(error))])
    except ConfigProblem as error:
        return Kept([mend("SECRET_KEY", str(error).removeprefix("SECRET_KEY: "))])
    finally:
        database.close()


def _ask(settings: Settings, database: Database) -> Kept:
    name = deployment(database, open_vault(settings, database))
    leftovers = database.run(left)
    findings = _file(database) or [well("database", settings.database_url)]
    return Kept(
        [*findings, *(mend(queue, text) for queue, text in leftovers.items())],
        name,
        database.run(_waiting_mails),
        database.run(_feedback),
    )


def _unusable(reason: str) -> Finding:
    """Say how what SQLite says is mended, where it does not say so itself."""
    remedies = (remedy for words, remedy in REMEDIES.items() if words in reason)
    return mend("database", "; ".join([reason, *remedies]))


def _file(database: Database) -> list[Finding]:
    """Give what is wrong with the file, beside that it opens."""
    path = database.path
    found = [_version(database), _damage(path), _log(path), _mode(path)]
    return [mend("database", text) for text in found if text]


def _version(database: Database) -> str | None:
    (row,) = database.run(lambda tx: tx.query("SELECT MAX(number) AS number FROM migrations"))
    if row["number"] <= len(migrations.MIGRATIONS):
        return None
    return "a later version of this program has changed it: update, or take the backup of before"


def _damage(path: str) -> str | None:
    try:
        found = integrity.find_damage(path)
    except sqlite3.Error as error:
        return f"it can't be looked through: {error}"
    return None if found is None else f"it is damaged ({found}): take the last backup"


def _log(path: str) -> str | None:
    try:
        size = Path(path + "-wal").stat().st_size // MEGABYTE
    except OSError:
        return None
    if size <= LARGEST_LOG:
        return None
    return (
        f"{size} MB lie in its -wal: end what reads it without end, such as a forgotten sqlite3,"
        " and start the bot again"
    )


def _mode(path: str) -> str | None:
    """What others may read, payers told us; what others may write, they may forge."""
    files = " ".join(map(str, private_files.find_exposed(private_files.database_files(path))))
    return f"others on this machine may read or write it: chmod 600 {files}" if files else None


def _waiting_mails(tx: Transaction) -> int:
    return int(tx.query(WAITING_MAILS, queue=MAILS.name)[0]["n"])


def _feedback(tx: Transaction) -> bool:
    return tx.one(FEEDBACK, most=LOOKED_THROUGH) is not None
