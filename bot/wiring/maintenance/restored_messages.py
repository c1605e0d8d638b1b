"""Queued messages of a restored database: unreadable, or perhaps sent since the backup."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.messages.queues import make_queues
from bot.chat.model.answers import read_payment
from bot.chat.payments.recording import Ledger
from bot.chat.payments.reported import payment_of
from bot.chat.payments.webhook import PATH
from bot.chat.store import listings
from bot.core import exact_json
from bot.core.errors import MoneyError, Unreadable
from bot.core.money import amounts
from bot.core.outbox import bulk_changes, queries
from bot.core.outbox.payload_kinds import read_object
from bot.service.model.payment_reports import PaymentReport, WebhookReport
from bot.service.usecases import delivery_queues
from bot.service.usecases.delivery_queues import OWN_WEBHOOKS
from bot.service.usecases.letters.served_payers import SERVED
from bot.service.usecases.looking import LOOKS
from bot.service.usecases.opening import OPENINGS
from bot.service.usecases.request_commands import INTERNAL_HOST
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from bot.chat.store.listings import Listing
    from bot.chat.store.received_payments import Payment
    from bot.config import Settings
    from bot.core.database.database import Transaction
    from bot.core.database.vault import Vault

SEALED = (
    ("kept_secrets", "name", "sealed"),
    ("apps", "id", "webhook_secret"),
    ("apps", "id", "former_webhook_secret"),
    ("payout_accounts", "id", "details"),
)
"""Tables, their keys, and their columns with secrets that SECRET_KEY has sealed."""

INWARD = f"http://{INTERNAL_HOST}{PATH}/"
"""The beginning of the addresses of the bot's own webhooks; a listing's token follows."""

BATCH = 500
"""Messages read at a time."""

UNREADABLE = "its body could not be read"
"""The note of such a message."""

QUEUES = {queue.name: queue for queue in (*delivery_queues.QUEUES, SERVED, OPENINGS, LOOKS)}
"""The service's queues, whose messages have known payloads."""


def reseal(tx: Transaction, old: Vault, new: Vault) -> None:
    """Seal all secrets with another key. Raises ConfigProblem where `old` does not open them."""
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


def check_seals(tx: Transaction, vault: Vault) -> None:
    """Raise ConfigProblem where a secret was sealed with another key."""
    for table, _, column in SEALED:
        sql = f"SELECT {column} AS sealed FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608 - our own names
        for row in tx.query(sql):
            vault.open(row["sealed"])


def mark_doubtful(tx: Transaction, settings: Settings, now: int) -> int:
    """Mark all queued messages as uncertain; return their number.

    Payments in the bot's own webhooks are recorded now, so that their alerts are uncertain too; the
    webhooks then find them recorded.
    """
    rates = (settings.telegram_rate, settings.telegram_chat_rate, settings.telegram_group_rate)
    ledger = Ledger(tx, make_queues(*rates), now)
    reports = queries.unsettled_of_queue(tx, OWN_WEBHOOKS)
    for report in (one for one in reports if isinstance(one, WebhookReport)):
        token = report.url.removeprefix(INWARD)
        listing = listings.listing_by_token(tx, token) if token != report.url else None
        if listing is not None:
            ledger.record(listing.id, _payment(report, listing), report.remaining_units)
    return bulk_changes.mark_uncertain(tx)


def _payment(report: WebhookReport, listing: Listing) -> Payment:
    """Return the payment that the receiver would read from a webhook's body."""
    body = exact_json.loads(json_answers.event(report))
    paid = replace(read_payment(body), oversold=report.oversold)
    payment = payment_of(paid, report.request_id, listing)
    return replace(payment, reserved_units=report.reserved_units or 0)


def bury_unreadable(tx: Transaction, now: int) -> int:
    """Make dead letters of the queued messages that can't be read; return their number."""
    found, after = 0, ""
    while messages := queries.unsettled_texts(tx, after, BATCH):
        broken = [one for one, queue, text in messages if not _is_readable(queue, text)]
        for message_id in broken:
            bulk_changes.bury_unsettled(tx, message_id, UNREADABLE, now)
        found, after = found + len(broken), messages[-1][0]
    return found


def _is_readable(name: str, text: str) -> bool:
    queue = QUEUES.get(name)
    try:
        body = read_object(text)
        payload = queue.decode(text) if queue else None
    except Unreadable:
        return False
    if queue is None:
        return True
    fields = read_object(queue.encode(payload))  # differs where a value was of another type
    is_exact = all(body[name] == value for name, value in fields.items())
    return is_exact and (not isinstance(payload, PaymentReport) or _is_possible(payload))


def _is_possible(report: PaymentReport) -> bool:
    numbers = [report.amount, report.completed_at, report.remaining_units or 0]
    if not all(0 <= number <= amounts.MAX_MINOR for number in numbers):
        return False
    try:
        amounts.exponent(report.currency)
    except MoneyError:
        return False
    return True
