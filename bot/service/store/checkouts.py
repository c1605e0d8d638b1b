"""SQL of checkouts; their states and units change in unit_moves.py."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bot.core import exact_json
from bot.core.database.columns import of_table
from bot.service.model import quote
from bot.service.model.checkout import NETWORKS_OF_SITE, Checkout, Held
from bot.service.model.checkout_states import ENDED, HOLDING, CheckoutState
from bot.service.model.payer_words import PayerWords
from bot.service.model.rail_answers import PayWith
from bot.service.store import requests
from bot.service.store.state_conditions import GIVEN_UP, HOLDS, one_of

if TYPE_CHECKING:
    from bot.core.database.database import Database, Row, Transaction
    from bot.service.model.checkout import Holder
    from bot.service.model.rail_answers import Lie

INSERT = """
    INSERT INTO checkouts (id, request_id, token, state, user_data, quote, created_at, lapses_at,
      network, payer, site, language, kind, way, account_id, automatic, host, external_id,
      reference, pay_with, look, opened_at, looked_at, expires_at, claimed_at, price, quantity,
      payer_name, message)
    VALUES (:id, :request_id, :token, :state, :user_data, :quote, :created_at, :lapses_at,
      :network, :payer, :site, :language, :kind, :way, :account_id, :automatic, :host, :external_id,
      :reference, :pay_with, :look, :opened_at, :looked_at, :expires_at, :claimed_at,
      :price, :quantity, :payer_name, :message)
"""
# What a wallet has opened is stored once: a repeated opening shows no second invoice.
STORE_OPENED = """
    UPDATE checkouts SET external_id = :external_id, pay_with = :pay_with, look = :look,
      opened_at = :opened_at, looked_at = :looked_at, expires_at = :expires_at
    WHERE id = :id AND opened_at IS NULL
"""
OPEN = (
    "UPDATE checkouts SET state = 'open', lapses_at = :lapses_at"
    " WHERE id = :id AND state = 'opening' AND lapses_at > :now"
)
COLUMNS = (
    "id, request_id, token, user_data, quote, created_at, lapses_at, state, language, kind, way,"
    " account_id, automatic, host, external_id, reference, pay_with, look, failure, lie, opened_at,"
    " looked_at, expires_at, claimed_at, price, quantity, payer_name, message"
)
SELECT = f"SELECT {COLUMNS} FROM checkouts WHERE"  # noqa: S608 - our own names
BY_ID = f"{SELECT} id = :id"
OF_APP = (
    f"SELECT {of_table('c', COLUMNS)} FROM checkouts c"  # noqa: S608 - our own names
    " JOIN payment_requests r ON r.id = c.request_id"
    " WHERE c.id = :id AND r.app_id = :app_id"
)
LOCK_REQUEST = (
    "SELECT r.id FROM payment_requests r JOIN checkouts c ON c.request_id = r.id"
    " WHERE c.id = :id FOR NO KEY UPDATE OF r"
)
BY_FORM = f"{SELECT} request_id = :request_id AND token = :token"
# The plus keeps SQLite from the index by time, through which it would read every open checkout.
OPEN_BY = (
    "FROM checkouts WHERE request_id = :request_id AND network = :network"
    f" AND {HOLDS} AND +lapses_at > :now"
)
BY_PAYER = f"SELECT {COLUMNS} {OPEN_BY} AND payer = :payer"
HELD = (
    "SELECT COALESCE(SUM(quantity), 0) AS total, MIN(lapses_at) AS until, COUNT(*) AS checkouts,"
    f" COALESCE(SUM(CASE WHEN payer IS NULL THEN quantity END), 0) AS nameless {OPEN_BY}"
)
OF_SITE = (
    "SELECT COUNT(*) AS checkouts, MIN(lapses_at) AS until FROM checkouts"  # noqa: S608 - our own words
    f" WHERE request_id = :request_id AND site = :site AND {HOLDS} AND +lapses_at > :now"
)
TO_CONFIRM = (
    "SELECT COALESCE(SUM(quantity), 0) AS held FROM checkouts"  # noqa: S608 - our own words
    f" WHERE request_id = :request_id AND {HOLDS} AND lapses_at > :now AND automatic = 0"
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


def insert(tx: Transaction, checkout: Checkout, holder: Holder) -> None:
    """Store the checkout of a unit just reserved."""
    tx.execute(
        INSERT,
        id=checkout.id,
        request_id=checkout.request_id,
        token=checkout.token,
        state=checkout.stored_state.value,
        user_data=json.dumps(checkout.user_data),
        quote=quote.write(checkout.quote),
        created_at=checkout.created_at,
        lapses_at=checkout.lapses_at,
        network=holder.network,
        payer=holder.payer,
        site=holder.site,
        language=checkout.language,
        kind=checkout.kind,
        way=checkout.way,
        account_id=checkout.account_id,
        automatic=int(checkout.automatic),
        host=checkout.host,
        reference=checkout.reference,
        claimed_at=checkout.claimed_at,
        price=checkout.price,
        quantity=checkout.quantity,
        payer_name=checkout.words.name,
        message=checkout.words.message,
        **_opened(checkout),
    )
    tx.count("checkouts", checkout.kind, checkout.stored_state.value)


def store_opened(tx: Transaction, checkout: Checkout, now: int) -> bool:
    """Store what a wallet has opened; return False, unchanged, if it was stored before.

    A checkout that still holds its unit is open from now on, until its `lapses_at`.
    """
    if not tx.execute(STORE_OPENED, id=checkout.id, **_opened(checkout)):
        return False
    if tx.execute(OPEN, id=checkout.id, lapses_at=checkout.lapses_at, now=now):
        tx.count("checkouts", checkout.kind, CheckoutState.OPEN.value)
    return True


def _opened(checkout: Checkout) -> dict[str, Any]:
    return {
        "external_id": checkout.external_id,
        "pay_with": json.dumps(asdict(checkout.pay_with)) if checkout.pay_with else None,
        "look": json.dumps(checkout.look) if checkout.look else None,
        "opened_at": checkout.opened_at,
        "looked_at": checkout.looked_at,
        "expires_at": checkout.expires_at,
    }


def write_words(tx: Transaction, checkout_id: str, words: PayerWords) -> None:
    """Store what the payer tells the seller, in place of what was stored."""
    sql = "UPDATE checkouts SET payer_name = :name, message = :message WHERE id = :id"
    tx.execute(sql, id=checkout_id, name=words.name, message=words.message)


def lock_request(tx: Transaction, checkout_id: str) -> None:
    """Lock the request of a checkout, as `requests.lock` does."""
    tx.lock(LOCK_REQUEST, id=checkout_id)


def is_known(tx: Transaction, external_id: str) -> bool:
    """Return whether an external id belongs to a checkout."""
    sql = "SELECT 1 FROM checkouts WHERE external_id = :external_id"
    return tx.one(sql, external_id=external_id) is not None


def mark_looked(tx: Transaction, checkout_id: str, now: int, lie: Lie | None) -> None:
    """Store when the wallet was asked last, and its first lie."""
    sql = "UPDATE checkouts SET looked_at = :now, lie = COALESCE(lie, :lie) WHERE id = :id"
    tx.execute(sql, id=checkout_id, now=now, lie=lie)


def is_reference(tx: Transaction, reference: str) -> bool:
    """Return whether a reference is in use."""
    sql = "SELECT 1 FROM checkouts WHERE reference = :reference"
    return tx.one(sql, reference=reference) is not None


def count_to_confirm(tx: Transaction, request_id: str, now: int) -> int:
    """Return how many units of a request are held for payments that its seller has to confirm."""
    (row,) = tx.query(TO_CONFIRM, request_id=request_id, now=now)
    return int(row["held"])


async def read_to_confirm(db: Database, request_id: str, now: int) -> int:
    """Return what `count_to_confirm` does, without waiting for the writer."""
    (row,) = await db.query(TO_CONFIRM, request_id=request_id, now=now)
    return int(row["held"])


def find(tx: Transaction, checkout_id: str) -> Checkout | None:
    """Return a checkout, None if it is unknown."""
    return _found(tx.one(BY_ID, id=checkout_id))


def find_by_form(tx: Transaction, request_id: str, token: str) -> Checkout | None:
    """Return the checkout that a form with this token opened."""
    return _found(tx.one(BY_FORM, request_id=request_id, token=token))


def find_by_holder(tx: Transaction, request_id: str, holder: Holder, now: int) -> Checkout | None:
    """Return the checkout that holds a unit for a payer with a cookie, None without one.

    Of several, one that is not claimed.
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


def count_held(tx: Transaction, request_id: str, holder: Holder, now: int) -> tuple[Held, int]:
    """Count a request's units held by a network, and return when the first of them lapses."""
    (row,) = tx.query(HELD, request_id=request_id, network=holder.network, now=now)
    until, of_site = row["until"], 0
    if holder.site:
        (site,) = tx.query(OF_SITE, request_id=request_id, site=holder.site, now=now)
        until, of_site = until or site["until"], site["checkouts"]
    return Held(row["total"], row["nameless"], row["checkouts"], of_site), until or now


def count_unproven(tx: Transaction, checkout_id: str) -> int:
    """Count the claims of the request from a checkout's network that nobody has confirmed.

    A site of IPv6 has as many networks as it likes, so its claims count too, a quarter each.
    """
    (row,) = tx.query(UNPROVEN, id=checkout_id)
    return max(int(row["own"]), int(row["of_site"]) // NETWORKS_OF_SITE, 1)


def sweep(tx: Transaction, before: int, long_before: int, most: int) -> int:
    """Delete up to `most` unpaid checkouts that ended before `before`; return how many.

    Those of real money, and those claimed, stay until `long_before`: their sellers may still
    confirm them.
    """
    rows = tx.query(FORGOTTEN, before=before, long_before=long_before, most=most)
    for request_id in sorted({row["request_id"] for row in rows}):
        requests.lock(tx, request_id)  # money that arrives meanwhile keeps its checkout
    return sum(tx.execute(FORGET, id=row["id"]) for row in rows)


async def read(db: Database, request_id: str, checkout_id: str) -> Checkout | None:
    """Return a checkout of this request."""
    return _found(
        await db.one(f"{BY_ID} AND request_id = :request_id", id=checkout_id, request_id=request_id)
    )


async def read_of_app(db: Database, app_id: str, checkout_id: str) -> Checkout | None:
    """Return a checkout of a request of the application, also of a deleted one."""
    return _found(await db.one(OF_APP, id=checkout_id, app_id=app_id))


def _found(row: Row | None) -> Checkout | None:
    if row is None:
        return None
    return Checkout(
        id=row["id"],
        request_id=row["request_id"],
        token=row["token"],
        user_data=exact_json.loads(row["user_data"]),
        quote=quote.read(row["quote"]),
        created_at=row["created_at"],
        lapses_at=row["lapses_at"],
        stored_state=CheckoutState(row["state"]),
        language=row["language"],
        kind=row["kind"],
        way=row["way"],
        account_id=row["account_id"],
        automatic=bool(row["automatic"]),
        host=row["host"],
        external_id=row["external_id"],
        reference=row["reference"],
        pay_with=_pay_with(row["pay_with"]),
        look=exact_json.loads(row["look"]) if row["look"] else {},
        failure=row["failure"],
        lie=row["lie"],
        opened_at=row["opened_at"],
        looked_at=row["looked_at"],
        expires_at=row["expires_at"],
        claimed_at=row["claimed_at"],
        price=row["price"],
        quantity=row["quantity"],
        words=PayerWords(row["payer_name"], row["message"]),
    )


def _pay_with(text: str | None) -> PayWith | None:
    if text is None:
        return None
    kept = exact_json.loads(text)
    fields = tuple((name, value) for name, value in kept["fields"])
    return PayWith(kept["lightning_invoice"], kept["qr_text"], fields)
