"""Restores and moves: a copy of a database becomes this installation's database.

The copy is a SQLite file, which is migrated, sealed with our key, and put into the place of a
SQLite file or loaded into a PostgreSQL server.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from bot import config
from bot.app.maintenance import backups
from bot.chat.model import queues, remote_request
from bot.chat.payments import recording, webhook
from bot.chat.store import link_rows
from bot.core import errors, stored_json
from bot.core.database import database, opening, private_files, snapshot, urls, vault
from bot.core.money import amounts
from bot.core.ops import audit
from bot.core.outbox import bulk_changes, queries
from bot.service.checkouts import wallet_calls
from bot.service.notifications import notification_queues, payer_letters
from bot.service.payments import payment_reports
from bot.service.requests import applications, request_commands

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Marked:
    """What became of the queued messages of a database that went back in time."""

    doubtful: int = 0
    """Messages that may have been sent since."""
    unreadable: int = 0
    """Messages that can't be read, and became dead letters."""


@dataclass(frozen=True, slots=True)
class NewDatabase:
    """A copy that became the database."""

    place: str
    """Its path or address."""
    contents: snapshot.Contents
    """What was copied."""
    aside: str | None
    """Where the former database is now, if there was one."""
    marked: Marked = Marked()
    """Nothing after a move, because no time is lost."""


def restore(settings: config.Settings, source: Path, moment: int, *, replace: bool) -> NewDatabase:
    """Replace the database of DATABASE_URL by a backup, while the bot is stopped everywhere.

    `moment` is in epoch ms. A database with data is moved aside, but only with `replace`. Raises
    BotError and ConfigProblem, and then nothing has changed.
    """
    if not source.is_file():
        raise errors.BotError(f"{source}: there is no such file")
    into = _into_server if urls.is_postgres(settings.database_url) else _into_file
    return into(settings, source, moment, keeps=replace)


def _into_file(settings: config.Settings, source: Path, moment: int, *, keeps: bool) -> NewDatabase:
    path = Path(urls.sqlite_path(settings.database_url))
    if path.exists() and source.samefile(path):
        raise errors.BotError(f"{source}: is the database itself: name a backup of it")
    has_data = snapshot.holds_data(path, applications.EMBEDDED)
    if has_data and not keeps:
        raise errors.BotError(
            f"{path}: holds data: restore --replace moves it aside, under another name"
        )
    try:
        private_files.make_folder(path.parent)
    except OSError as error:
        raise errors.BotError(f"{path.parent}: can't be made: {error.strerror}") from error
    stamp = backups.stamp(moment)
    aside = path.with_name(urls.REPLACED.format(path.stem, stamp, path.suffix))
    with ExitStack() as stack:
        made = stack.enter_context(private_files.temporary_file(path))
        snapshot.copy_database(source, made)
        with _refusing_strange_rows(source):
            mark = partial(_mark, settings=settings, moment=moment)
            found, key, marked = _prepare(settings, made, source, mark, path)
        _lock_out(stack, path)
        _delete_leftovers(path, made)
        old_key = backups.kept_key(settings, path) if has_data else None
        has_key = settings.secret_key is not None or path.with_suffix(backups.KEY).exists()
        with (
            backups.key_beside(old_key, aside.with_suffix(backups.KEY)),
            backups.key_beside(None if has_key else key, path.with_suffix(backups.KEY)),
        ):
            private_files.replace(made, path, aside)
    if not has_data:
        aside.unlink(missing_ok=True)
    return NewDatabase(str(path), found, str(aside) if has_data else None, marked)


def _into_server(
    settings: config.Settings, source: Path, moment: int, *, keeps: bool
) -> NewDatabase:
    from bot.core.database.postgres import transfer  # noqa: PLC0415 - psycopg is for servers

    url = settings.database_url
    refusal = None if keeps else "restore --replace moves it aside, into another schema"
    with (
        _workplace(source) as made,
        transfer.open_destination(url, applications.EMBEDDED, refusal) as destination,
    ):
        snapshot.copy_database(source, made)
        with _refusing_strange_rows(source):
            mark = partial(_mark, settings=settings, moment=moment)
            found, _, marked = _prepare(settings, made, source, mark)
            aside = destination.load(made, backups.stamp(moment))
    schema = f"schema {aside}" if aside else None
    return NewDatabase(urls.safe_url(url), found, schema, marked)


def restore_in_place(settings: config.Settings, moment: int) -> Marked:
    """Mark the queued messages of a database that its server put back in time, as `restore` does.

    Raises BotError and ConfigProblem, and then nothing has changed.
    """
    if not urls.is_postgres(settings.database_url) or settings.secret_key is None:
        raise errors.BotError(
            "restore --in-place: is for PostgreSQL: a SQLite file goes back in time by restore FROM"
        )
    from bot.core.database.postgres import transfer  # noqa: PLC0415 - psycopg is for servers

    keys = vault.Vault(settings.secret_key.get_secret_value())
    with transfer.open_in_place(settings.database_url) as tx:
        for sealed, *_ in _sealed(tx):
            keys.open(sealed)
        marked = _mark(tx, None, settings, moment)
        transfer.forget_processes(tx)
    return marked


def move(settings: config.Settings, url: str, moment: int) -> NewDatabase:
    """Load the database of DATABASE_URL, a file, into the empty server `url`; rename the file.

    The bot must be stopped. No message is marked as doubtful, because no time is lost. Raises
    BotError and ConfigProblem, and then the file is unchanged and the server is empty.
    """
    if not urls.is_postgres(url):
        raise errors.BotError("write the address as postgresql://user@host/database")
    if urls.is_postgres(settings.database_url):
        raise errors.BotError(
            "DATABASE_URL: names a server already: set it to the SQLite file to move from"
        )
    source = urls.existing_file(settings.database_url)
    key = source.with_suffix(backups.KEY)
    if settings.secret_key is None:
        raise errors.ConfigProblem(
            "SECRET_KEY: PostgreSQL needs it, since no key file lies beside a server: set it to the"
            f" content of {key} or to a long random text of your own"
        )
    from bot.core.database.postgres import transfer  # noqa: PLC0415 - psycopg is for servers

    def work(tx: database.Transaction, found: snapshot.Contents) -> None:
        bulk_changes.end_leases(tx)
        details = {"payments": found.payments}
        audit.record(tx, audit.operator(), "database.moved", "database", moment, details)

    stamp = backups.stamp(moment)
    former = source.with_name(urls.MOVED.format(source.stem, stamp, source.suffix))
    refusal = "name an empty database; after a move that was complete, set DATABASE_URL to it"
    with snapshot.exclusive(source) as file:
        if file is None:
            raise errors.BotError(f"{source}: is in use: stop the bot first")
        with (
            _workplace(source) as made,
            transfer.open_destination(url, applications.EMBEDDED, refusal) as destination,
        ):
            snapshot.copy_opened(file, made)
            with _refusing_strange_rows(source):
                found, *_ = _prepare(settings, made, source, work)
                destination.load(made, stamp)
            try:  # no process should use the file by mistake
                if key.exists():
                    key.rename(former.with_suffix(backups.KEY))
                source.rename(former)
            except OSError as error:
                raise errors.BotError(
                    f"The move is complete, but {source} can't be renamed ({error.strerror}): move"
                    " it away yourself before you start the bot"
                ) from error
    return NewDatabase(urls.safe_url(url), found, str(former))


@contextmanager
def _workplace(source: Path) -> Iterator[Path]:
    """Create an empty file in its own folder, which only we can read; delete both at the end."""
    try:
        with TemporaryDirectory(prefix="bot-restore-") as folder:
            made = Path(folder) / source.name
            made.touch(mode=0o600)
            yield made
    except OSError as error:
        raise errors.BotError(f"{error.filename or 'TMPDIR'}: {error.strerror}") from error


def _lock_out(stack: ExitStack, path: Path) -> None:
    """Lock the database against other processes until `stack` closes; a damaged one needs no lock.

    Raises BotError if another process has the database open.
    """
    if not path.exists() or not snapshot.is_database(path):
        return
    try:
        file = stack.enter_context(snapshot.exclusive(path))
    except errors.BotError:
        return
    if file is None:
        raise errors.BotError(f"{path}: is in use: stop the bot, restore, then start it again")


def _delete_leftovers(path: Path, made: Path) -> None:
    """Delete the leftovers of a killed restore: copies, and second names of the file."""
    stem, suffix = re.escape(path.stem), re.escape(path.suffix)
    second_name, second_key = (
        urls.REPLACED.format(stem, urls.STAMP, ending) for ending in (suffix, r"\.key")
    )
    key = re.escape(path.with_suffix(backups.KEY).name)
    names = "|".join([stem + suffix, key, second_key])
    for left in private_files.find_leftovers(path.parent, names):
        if not left.name.startswith(made.name):
            left.unlink()
    for second in [*path.parent.iterdir()]:
        is_second = re.fullmatch(second_name, second.name)
        if is_second and path.exists() and second.samefile(path):
            second.with_suffix(backups.KEY).unlink(missing_ok=True)
            second.unlink()


# The copy: checked, migrated, sealed with our key.


def _prepare(
    settings: config.Settings,
    made: Path,
    source: Path,
    work: Callable[[database.Transaction, snapshot.Contents], T],
    *others: Path,
) -> tuple[snapshot.Contents, str | None, T]:
    """Migrate `made`, a copy of `source`, seal its secrets with our key, and change it by `work`.

    Return the contents of the source, our key if there is one, and the result of `work`. The copy's
    key may also be beside one of the `others`. Raises BotError and ConfigProblem.
    """
    snapshot.check_foreign(made, source)
    found = snapshot.read_contents(made)
    chosen = _find_key(settings, made, source, *others)
    kept = (backups.kept_key(settings, other) for other in others)
    own = next(filter(None, kept), chosen)
    if settings.secret_key is not None:
        own = settings.secret_key.get_secret_value()

    def change(tx: database.Transaction) -> T:
        if chosen and own:
            reseal(tx, vault.Vault(chosen), vault.Vault(own))
        return work(tx, found)

    with closing(opening.open_database(urls.url_of(made))) as db:
        outcome = db.run(change)
    snapshot.merge_log(made)
    return found, own, outcome


def _find_key(settings: config.Settings, made: Path, source: Path, *others: Path) -> str | None:
    """Return the key that opens `made`, a copy of `source`.

    Tried are the key next to `source`, SECRET_KEY, and the keys next to the `others`. Returns None
    if the copy has no secrets. Raises ConfigProblem if no key opens the copy.
    """
    places = [one.with_suffix(backups.KEY) for one in (source, *others)]
    keys = [backups.read_key(one) for one in places if one.exists()]
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


@contextmanager
def _refusing_strange_rows(source: Path) -> Iterator[None]:
    """Raise BotError for any error caused by rows that this program never writes."""
    try:
        yield
    except (errors.Unreadable, sqlite3.Error) as error:
        raise errors.BotError(f"{source}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise errors.BotError(
            f"{source}: holds data that this program never wrote: {error!r}"
        ) from error


SEALED = (
    ("kept_secrets", "name", "sealed"),
    ("apps", "id", "webhook_secret"),
    ("apps", "id", "former_webhook_secret"),
    ("payout_accounts", "id", "details"),
)
"""Tables, their keys, and their columns with sealed secrets."""


def _sealed(tx: database.Transaction) -> Iterator[tuple[str, str, str]]:
    """Yield each sealed secret, with the statement that replaces it and its row's id."""
    for table, key, column in SEALED:
        update = f"UPDATE {table} SET {column} = :sealed WHERE {key} = :id"  # noqa: S608 - our own names
        sql = f"SELECT {key} AS id, {column} AS sealed FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608 - as above
        for row in tx.query(sql):
            yield str(row["sealed"]), update, row["id"]


def reseal(tx: database.Transaction, old: vault.Vault, new: vault.Vault) -> None:
    """Seal all secrets with another key. Raises ConfigProblem if `old` does not open them."""
    for sealed, update, row_id in _sealed(tx):
        tx.execute(update, id=row_id, sealed=new.seal(old.open(sealed)))


# Queued messages that can't be read, or may have been sent since the backup.


INWARD = f"http://{request_commands.INTERNAL_HOST}{webhook.PATH}/"
"""The beginning of the addresses of the bot's own webhooks, before a link's token."""

BATCH = 500
"""Messages read at a time."""

UNREADABLE = "its body could not be read"
"""The note on an unreadable message."""

QUEUES = {
    queue.name: queue
    for queue in (*notification_queues.QUEUES, payer_letters.SERVED, *wallet_calls.QUEUES)
}
"""The service's queues, whose messages have known payloads."""


def _mark(
    tx: database.Transaction,
    found: snapshot.Contents | None,
    settings: config.Settings,
    moment: int,
) -> Marked:
    """Mark queued messages, and record the restore; `found` is what was restored, if known."""
    unreadable = _dead_letter_unreadable(tx, moment)
    marked = Marked(_mark_doubtful(tx, settings, moment), unreadable)
    details = {"payments": found.payments} if found else {}
    details |= {"doubtful": marked.doubtful, "unreadable": marked.unreadable}
    audit.record(tx, audit.operator(), "backup.restored", "database", moment, details)
    return marked


def _mark_doubtful(tx: database.Transaction, settings: config.Settings, now: int) -> int:
    """Mark all queued messages as uncertain; return their number.

    Payments in the bot's own webhooks are recorded now, so that their alerts are uncertain too.
    When the webhooks arrive, the payments are known already.
    """
    rates = (settings.telegram_rate, settings.telegram_chat_rate, settings.telegram_group_rate)
    recorder = recording.PaymentRecorder(queues.make_queues(*rates), lambda: now)
    reports = queries.unsettled_of_queue(tx, notification_queues.OWN_WEBHOOKS)
    for report in (one for one in reports if isinstance(one, payment_reports.WebhookReport)):
        token = report.url.removeprefix(INWARD)
        link = link_rows.link_by_token(tx, token) if token != report.url else None
        if link is not None:
            # As the receiver would read it from the webhook's body.
            paid = remote_request.read_payment(payment_reports.event(report).to_json())
            payment = recording.payment_of(paid, report.request_id, link)
            payment = replace(payment, reserved_units=report.reserved_units or 0)
            recorder.receive(tx, link, payment, report.remaining_units)
    return bulk_changes.mark_uncertain(tx)


def _dead_letter_unreadable(tx: database.Transaction, now: int) -> int:
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
