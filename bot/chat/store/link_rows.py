"""SQL of links: the chat's records of requests."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from bot.chat.model import remote_request, request_spec
from bot.core import stored_json
from bot.core.database import database

CREATING, LIVE, STOPPED, FAILED, DELETED = "creating", "live", "stopped", "failed", "deleted"

ALERTS = ("on", "silent", "off")
"""Alert settings of a request: with sound, silent, or none (only the card shows the count)."""

COLUMNS = (
    "id, seller_id, chat_id, token, state, wish, request_id, answer, created_at, alerts,"
    " poster_text, delivered_count, muted_count, summed_up"
)
# Settlement 0 is a sale, 1 an oversold payment, 2 an underpayment. Rows from 3 count paid-back
# payments a second time (chat/store/payment_rows.py).
SELECT_LINK = (
    f"SELECT {database.of_table('listings', COLUMNS)},"  # noqa: S608 - our own names
    " (SELECT COALESCE(SUM(payments), 0) FROM takings"
    " WHERE listing_id = listings.id AND settlement < 2) AS paid_count,"
    " (SELECT COALESCE(SUM(pieces), 0) FROM takings"
    " WHERE listing_id = listings.id AND settlement < 2) AS pieces FROM listings"
)


@dataclass(frozen=True, slots=True)
class PaymentLink:
    """The chat's record of a request."""

    id: str
    seller_id: int
    chat_id: int
    token: str
    state: str
    spec: request_spec.RequestSpec
    request_id: str | None
    answer: remote_request.RemoteRequest | None
    """The service's latest answer about the request."""
    paid_count: int
    """Number of recorded payments, except underpaid ones."""
    created_at: int
    """Epoch ms."""
    alerts: str = "on"
    """One of ALERTS."""
    poster_text: str | None = None
    """The seller's own text on the poster."""
    units_sold: int = 0

    @property
    def left(self) -> int | None:
        """Return a drop's units left, from the recorded payments; None for other kinds."""
        units = self.spec.units
        return None if units is None else max(0, units - self.units_sold)


def short_id(length: int) -> str:
    """Return a random id of `length` lower-case base32 characters (5 bits each)."""
    return base64.b32encode(secrets.token_bytes(length)).decode().lower()[:length]


def add_link(
    tx: database.Transaction, chat_id: int, seller_id: int, spec: request_spec.RequestSpec, now: int
) -> str:
    """Store a link for a request to be created; return the link's id."""
    link_id = short_id(10)
    tx.execute(
        "INSERT INTO listings (id, seller_id, chat_id, token, state, wish, folded_name, created_at)"
        " VALUES (:id, :seller, :chat, :token, :state, :wish, :folded_name, :now)",
        id=link_id,
        seller=seller_id,
        chat=chat_id,
        token=secrets.token_urlsafe(24),
        state=CREATING,
        wish=spec.to_json(),
        folded_name=spec.name.casefold(),
        now=now,
    )
    return link_id


def find_link(tx: database.Transaction, link_id: str) -> PaymentLink | None:
    """Return a link of any seller, or None."""
    row = find_row(tx, link_id)
    return read_link(row) if row else None


def find_row(tx: database.Transaction, link_id: str) -> database.Row | None:
    """Return a link's row of SELECT_LINK, or None."""
    return tx.one(f"{SELECT_LINK} WHERE id = :id", id=link_id)


def get_link(tx: database.Transaction, link_id: str) -> PaymentLink:
    """Return a link known to exist: rows are never deleted from the table."""
    found = find_link(tx, link_id)
    if found is None:
        raise ValueError(f"listing {link_id} does not exist")
    return found


def link_by_token(tx: database.Transaction, token: str) -> PaymentLink | None:
    """Return the link whose webhook address ends in `token`, or None."""
    row = tx.one(f"{SELECT_LINK} WHERE token = :token", token=token)
    return read_link(row) if row else None


def link_id_of(tx: database.Transaction, request_id: str) -> str | None:
    """Return the id of a request's link, or None."""
    row = tx.one("SELECT id FROM listings WHERE request_id = :id", id=request_id)
    return str(row["id"]) if row else None


def pending_names(tx: database.Transaction, seller_id: int) -> list[str]:
    """Return the names of up to 5 of a seller's requests that are being created, newest first."""
    sql = (
        f"{SELECT_LINK} WHERE seller_id = :seller AND state = :creating"
        " ORDER BY created_at DESC, id DESC LIMIT 5"
    )
    rows = tx.query(sql, seller=seller_id, creating=CREATING)
    return [read_link(row).spec.name for row in rows]


async def links_by_id(db: database.Database, ids: Sequence[str]) -> dict[str, PaymentLink]:
    """Return the links with these ids, in any state, without using the writer.

    Links that can't be parsed are left out, so that they don't hide the others.
    """
    wanted, params = in_clause(ids)
    rows = await db.query(f"{SELECT_LINK} WHERE id IN {wanted}", **params)
    return {row["id"]: link for row in rows if (link := read_if_possible(row))}


def in_clause(ids: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the list for an SQL IN and its parameters; an empty list matches nothing."""
    params = {f"id{number}": each for number, each in enumerate(ids)}
    return f"({', '.join(f':{name}' for name in params) or 'NULL'})", params


def set_spec(tx: database.Transaction, link_id: str, spec: request_spec.RequestSpec) -> None:
    """Store a request's spec after an edit, and its folded name for searches."""
    sql = "UPDATE listings SET wish = :wish, folded_name = :folded_name WHERE id = :id"
    tx.execute(sql, id=link_id, wish=spec.to_json(), folded_name=spec.name.casefold())


def set_alerts(tx: database.Transaction, link_id: str, alerts: str) -> None:
    """Store the alert setting of a request, one of ALERTS."""
    tx.execute("UPDATE listings SET alerts = :alerts WHERE id = :id", id=link_id, alerts=alerts)


def set_poster_text(tx: database.Transaction, link_id: str, text: str | None) -> None:
    """Store the seller's own text for a request's poster."""
    tx.execute("UPDATE listings SET poster_text = :text WHERE id = :id", id=link_id, text=text)


def set_state(tx: database.Transaction, link_id: str, state: str) -> None:
    """Store the state of a link."""
    tx.execute("UPDATE listings SET state = :state WHERE id = :id", id=link_id, state=state)


def set_answer(
    tx: database.Transaction, link_id: str, answer: remote_request.RemoteRequest
) -> None:
    """Store the service's latest answer about a link."""
    sql = "UPDATE listings SET answer = :answer, request_id = :request WHERE id = :id"
    stored = stored_json.write(remote_request.RemoteRequest, answer)
    tx.execute(sql, id=link_id, answer=stored, request=answer.id)


def move_chat(tx: database.Transaction, old: int, new: int) -> None:
    """Move the links of a group that became a supergroup: its chat id changes."""
    tx.execute("UPDATE listings SET chat_id = :new WHERE chat_id = :old", old=old, new=new)


def read_link(row: database.Row) -> PaymentLink:
    """Parse a row of SELECT_LINK. Raises ValueError if the spec can't be parsed."""
    link = read_if_possible(row)
    if link is None:
        raise ValueError(f"listing {row['id']} can't be parsed")
    return link


def read_if_possible(row: database.Row | None) -> PaymentLink | None:
    """Parse a row of SELECT_LINK; None if there is none, or if its spec can't be parsed."""
    spec = request_spec.RequestSpec.from_json(row["wish"]) if row else None
    if row is None or spec is None:
        return None
    return PaymentLink(
        id=row["id"],
        seller_id=row["seller_id"],
        chat_id=row["chat_id"],
        token=row["token"],
        state=row["state"],
        spec=spec,
        request_id=row["request_id"],
        answer=read_answer(row),
        paid_count=int(row["paid_count"]),
        created_at=row["created_at"],
        alerts=row["alerts"],
        poster_text=row["poster_text"],
        units_sold=int(row["pieces"]),
    )


def read_answer(row: database.Row) -> remote_request.RemoteRequest | None:
    """Parse the column `answer` of a row."""
    text = row["answer"]
    return None if text is None else stored_json.read(remote_request.RemoteRequest, text)


# Lists and searches, newest first, a page at a time.


PRESENT = "WHERE seller_id = :seller AND state IN ('live', 'stopped')"
NEWEST = "ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :start"
COUNT = f"SELECT COUNT(*) AS number FROM listings {PRESENT}"  # noqa: S608 - our own words
PAGE = f"{SELECT_LINK} {PRESENT} {NEWEST}"
SEARCH = "seller_id = :seller AND (folded_name LIKE :part ESCAPE '!' OR id = :id)"
SEARCH_LIVE = f"{SELECT_LINK} WHERE {SEARCH} AND state = 'live' {NEWEST}"
SEARCH_PRESENT = f"{SELECT_LINK} WHERE {SEARCH} AND state IN ('live', 'stopped') {NEWEST}"

PATTERN_SIGN = re.compile("[!%_]")
"""Characters that must be escaped with `!` in a LIKE pattern."""


def count_links(tx: database.Transaction, seller_id: int) -> int:
    """Count a seller's live and stopped links."""
    row = tx.one(COUNT, seller=seller_id)
    return int(row["number"]) if row else 0


def links_page(
    tx: database.Transaction, seller_id: int, limit: int, start: int
) -> list[PaymentLink]:
    """Return up to `limit` live and stopped links, newest first, after the first `start`."""
    rows = tx.query(PAGE, seller=seller_id, limit=limit, start=start)
    return [read_link(row) for row in rows]


def search_links(
    tx: database.Transaction,
    seller_id: int,
    text: str,
    limit: int,
    start: int = 0,
    *,
    only_live: bool = False,
) -> list[PaymentLink]:
    """Return a page of a seller's links whose id is `text` or whose name contains it."""
    folded = text.strip().casefold()
    part = PATTERN_SIGN.sub(r"!\g<0>", folded)
    rows = tx.query(
        SEARCH_LIVE if only_live else SEARCH_PRESENT,
        seller=seller_id,
        id=folded,
        part=f"%{part}%",
        limit=limit,
        start=start,
    )
    return [read_link(row) for row in rows]
