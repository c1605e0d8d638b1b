"""Checks of the database: its file or server, its replicas, dead letters; and facts from it."""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bot.app import resources
from bot.app.doctor import findings
from bot.chat.model import queues
from bot.core import errors
from bot.core.database import database, migrations, opening, private_files, snapshot, urls
from bot.core.outbox import queries
from bot.core.replicas import membership
from bot.core.text import sanitize
from bot.service.notifications import payer_letters, recipients
from bot.service.payments import account_rows
from bot.service.rails import exchange_rates

if TYPE_CHECKING:
    from bot.core.database.postgres import checks

UPDATES_SEARCHED = 1000
"""Number of the newest updates searched for inline feedback."""

FEEDBACK = '"chosen_inline_result":'
"""The JSON key that marks an update about a card shared inline."""

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


def read(installation: findings.Installation) -> findings.Installation:
    """Add what the database knows, and the findings about it; a missing one is not created."""
    try:
        with closing(_open(installation.settings.database_url)) as db:
            return _read(installation, db)
    except errors.BotError as error:
        text = str(error)
        if text.startswith("SECRET_KEY: "):
            unusable = findings.fix("SECRET_KEY", text.removeprefix("SECRET_KEY: "))
        else:
            fixes = (fix for words, fix in FIXES.items() if words in text)
            unusable = findings.fix("database", "; ".join([text, *fixes]))
        return replace(installation, database=[unusable])


def _open(url: str) -> database.Database:
    """Open an existing database. Raises BotError."""
    if urls.is_postgres(url) or not Path(urls.sqlite_path(url)).exists():
        return opening.open_for_command(url, writing=True)
    # Whatever is at the path is opened, because SQLite's own error message helps best.
    return opening.open_database(url, writing=True)


def _read(installation: findings.Installation, db: database.Database) -> findings.Installation:
    settings = installation.settings
    deployment = resources.deployment(db, resources.open_vault(settings, db))
    if urls.is_postgres(settings.database_url):
        found = _ask_server(installation, db)
    else:
        problems = _file_problems(settings.database_url, db.run(_version))
        found = findings.judged("database", problems, settings.database_url)
    mail_queues = {recipients.MAILS.name, payer_letters.RECEIPTS.name}

    def read(tx: database.Transaction) -> findings.Installation:
        newest_updates = queries.newest_settled_texts(tx, "updates", UPDATES_SEARCHED)
        return replace(
            installation,
            database=[*found, *_dead_letters(tx)],
            deployment=deployment,
            unsent_mails=sum(
                one.number for one in queries.count_waiting(tx) if one.queue in mail_queues
            ),
            inline_feedback=any(FEEDBACK in text for text in newest_updates),
            accounts=account_rows.count_by_kind(tx),
            rated_at=exchange_rates.newest_answer(tx),
        )

    return db.run(read)


def _version(tx: database.Transaction) -> int:
    return int(tx.query("SELECT MAX(number) AS number FROM migrations")[0]["number"])


def _version_problems(version: int) -> Iterator[str]:
    if version > len(migrations.MIGRATIONS):
        yield "a later version of this program has changed it: update, or restore an earlier backup"


# A SQLite file.

MEGABYTE = 1_000_000
LARGEST_LOG = 512
"""Megabytes of the -wal file: a larger file means that SQLite can't empty it."""


def _file_problems(url: str, version: int) -> Iterator[str]:
    """Check a database file; `version` is the number of its newest migration."""
    yield from _version_problems(version)
    path = urls.sqlite_path(url)
    try:
        damage = snapshot.find_damage(path)
    except sqlite3.Error as error:
        yield f"it can't be checked: {error}"
    else:
        if damage is not None:
            yield f"it is damaged ({damage}): restore the last backup"
    log = Path(path + "-wal")
    size = log.stat().st_size // MEGABYTE if log.exists() else 0
    if size > LARGEST_LOG:
        yield (
            f"its -wal file has grown to {size} MB: close whatever keeps reading the database, such"
            " as a forgotten sqlite3, and restart the bot"
        )
    if exposed := private_files.find_exposed(private_files.database_files(path)):
        command = private_files.closing_command(exposed)
        yield f"other users of this machine can read or change it: {command}"


# A PostgreSQL server, and the replicas that share a database on it.

LARGEST_SKEW = 1000
"""Milliseconds by which clocks may differ: leases, due times and rate limits allow for it."""

CONNECTIONS = 10
"""Connections of one replica: four for writing, three for reading, and one each for notifications,
checks and heartbeats."""

SHOWN_COLUMNS = 3
"""The most columns that a finding names."""

SPARE = 2
"""Replicas to allow for in addition to the running ones: a new replica during an upgrade, and
commands."""

NEEDED_LIMITS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
"""Limits that the bot sets for each of its connections, in milliseconds; 0 means no limit."""

LISTEN_SECONDS = 2.5 * membership.HEARTBEAT_TIMEOUTS.beat
"""Seconds between two surveys of the replicas: each live replica sends two heartbeats meanwhile."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and what its replicas take of it."""

    url: str
    """The DATABASE_URL."""
    version: int
    """The number of the database's newest migration."""
    facts: checks.ServerFacts
    limits: Mapping[str, int]
    """The limits of the bot's connections, in milliseconds."""
    replicas: int


def _server_problems(it: Server) -> Iterator[str | findings.Finding]:
    yield from _version_problems(it.version)
    facts = it.facts
    if not facts.fsync:
        yield "fsync is off: a power cut may destroy the database. Set fsync = on in its settings"
    if not facts.synchronous_commit:
        yield (
            "synchronous_commit is off: a crash of the server loses payments that were confirmed."
            " Set synchronous_commit = on"
        )
    if facts.encoding != "UTF8":
        yield (
            f"its encoding is {facts.encoding}, which lacks most names: create a database with"
            " ENCODING 'UTF8' TEMPLATE template0, and restore a backup into it"
        )
    if facts.columns:
        named = ", ".join(facts.columns[:SHOWN_COLUMNS])
        others = len(facts.columns) - SHOWN_COLUMNS
        more = f" and {others} more" if others > 0 else ""
        yield (
            f"text isn't sorted by its bytes in {named}{more}: another program has made or changed"
            " these columns. Restore a backup into a new database"
        )
    if not facts.may_create:
        yield (
            "the user may not create tables, so that the next version can't be started: GRANT"
            " CREATE ON SCHEMA public TO the user"
        )
    if facts.is_pooled and not urls.postgres_address(it.url).is_pooled:
        yield (
            "a pooler gives each transaction another connection of the server: add"
            " pooler=transaction to the parameters of DATABASE_URL"
        )
    if missing := [name for name in NEEDED_LIMITS if not it.limits.get(name)]:
        yield (
            f"{', '.join(missing)} isn't in force, so that a replica that stands still keeps its"
            " locks: a pooler or proxy drops the bot's settings. Set them for the user (ALTER ROLE"
            " … SET), or add pooler=transaction to DATABASE_URL if that is a pooler"
        )
    if not facts.is_pooled:
        yield from (findings.fix("connections", text) for text in _connection_problems(it))
    if abs(facts.skew) > LARGEST_SKEW:
        where = "ahead of" if facts.skew > 0 else "behind"
        yield findings.fix(
            "clock",
            f"this machine's clock is {abs(facts.skew) / 1000:.1f} seconds {where} the database"
            " server's: synchronize both (NTP), since replicas act at times of their own clocks",
        )


def _connection_problems(it: Server) -> Iterator[str]:
    usable, used, needed = it.facts.usable, it.facts.used, CONNECTIONS * (it.replicas + SPARE)
    if usable < needed:
        running = "1 replica" if it.replicas == 1 else f"{it.replicas} replicas"
        yield (
            f"the server grants this user {usable} connections, and {running} and an upgrade"
            f" take up to {needed}: raise max_connections, or the limit of the user or the"
            " database, or use a pooler"
        )
    elif usable - used < CONNECTIONS:
        yield (
            f"{used} of {usable} connections are in use, and a replica that starts takes"
            f" {CONNECTIONS}: end what else uses the server, or raise max_connections"
        )


def judge_server(it: Server) -> list[findings.Finding]:
    """Return what is wrong with a server, or else its description."""
    facts = it.facts
    timeline = "" if facts.timeline is None else f", timeline {facts.timeline}"
    pooler = ", behind a pooler" if facts.is_pooled else ""
    used = f"{facts.used} of {facts.usable} connections in use"
    well = f"{urls.safe_url(it.url)}: PostgreSQL {facts.version}{timeline}{pooler}, {used}"
    return findings.judged("database", _server_problems(it), well)


@dataclass(frozen=True, slots=True)
class Replicas:
    """The replicas that share a database, as two surveys found them."""

    before: Sequence[membership.ReplicaRow]
    after: Sequence[membership.ReplicaRow]
    lead: database.WriteLease | None
    seconds: float
    """The time between the surveys."""
    digests: str
    """The digests of our settings."""

    @property
    def living(self) -> list[membership.ReplicaRow]:
        """Return the replicas whose hearts beat between the surveys."""
        beats = {one.owner: one.beat for one in self.before}
        return [one for one in self.after if beats.get(one.owner) != one.beat]


def survey_replicas(
    tx: database.Transaction,
) -> tuple[list[membership.ReplicaRow], database.WriteLease | None]:
    """Read the replicas and the lead: the chat's, or the service's if there was never a chat."""
    leads = membership.find_leads(tx)
    lead = leads.get(queues.WRITE_SCOPE, leads.get(resources.SERVICE))
    return membership.find_all(tx), lead


def _replica_problems(it: Replicas) -> Iterator[str | findings.Finding]:
    living = it.living
    for one in it.after:
        if one not in living:
            yield (
                f"{one.owner} ({one.role}) hasn't been heard from for {it.seconds:.0f} seconds: it"
                " was killed, stands still, or can't reach the database. The others take over its"
                " work; see its log, and start it again"
            )
    if living and (it.lead is None or it.lead.owner not in {one.owner for one in living}):
        fix = "run doctor again in 15 seconds; if this stays, see the replicas' logs"
        if all(one.role == "api" for one in living):
            fix = "all replicas run with --role api; start one with --role all or lead"
        text = f"nobody leads, so no update is read and no message is sent: {fix}"
        yield findings.fix("lead", text)
    owners = defaultdict(list)
    for one in living:
        owners[one.migration, one.version].append(one.owner)
    if len(owners) > 1:
        named = "; ".join(
            f"{version} (schema {migration}): {', '.join(names)}"
            for (migration, version), names in sorted(owners.items())
        )
        yield f"different versions are running: {named}. Restart the older ones to end the upgrade"
    for one in living:
        if names := resources.find_differences(it.digests, one.settings):
            yield (
                f"{one.owner} was started with other settings than those here: {', '.join(names)}."
                " Give all replicas the same, and restart those with old ones"
            )


def judge_replicas(it: Replicas) -> list[findings.Finding]:
    """Return what is wrong with the replicas, or else a line for each."""
    lines = []
    for one in it.living:
        since = datetime.fromtimestamp(one.started_at / 1000, UTC).isoformat(timespec="seconds")
        leads = f", leads in term {it.lead.term}" if it.lead and it.lead.owner == one.owner else ""
        lines.append(f"{one.owner}  {one.role}, version {one.version}, since {since}{leads}")
    number = {0: "none is running", 1: "1 is running"}.get(len(lines), f"{len(lines)} are running")
    return findings.judged("replicas", _replica_problems(it), "\n    ".join([number, *lines]))


def _ask_server(
    installation: findings.Installation, db: database.Database
) -> list[findings.Finding]:
    """Ask the server, then watch the replicas' heartbeats. Raises StorageError."""
    from bot.core.database.postgres import checks  # noqa: PLC0415 - loads psycopg

    url, began = installation.settings.database_url, time.monotonic()
    before, _ = db.run(survey_replicas)
    facts = checks.read_facts(url, installation.now)
    settings = db.run(lambda tx: tx.query("SELECT name, setting FROM pg_settings"))
    limits = {row["name"]: int(row["setting"]) for row in settings if row["name"] in NEEDED_LIMITS}
    server = Server(url, db.run(_version), facts, limits, replicas=max(1, len(before)))
    change = db.run(checks.find_change)
    if before:
        time.sleep(max(0.0, began + LISTEN_SECONDS - time.monotonic()))
    after, lead = db.run(survey_replicas)
    digests = resources.digest_settings(installation.settings)
    replicas = Replicas(before, after, lead, time.monotonic() - began, digests)
    return [
        *judge_server(server),
        *([findings.fix("timeline", change)] if change else []),
        *judge_replicas(replicas),
    ]


# Dead letters: when, where and why, without their text.

SHOWN = 10
"""Number of the newest dead letters shown for each queue."""

LONGEST_NOTE = 160
LONGEST_LANE = 60

NOTIFICATIONS = "see `deliveries list --state dead`; `deliveries retry ID` sends one again"
LOG = "see the log at these times"
REMEDIES = {
    "updates": f"{LOG}; their senders were asked to try again",
    "jobs": f"{LOG}; sellers see it in the chat and can try again",
    "messages": f"{LOG}; they are not sent again",
    "answers": f"{LOG}; people can press the button again",
    "photos": f"{LOG}; sellers can send the photo again",
    "files": f"{LOG}; sellers can send the file again",
    "webhooks": NOTIFICATIONS,
    "own_webhooks": NOTIFICATIONS,
    "mails": NOTIFICATIONS,
    "receipts": NOTIFICATIONS,
    "served": f"{LOG}; some payers got no email that what they bought is here",
}


def _dead_letters(tx: database.Transaction) -> Iterator[findings.Finding]:
    for queue, number in queries.count_by_queue(tx, queries.DEAD).items():
        lines = [f"{number} dead letters: {REMEDIES.get(queue, LOG)}"]
        for lane, settled_at, reason in (newest := queries.newest_dead(tx, queue, SHOWN)):
            when = datetime.fromtimestamp(settled_at / 1000, UTC).isoformat(timespec="seconds")
            note = sanitize.line(reason or "no reason recorded", LONGEST_NOTE)
            lines.append(f"{when}  {sanitize.line(lane, LONGEST_LANE)}  {note}")
        if number > len(newest):
            lines.append(f"and {number - len(newest)} older")
        yield findings.fix(queue, "\n       ".join(lines))
