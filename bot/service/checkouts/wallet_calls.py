"""Openings of checkouts at the wallets of sellers, and polls of all rails for their money.

Both are rows in queues, so a restart continues where it stopped. Their I/O is outside the
transactions. A crash while a checkout opens leaves an unseen invoice and a reservation that lapses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog

from bot.core import stored_json
from bot.core.database import database
from bot.core.net import webhook_addresses
from bot.core.outbox import (
    bulk_changes,
    groups,
    host_budgets,
    outbox,
    queries,
    queue_policy,
    worker,
)
from bot.service.checkouts import checkout_rows, inventory
from bot.service.checkouts.checkout import (
    CLOSEST,
    GRACE,
    MINUTE,
    PATIENCE,
    SETTLED,
    Checkout,
    Settlement,
    State,
    next_poll,
)
from bot.service.payments import account_rows, settling
from bot.service.rails import host_calls, rail
from bot.service.requests import request, request_rows

log = structlog.get_logger()

SECONDS = 15
"""Time limit of an opening or a poll; a rail's own limit is shorter."""

ROOM = 256
"""Simultaneous openings in this process, and as many polls. Wallets that never answer fill only
their own lanes.
"""

ZONE_ROOM = ROOM // 4
"""Simultaneous openings, or polls, of wallets in one zone, whose owner can invent hosts and ports.
"""

OPENINGS_OF_WALLET, POLLS_OF_WALLET = 8, 16
"""Simultaneous calls of one wallet's host, or of one wallet behind a relay."""

WALLET = "wallet "
"""Prefix of the groups of a wallet's lanes."""

LANE_PACE = queue_policy.Pace(1, POLLS_OF_WALLET)
"""Moves a lane that was just served behind the other open lanes."""


@dataclass(frozen=True, slots=True)
class WalletLane:
    """A lane of calls to wallets: calls to one host caused by one payer's network.

    Test money has the lane "", which never waits and so has no group.
    """

    wallet: str
    """`host:port` or `relay/key`."""

    peer: str = ""
    """Pseudonym of the payer's network, "" once it is forgotten."""

    purpose: str = host_budgets.LATER

    def __str__(self) -> str:
        """Return the lane's name."""
        return f"{self.wallet} {self.peer} {self.purpose}" if self.wallet else ""

    @classmethod
    def parse(cls, name: str) -> WalletLane:
        """Read the name of a lane."""
        wallet, _, rest = name.partition(" ")
        peer, _, purpose = rest.partition(" ")
        return cls(wallet, peer, purpose or host_budgets.LATER)

    @property
    def host(self) -> str:
        """Return the host whose call budget is used."""
        host, has_key, _ = self.wallet.partition("/")
        return host if has_key else host.rpartition(":")[0] or host


def groups_of(name: str) -> tuple[str, ...]:
    """Return the groups of a lane: its host and purpose, its wallet and its zone."""
    lane = WalletLane.parse(name)
    if not lane.host:
        return ()
    zone = webhook_addresses.zone_of(lane.host)
    return f"{lane.purpose} {lane.host}", f"{WALLET}{lane.wallet}", *([zone] if zone else [])


def turn_of(name: str) -> str:
    """Return the name of a lane's turn; a network has one turn per host and purpose."""
    lane = WalletLane.parse(name)
    return f"{lane.host} {lane.peer} {lane.purpose}" if lane.host else ""


def wallet_queue(name: str, width: int, payloads: stored_json.PayloadKinds) -> queue_policy.Queue:
    """Return a queue of calls to wallets, `width` of them to one wallet at the same time.

    A wallet that hangs delays no other wallet. The calls that a host's budget allows are shared in
    turns by the payers' networks, and within a network by its requests.
    """
    return queue_policy.Queue(
        name,
        lease=60_000,
        ordered=False,
        width=width,
        lane_pace=lambda lane: LANE_PACE if lane else None,
        turn_key=turn_of,
        subjects_take_turns=True,
        group=groups_of,
        group_width=lambda group: width if group.startswith(WALLET) else ZONE_ROOM,
        payloads=payloads,
    )


# Polls.

REGULAR_POLL = f"SELECT id FROM {queries.QUEUED} AS queued WHERE id = :key AND state = 'waiting'"  # noqa: S608 - our own words
"""Finds the waiting regular poll of a checkout."""

NOT_YET = "the money has not arrived"

WARNING_INTERVAL = 10 * MINUTE
"""Minimum time between two warnings about one host, in milliseconds."""

MAX_WARNED_HOSTS = 1_000
"""Hosts whose last warning is remembered."""


@dataclass(frozen=True, slots=True)
class DuePoll:
    """A poll for the money of a checkout."""

    checkout_id: str

    once: bool = False
    """True if no other poll follows it."""


POLLS = wallet_queue("looks", POLLS_OF_WALLET, stored_json.PayloadKinds(look=DuePoll))


def queue_polls(
    tx: database.Transaction, checkout: Checkout, opened: rail.Opened, peer: str, now: int
) -> None:
    """Queue polls at the times that the rail names, or else the first regular poll."""
    lane = WalletLane(checkout.host, peer)
    if opened.poll_times is None:
        due_at = next_poll(now, checkout.expires_at or now, now)
        _put(tx, checkout, lane, now, due_at, DuePoll(checkout.id), _key(checkout.id))
        return
    for at in opened.poll_times:
        _put(tx, checkout, lane, now, at, DuePoll(checkout.id, once=True))


def hint(tx: database.Transaction, checkout_id: str, now: int) -> None:
    """Queue a poll of a checkout's wallet as soon as possible, because money may have arrived.

    It does nothing if no wallet is polled or the money has already arrived.
    """
    checkout = checkout_rows.find(tx, checkout_id)
    if checkout is None or not _may_poll(checkout):
        return
    found = queries.find(tx, _key(checkout_id))
    peer = WalletLane.parse(found["lane"]).peer if found else ""
    lane = WalletLane(checkout.host, peer, host_budgets.ASKED)
    polled_at = min(checkout.polled_at or 0, now)  # a clock that was ahead may have stored it
    due_at = max(now, polled_at + CLOSEST)
    body, key = DuePoll(checkout_id, once=True), _requested_key(checkout_id)
    if _put(tx, checkout, lane, now, due_at, body, key):
        return
    if not outbox.bring_forward(tx, POLLS, key, due_at):
        # A poll is under way: its answer may be older than the hint.
        later = max(due_at, now + CLOSEST)
        _put(tx, checkout, lane, now, later, body, f"look-again-{checkout_id}")


async def hint_for_page(db: database.Database, checkout: Checkout, now: int) -> bool:
    """Queue a poll for a payer with the checkout's page open, without a write per call.

    `checkout` was just read. Return False if no wallet is polled for its money.
    """
    if not _may_poll(checkout):
        return False
    is_fresh = 0 <= now - (checkout.polled_at or 0) < CLOSEST
    if not is_fresh and not await db.read(
        partial(queries.find, message_id=_requested_key(checkout.id))
    ):
        await db.transaction(partial(hint, checkout_id=checkout.id, now=now))
    return True


def _may_poll(checkout: Checkout) -> bool:
    return checkout.polled_at is not None and checkout.stored_state not in SETTLED


def _key(checkout_id: str) -> str:
    return f"look-{checkout_id}"


def _requested_key(checkout_id: str) -> str:
    return f"look-asked-{checkout_id}"


def _put(
    tx: database.Transaction,
    checkout: Checkout,
    lane: WalletLane,
    now: int,
    due_at: int | None,
    body: DuePoll,
    key: str | None = None,
) -> bool:
    return outbox.put(
        tx, POLLS, str(lane), body, now, key=key, due_at=due_at, subject=checkout.request_id
    )


class PaymentPoller:
    """Polls the rails for the money of checkouts; a worker runs its `queue_handler`."""

    def __init__(
        self,
        db: database.Database,
        context: settling.PaymentContext,
        now: Callable[[], int],
        budget: host_budgets.HostBudget | None = None,  # of the calls of each host
    ) -> None:
        self._db = db
        self._queue = replace(POLLS, budget=budget)
        self._context = context
        self._now = now
        self._warned: dict[str, int] = {}
        self.queue_handler = worker.QueueHandler(self._queue, self.handle, concurrency=ROOM)

    async def handle(self, message: outbox.Message) -> None:
        """Poll once, and settle the message with the answer in one transaction."""
        checkout, details = await self._db.read(lambda tx: self._read(tx, message))
        lane = WalletLane.parse(message.lane)
        with host_calls.claimed(lane.host, lane.purpose):
            found = await self._poll(checkout, details) if checkout else rail.Waiting()
        payment = await self._db.transaction_until_stored(
            lambda tx: self._settle(tx, message, found)
        )
        invalid = found.invalid_answer if isinstance(found, rail.Waiting) else None
        # Later polls would only repeat it.
        if checkout and invalid and checkout.invalid_answer is None:
            log.warning(
                "wallet's answer not believed",
                checkout=checkout.id, kind=checkout.kind,
                host=checkout.wallet_host, reason=str(invalid),
            )  # fmt: skip
        if payment is not None:
            settling.log_payment(payment)
        elif isinstance(found, rail.Arrived):
            log.info("payment reported again", checkout=message.body.checkout_id)

    def _read(
        self, tx: database.Transaction, message: outbox.Message
    ) -> tuple[Checkout | None, dict[str, Any]]:
        """Return the checkout and its account's details, or None if no poll is needed."""
        checkout = checkout_rows.find(tx, message.body.checkout_id)
        if checkout is None or checkout.kind not in self._context.rails.kinds:
            return None, {}
        if checkout.account_id is None:
            return checkout, {}
        account = account_rows.find(tx, checkout.account_id)
        return (checkout, self._context.details_of(account)) if account else (None, {})

    async def _poll(self, checkout: Checkout, details: dict[str, Any]) -> rail.PollAnswer:
        """Poll the rail; a bug in it must not end the polling."""
        polled, charge = self._context.rails.of(checkout.kind), checkout.charge("", details)
        try:
            async with asyncio.timeout(SECONDS):
                found = await polled.poll(charge, checkout.as_opened())
        except TimeoutError:
            found = rail.Waiting("no answer in time")
        except Exception:
            log.exception("look failed", checkout=checkout.id, kind=checkout.kind)
            return rail.Waiting()
        if isinstance(found, rail.Arrived) and found.amount is not None and found.amount <= 0:
            found = rail.Waiting(
                "the wallet named no amount that could be paid", rail.InvalidWalletAnswer.AMOUNT
            )
        if isinstance(found, rail.Arrived):
            return found
        facts = {"checkout": checkout.id, "kind": checkout.kind, "host": checkout.wallet_host}
        is_silent = isinstance(found, rail.Waiting) and found.detail and not found.invalid_answer
        if is_silent and self._may_warn(checkout.wallet_host):
            log.warning("wallet can't be asked for money", **facts, reason=found.detail)
        else:
            log.debug("no money yet", **facts, reason=found.detail)
        return found

    def _may_warn(self, host: str) -> bool:
        """Return whether the last warning is old enough: wallets are polled every 1.5 seconds."""
        now = self._now()
        if now < self._warned.get(host, now - WARNING_INTERVAL) + WARNING_INTERVAL:
            return False
        if len(self._warned) >= MAX_WARNED_HOSTS:
            self._warned.clear()
        self._warned[host] = now
        return True

    def _settle(
        self, tx: database.Transaction, message: outbox.Message, found: rail.PollAnswer
    ) -> request.Payment | None:
        """Record the answer and queue the next poll."""
        now, task = self._now(), message.body
        again_in = found.again_in if isinstance(found, rail.Waiting) else None
        checkout = checkout_rows.find(tx, task.checkout_id)
        expires_at = checkout.expires_at if checkout else None
        # The host accepts no calls now, so the next poll waits, but not forever.
        if again_in is not None and now < (expires_at or now + 1) + PATIENCE:
            later = now + max(int(again_in * 1000), CLOSEST)
            outbox.retry(tx, self._queue, message, later, NOT_YET)
            return None
        payment = None
        if checkout is not None and isinstance(found, rail.Arrived):
            settlement = Settlement(checkout.kind, checkout.id, checkout.settles_as, found.amount)
            payment = settling.record_settlement(tx, settlement, now)
            checkout = checkout_rows.find(tx, task.checkout_id)
        due_at = None
        if checkout is not None and _may_poll(checkout):
            invalid = found.invalid_answer if isinstance(found, rail.Waiting) else None
            checkout_rows.mark_polled(tx, checkout.id, now, invalid)
            opened_at, expires_at = checkout.opened_at or now, checkout.expires_at or now
            due_at = next_poll(opened_at, expires_at, now)
        if due_at is None or checkout is None or task.once:
            outbox.done(tx, self._queue, message, now)
            if due_at is not None:  # the regular polls count from this poll
                bulk_changes.postpone(tx, REGULAR_POLL, due_at, key=_key(task.checkout_id))
            return payment
        lane = WalletLane.parse(message.lane)
        if now >= (checkout.expires_at or now) + GRACE:
            lane = WalletLane(lane.wallet)  # its network is forgotten
        outbox.retry(
            tx, self._queue, message, due_at, NOT_YET, following=outbox.NextAttempt(task, str(lane))
        )
        return payment


# Openings.

OPENING_PATIENCE = host_budgets.PATIENCE[host_budgets.OPENING]
"""Milliseconds that a payer's checkout waits for a host that accepts no calls."""


@dataclass(frozen=True, slots=True)
class DueOpening:
    """A checkout that a wallet has to open."""

    checkout_id: str


OPENINGS = wallet_queue(
    "openings", OPENINGS_OF_WALLET, stored_json.PayloadKinds(opening=DueOpening)
)
QUEUES = (OPENINGS, POLLS)


def queue_opening(tx: database.Transaction, checkout: Checkout, peer: str) -> None:
    """Queue the opening of a checkout just stored; `peer` is the pseudonym of its network."""
    lane = str(WalletLane(checkout.host, peer, host_budgets.OPENING))
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
        checkout_id, lane = message.body.checkout_id, WalletLane.parse(message.lane)
        found, closed_for = await self._db.read(lambda tx: self._read(tx, checkout_id, lane.host))
        answer: rail.Opened | rail.Unavailable | None = None
        if found and closed_for > OPENING_PATIENCE:
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
            if state is not State.FAILED:
                log.info("checkout opened", checkout=checkout_id, state=state.value)
                return
            answer = rail.Unavailable("lied", "the invoice was used before, or has ended")
        log.warning(
            "checkout not opened",
            checkout=checkout_id, kind=after.kind, host=after.wallet_host,
            reason=answer.reason, detail=answer.detail,
        )  # fmt: skip

    def _read(
        self, tx: database.Transaction, checkout_id: str, host: str
    ) -> tuple[tuple[str, rail.Charge] | None, int]:
        """Return the kind and the charge, and in how many milliseconds the host accepts calls.

        The first is None if nobody is waiting for the checkout.
        """
        now, closed_for = self._now(), 0
        if self._budget is not None:
            closed_for = groups.read_budget(tx, self._budget, host, now).closed_until - now
        checkout = checkout_rows.find(tx, checkout_id)
        if checkout is None or checkout.state(now) is not State.OPENING:
            return None, closed_for
        account = checkout.account_id and account_rows.find(tx, checkout.account_id)
        request = request_rows.find_ever(tx, checkout.request_id, now)
        if not account or request is None or checkout.kind not in self._context.rails.kinds:
            return None, closed_for
        charge = checkout.charge(request.terms.product.name, self._context.details_of(account))
        hinted = replace(charge, hint_url=self._context.hint_url(checkout_id))
        return (checkout.kind, hinted), closed_for

    async def _open(self, kind: str, charge: rail.Charge) -> rail.Opened | rail.Unavailable:
        try:
            async with asyncio.timeout(SECONDS):
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
            if due_at <= message.created_at + OPENING_PATIENCE:
                outbox.retry(tx, self._queue, message, due_at, answer.detail)
                return None
        checkout_rows.lock_request(tx, message.body.checkout_id)
        checkout = checkout_rows.find(tx, message.body.checkout_id)
        if checkout is not None and checkout.opened_at is None and answer is not None:
            if isinstance(answer, rail.Unavailable):
                inventory.end(tx, checkout, State.FAILED, now, answer.reason)
            elif (answer.lapses_at is not None and answer.lapses_at <= now) or (
                checkout_rows.is_known(tx, "external_id", answer.external_id)
            ):
                inventory.end(tx, checkout, State.FAILED, now, "lied")
            else:
                opened = checkout.open(answer, now)
                checkout_rows.store_opened(tx, opened, now)
                queue_polls(tx, opened, answer, WalletLane.parse(message.lane).peer, now)
        outbox.done(tx, self._queue, message, now)
        return checkout_rows.find(tx, message.body.checkout_id)
