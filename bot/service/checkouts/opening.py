"""Opens checkouts at wallets, with I/O outside the transaction that reserves the units.

A crash in between leaves an unseen invoice and a reservation that lapses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from bot.core import stored_json
from bot.core.database import database
from bot.core.outbox import groups, host_budgets, outbox, queue_policy, worker
from bot.interface import vocabulary
from bot.service.checkouts import checkout_rows, inventory, polling
from bot.service.checkouts.checkout import Checkout
from bot.service.payments import account_rows, settling
from bot.service.rails import host_calls, rail
from bot.service.requests import request_rows

log = structlog.get_logger()

OPEN_SECONDS = 15
"""Time limit of an opening; a rail's own limit is shorter."""

ROOM = 256
"""Simultaneous openings in this process. Wallets that never answer fill only their own lanes."""

WALLET_ROOM = 8
"""Simultaneous openings at one wallet's host, or at one wallet behind a relay."""

PATIENCE = host_budgets.PATIENCE[host_budgets.OPENING]
"""Milliseconds that a payer's checkout waits for a host that accepts no calls."""


@dataclass(frozen=True, slots=True)
class DueOpening:
    """A checkout that a wallet has to open."""

    checkout_id: str


OPENINGS = polling.wallet_queue(
    "openings", WALLET_ROOM, stored_json.PayloadKinds(opening=DueOpening)
)
"""Checkouts to open."""


def queue_opening(tx: database.Transaction, checkout: Checkout, peer: str) -> None:
    """Queue the opening of a checkout just stored; `peer` is the pseudonym of its network."""
    lane = str(polling.WalletLane(checkout.host, peer, host_budgets.OPENING))
    body = DueOpening(checkout.id)
    outbox.put(tx, OPENINGS, lane, body, checkout.created_at, subject=checkout.request_id)


class OpeningHandler:
    """Opens checkouts at the wallets of sellers; a worker runs its `queue_handler`."""

    def __init__(
        self,
        db: database.Database,
        context: settling.PaymentContext,
        now: Callable[[], int],
        budget: host_budgets.HostBudget | None = None,  # of the calls of each host
    ) -> None:
        self._db = db
        self._budget = budget
        self._queue = replace(OPENINGS, budget=budget)
        self._context = context
        self._now = now
        self.queue_handler = worker.QueueHandler(self._queue, self.handle, concurrency=ROOM)

    async def handle(self, message: outbox.Message) -> None:
        """Request the invoice, then store it and settle the message in one transaction."""
        checkout_id, lane = message.body.checkout_id, polling.WalletLane.parse(message.lane)
        found, closed_for = await self._db.read(
            lambda tx: (self._read(tx, checkout_id), self._closed_for(tx, lane.host))
        )
        answer: rail.Opened | rail.Unavailable | None = None
        if found and closed_for > PATIENCE:
            answer = rail.Unavailable("slow", "the host asks for no calls")
        elif found:
            with host_calls.claimed(lane.host, lane.purpose):
                answer = await self._open(*found)
        after = await self._db.transaction_until_stored(
            lambda tx: self._settle(tx, message, answer)
        )
        if after is None or answer is None:
            return
        state = after.state(self._now())
        if isinstance(answer, rail.Opened):
            if state is not vocabulary.CheckoutState.FAILED:
                log.info("checkout opened", checkout=checkout_id, state=state.value)
                return
            answer = rail.Unavailable("lied", "the invoice was used before, or has ended")
        log.warning(
            "checkout not opened",
            checkout=checkout_id, kind=after.kind, host=after.wallet_host,
            reason=answer.reason, detail=answer.detail,
        )  # fmt: skip

    def _read(self, tx: database.Transaction, checkout_id: str) -> tuple[str, rail.Charge] | None:
        """Return the kind and the charge, or None if nobody is waiting for the checkout."""
        now = self._now()
        checkout = checkout_rows.find(tx, checkout_id)
        if checkout is None or checkout.state(now) is not vocabulary.CheckoutState.OPENING:
            return None
        account = checkout.account_id and account_rows.find(tx, checkout.account_id)
        request = request_rows.find_ever(tx, checkout.request_id, now)
        if not account or request is None or checkout.kind not in self._context.rails.kinds:
            return None
        charge = checkout.charge(request.terms.product.name, self._context.details_of(account))
        return checkout.kind, replace(charge, hint_url=self._context.hint_url(checkout_id))

    def _closed_for(self, tx: database.Transaction, host: str) -> int:
        """Return how many milliseconds remain until a host accepts calls again."""
        if self._budget is None:
            return 0
        now = self._now()
        return groups.read_budget(tx, self._budget, host, now).closed_until - now

    async def _open(self, kind: str, charge: rail.Charge) -> rail.Opened | rail.Unavailable:
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                return await self._context.rails.of(kind).open(charge)
        except TimeoutError:
            return rail.Unavailable("slow", "no answer in time")
        except Exception:
            log.exception("opening failed", checkout=charge.checkout_id, kind=kind)
            return rail.Unavailable("refused")

    def _settle(
        self,
        tx: database.Transaction,
        message: outbox.Message,
        answer: rail.Opened | rail.Unavailable | None,
    ) -> Checkout | None:
        """Store the answer, and return the checkout after it.

        A reservation that has lapsed stays lapsed, but its invoice is polled, because late money
        may arrive.
        """
        now = self._now()
        if isinstance(answer, rail.Unavailable) and answer.again_in is not None:
            due_at = now + max(int(answer.again_in * 1000), queue_policy.SECOND)
            if due_at <= message.created_at + PATIENCE:
                outbox.retry(tx, self._queue, message, due_at, answer.detail)
                return None
        checkout_rows.lock_request(tx, message.body.checkout_id)
        checkout = checkout_rows.find(tx, message.body.checkout_id)
        if checkout is not None and checkout.opened_at is None and answer is not None:
            if isinstance(answer, rail.Unavailable):
                inventory.end(tx, checkout, vocabulary.CheckoutState.FAILED, now, answer.reason)
            elif _is_used(tx, answer, now):
                inventory.end(tx, checkout, vocabulary.CheckoutState.FAILED, now, "lied")
            else:
                opened = checkout.open(answer, now)
                checkout_rows.store_opened(tx, opened, now)
                polling.queue_polls(
                    tx, opened, answer, polling.WalletLane.parse(message.lane).peer, now
                )
        outbox.done(tx, self._queue, message, now)
        return checkout_rows.find(tx, message.body.checkout_id)


def _is_used(tx: database.Transaction, answer: rail.Opened, now: int) -> bool:
    """Return whether an invoice was used before or has already expired."""
    has_ended = answer.lapses_at is not None and answer.lapses_at <= now
    return has_ended or checkout_rows.is_known(tx, "external_id", answer.external_id)
