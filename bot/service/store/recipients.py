"""SQL of recipients, of unsubscribed mailboxes, and of the rate limits of letters."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from bot.core.database.columns import columns_of
from bot.service.model.recipient import Recipient, RecipientState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.core.database.database import Row, Transaction

INSERT = """
    INSERT INTO recipients (id, app_id, owner, address, mailbox, state, stop_token, created_at)
    VALUES (:id, :app_id, :owner, :address, :mailbox, :state, :stop_token, :created_at)
"""
COLUMNS = columns_of(Recipient)
CONFIRM = f"""
    UPDATE recipients SET state = 'confirmed', confirmed_at = :now
    WHERE token = :token AND state = 'unconfirmed' AND asked_at > :after
    RETURNING {COLUMNS}
"""  # noqa: S608 - our own names
SELECT = f"SELECT {COLUMNS} FROM recipients WHERE"  # noqa: S608 - our own names
LOCK_PACE = """
    INSERT INTO letter_paces (name, arrival_at) VALUES (:name, 0)
    ON CONFLICT (name) DO UPDATE SET arrival_at = letter_paces.arrival_at
"""
FORGET_PACE = "DELETE FROM letter_paces WHERE name = :name AND arrival_at <= :now"
IN_FORCE = """
    SELECT 1 AS one FROM unsubscribed WHERE mailbox = :mailbox
    AND ((app_id = :app_id AND owner = :owner) OR (app_id = '' AND owner = ''))
"""


def find(tx: Transaction, recipient_id: str) -> Recipient | None:
    """Return a recipient."""
    return _read(tx.one(f"{SELECT} id = :id", id=recipient_id))


def find_by_address(tx: Transaction, app_id: str, owner: str, address: str) -> Recipient | None:
    """Return the recipient of an application's seller at an address, which is a mailbox key."""
    return _read(
        tx.one(
            f"{SELECT} app_id = :app_id AND owner = :owner AND address = :address",
            app_id=app_id,
            owner=owner,
            address=address,
        )
    )


def find_by_token(tx: Transaction, token: str) -> Recipient | None:
    """Return the recipient whose address a link confirms."""
    return _read(tx.one(f"{SELECT} token = :token", token=token))


def find_by_stop_token(tx: Transaction, token: str) -> Recipient | None:
    """Return the recipient whose letters a link ends."""
    return _read(tx.one(f"{SELECT} stop_token = :token", token=token))


def insert(tx: Transaction, recipient: Recipient) -> None:
    """Store a new recipient."""
    tx.execute(INSERT, **asdict(recipient))


def count_asks(tx: Transaction, recipient: Recipient) -> int:
    """Return how often the seller asked this mailbox, in any spelling of its address."""
    row = tx.one(
        "SELECT COALESCE(SUM(asks), 0) AS n FROM recipients"
        " WHERE mailbox = :mailbox AND app_id = :app_id AND owner = :owner",
        mailbox=recipient.mailbox,
        app_id=recipient.app_id,
        owner=recipient.owner,
    )
    return int(row["n"]) if row else 0


def count_open(tx: Transaction, app_id: str, owner: str, after: int) -> int:
    """Return how many addresses of a seller are unconfirmed and were asked after `after`."""
    row = tx.one(
        "SELECT COUNT(*) AS n FROM recipients WHERE app_id = :app_id AND owner = :owner"
        " AND state = 'unconfirmed' AND asked_at > :after",
        app_id=app_id,
        owner=owner,
        after=after,
    )
    return int(row["n"]) if row else 0


def record_ask(tx: Transaction, recipient: Recipient, token: str, now: int) -> bool:
    """Store that a link with this token is queued; it replaces the former link.

    Return False, unchanged, if another one was queued since `recipient` was read.
    """
    changed = tx.execute(
        "UPDATE recipients SET token = :token, asks = asks + 1, asked_at = :now"
        " WHERE id = :id AND asks = :asks AND state = 'unconfirmed'",
        token=token,
        now=now,
        id=recipient.id,
        asks=recipient.asks,
    )
    return changed == 1


def record_ask_sent(tx: Transaction, recipient_id: str, at: int) -> None:
    """Store when the link is sent: it is valid from then on."""
    tx.execute("UPDATE recipients SET asked_at = :at WHERE id = :id", at=at, id=recipient_id)


def confirm(tx: Transaction, token: str, now: int, after: int) -> Recipient | None:
    """Confirm the address of a link sent after `after`; return None for an expired link."""
    return _read(tx.one(CONFIRM, token=token, now=now, after=after))


def unsubscribe(tx: Transaction, mailbox: str, app_id: str, owner: str, now: int) -> None:
    """End the letters of a seller to a mailbox; '' for both: everybody's."""
    everybody = "" if app_id == owner == "" else " AND app_id = :app_id AND owner = :owner"
    tx.execute(
        "INSERT INTO unsubscribed (app_id, owner, mailbox, at)"
        " VALUES (:app_id, :owner, :mailbox, :now) ON CONFLICT DO NOTHING",
        app_id=app_id,
        owner=owner,
        mailbox=mailbox,
        now=now,
    )
    tx.execute(
        "UPDATE recipients SET state = 'ended', ended_at = :now"  # noqa: S608 - our own words
        f" WHERE mailbox = :mailbox AND state <> 'ended'{everybody}",
        app_id=app_id,
        owner=owner,
        mailbox=mailbox,
        now=now,
    )


def has_unsubscribed(tx: Transaction, mailbox: str, app_id: str, owner: str) -> bool:
    """Return whether a mailbox has unsubscribed from this seller."""
    return tx.one(IN_FORCE, mailbox=mailbox, app_id=app_id, owner=owner) is not None


def lock_paces(tx: Transaction, names: Iterable[str]) -> None:
    """Lock rate limits until the transaction ends; the lanes of letters to sellers come before."""
    for name in sorted(names):
        tx.lock(LOCK_PACE, name=name)


def read_arrival(tx: Transaction, name: str) -> int:
    """Return the theoretical arrival time of a rate limit, 0 for an unused one."""
    row = tx.one("SELECT arrival_at FROM letter_paces WHERE name = :name", name=name)
    return int(row["arrival_at"]) if row else 0


def write_arrival(tx: Transaction, name: str, at: int) -> None:
    """Store the theoretical arrival time of a rate limit."""
    tx.execute(
        "INSERT INTO letter_paces (name, arrival_at) VALUES (:name, :at)"
        " ON CONFLICT (name) DO UPDATE SET arrival_at = excluded.arrival_at",
        name=name,
        at=at,
    )


def sweep_paces(tx: Transaction, now: int) -> int:
    """Delete rate limits that no longer delay a letter; return how many."""
    rows = tx.query("SELECT name FROM letter_paces WHERE arrival_at <= :now", now=now)
    names = sorted(row["name"] for row in rows)  # locked in the order of all others
    return sum(tx.execute(FORGET_PACE, name=name, now=now) for name in names)


def _read(row: Row | None) -> Recipient | None:
    return Recipient(**{**row, "state": RecipientState(row["state"])}) if row else None
