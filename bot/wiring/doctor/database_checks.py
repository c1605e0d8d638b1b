"""Checks of the database, and facts from it that other checks need."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.core import clock
from bot.core.database import inspection, private_files
from bot.core.database.database import (
    SqliteDatabase,
    is_postgres,
    open_database,
    open_for_command,
    sqlite_path,
)
from bot.core.database.schema import migrations
from bot.core.errors import BotError, ConfigProblem, StorageError
from bot.core.outbox import queries
from bot.service.store import exchange_rates, payout_accounts
from bot.service.usecases.letters.letter_limits import MAILS
from bot.service.usecases.letters.payer_receipts import RECEIPTS
from bot.wiring.app.foundation import deployment, open_vault
from bot.wiring.doctor.finding import Finding, fix, ok
from bot.wiring.doctor.money_checks import MoneyFacts
from bot.wiring.maintenance import dead_letters

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.config import Settings
    from bot.core.database.database import Database, Transaction

FIXES = {
    "is locked": "another process has locked it: stop that process, or try again once it is done",
    "readonly": "give the user that runs the bot write access to the file and its folder",
    "unable to open": "check the path: it may be a folder, or its disk may not be mounted",
    "disk I/O error": "check the disk: it may be full or failing",
    "is full": "free up space on its disk",
    "malformed": "it is damaged: restore the last backup",
    "not a database": "the file is something else: check the path",
}
"""The fix for each error of SQLite, by words of its message."""

MEGABYTE = 1_000_000
LARGEST_LOG = 512
"""Megabytes of the -wal file: a larger one means that SQLite can't empty it."""

UPDATES_SEARCHED = 1000
"""Number of the newest updates searched for inline feedback."""

FEEDBACK = '"chosen_inline_result":'
"""JSON that is part of an update about a card that was shared inline."""

NO_MONEY = MoneyFacts({}, None)


@dataclass(frozen=True, slots=True)
class DatabaseReport:
    """Findings about the database, and facts from it.

    `deployment` is the name of this installation, None if the database can't be read.
    `inline_feedback` is true once Telegram has reported a shared card.
    """

    findings: list[Finding] = field(default_factory=list)
    deployment: str | None = None
    unsent_mails: int = 0
    inline_feedback: bool = False
    money: MoneyFacts = NO_MONEY


def check(settings: Settings, now: Callable[[], int] = clock.now) -> DatabaseReport:
    """Open the database once, check it and read the facts; a missing one is not created."""
    try:
        database = _open(settings.database_url)
    except BotError as error:
        return DatabaseReport([_unusable(str(error))])
    try:
        return _examine(settings, database, now)
    except StorageError as error:
        return DatabaseReport([_unusable(str(error))])
    except ConfigProblem as error:
        return DatabaseReport([fix("SECRET_KEY", str(error).removeprefix("SECRET_KEY: "))])
    finally:
        database.close()


def _open(url: str) -> Database:
    """Open a database that exists. Raises BotError."""
    if is_postgres(url) or not Path(sqlite_path(url)).exists():
        return open_for_command(url, writing=True)
    return open_database(url, writing=True)  # whatever is there: SQLite's own words help best


def _examine(settings: Settings, database: Database, now: Callable[[], int]) -> DatabaseReport:
    name = deployment(database, open_vault(settings, database))
    given_up = database.run(dead_letters.describe)
    findings = _check_database(settings, database, now)
    return DatabaseReport(
        [*findings, *(fix(queue, text) for queue, text in given_up.items())],
        name,
        database.run(_count_unsent_mails),
        database.run(_had_inline_feedback),
        database.run(_money_facts),
    )


def _unusable(reason: str) -> Finding:
    fixes = (text for words, text in FIXES.items() if words in reason)
    return fix("database", "; ".join([reason, *fixes]))


def _check_database(
    settings: Settings, database: Database, now: Callable[[], int]
) -> list[Finding]:
    later = [fix("database", text) for text in [_check_version(database)] if text]
    if isinstance(database, SqliteDatabase):
        found = [*later, *_check_file(database.path)]
        return found or [ok("database", settings.database_url)]
    from bot.wiring.doctor.cluster_checks import check_cluster  # noqa: PLC0415 - loads psycopg

    return [*later, *check_cluster(settings, database, now)]


def _check_file(path: str) -> list[Finding]:
    found = [_check_damage(path), _check_log(path), _check_permissions(path)]
    return [fix("database", text) for text in found if text]


def _check_version(database: Database) -> str | None:
    (row,) = database.run(lambda tx: tx.query("SELECT MAX(number) AS number FROM migrations"))
    if row["number"] <= len(migrations.MIGRATIONS):
        return None
    return "a later version of this program has changed it: update, or restore an earlier backup"


def _check_damage(path: str) -> str | None:
    try:
        found = inspection.find_damage(path)
    except sqlite3.Error as error:
        return f"it can't be checked: {error}"
    return None if found is None else f"it is damaged ({found}): restore the last backup"


def _check_log(path: str) -> str | None:
    try:
        size = Path(path + "-wal").stat().st_size // MEGABYTE
    except OSError:
        return None
    if size <= LARGEST_LOG:
        return None
    return (
        f"its -wal file has grown to {size} MB: close whatever keeps reading the database, such as"
        " a forgotten sqlite3, and restart the bot"
    )


def _check_permissions(path: str) -> str | None:
    """Check that no other user can read payers' data or forge it."""
    files = " ".join(map(str, private_files.find_exposed(private_files.database_files(path))))
    return (
        f"other users of this machine can read or change it: chmod 600 {files}" if files else None
    )


def _count_unsent_mails(tx: Transaction) -> int:
    names = {MAILS.name, RECEIPTS.name}
    return sum(one.number for one in queries.count_waiting(tx) if one.queue in names)


def _money_facts(tx: Transaction) -> MoneyFacts:
    return MoneyFacts(payout_accounts.count_by_kind(tx), exchange_rates.newest(tx))


def _had_inline_feedback(tx: Transaction) -> bool:
    newest = queries.newest_settled_texts(tx, "updates", UPDATES_SEARCHED)
    return any(FEEDBACK in text for text in newest)
