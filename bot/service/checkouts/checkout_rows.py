"""SQL of checkouts; their states and units change in inventory.py."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from bot.core import stored_json
from bot.core.database import database
from bot.interface import parts
from bot.service.checkouts.checkout import (
    ENDED,
    GIVEN_UP,
    HOLDING,
    HOLDS,
    NETWORKS_OF_SITE,
    Checkout,
    Held,
    Holder,
    State,
    one_of,
)
from bot.service.rails import rail
from bot.service.requests import request, request_rows

FIELDS = (
    "id, request_id, token, created_at, lapses_at, language, kind, way, account_id, host, "
    "external_id, reference, failure, opened_at, expires_at, claimed_at, claim_lapses_at, "
    "price, quantity"
)
"""The columns that are fields of a Checkout as they are."""

NAMES = tuple(FIELDS.split(", "))
COLUMNS = (
    f"{FIELDS}, state, user_data, quote, automatic, pay_with, look, lie, looked_at, held,"
    " payer_name, message"
)
INSERT = database.insert_into("checkouts", f"{COLUMNS}, network, payer, site, counted_until")
# An opening is stored once, so a repeat shows no second invoice.
STORE_OPENED = """
    UPDATE checkouts SET external_id = :external_id, pay_with = :pay_with, look = :look,
      host = :host,
      opened_at = :opened_at, looked_at = :looked_at, expires_at = :expires_at
    WHERE id = :id AND opened_at IS NULL
"""
OPEN = (
    "UPDATE checkouts SET state = 'open', lapses_at = :lapses_at"
    " WHERE id = :id AND state = 'opening' AND lapses_at > :now"
)
SELECT = f"SELECT {COLUMNS} FROM checkouts WHERE"  # noqa: S608 - our own names
BY_ID = f"{SELECT} id = :id"
LOCK_REQUEST = (
    "SELECT r.id FROM payment_requests r JOIN checkouts c ON c.request_id = r.id"
    " WHERE c.id = :id FOR NO KEY UPDATE OF r"
)
BY_FORM = f"{SELECT} request_id = :request_id AND token = :token"
BY_PAYER = (
    f"{SELECT} request_id = :request_id AND payer = :payer AND network = :network"
    f" AND {HOLDS} AND COALESCE(claim_lapses_at, lapses_at) > :now"
)
_OPEN = (
    "lapses_at > :now AND (state = 'opening' OR state = 'open'"
    " OR (state = 'claimed' AND held = 1 AND lapses_at < claim_lapses_at))"
)
_GIVEN_UP = (
    "counted_until > :now AND (state = 'claimed'"
    " OR (claimed_at IS NULL AND (state = 'lapsed' OR state = 'cancelled')))"
)
# It ended a quarter of the way from its start to being forgotten, and counts until halfway.
_LAPSED = f"{_GIVEN_UP} AND counted_until + created_at > 2 * :now"
_PAID = "counted_until > :now AND (state = 'paid' OR state = 'late')"
_CLAIMED = (
    "claimed_at IS NOT NULL AND (state = 'claimed'"
    " OR (counted_until > :now AND (state = 'lapsed' OR state = 'rejected')))"
)
_COUNTS = {
    "open": (_OPEN, "quantity"),
    "nameless": (f"{_OPEN} AND payer IS NULL", "quantity"),
    "checkouts": (f"{HOLDS} AND COALESCE(claim_lapses_at, lapses_at) > :now", "1"),
    "lapsed": (_LAPSED, "quantity"),
    "given_up": (_GIVEN_UP, "1"),
    "paid": (_PAID, "quantity"),
    "claims": (_CLAIMED, "quantity"),
}
"""For each field of Held, the condition for the checkouts that count, and the column to sum."""

HELD = (
    "SELECT "  # noqa: S608 - our own words
    + ", ".join(
        f"COALESCE(SUM(CASE WHEN {narrowed}{counts} THEN {units} END), 0) AS {prefix}{name}"
        for prefix, narrowed in (("", "network = :network AND "), ("site_", ""))
        for name, (counts, units) in _COUNTS.items()
    )
    + f", MIN(CASE WHEN {_OPEN} THEN lapses_at END) AS lapses,"
    f" MIN(CASE WHEN {_OPEN} THEN 2 * lapses_at - created_at"
    f" WHEN {_LAPSED} THEN (counted_until + created_at + 1) / 2 END) AS makes_room"
    " FROM checkouts WHERE request_id = :request_id AND site = :site AND id <> :but"
)
# The plus keeps SQLite from the index by time, through which it would read every open checkout.
PROMISED = (
    "SELECT COALESCE(SUM(quantity), 0) AS units FROM checkouts WHERE request_id = :request_id"
    " AND state = 'claimed' AND held = 1 AND lapses_at = claim_lapses_at AND +lapses_at > :now"
)
UNPROVEN = (
    "SELECT COUNT(CASE WHEN c.network = o.network THEN 1 END) AS own,"  # noqa: S608 - our own words
    " COUNT(CASE WHEN c.site = o.site THEN 1 END) AS of_site FROM checkouts o JOIN checkouts c"
    " ON c.request_id = o.request_id AND c.claimed_at IS NOT NULL"
    f" AND {one_of((*HOLDING, *ENDED)).replace('state', 'c.state')} WHERE o.id = :id"
)
UNPAID = (
    f"{GIVEN_UP} AND NOT EXISTS"  # noqa: S608 - our own words
    " (SELECT 1 FROM payments p WHERE p.checkout_id = checkouts.id)"
)
FORGOTTEN = (
    f"SELECT id, request_id FROM checkouts WHERE {UNPAID} AND lapses_at <= :before"  # noqa: S608 - our own words
    " AND (opened_at IS NULL OR (account_id IS NULL AND claimed_at IS NULL)"
    " OR lapses_at <= :long_before)"
    " ORDER BY lapses_at LIMIT :most"
)
FORGET = f"DELETE FROM checkouts WHERE id = :id AND {UNPAID}"  # noqa: S608 - our own words


def insert(tx: database.Transaction, checkout: Checkout, holder: Holder) -> None:
    """Store the checkout of units just reserved."""
    tx.execute(
        INSERT,
        **_row(checkout),
        network=holder.network,
        payer=holder.payer,
        site=holder.site,
        counted_until=0 if holder.is_counted else None,
    )
    tx.count("checkouts", checkout.kind, checkout.stored_state.value)


def store_opened(tx: database.Transaction, checkout: Checkout, now: int) -> bool:
    """Store a wallet's invoice; return False and change nothing if it was already stored.

    A checkout that still holds its units is open from now on, until its `lapses_at`.
    """
    if not tx.execute(STORE_OPENED, **_row(checkout)):
        return False
    if tx.execute(OPEN, id=checkout.id, lapses_at=checkout.lapses_at, now=now):
        tx.count("checkouts", checkout.kind, State.OPEN.value)
    return True


def write_words(tx: database.Transaction, checkout_id: str, words: parts.PayerWords) -> None:
    """Replace the payer's words to the seller."""
    sql = "UPDATE checkouts SET payer_name = :name, message = :message WHERE id = :id"
    tx.execute(sql, id=checkout_id, name=words.name, message=words.message)


def lock_request(tx: database.Transaction, checkout_id: str) -> None:
    """Lock the request of a checkout, as `requests.lock` does."""
    tx.lock(LOCK_REQUEST, id=checkout_id)


def is_known(tx: database.Transaction, column: str, value: str) -> bool:
    """Return whether a checkout has this `external_id` or `reference`."""
    return tx.one(f"SELECT 1 FROM checkouts WHERE {column} = :value", value=value) is not None  # noqa: S608 - our own names


def mark_polled(
    tx: database.Transaction,
    checkout_id: str,
    now: int,
    invalid_answer: rail.InvalidWalletAnswer | None,
) -> None:
    """Store when the wallet was asked last, and its first invalid answer."""
    sql = "UPDATE checkouts SET looked_at = :now, lie = COALESCE(lie, :lie) WHERE id = :id"
    tx.execute(sql, id=checkout_id, now=now, lie=invalid_answer)


def count_promised(tx: database.Transaction, request_id: str, now: int) -> int:
    """Return how many units of a request are held for claims until they lapse."""
    (row,) = tx.query(PROMISED, request_id=request_id, now=now)
    return int(row["units"])


def find(tx: database.Transaction, checkout_id: str) -> Checkout | None:
    """Return a checkout, or None if it is unknown."""
    return _found(tx.one(BY_ID, id=checkout_id))


def find_by_form(tx: database.Transaction, request_id: str, token: str) -> Checkout | None:
    """Return the checkout that a form with this token opened."""
    return _found(tx.one(BY_FORM, request_id=request_id, token=token))


def find_by_holder(
    tx: database.Transaction, request_id: str, holder: Holder, now: int
) -> Checkout | None:
    """Return the checkout that holds a payer's units, or None if the payer has no cookie.

    If there are several, prefer a checkout that is not claimed.
    """
    if holder.payer is None:
        return None
    return _found(
        tx.one(
            f"{BY_PAYER} ORDER BY CASE WHEN state = 'claimed' THEN 1 ELSE 0 END, id DESC LIMIT 1",
            request_id=request_id,
            network=holder.network,
            payer=holder.payer,
            now=now,
        )
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """Units of a request that the caps count for a network and its site; times in epoch ms."""

    network: Held
    site: Held

    lapses_at: int | None
    """When the first open checkout of the site lapses."""

    room_at: int | None
    """When the first counted units stop counting."""


def count_held(
    tx: database.Transaction, request_id: str, holder: Holder, now: int, but: str = ""
) -> Counted:
    """Return the units that the caps count for a holder, excluding the checkout `but`."""
    (row,) = tx.query(
        HELD, request_id=request_id, network=holder.network, site=holder.site, now=now, but=but
    )
    network, site = (
        Held(**{name: int(row[prefix + name]) for name in _COUNTS}) for prefix in ("", "site_")
    )
    return Counted(network, site, row["lapses"], row["makes_room"])


def count_unproven(tx: database.Transaction, checkout_id: str) -> int:
    """Count the request's unconfirmed claims from a checkout's network.

    An IPv6 site can invent networks, so each claim of the site counts too, as a quarter.
    """
    (row,) = tx.query(UNPROVEN, id=checkout_id)
    return max(int(row["own"]), int(row["of_site"]) // NETWORKS_OF_SITE, 1)


def sweep(tx: database.Transaction, before: int, long_before: int, most: int) -> int:
    """Delete up to `most` unpaid checkouts that ended before `before`; return how many.

    Checkouts for real money and claimed checkouts stay until `long_before`, because their sellers
    may still confirm them.
    """
    rows = tx.query(FORGOTTEN, before=before, long_before=long_before, most=most)
    for request_id in sorted({row["request_id"] for row in rows}):
        request_rows.lock(tx, request_id)  # money that arrives meanwhile keeps its checkout
    return sum(tx.execute(FORGET, id=row["id"]) for row in rows)


async def read(db: database.Database, request_id: str, checkout_id: str) -> Checkout | None:
    """Return a checkout of this request."""
    return _found(
        await db.one(f"{BY_ID} AND request_id = :request_id", id=checkout_id, request_id=request_id)
    )


_fields = attrgetter(*NAMES)


def _row(checkout: Checkout) -> dict[str, Any]:
    return dict(zip(NAMES, _fields(checkout), strict=True)) | {
        "state": checkout.stored_state.value,
        "user_data": stored_json.write(dict, checkout.user_data),
        "quote": stored_json.write(request.Quote, checkout.quote),
        "automatic": int(checkout.automatic),
        "pay_with": checkout.pay_with and stored_json.write(rail.PayWith, checkout.pay_with),
        "look": stored_json.write(dict, checkout.poll_details) if checkout.poll_details else None,
        "lie": checkout.invalid_answer,
        "looked_at": checkout.polled_at,
        "held": int(checkout.is_held),
        "payer_name": checkout.words.name,
        "message": checkout.words.message,
    }


def _found(row: database.Row | None) -> Checkout | None:
    if row is None:
        return None
    return Checkout(
        **{name: row[name] for name in NAMES},
        stored_state=State(row["state"]),
        user_data=stored_json.read(dict, row["user_data"]),
        quote=stored_json.read(request.Quote, row["quote"]),
        automatic=bool(row["automatic"]),
        pay_with=stored_json.read(rail.PayWith, row["pay_with"]) if row["pay_with"] else None,
        poll_details=stored_json.read(dict, row["look"]) if row["look"] else {},
        invalid_answer=row["lie"],
        polled_at=row["looked_at"],
        is_held=bool(row["held"]),
        words=parts.PayerWords(row["payer_name"], row["message"]),
    )
