"""Checks of the database, and facts from the database for other checks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bot import config
from bot.app import resources
from bot.app.doctor import finding, money_checks
from bot.app.maintenance import dead_letters
from bot.core import clock, errors
from bot.core.database import database, inspection, migrations, opening, private_files, sqlite, urls
from bot.core.outbox import queries
from bot.service.notifications import payer_letters, recipients
from bot.service.payouts import account_rows
from bot.service.rails import exchange_rates

FIXES = {
    "is locked": "another process has locked it: stop that process, or try again once it is done",
    "readonly": "give the user that runs the bot write access to the file and its folder",
    "unable to open": "check the path: it may be a folder, or its disk may not be mounted",
    "disk I/O error": "check the disk: it may be full or failing",
    "is full": "free up space on its disk",
    "malformed": "it is damaged: restore the last backup",
    "not a database": "the file is something else: check the path",
}
"""The fix for each SQLite error, by words of the error's message."""

MEGABYTE = 1_000_000
LARGEST_LOG = 512
"""Megabytes of the -wal file: a larger file means that SQLite can't empty it."""

UPDATES_SEARCHED = 1000
"""Number of the newest updates searched for inline feedback."""

FEEDBACK = '"chosen_inline_result":'
"""The JSON key that marks an update about a card shared inline."""

NO_MONEY = money_checks.MoneyFacts({}, None)


@dataclass(frozen=True, slots=True)
class DatabaseReport:
    """Findings and facts about the database."""

    findings: list[finding.Finding] = field(default_factory=list)
    deployment: str | None = None
    """The name of this installation; None if the database can't be read."""
    unsent_mails: int = 0
    inline_feedback: bool = False
    """True once Telegram has reported a shared card."""
    money: money_checks.MoneyFacts = NO_MONEY


def check(settings: config.Settings, now: Callable[[], int] = clock.now) -> DatabaseReport:
    """Check the database and read the facts; a missing database is not created."""
    try:
        database = _open(settings.database_url)
    except errors.BotError as error:
        return DatabaseReport([_unusable(str(error))])
    try:
        return _examine(settings, database, now)
    except errors.StorageError as error:
        return DatabaseReport([_unusable(str(error))])
    except errors.ConfigProblem as error:
        return DatabaseReport([finding.fix("SECRET_KEY", str(error).removeprefix("SECRET_KEY: "))])
    finally:
        database.close()


def _open(url: str) -> database.Database:
    """Open an existing database. Raises BotError."""
    if urls.is_postgres(url) or not Path(urls.sqlite_path(url)).exists():
        return opening.open_for_command(url, writing=True)
    # Whatever is at the path is opened, because SQLite's own error message helps best.
    return opening.open_database(url, writing=True)


def _examine(
    settings: config.Settings, database: database.Database, now: Callable[[], int]
) -> DatabaseReport:
    name = resources.deployment(database, resources.open_vault(settings, database))
    findings = _check_database(settings, database, now)
    given_up = database.run(dead_letters.describe)
    findings += [finding.fix(queue, text) for queue, text in given_up.items()]
    return database.run(lambda tx: _read_facts(tx, findings, name))


def _read_facts(
    tx: database.Transaction, findings: list[finding.Finding], deployment: str
) -> DatabaseReport:
    mail_queues = {recipients.MAILS.name, payer_letters.RECEIPTS.name}
    newest_updates = queries.newest_settled_texts(tx, "updates", UPDATES_SEARCHED)
    return DatabaseReport(
        findings,
        deployment,
        sum(one.number for one in queries.count_waiting(tx) if one.queue in mail_queues),
        any(FEEDBACK in text for text in newest_updates),
        money_checks.MoneyFacts(account_rows.count_by_kind(tx), exchange_rates.newest_answer(tx)),
    )


def _unusable(reason: str) -> finding.Finding:
    fixes = (text for words, text in FIXES.items() if words in reason)
    return finding.fix("database", "; ".join([reason, *fixes]))


def _check_database(
    settings: config.Settings, database: database.Database, now: Callable[[], int]
) -> list[finding.Finding]:
    problems = [_check_version(database)]
    if isinstance(database, sqlite.SqliteDatabase):
        path = database.path
        problems += [_check_damage(path), _check_log(path), _check_permissions(path)]
        found = [finding.fix("database", text) for text in problems if text]
        return found or [finding.ok("database", settings.database_url)]
    from bot.app.doctor import cluster_checks  # noqa: PLC0415 - loads psycopg

    later = [finding.fix("database", text) for text in problems if text]
    return [*later, *cluster_checks.check_cluster(settings, database, now)]


def _check_version(database: database.Database) -> str | None:
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
    """Check that no other user can read or change payers' data."""
    exposed = private_files.find_exposed(private_files.database_files(path))
    if not exposed:
        return None
    files = " ".join(map(str, exposed))
    return f"other users of this machine can read or change it: chmod 600 {files}"
