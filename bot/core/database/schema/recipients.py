"""Who gets e-mails of payments: confirmed, bounded, ended; what goes in one letter."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from bot.core import exact_json
from bot.core.mail import mailboxes

if TYPE_CHECKING:
    from bot.core.database.schema.tables import Tables


def name_recipients(tx: Tables) -> None:
    """Write a recipient for each address that requests name already, or that letters go to."""
    made: dict[tuple[str, str], str] = {}
    named = tx.query(
        "SELECT id, app_id, email, created_at FROM payment_requests WHERE email IS NOT NULL"
    )
    for row in named:
        tx.execute(
            "UPDATE payment_requests SET recipient_id = :recipient WHERE id = :id",
            recipient=_recipient(tx, made, row, row["email"]),
            id=row["id"],
        )
    owed = tx.query(
        "SELECT d.id, d.app_id, d.address, d.created_at, o.body FROM deliveries d"
        " JOIN outbox o ON o.id = d.id WHERE d.channel = 'email'"
    )
    for row in owed:
        recipient = _recipient(tx, made, row, row["address"])
        tx.execute(
            "UPDATE deliveries SET recipient_id = :recipient WHERE id = :id",
            recipient=recipient,
            id=row["id"],
        )
        tx.execute(
            "UPDATE outbox SET body = :body WHERE id = :id",
            body=_told_for(recipient, row["body"]),
            id=row["id"],
        )


def _told_for(recipient: str, text: str) -> str:
    """Return the body of a letter with its recipient; one that nobody can read as it is."""
    try:
        body = exact_json.loads(text)
    except ValueError:
        return text
    return exact_json.dumps({**body, "recipientId": recipient}) if isinstance(body, dict) else text


def _recipient(
    tx: Tables, made: dict[tuple[str, str], str], row: dict[str, Any], address: str
) -> str:
    """Return the id of the recipient that the application of a row has at an address."""
    which = (row["app_id"], mailboxes.key(address))
    if which not in made:
        made[which] = secrets.token_hex(12)
        tx.execute(
            "INSERT INTO recipients"
            " (id, app_id, owner, address, mailbox, state, stop_token, created_at)"
            " VALUES (:id, :app_id, '', :address, :mailbox, 'trusted', :stop_token, :at)",
            id=made[which],
            app_id=which[0],
            address=which[1],
            mailbox=mailboxes.digest(address),
            stop_token=secrets.token_urlsafe(24),
            at=row["created_at"],
        )
    return made[which]


RECIPIENTS = (
    # An address that an application names for one of its sellers (`owner`, '' for itself).
    # `mailbox` is a digest (see core/mail/mailboxes.py), `token` of the link that confirms it.
    """
    CREATE TABLE recipients (
        id TEXT PRIMARY KEY,
        app_id TEXT NOT NULL,
        owner TEXT NOT NULL,
        address TEXT NOT NULL,
        mailbox TEXT NOT NULL,
        state TEXT NOT NULL,
        token TEXT,
        stop_token TEXT NOT NULL UNIQUE,
        asks INTEGER NOT NULL DEFAULT 0,
        asked_at BIGINT,
        confirmed_at BIGINT,
        ended_at BIGINT,
        created_at BIGINT NOT NULL,
        UNIQUE (app_id, owner, address)
    )
    """,
    "CREATE UNIQUE INDEX recipients_token ON recipients (token) WHERE token IS NOT NULL",
    "CREATE INDEX recipients_mailbox ON recipients (mailbox)",
    # Mailboxes that want no letters: of a seller, or with '' for both of anybody here.
    """
    CREATE TABLE unsubscribed (
        app_id TEXT NOT NULL,
        owner TEXT NOT NULL,
        mailbox TEXT NOT NULL,
        at BIGINT NOT NULL,
        PRIMARY KEY (app_id, owner, mailbox)
    )
    """,
    # The theoretical arrival time of each bound (see core/outbox/lanes.py, Pace).
    "CREATE TABLE letter_paces (name TEXT PRIMARY KEY, arrival_at BIGINT NOT NULL)",
    # 1: the holders of addresses that it names confirm them.
    "ALTER TABLE apps ADD COLUMN confirms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE payment_requests ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE payment_requests ADD COLUMN recipient_id TEXT",
    # `letter`: the delivery whose letter tells this one too; its own id where it has its own.
    "ALTER TABLE deliveries ADD COLUMN recipient_id TEXT",
    "ALTER TABLE deliveries ADD COLUMN letter TEXT",
    "CREATE INDEX deliveries_letter ON deliveries (letter) WHERE letter IS NOT NULL",
    """
    CREATE INDEX deliveries_unsent ON deliveries (recipient_id, id)
    WHERE recipient_id IS NOT NULL AND letter IS NULL
    """,
    "CREATE INDEX outbox_joined ON outbox (id) WHERE state = 'joined'",
    name_recipients,
)
