"""Opening checkouts at wallets: I/O outside of the transaction that reserves the unit.

A crash between leaves an invoice that nobody has seen and a reservation that lapses.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from bot.core.outbox import budget_rows, outbox
from bot.core.outbox.host_budgets import OPENING
from bot.core.outbox.host_budgets import PATIENCE as PATIENCES
from bot.core.outbox.payload_kinds import PayloadKinds
from bot.core.outbox.queue_policy import SECOND, Queue
from bot.core.outbox.worker import Job
from bot.service.model.checkout_states import CheckoutState
from bot.service.model.rail_answers import Opened, Unavailable
from bot.service.rails import host_calls
from bot.service.store import checkouts, payout_accounts, requests, unit_moves
from bot.service.usecases import looking
from bot.service.usecases.looking import WalletLane

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.host_budgets import HostBudget
    from bot.core.outbox.outbox import Message
    from bot.service.model.checkout import Checkout
    from bot.service.model.rail_answers import Asked
    from bot.service.usecases.payment_context import PaymentContext

log = structlog.get_logger()

OPEN_SECONDS = 15
"""Seconds after which an opening is given up; a rail gives up earlier."""

ROOM = 256
"""Openings at once in this process: wallets that never answer fill their own lanes only."""

WALLET_ROOM = 8
"""Of these, at one wallet's host, or at one wallet of a relay."""

PATIENCE = PATIENCES[OPENING]
"""Milliseconds within which a payer's checkout is opened at a host that takes no call at first."""


@dataclass(frozen=True, slots=True)
class DueOpening:
    """A checkout that a wallet has to open."""

    checkout_id: str


OPENINGS = Queue(
    "openings",
    lease=60_000,
    ordered=False,
    width=WALLET_ROOM,
    lane_pace=looking.lane_pace,
    turn=looking.turn_of,
    subject_turns=True,
    group=looking.groups_of,
    group_width=lambda name: WALLET_ROOM if name.startswith(looking.WALLET) else looking.ZONE_ROOM,
    payloads=PayloadKinds(opening=DueOpening),
)
"""Checkouts to open; lanes, groups and turns as for looks."""


def queue_opening(tx: Transaction, checkout: Checkout, peer: str) -> None:
    """Queue the opening of a checkout just stored; `peer` is the pseudonym of its network."""
    lane, body = WalletLane(checkout.host, peer, OPENING), DueOpening(checkout.id)
    outbox.put(tx, OPENINGS, str(lane), body, checkout.created_at, subject=checkout.request_id)


class OpeningHandler:
    """Opens checkouts at the wallets of sellers; a worker performs its `job`.

    `budget` limits the calls of each host, None for no limit.
    """

    def __init__(
        self,
        db: Database,
        context: PaymentContext,
        now: Callable[[], int],
        budget: HostBudget | None = None,
    ) -> None:
        self._db = db
        self._budget = budget
        self._queue = replace(OPENINGS, budget=budget)
        self._context = context
        self._now = now
        self.job = Job(self._queue, self.handle, room=ROOM)

    async def handle(self, message: Message) -> None:
        """Ask for the invoice, and settle the message with it in one transaction."""
        checkout_id, lane = message.body.checkout_id, WalletLane.parse(message.lane)
        found, closed_for = await self._db.read(
            lambda tx: (self._read(tx, checkout_id), self._closed_for(tx, lane.host))
        )
        answer: Opened | Unavailable | None = None
        if found and closed_for > PATIENCE:
            answer = Unavailable("slow", "the host asks for no calls")
        elif found:
            with host_calls.claimed(lane.host, lane.purpose):
                answer = await self._open(*found)
        after = await self._db.transaction_until_stored(
            lambda tx: self._settle(tx, message, answer)
        )
        if after is None or answer is None:
            return
        state = after.state(self._now())
        if not isinstance(answer, Unavailable) and state is not CheckoutState.FAILED:
            log.info("checkout opened", checkout=checkout_id, state=state.value)
            return
        if not isinstance(answer, Unavailable):
            answer = Unavailable("lied", "the invoice was used before, or has ended")
        log.warning(
            "checkout not opened",
            checkout=checkout_id, kind=after.kind, host=after.wallet_host,
            reason=answer.reason, detail=answer.detail,
        )  # fmt: skip

    def _read(self, tx: Transaction, checkout_id: str) -> tuple[str, Asked] | None:
        """Return the kind and what to ask; None if nobody waits for it any more."""
        now = self._now()
        checkout = checkouts.find(tx, checkout_id)
        if checkout is None or checkout.state(now) is not CheckoutState.OPENING:
            return None
        account = checkout.account_id and payout_accounts.find(tx, checkout.account_id)
        request = requests.find_ever(tx, checkout.request_id, now)
        if not account or request is None or checkout.kind not in self._context.rails.kinds:
            return None
        asked = checkout.asked(request.terms.product.name, self._context.details_of(account))
        return checkout.kind, replace(asked, hint_url=self._context.hint_url(checkout_id))

    def _closed_for(self, tx: Transaction, host: str) -> int:
        """Return the milliseconds for which a host asks for no calls."""
        if self._budget is None:
            return 0
        now = self._now()
        return budget_rows.read(tx, self._budget, host, now).closed_until - now

    async def _open(self, kind: str, asked: Asked) -> Opened | Unavailable:
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                return await self._context.rails.of(kind).open(asked)
        except TimeoutError:
            return Unavailable("slow", "no answer in time")
        except Exception:
            log.exception("opening failed", checkout=asked.checkout_id, kind=kind)
            return Unavailable("refused")

    def _settle(
        self, tx: Transaction, message: Message, answer: Opened | Unavailable | None
    ) -> Checkout | None:
        """Store what came, and return the checkout after it.

        A reservation that lapsed meanwhile stays lapsed, but its invoice is looked at: its money
        would be late.
        """
        now = self._now()
        if isinstance(answer, Unavailable) and answer.again_in is not None:
            due_at = now + max(int(answer.again_in * 1000), SECOND)
            if due_at <= message.created_at + PATIENCE:
                outbox.retry(tx, self._queue, message, due_at, answer.detail)
                return None
        checkouts.lock_request(tx, message.body.checkout_id)
        checkout = checkouts.find(tx, message.body.checkout_id)
        if checkout is not None and checkout.opened_at is None and answer is not None:
            if isinstance(answer, Unavailable):
                unit_moves.end(tx, checkout, CheckoutState.FAILED, now, answer.reason)
            elif _is_used(tx, answer, now):
                unit_moves.end(tx, checkout, CheckoutState.FAILED, now, "lied")
            else:
                opened = checkout.open(answer, now)
                checkouts.store_opened(tx, opened, now)
                looking.queue_looks(tx, opened, answer, WalletLane.parse(message.lane).peer, now)
        outbox.done(tx, self._queue, message, now)
        return checkouts.find(tx, message.body.checkout_id)


def _is_used(tx: Transaction, answer: Opened, now: int) -> bool:
    """Return whether an invoice was handed out before, or has ended already."""
    has_ended = answer.lapses_at is not None and answer.lapses_at <= now
    return has_ended or checkouts.is_known(tx, answer.external_id)
