"""SQL of payment requests.

Lapsed reservations are read as remaining units. Changes are guarded statements.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from bot.core import stored_json
from bot.core.database import database
from bot.interface import parts, vocabulary
from bot.service.checkouts import checkout
from bot.service.notifications import notification
from bot.service.payments import account_rows
from bot.service.requests import request

T = TypeVar("T")

# The types of columns with JSON.
Choice: TypeAlias = parts.AmountChoice[int]
Events: TypeAlias = tuple[vocabulary.WebhookEvent, ...]
PayerFields: TypeAlias = tuple[vocabulary.PayerField, ...]
Receivers: TypeAlias = tuple[request.Receiver, ...]

PLAIN_TERMS = (
    "price_before_discount", "redirect_url", "email", "goal", "max_quantity", "thanks", "keep_url",
    "shop",
)  # fmt: skip
"""The columns that are fields of Terms as they are."""

TERMS = (
    *PLAIN_TERMS, "expiration_type", "name", "description", "long_description", "image_url",
    "receivers", "instrument_currency", "denomination_currency", "requested_user_data",
    "webhook_url", "custom_parameters", "webhook_events", "seller", "amount_choice",
)  # fmt: skip
"""The columns that no payment changes."""

PLAIN = ("id", "app_id", "created_at", "enabled_at", "expires_at", "owner")
"""The columns that are fields of a PaymentRequest as they are."""

COUNTS = ("paid_count", "sales_count", "oversold_count", "codes_count", "codes_skipped")
"""The same, but changed only by their own statements."""

NEW = (*TERMS, *PLAIN, "amount", "total_units", "remaining_units", "recipient_id", "payout")
INSERT = f"INSERT INTO payment_requests ({', '.join(NEW)}) VALUES (:{', :'.join(NEW)})"  # noqa: S608 - our own words
COLUMNS = (
    f"{', '.join((*TERMS, *PLAIN, *COUNTS))}, amount, total_units, remaining_units, reserved_units,"
    " decreased_units, recipient_id, paused, deleted_at, delivery, raised_billions, raised_rest,"
    " volume_billions, volume_rest"
)
"""Columns that `read_row` and exports need."""

PAYABLE = account_rows.PAYABLE.format(request="r")
# A lapsed reservation counts as remaining although no statement has released its units yet. If no
# units remain, the next payer gets units of a claim that is not the first claim of its site.
EVERY = (
    f"SELECT {database.of_table('r', COLUMNS)},"  # noqa: S608 - our own words
    " CASE WHEN r.reserved_units > 0 THEN (SELECT COALESCE(SUM(c.quantity), 0) FROM checkouts c"
    f" WHERE c.request_id = r.id AND {checkout.HOLDS} AND c.lapses_at <= :now AND c.held = 1)"
    " ELSE 0 END AS lapsed,"
    " CASE WHEN r.reserved_units > 0 AND r.remaining_units = 0 THEN"
    " (SELECT COALESCE(SUM(c.quantity), 0) FROM checkouts c"
    " WHERE c.request_id = r.id AND c.state = 'claimed' AND c.held = 1 AND c.lapses_at > :now"
    " AND c.counted_until IS NOT NULL"
    " AND EXISTS (SELECT 1 FROM checkouts o WHERE o.request_id = c.request_id AND o.site = c.site"
    " AND o.state = 'claimed' AND o.held = 1 AND o.lapses_at > :now"
    " AND (o.claimed_at, o.id) < (c.claimed_at, c.id))) ELSE 0 END AS yielding,"
    " CASE WHEN r.seller IS NULL THEN (SELECT a.seller FROM apps a WHERE a.id = r.app_id) END"
    f" AS app_seller, {PAYABLE} AS payable, n.state AS notice_state, n.confirmed_at AS notice_at"
    " FROM payment_requests r LEFT JOIN recipients n ON n.id = r.recipient_id WHERE"
)
EVER = f"{EVERY} r.id = :id"
SELECT = f"{EVERY} r.deleted_at IS NULL"
BY_ID = f"{SELECT} AND r.id = :id"
LOCK = "SELECT id FROM payment_requests WHERE id = :id FOR NO KEY UPDATE"
BY_ID_OF_APP = f"{BY_ID} AND r.app_id = :app_id"
NEWEST = " ORDER BY r.created_at DESC, r.id DESC LIMIT :limit"


@dataclass(frozen=True, slots=True)
class Place:
    """The place where a page of a list ended: its last row."""

    at: int
    id: str


SECOND_OF_ID = 10
"""Low bits of the milliseconds that an id omits, so that ids within 1.024 seconds begin alike."""

TIME_DIGITS = 5
"""Hex digits of the time in an id, which wrap around after twelve days."""


def new_id(now: int, digits: int = 24) -> str:
    """Return an id of lower-case hex characters; all but the first five can't be guessed.

    Ids made in the same second begin alike, so that new rows are on a few pages of an index,
    however large it is (docs/decisions/database.md#0087).
    """
    time = f"{now >> SECOND_OF_ID:0{TIME_DIGITS}x}"[-TIME_DIGITS:]
    return time + secrets.token_hex(digits // 2)[TIME_DIGITS:]


def lock(tx: database.Transaction, request_id: str) -> None:
    """Lock a request until the transaction ends, before its checkouts, payments or units change.

    This lock comes before any other lock (docs/decisions/database.md#0069).
    """
    tx.lock(LOCK, id=request_id)


def insert(tx: database.Transaction, request: request.PaymentRequest) -> None:
    tx.execute(INSERT, **_row(request))


def find(tx: database.Transaction, request_id: str, now: int) -> request.PaymentRequest | None:
    """Return the request of any application, or None if it is unknown or deleted."""
    return _found(tx.one(BY_ID, id=request_id, now=now))


def find_ever(tx: database.Transaction, request_id: str, now: int) -> request.PaymentRequest | None:
    """Return the request, even if it is deleted, because money may still arrive for it."""
    return _found(tx.one(EVER, id=request_id, now=now))


def find_of_app(
    tx: database.Transaction, app_id: str, request_id: str, now: int
) -> request.PaymentRequest | None:
    """Return the application's request."""
    return _found(tx.one(BY_ID_OF_APP, id=request_id, app_id=app_id, now=now))


async def read(db: database.Database, request_id: str, now: int) -> request.PaymentRequest | None:
    return _found(await db.one(BY_ID, id=request_id, now=now))


async def read_ever(
    db: database.Database, request_id: str, now: int
) -> request.PaymentRequest | None:
    return _found(await db.one(EVER, id=request_id, now=now))


async def read_of_app(
    db: database.Database, app_id: str, request_id: str, now: int
) -> request.PaymentRequest | None:
    return _found(await db.one(BY_ID_OF_APP, id=request_id, app_id=app_id, now=now))


async def page(
    db: database.Database,
    app_id: str,
    now: int,
    *,
    limit: int,
    after: Place | None = None,
    status: vocabulary.Status | None = None,
) -> list[request.PaymentRequest]:
    """Return the application's requests, newest first, after a place.

    With a `status`, return only requests with this stored status; call `refresh_status` first. A
    request that has changed since is left out.
    """
    place = {"at": after.at, "after_id": after.id} if after else {}
    wanted = {"app_id": app_id, "now": now, "limit": limit, "status": status}
    rows = await db.query(page_sql(after, status), **wanted, **place)
    return [read_row(row) for row in rows]


def page_sql(after: Place | None, status: vocabulary.Status | None) -> str:
    sql = f"{SELECT} AND r.app_id = :app_id"
    if after:
        sql += " AND (r.created_at, r.id) < (:at, :after_id)"
    if status:
        sql += f" AND {IN_STATUS}"
    return sql + NEWEST


def write_edit(
    tx: database.Transaction,
    before: request.PaymentRequest,
    after: request.PaymentRequest,
    decrease: int,
) -> bool:
    """Store an edit and remove `decrease` units; return False, unchanged, if too few remain."""
    old, new = _row(before), _row(after)
    new["remaining_units"] = old["remaining_units"]  # changed by the guarded statement only
    changed = {name: value for name, value in new.items() if value != old[name]}
    sets = [f"{name} = :{name}" for name in changed]
    guard = ""
    if decrease:
        sets.append("remaining_units = remaining_units - :decrease")
        sets.append("decreased_units = decreased_units + :decrease")
        guard = " AND expiration_type = 'limit' AND remaining_units >= :decrease"
        changed["decrease"] = decrease
    if not sets:
        return True
    sql = (
        f"UPDATE payment_requests SET {', '.join(sets)}"  # noqa: S608 - our own names
        f" WHERE id = :id AND app_id = :app_id AND deleted_at IS NULL{guard}"
    )
    return tx.execute(sql, id=before.id, app_id=before.app_id, **changed) == 1


def delete(tx: database.Transaction, request_id: str, now: int) -> None:
    """Delete the request, unless it is deleted, and keep its payments."""
    tx.execute(
        "UPDATE payment_requests SET deleted_at = :now WHERE id = :id AND deleted_at IS NULL",
        id=request_id,
        now=now,
    )


def read_row(row: database.Row) -> request.PaymentRequest:
    """Return the request of a row, which must also have the columns `lapsed` and `payable`."""
    return request.PaymentRequest(
        **{name: row[name] for name in (*PLAIN, *COUNTS)},
        # cached, because a payment reads the same row several times
        terms=_terms_of(*_values_of_terms(row)),
        units=_units(row),
        recipient=_recipient(row),
        paused=bool(row["paused"]),
        app_seller=read_seller(row.get("app_seller")),
        payable=bool(row["payable"]),
        volume=row["volume_billions"] * database.BILLION + row["volume_rest"],
        raised=row["raised_billions"] * database.BILLION + row["raised_rest"],
        delivers=vocabulary.DeliveryKind(row["delivery"]) if row["delivery"] else None,
    )


def _found(row: database.Row | None) -> request.PaymentRequest | None:
    return read_row(row) if row else None


def _recipient(row: database.Row) -> notification.RecipientStatus | None:
    """Return the recipient's status; a row read for a payment has only the recipient's id."""
    if row["recipient_id"] is None:
        return None
    state = notification.RecipientState(
        row.get("notice_state") or notification.RecipientState.TRUSTED
    )
    return notification.RecipientStatus(row["recipient_id"], state, row.get("notice_at"))


_values_of_terms = itemgetter(*TERMS)


@lru_cache(maxsize=256)
def _terms_of(*values: Any) -> request.Terms:
    row = dict(zip(TERMS, values, strict=True))
    url, events = row["webhook_url"], _read_if_set(Events, row["webhook_events"])
    return request.Terms(
        kind=vocabulary.Kind(row["expiration_type"]),
        product=request.Product(
            row["name"], row["description"], row["long_description"], row["image_url"]
        ),
        receivers=read_receivers(row["receivers"]),
        instrument=row["instrument_currency"],
        denomination=row["denomination_currency"],
        requested_user_data=stored_json.read(PayerFields, row["requested_user_data"]),
        webhook=request.Webhook(url, row["custom_parameters"], events) if url else None,
        seller=read_seller(row["seller"]),
        choice=_read_if_set(Choice, row["amount_choice"]),
        **{name: row[name] for name in PLAIN_TERMS},
    )


def _units(row: database.Row) -> request.Units | None:
    if row["total_units"] is None:
        return None
    free = row["lapsed"]
    if row["remaining_units"] + free == 0:
        free = row.get("yielding", 0)
    return request.Units(
        total=row["total_units"],
        remaining=row["remaining_units"] + free,
        reserved=row["reserved_units"] - free,
        decreased=row["decreased_units"],
    )


def _row(request: request.PaymentRequest) -> dict[str, Any]:
    terms, product, webhook = request.terms, request.terms.product, request.terms.webhook
    events = webhook.events if webhook else None
    return {
        **{name: getattr(request, name) for name in PLAIN},
        **{name: getattr(terms, name) for name in PLAIN_TERMS},
        "name": product.name,
        "description": product.description,
        "long_description": product.long_description,
        "image_url": product.image_url,
        "instrument_currency": terms.instrument,
        "denomination_currency": terms.denomination,
        "receivers": write_receivers(terms.receivers),
        "amount": terms.amount,
        "requested_user_data": stored_json.write(PayerFields, terms.requested_user_data),
        "webhook_url": webhook.url if webhook else None,
        "custom_parameters": webhook.custom_parameters if webhook else None,
        "expiration_type": terms.kind.value,
        "total_units": request.units.total if request.units else None,
        "remaining_units": request.units.remaining if request.units else None,
        "recipient_id": request.recipient.id if request.recipient else None,
        "paused": int(request.paused),
        "seller": write_seller(terms.seller),
        "payout": terms.payout,
        "webhook_events": None if events is None else stored_json.write(Events, events),
        "amount_choice": terms.choice and stored_json.write(Choice, terms.choice),
    }


def _read_if_set(kind: type[T], text: str | None) -> T | None:
    return None if text is None else stored_json.read(kind, text)


def write_receivers(receivers: tuple[request.Receiver, ...]) -> str:
    """Write receivers as JSON, amounts in minor units."""
    return stored_json.write(Receivers, receivers)


def read_receivers(text: str) -> tuple[request.Receiver, ...]:
    """Read receivers from JSON."""
    return stored_json.read(Receivers, text)


def write_seller(seller: request.SellerProfile | None) -> str | None:
    """Write a seller's profile as JSON, None if there is none."""
    return None if seller is None else stored_json.write(request.SellerProfile, seller)


@lru_cache(maxsize=1024)
def read_seller(text: str | None) -> request.SellerProfile | None:
    """Read a seller's profile from JSON; cached, because most requests of a seller share it."""
    return _read_if_set(request.SellerProfile, text)


# The status of requests is stored in `stage`, so that a list by status reads an index. Time and the
# sale of the last unit change a status without storing it. So `refresh_status` stores the changes
# before each list by status.

# The same rule as `PaymentRequest.status`: a test compares the two.
STATUS = f"""
    CASE WHEN r.remaining_units = 0 AND r.reserved_units = 0
              THEN CASE r.expiration_type WHEN 'limit' THEN '{vocabulary.Status.SOLD_OUT}'
                   ELSE '{vocabulary.Status.COMPLETED}' END
         WHEN r.expires_at <= :now THEN '{vocabulary.Status.EXPIRED}'
         WHEN r.enabled_at > :now THEN '{vocabulary.Status.SCHEDULED}'
         ELSE '{vocabulary.Status.ACTIVE}' END
"""
# It has no condition on times, because SQLite would then use the index by time.
IN_STATUS = f"r.stage = :status AND {STATUS} = :status"

# The ways in which a stored stage becomes outdated, including edits and clocks set back, each with
# the columns of its index. A spent request stays spent.
SPENT = "r.remaining_units = 0 AND r.reserved_units = 0 AND r.stage NOT IN ('soldOut', 'completed')"
_WAYS = (
    (SPENT, "r.id"),
    (
        "r.stage IN ('active', 'scheduled') AND r.expires_at IS NOT NULL AND r.expires_at <= :now",
        "r.expires_at",
    ),
    ("r.stage = 'expired' AND r.expires_at > :now", "r.expires_at"),
    ("r.stage = 'expired' AND r.expires_at IS NULL", "r.expires_at, r.id"),
    ("r.stage = 'scheduled' AND r.enabled_at <= :now", "r.enabled_at"),
    ("r.stage = 'active' AND r.enabled_at > :now", "r.enabled_at"),
)
UPDATE = f"UPDATE payment_requests AS r SET stage = {STATUS} WHERE r.id = :id"  # noqa: S608 - our own words
MANY = 100
"""Requests whose stages are stored in one transaction. Payers wait for the transaction."""


@cache
def has_outdated_status(most: int) -> str:
    """Return the statement that finds up to `most` requests whose stored stage is outdated.

    PostgreSQL overestimates how often these conditions hold, and would scan the whole table for the
    first row. Ordering by the columns of an index prevents that.
    """
    ways = " UNION ALL ".join(
        "SELECT id FROM (SELECT r.id FROM payment_requests r"  # noqa: S608 - our own conditions
        f" WHERE r.app_id = :app_id AND r.deleted_at IS NULL AND {condition}"
        f" ORDER BY {order} LIMIT {most}) AS way{number}"
        for number, (condition, order) in enumerate(_WAYS)
    )
    return f"SELECT id FROM ({ways}) AS outdated LIMIT {most}"  # noqa: S608 - as above


async def refresh_status(db: database.Database, app_id: str, clock: Callable[[], int]) -> int:
    """Store the present status of the application's requests; return its time (epoch ms).

    A concurrent refresh may use another time and undo this one. So each transaction reads the
    clock, and the loop ends when a transaction finds nothing new.
    """
    stored: set[str] = set()
    if await db.one(has_outdated_status(1), app_id=app_id, now=clock()):
        while found := await db.bulk(lambda tx: refresh_some(tx, app_id, clock())) - stored:
            stored |= found
    return clock()


def refresh_some(tx: database.Transaction, app_id: str, now: int) -> set[str]:
    """Store the status of at most MANY requests; return their ids."""
    found = {row["id"] for row in tx.query(has_outdated_status(MANY), app_id=app_id, now=now)}
    for request_id in sorted(found):  # all code that locks several requests uses this order
        tx.execute(UPDATE, id=request_id, now=now)
    return found
