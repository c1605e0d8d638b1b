"""Preparing a copy of a database to become this installation's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from bot import config
from bot.chat.model import queues, remote_request
from bot.chat.payments import recording, webhook
from bot.chat.store import link_rows, payment_rows
from bot.core import errors, stored_json
from bot.core.database import database, opening, snapshot, urls, vault
from bot.core.money import amounts
from bot.core.ops import audit
from bot.core.outbox import bulk_changes, queries
from bot.service.checkouts import polling
from bot.service.checkouts.opening import OPENINGS
from bot.service.notifications import notification_queues, payer_letters
from bot.service.payments import payment_reports
from bot.service.requests import request_commands
from bot.service.wire import to_answers

# Key files: the key to a database's secrets, next to its file, used if SECRET_KEY is not set.


KEY = ".key"
"""The extension of a key file."""


def kept_key(settings: config.Settings, path: Path) -> str | None:
    """Return the key in a database's key file; None if SECRET_KEY is set or there is no file."""
    kept = path.with_suffix(KEY)
    if settings.secret_key is not None or not kept.exists():
        return None
    return _read(kept)


def new_key(settings: config.Settings, path: Path, own: str | None) -> str | None:
    """Return the key to store next to a database; None if a key exists already."""
    has_one = settings.secret_key is not None or path.with_suffix(KEY).exists()
    return None if has_one else own


@contextmanager
def key_beside(key: str | None, path: Path) -> Iterator[bool]:
    """Store a key at `path` before its database is stored; delete the key if that fails."""
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


def find_key(settings: config.Settings, made: Path, source: Path, *others: Path) -> str | None:
    """Return the key that opens `made`, a copy of `source`.

    Tried are the key next to `source`, SECRET_KEY, and the keys next to the `others`. Returns None
    if the copy has no secrets. Raises ConfigProblem if no key opens the copy.
    """
    places = [one.with_suffix(KEY) for one in (source, *others)]
    keys = [_read(one) for one in places if one.exists()]
    if settings.secret_key is not None:
        keys.insert(1, settings.secret_key.get_secret_value())
    sealed = snapshot.read_sealed_secret(made)
    if sealed is None:
        return keys[0] if keys else None
    for key in keys:
        try:
            vault.Vault(key).open(sealed)
        except errors.ConfigProblem:
            continue
        return key
    raise errors.ConfigProblem(
        f"SECRET_KEY: the secrets in {source} were sealed with another key: set SECRET_KEY to that"
        f" one, or put the key file that was made with it to {places[0]}"
    )


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BotError(f"{path}: can't be read: {error}") from error


# Queued messages of a restored database that are unreadable, or perhaps sent since the backup.


SEALED = (
    ("kept_secrets", "name", "sealed"),
    ("apps", "id", "webhook_secret"),
    ("apps", "id", "former_webhook_secret"),
    ("payout_accounts", "id", "details"),
)
"""Tables, their keys, and their columns with sealed secrets."""

INWARD = f"http://{request_commands.INTERNAL_HOST}{webhook.PATH}/"
"""The beginning of the addresses of the bot's own webhooks, before a link's token."""

BATCH = 500
"""Messages read at a time."""

UNREADABLE = "its body could not be read"
"""The note on an unreadable message."""

QUEUES = {
    queue.name: queue
    for queue in (*notification_queues.QUEUES, payer_letters.SERVED, OPENINGS, polling.POLLS)
}
"""The service's queues, whose messages have known payloads."""


def reseal_messages(tx: database.Transaction, old: vault.Vault, new: vault.Vault) -> None:
    """Seal all secrets with another key. Raises ConfigProblem if `old` does not open them."""
    for table, key, column in SEALED:
        rows = tx.query(
            f"SELECT {key} AS id, {column} AS sealed FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608 - our own names
        )
        for row in rows:
            tx.execute(
                f"UPDATE {table} SET {column} = :sealed WHERE {key} = :id",  # noqa: S608 - as above
                id=row["id"],
                sealed=new.seal(old.open(str(row["sealed"]))),
            )


def check_seals(tx: database.Transaction, vault: vault.Vault) -> None:
    """Raise ConfigProblem if a secret was sealed with another key."""
    for table, _, column in SEALED:
        sql = f"SELECT {column} AS sealed FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608 - our own names
        for row in tx.query(sql):
            vault.open(row["sealed"])


def mark_doubtful(tx: database.Transaction, settings: config.Settings, now: int) -> int:
    """Mark all queued messages as uncertain; return their number.

    Payments in the bot's own webhooks are recorded now, so that their alerts are uncertain too.
    When the webhooks arrive, the payments are known already.
    """
    rates = (settings.telegram_rate, settings.telegram_chat_rate, settings.telegram_group_rate)
    recorder = recording.RecorderInTransaction(tx, queues.make_queues(*rates), now)
    reports = queries.unsettled_of_queue(tx, notification_queues.OWN_WEBHOOKS)
    for report in (one for one in reports if isinstance(one, payment_reports.WebhookReport)):
        token = report.url.removeprefix(INWARD)
        link = link_rows.link_by_token(tx, token) if token != report.url else None
        if link is not None:
            recorder.record(link.id, _payment(report, link), report.remaining_units)
    return bulk_changes.mark_uncertain(tx)


def _payment(
    report: payment_reports.WebhookReport, link: link_rows.PaymentLink
) -> payment_rows.Payment:
    """Return the payment as the receiver would read it from a webhook's body."""
    paid = remote_request.read_payment(to_answers.event(report).to_json())
    payment = recording.payment_of(paid, report.request_id, link)
    return replace(payment, reserved_units=report.reserved_units or 0)


def dead_letter_unreadable(tx: database.Transaction, now: int) -> int:
    """Turn unreadable queued messages into dead letters; return their number."""
    found, after = 0, ""
    while messages := queries.unsettled_texts(tx, after, BATCH):
        broken = [one for one, queue, text in messages if not _is_readable(queue, text)]
        for message_id in broken:
            bulk_changes.dead_letter_unsettled(tx, message_id, UNREADABLE, now)
        found, after = found + len(broken), messages[-1][0]
    return found


def _is_readable(name: str, text: str) -> bool:
    queue = QUEUES.get(name)
    try:
        body = stored_json.read_object(text)
        payload = queue.decode(text) if queue else None
    except errors.Unreadable:
        return False
    if queue is None:
        return True
    # A value of a wrong type is written differently.
    fields = stored_json.read_object(queue.encode(payload))
    is_exact = all(body[name] == value for name, value in fields.items())
    return is_exact and (
        not isinstance(payload, payment_reports.PaymentReport) or _is_possible(payload)
    )


def _is_possible(report: payment_reports.PaymentReport) -> bool:
    numbers = [report.amount, report.completed_at, report.remaining_units or 0]
    if not all(0 <= number <= amounts.MAX_MINOR for number in numbers):
        return False
    try:
        amounts.exponent(report.currency)
    except errors.MoneyError:
        return False
    return True


T = TypeVar("T")
Keys = tuple[str | None, str | None]
"""The key that opens a copy, and the key that seals its secrets again."""


def stamp(moment: int) -> str:
    """Format a time (epoch ms) for file names, as in `files.STAMP`."""
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def prepare_restored(
    settings: config.Settings, made: Path, moment: int, keys: Keys
) -> tuple[int, int]:
    """Migrate a copy from an earlier time, and mark its queued messages as doubtful.

    Returns the numbers of doubtful and of unreadable messages.
    """
    payments = snapshot.read_contents(made).payments

    def work(tx: database.Transaction) -> tuple[int, int]:
        _reseal(tx, keys)
        lost = dead_letter_unreadable(tx, moment)
        doubtful = mark_doubtful(tx, settings, moment)
        details = {"payments": payments, "doubtful": doubtful, "unreadable": lost}
        audit.record(tx, audit.operator(), "backup.restored", "database", moment, details)
        return doubtful, lost

    return _finished(made, work)


def prepare_moved(made: Path, moment: int, keys: Keys) -> None:
    """Migrate a copy of a database's latest state, in which nothing is doubtful."""
    payments = snapshot.read_contents(made).payments

    def work(tx: database.Transaction) -> None:
        _reseal(tx, keys)
        bulk_changes.end_leases(tx)
        details = {"payments": payments}
        audit.record(tx, audit.operator(), "database.moved", "database", moment, details)

    _finished(made, work)


def in_file(path: Path, work: Callable[[database.Transaction], T]) -> T:
    """Run the missing migrations of a database file, then `work`."""
    with closing(opening.open_database(urls.url_of(path))) as database:
        return database.run(work)


@contextmanager
def refusing_strange_rows(source: Path) -> Iterator[None]:
    """Raise BotError for any error caused by rows that this program never writes."""
    try:
        yield
    except errors.Unreadable as error:
        raise errors.BotError(f"{source}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise errors.BotError(
            f"{source}: holds data that this program never wrote: {error!r}"
        ) from error
    except sqlite3.Error as error:
        raise errors.BotError(f"{source}: {error}") from error


def _reseal(tx: database.Transaction, keys: Keys) -> None:
    chosen, own = keys
    if chosen and own:
        reseal_messages(tx, vault.Vault(chosen), vault.Vault(own))


def _finished(made: Path, work: Callable[[database.Transaction], T]) -> T:
    done = in_file(made, work)
    snapshot.merge_log(made)
    return done
