"""Who gets e-mails of payments: confirmed, bounded, ended; what goes in one letter."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from bot.core import mailboxes

if TYPE_CHECKING:
    from bot.core.schema.tables import Tables


def name_recipients(tx: Tables) -> None:
    """Write a recipient for each address that requests name already."""
    named = tx.query(
        "SELECT id, app_id, email, created_at FROM payment_requests WHERE email IS NOT NULL"
    )
    made: dict[tuple[str, str], str] = {}
    for row in named:
        which = (row["app_id"], mailboxes.key(row["email"]))
        if which not in made:
            made[which] = secrets.token_hex(12)
            tx.execute(
                "INSERT INTO recipients"
                " (id, app_id, owner, address, mailbox, state, stop_token, created_at)"
                " VALUES (:id, :app_id, '', :address, :mailbox, 'trusted', :stop_token, :at)",
                id=made[which],
                app_id=which[0],
                address=which[1],
                mailbox=mailboxes.digest(row["email"]),
                stop_token=secrets.token_urlsafe(24),
                at=row["created_at"],
            )
        tx.execute(
            "UPDATE payment_requests SET recipient_id = :recipient WHERE id = :id",
            recipient=made[which],
            id=row["id"],
        )


RECIPIENTS = (
    # An address that an application names for one of its sellers (`owner`, '' for itself).
    # `mailbox` is a digest (see core/mailboxes.py), `token` of the link that confirms it.
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
    # The theoretical arrival time of each bound (see core/lanes.py, Pace).
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
