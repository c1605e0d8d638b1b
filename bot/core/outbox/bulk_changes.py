"""Change many queued messages at once, for packages that keep their own tables about them.

`chosen` is a SELECT of message ids; its parameters are passed by name. The lanes of the messages
are locked first. Messages that are being handled keep their leases unless a docstring says
otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.core.database import database
from bot.core.outbox import lanes


def join_waiting(tx: database.Transaction, chosen: str, **given: object) -> int:
    """Mark waiting messages as joined: another message contains their content."""
    return _update(tx, "state = 'joined'", f"state = 'waiting' AND id IN ({chosen})", given)


def settle_joined(
    tx: database.Transaction, chosen: str, state: str, note: str, now: int, **given: object
) -> int:
    """Settle joined messages in a state; return their number."""
    change, where = "state = :state, settled_at = :now, note = :note", "state = 'joined'"
    values = {**given, "state": state, "note": note, "now": now}
    return _update(tx, change, f"{where} AND id IN ({chosen})", values)


def postpone(tx: database.Transaction, chosen: str, due_at: int, **given: object) -> int:
    """Delay messages that are due before `due_at` until `due_at`."""
    where = f"due_at < :due_at AND id IN ({chosen})"
    return _update(tx, "due_at = :due_at", where, {**given, "due_at": due_at})


def hasten(tx: database.Transaction, chosen: str, now: int, **given: object) -> int:
    """Make messages due now."""
    return _update(tx, "due_at = :now", f"id IN ({chosen})", {**given, "now": now})


def end_unsettled(tx: database.Transaction, chosen: str, now: int, **given: object) -> int:
    """Settle messages that are no longer wanted, and end their leases."""
    change = "state = 'ended', settled_at = :now, lease = NULL"
    where = f"state IN ('waiting', 'joined', 'leased') AND id IN ({chosen})"
    return _update(tx, change, where, {**given, "now": now})


def end_untried(tx: database.Transaction, queue: str, before: int, note: str, now: int) -> int:
    """Settle messages that were due before `before` but never attempted; return their number."""
    change = "state = 'ended', settled_at = :now, note = :note"
    where = "queue = :queue AND state = 'waiting' AND attempts = 0 AND due_at < :before"
    return _update(tx, change, where, {"queue": queue, "before": before, "note": note, "now": now})


def overwrite(tx: database.Transaction, chosen: str, text: str, lane: str, **given: object) -> int:
    """Replace the JSON and the lane of messages, and delete their notes."""
    change = "body = :text, note = NULL, lane = :lane"
    return _update(tx, change, f"id IN ({chosen})", {**given, "text": text, "lane": lane})


def rewrite(tx: database.Transaction, message_id: str, text: str, note: str | None) -> None:
    """Replace the JSON and the note of one message."""
    change, values = "body = :text, note = :note", {"id": message_id, "text": text, "note": note}
    _update(tx, change, "id = :id", values)


def mark_uncertain(tx: database.Transaction) -> int:
    """Mark all unsettled messages as uncertain and end their leases; return their number."""
    return _update(tx, "uncertain = 1, lease = NULL", "state IN ('waiting', 'leased')", {})


def end_leases(tx: database.Transaction) -> int:
    """End all leases of workers that no longer exist; return the number of leases.

    The next worker releases the messages and counts a crash for each of them.
    """
    return _update(tx, "lease = NULL", "state = 'leased'", {})


def dead_letter_unsettled(tx: database.Transaction, message_id: str, note: str, now: int) -> None:
    """Dead-letter a message that no worker has claimed."""
    change = "state = 'dead', settled_at = :now, note = :note, leased_until = NULL, lease = NULL"
    _update(tx, change, "id = :id", {"id": message_id, "note": note, "now": now})


def delete_about(tx: database.Transaction, queue: str, subject: str) -> int:
    """Delete a queue's messages about a subject, settled or not; return their number."""
    where = "queue = :queue AND subject = :subject"
    lanes.lock_lanes_of(tx, where, queue=queue, subject=subject)
    return tx.execute(f"DELETE FROM outbox WHERE {where}", queue=queue, subject=subject)  # noqa: S608 - our own words


def delete_lane(tx: database.Transaction, queue: str, lane: str) -> None:
    """Delete the row of a lane, whose name may identify a person; keep its messages."""
    tx.execute("DELETE FROM lanes WHERE queue = :queue AND lane = :lane", queue=queue, lane=lane)


def _update(tx: database.Transaction, change: str, where: str, values: Mapping[str, object]) -> int:
    lanes.lock_lanes_of(tx, where, **values)
    return tx.execute(f"UPDATE outbox SET {change} WHERE {where}", **values)  # noqa: S608 - our own words
