"""Connects payout accounts of sellers after a probe, lists and removes them.

The details of an account are sealed as soon as its rail has accepted them. No answer, log or audit
line contains details.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from bot.core import errors, stored_json
from bot.core.database import database, vault
from bot.core.ops import audit
from bot.interface import vocabulary
from bot.service.checkouts import checkout
from bot.service.payments import account_rows
from bot.service.rails import rail
from bot.service.requests import idempotency, request_rows

PROBES = 8
"""Simultaneous probes of sellers' wallets for one application."""

PROBE_SECONDS = 30
"""Time limit of a probe, which calls a wallet several times."""

TEST_MONEY = "This server takes test money, which needs no payout account: see its setting RAILS."
UNKNOWN = "There is no such payout account."


class Payouts:
    """The payout accounts of all applications; `now` returns UTC epoch ms."""

    def __init__(
        self, db: database.Database, vault: vault.Vault, rails: rail.Rails, now: Callable[[], int]
    ) -> None:
        self._db = db
        self._vault = vault
        self._rails = rails
        self._now = now
        self._probing = Counter[str]()

    async def connect(
        self,
        app_id: str,
        owner: str,
        kind: str,
        details: Mapping[str, Any],
        key: idempotency.CallKey | None = None,
    ) -> account_rows.PayoutAccount:
        """Connect an account, which replaces the owner's account of the same way.

        The same details change nothing, and a repeated call with the same key calls no wallet.
        Raises the errors of `check`, NotFound if a repeat's account is gone, and
        IdempotencyMismatch.
        """
        made = await idempotency.read_made(self._db, key)
        if made is not None:
            return await self._db.read(lambda tx: _find_own(tx, app_id, made))
        connected = await self.check(app_id, kind, details)

        def store_new(tx: database.Transaction) -> account_rows.PayoutAccount:
            account = self._store(tx, app_id, owner, connected)
            idempotency.keep(tx, key, account.id)
            return account

        return await self._db.transaction(
            lambda tx: idempotency.once(
                tx, key, lambda: store_new(tx), lambda made: _find_own(tx, app_id, made)
            )
        )

    async def check(self, app_id: str, kind: str, details: Mapping[str, Any]) -> rail.Connected:
        """Check the details of an account, and ask its wallet; store nothing.

        Raises InvalidBody, and RateLimited while too many probes of the application run.
        """
        self.check_real_money()
        if kind not in self._rails.kinds:
            raise errors.InvalidBody.of_field(
                "kind", f"must be one of {', '.join(self._rails.kinds)}"
            )
        if self._probing[app_id] >= PROBES:
            raise errors.RateLimited(1)
        self._probing[app_id] += 1
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                return await self._rails.of(kind).connect(details)
        except TimeoutError:
            code = vocabulary.DetailError.HOST_SILENT.value
            problem = errors.FieldProblem("details", "The wallet took too long to answer.", code)
            raise errors.InvalidBody(info=[problem]) from None
        finally:
            self._probing[app_id] -= 1
            self._probing += Counter()  # drops applications without a probe

    async def list(self, app_id: str, owner: str) -> list[account_rows.PayoutAccount]:
        """Return the owner's accounts in the order of connecting. Raises InvalidBody."""
        self.check_real_money()
        return await account_rows.read_own(self._db, app_id, owner)

    async def remove(
        self, app_id: str, account_id: str, key: idempotency.CallKey | None = None
    ) -> None:
        """Remove an account of the application.

        Raises NotFound, InvalidBody and IdempotencyMismatch.
        """
        self.check_real_money()

        def remove(tx: database.Transaction) -> None:
            account, now = _find_own(tx, app_id, account_id), self._now()
            if not _retire(tx, account, now):
                raise errors.NotFound(UNKNOWN)
            _record(tx, "removed", account, now)

        await self._db.transaction(
            lambda tx: idempotency.once(tx, key, lambda: remove(tx), lambda _: None)
        )

    def details_of(self, account: account_rows.PayoutAccount) -> dict[str, Any]:
        """Return the unsealed details of an account."""
        return stored_json.read(dict, self._vault.open(account.sealed))

    def check_real_money(self) -> None:
        """Raise InvalidBody if the server takes test money."""
        if self._rails.test_money:
            raise errors.InvalidBody(TEST_MONEY)

    def _store(
        self, tx: database.Transaction, app_id: str, owner: str, connected: rail.Connected
    ) -> account_rows.PayoutAccount:
        now = self._now()
        former = account_rows.find_way(tx, app_id, owner, connected)
        if former is not None:
            known = (former.automatic, former.currencies, former.label, self.details_of(former))
            new = (connected.automatic, connected.currencies, connected.label, connected.details)
            if known == new:
                return former
            _retire(tx, former, now)
        account = account_rows.PayoutAccount(
            id=request_rows.new_id(now),
            app_id=app_id,
            owner=owner,
            kind=connected.kind,
            scheme=connected.scheme,
            automatic=connected.automatic,
            currencies=connected.currencies,
            label=connected.label,
            sealed=self._vault.seal(stored_json.write(dict, connected.details)),
            since=former.since if former else now,
            created_at=now,
        )
        account_rows.insert(tx, account)
        _record(tx, "replaced" if former else "connected", account, now)
        return account


def _find_own(tx: database.Transaction, app_id: str, account_id: str) -> account_rows.PayoutAccount:
    account = account_rows.find_of_app(tx, app_id, account_id)
    if account is None:
        raise errors.NotFound(UNKNOWN)
    return account


def sweep(tx: database.Transaction, now: int, most: int) -> int:
    """Delete up to `most` retired accounts that no checkout needs; return how many."""
    return account_rows.forget_retired(tx, now - checkout.LAST, most)


def _retire(tx: database.Transaction, account: account_rows.PayoutAccount, now: int) -> bool:
    """Mark an account as retired, and delete it immediately if no checkout needs it.

    Returns False if it was already retired. `account_rows.retire` waits for a payment that is
    choosing the account, so its checkout is found.
    """
    if not account_rows.retire(tx, account.id, now):
        return False
    account_rows.forget_retired(tx, now - checkout.LAST, 1, account.id)
    return True


def _record(
    tx: database.Transaction, change: str, account: account_rows.PayoutAccount, now: int
) -> None:
    details = {"kind": account.way, "label": account.label, "owner": account.owner}
    audit.record(tx, audit.app(account.app_id), f"payout.{change}", account.id, now, details)
