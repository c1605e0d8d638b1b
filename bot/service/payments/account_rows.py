"""SQL of payout accounts and of the kinds of real money on offer.

A replaced or removed account is retired, because money requested earlier may still arrive. The
account and its secret are deleted when no checkout needs them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bot.core.database import database
from bot.interface import vocabulary
from bot.service.checkouts import checkout
from bot.service.rails import rail


@dataclass(frozen=True, slots=True)
class PayoutAccount:
    """An owner's account. An owner has one account per way to pay. Times are epoch ms."""

    id: str
    app_id: str

    owner: str
    """The seller within the application."""

    kind: str

    scheme: str
    """Format of the bank code, such as `sepa`; "" for other kinds."""

    automatic: bool
    """True if the rail learns of payments itself."""

    currencies: tuple[str, ...]

    label: str
    """The account's name for people."""

    sealed: str
    """Its details, encrypted."""

    since: int
    """Time of the owner's first account of this way; ways are sorted by this time."""

    created_at: int

    retired_at: int | None = None
    """When it was replaced or removed; money requested earlier may still arrive."""

    @property
    def way(self) -> str:
        """Return the name of its way to pay: the kind, plus the scheme for banks."""
        return f"{self.kind}:{self.scheme}" if self.scheme else self.kind

    def takes(self, currency: str) -> bool:
        """Return whether a price in this currency can be paid to it. Bank codes never convert."""
        return self.kind != vocabulary.BANK or currency in self.currencies


# 1 if there is an account for the money of a request. With real money: if an account of the named
# owner takes the request's currency. With test money: unless that owner has connected an account
# and so expects real money. A seller's request is never paid to another seller's accounts. Only an
# application that vouches for its sellers may leave out the seller of a request. `{request}` is the
# name of its table. The condition on the kind lets SQLite search an index instead of the table, and
# the comparison with 1 lets PostgreSQL search an index of the applications instead of hashing them.
PAYABLE = """
    CASE WHEN {request}.payout <> {request}.owner AND ({request}.owner <> '' OR 1 = (
        SELECT p.confirms FROM apps p WHERE p.id = {request}.app_id
    )) THEN 0
    WHEN EXISTS (SELECT 1 FROM offered_rails WHERE kind > '') THEN CASE WHEN EXISTS (
        SELECT 1 FROM payout_accounts a JOIN offered_rails o ON o.kind = a.kind
        WHERE a.app_id = {request}.app_id AND a.owner = {request}.payout AND a.retired_at IS NULL
          AND (a.kind <> 'bank' OR ' ' || a.currencies || ' ' LIKE '% '
               || COALESCE({request}.denomination_currency, {request}.instrument_currency) || ' %')
    ) THEN 1 ELSE 0 END
    WHEN {request}.payout IS NULL THEN 1
    WHEN EXISTS (
        SELECT 1 FROM payout_accounts a
        WHERE a.app_id = {request}.app_id AND a.owner = {request}.payout AND a.retired_at IS NULL
    ) THEN 0 ELSE 1 END
"""
FIELDS = "id, app_id, owner, kind, scheme, label, since, created_at, retired_at"
"""The columns that are fields of a PayoutAccount as they are."""

NAMES = tuple(FIELDS.split(", "))
COLUMNS = f"{FIELDS}, automatic, currencies, details"
INSERT = database.insert_into("payout_accounts", COLUMNS)
SELECT = f"SELECT {database.of_table('a', COLUMNS)} FROM payout_accounts a WHERE"  # noqa: S608 - our own names
LIVE = f"{SELECT} a.app_id = :app_id AND a.retired_at IS NULL"
OWN = f"{LIVE} AND a.owner = :owner ORDER BY a.since, a.id"
OFFERED = OWN.replace("ORDER", "AND a.kind IN (SELECT kind FROM offered_rails) ORDER")
SAME_WAY = f"{LIVE} AND a.owner = :owner AND a.kind = :kind AND a.scheme = :scheme"
OFFER = "INSERT INTO offered_rails (kind) VALUES (:kind) ON CONFLICT DO NOTHING"
# A transaction that retires an account waits, and then finds the checkout that chose the account.
KEEP = (
    "SELECT id FROM payout_accounts"
    " WHERE app_id = :app_id AND owner = :owner AND retired_at IS NULL ORDER BY id FOR SHARE"
)
COUNT = """
    SELECT kind, COUNT(*) AS number FROM payout_accounts WHERE retired_at IS NULL
    GROUP BY kind ORDER BY kind
"""
# Deletes retired accounts whose checkouts hold no units and are no longer polled.
FORGET = f"""
    DELETE FROM payout_accounts WHERE id IN (
      SELECT a.id FROM payout_accounts a WHERE a.retired_at IS NOT NULL {{narrowed}}
        AND NOT EXISTS (SELECT 1 FROM checkouts c WHERE c.account_id = a.id
                        AND ({checkout.HOLDS}
                             OR (c.looked_at IS NOT NULL AND c.expires_at > :looked_at_until)))
      ORDER BY a.retired_at LIMIT :most)
"""  # noqa: S608 - our own words
RETIRE = "UPDATE payout_accounts SET retired_at = :now WHERE id = :id AND retired_at IS NULL"


def write_offered(tx: database.Transaction, kinds: Iterable[str]) -> None:
    """Store the kinds of real money on offer; there are none with test money.

    Each replica does so when it starts, while payments read the kinds, so kinds that are already
    stored aren't rewritten.
    """
    wanted, stored = {*kinds}, {row["kind"] for row in tx.query("SELECT kind FROM offered_rails")}
    for kind in sorted(stored - wanted):
        tx.execute("DELETE FROM offered_rails WHERE kind = :kind", kind=kind)
    for kind in sorted(wanted - stored):
        tx.execute(OFFER, kind=kind)


def insert(tx: database.Transaction, account: PayoutAccount) -> None:
    """Store a new account. Raises ConstraintError if the owner has an account of this way."""
    tx.execute(
        INSERT,
        **{name: getattr(account, name) for name in NAMES},
        automatic=int(account.automatic),
        currencies=" ".join(account.currencies),
        details=account.sealed,
    )


def ways(tx: database.Transaction, app_id: str, owner: str) -> list[PayoutAccount]:
    """Return the owner's accounts of the kinds on offer, in the order of connecting."""
    return [_account(row) for row in tx.query(OFFERED, app_id=app_id, owner=owner)]


def keep(tx: database.Transaction, app_id: str, owner: str) -> None:
    """Prevent the owner's accounts from being retired until the transaction ends."""
    tx.lock(KEEP, app_id=app_id, owner=owner)


async def read_own(db: database.Database, app_id: str, owner: str) -> list[PayoutAccount]:
    """Return the owner's accounts of all kinds, in the order of connecting."""
    return [_account(row) for row in await db.query(OWN, app_id=app_id, owner=owner)]


def find(tx: database.Transaction, account_id: str) -> PayoutAccount | None:
    """Return an account, even a retired one."""
    row = tx.one(f"{SELECT} a.id = :id", id=account_id)
    return _account(row) if row else None


def find_of_app(tx: database.Transaction, app_id: str, account_id: str) -> PayoutAccount | None:
    """Return an application's account that is not retired."""
    row = tx.one(f"{LIVE} AND a.id = :id", app_id=app_id, id=account_id)
    return _account(row) if row else None


def find_way(
    tx: database.Transaction, app_id: str, owner: str, connected: rail.Connected
) -> PayoutAccount | None:
    """Return the owner's account of the same way as `connected`."""
    kind, scheme = connected.kind, connected.scheme
    row = tx.one(SAME_WAY, app_id=app_id, owner=owner, kind=kind, scheme=scheme)
    return _account(row) if row else None


def retire(tx: database.Transaction, account_id: str, now: int) -> bool:
    """Mark an account as retired; return False if it is unknown or already retired."""
    return tx.execute(RETIRE, id=account_id, now=now) == 1


def count_by_kind(tx: database.Transaction) -> dict[str, int]:
    """Return the numbers of accounts in use, of all owners."""
    return {row["kind"]: row["number"] for row in tx.query(COUNT)}


def forget_retired(
    tx: database.Transaction, polled_until: int, most: int, account_id: str | None = None
) -> int:
    """Delete up to `most` retired accounts that no checkout needs; return how many.

    Wallets are still polled for invoices that ended after `polled_until` (epoch ms). With
    `account_id`, delete only this account.
    """
    narrowed = "" if account_id is None else "AND a.id = :id"
    wanted = {} if account_id is None else {"id": account_id}
    sql = FORGET.format(narrowed=narrowed)
    return tx.execute(sql, looked_at_until=polled_until, most=most, **wanted)


def _account(row: database.Row) -> PayoutAccount:
    return PayoutAccount(
        **{name: row[name] for name in NAMES},
        automatic=bool(row["automatic"]),
        currencies=tuple(row["currencies"].split()),
        sealed=row["details"],
    )
