"""Payments that no webhook told, found by comparing with the service and told as found later.

A webhook can be lost for good: the receiver was down for longer than the other server tries, or its
address has changed. What the server says of its requests can't be lost, so it is read again and
again, at a pace that burdens nobody.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import structlog

from bot.chat.model import paid_amount
from bot.chat.model.answers import is_paid
from bot.chat.payments.units_sold import count_sold
from bot.chat.store import listings, received_payments
from bot.chat.store.listings import FAILED
from bot.chat.store.received_payments import Payment
from bot.core.errors import (
    MethodNotAllowed,
    NotFound,
    PeerError,
    Refused,
    StorageError,
    wait_asked_for,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from bot.chat.model.answers import Answer, Paid
    from bot.chat.payments.recording import PaymentRecorder
    from bot.chat.provider.client import Client
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database

log = structlog.get_logger()
T = TypeVar("T")

FIRST_WAIT = 5.0
"""Seconds after the start: webhooks that waited for us come by themselves."""
INTERVAL = 60.0
"""Seconds between two looks."""
SHARE = 100
"""We rest so many times as long as the server took for a page: a hundredth of it is for us."""
LEAST_REST, LONGEST_REST = 0.25, 600.0
"""Seconds; the least keeps us far below the rate at which a server would refuse us."""
BACKOFF = (60.0, 120.0, 300.0, 600.0)
"""Seconds until the next look after one that failed, the last for as long as it goes on."""
LONGEST_BACKOFF = 3600.0
"""Seconds that a server may ask us to wait."""
GRACE = 30_000
"""Milliseconds that a payment's webhook has to come by itself."""
CONFIRMED = 60_000
"""Milliseconds after which units that are still gone were sold, where only units tell."""
MOST_TROUBLES = 5
"""Requests of one look that may be passed over because of an error about them alone."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """That more was sold than told: how much in all, seen at `at` (ms of the steady clock)."""

    sold: int
    at: int


class Reconciler:
    """Looks again and again; `sleep` waits so many seconds.

    `now` in epoch ms is the clock that is set now and then, `steady` in ms the one that is not.
    """

    def __init__(
        self,
        db: Database,
        client: Client,
        recorder: PaymentRecorder,
        now: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        steady: Callable[[], int] | None = None,
    ) -> None:
        self._db = db
        self._client = client
        self._recorder = recorder
        self._now = now
        self._steady = steady or now
        self._sleep = sleep
        self._owed = 0.0
        self._troubles = 0
        self._seen: dict[str, Sighting] = {}
        self._still: dict[str, Sighting] = {}
        self._vain: dict[str, tuple[int | None, int]] = {}
        self._reported: set[str] = set()

    async def run(self) -> None:
        """Look until cancelled; a look that fails is a line in the log."""
        failed = 0
        await self._sleep(FIRST_WAIT)
        while True:
            try:
                await self.look()
            except (PeerError, Refused, StorageError) as error:
                wait = _backoff(failed, error)
                failed += 1
                log.warning("not compared with the service", reason=_reason(error), again_in=wait)
            except Exception as error:
                wait = _backoff(failed, error)
                failed += 1
                log.exception("not compared with the service", again_in=wait)
            else:
                wait, failed = INTERVAL, 0
            await self._sleep(wait)

    async def look(self) -> int:
        """Compare every request once; how many payments were found.

        Raises PeerError, Refused and StorageError; what was found until then is told.
        """
        found, self._troubles, self._still = 0, 0, {}
        try:
            async with aclosing(self._paced(self._client.request_pages())) as pages:
                async for page in pages:
                    found += await self._compare(page)
        except (PeerError, Refused, StorageError):
            self._seen |= self._still
            raise
        else:
            self._seen = self._still
        finally:
            tell = log.info if found else log.debug
            tell("compared with the service", found=found)
        return found

    async def _paced(self, pages: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Give the pages, and the server rest before each."""
        async with aclosing(pages):
            while True:
                await self._sleep(self._owed)
                began = self._steady()
                try:
                    page = await anext(pages)
                except StopAsyncIteration:
                    return
                finally:
                    took = (self._steady() - began) / 1000
                    self._owed = min(max(LEAST_REST, SHARE * took), LONGEST_REST)
                yield page

    async def _compare(self, page: Sequence[Answer]) -> int:
        known = await listings.listings_by_id(
            self._db, [answer.listing_id for answer in page if answer.listing_id]
        )
        found = 0
        for answer in page:
            listing = known.get(answer.listing_id or "")
            if listing is None:
                continue
            try:
                found += await self._look_at(answer, listing)
            except (PeerError, Refused) as error:
                self._troubles += 1
                if self._troubles > MOST_TROUBLES or wait_asked_for(error):
                    raise
                log.warning("request not compared", listing=listing.id, reason=_reason(error))
        return found

    async def _look_at(self, answer: Answer, listing: Listing) -> int:
        if answer.id != listing.request_id:
            await self._double(answer, listing)
            return 0
        count = count_sold(answer, listing, self._now())
        if count <= listing.paid_count:
            return 0
        if answer.paid_count is not None:
            try:
                return await self._named(answer, listing)
            except (NotFound, MethodNotAllowed):
                log.debug("the service lists no payments", listing=listing.id)
        return await self._counted(listing, count)

    async def _named(self, answer: Answer, listing: Listing) -> int:
        """Tell the payments that the service lists and we don't know, oldest first."""
        counts = (answer.paid_count, listing.paid_count)
        if self._vain.get(listing.id) == counts:
            return 0
        missing = (answer.paid_count or 0) - listing.paid_count
        due = self._now() - GRACE
        unknown = await self._unknown(answer.id, missing)
        ripe = [paid for paid in unknown if (paid.completed_at or 0) <= due]
        found = 0
        for paid in reversed(ripe):
            # What it left is counted: more may have been sold since the server was asked.
            payment = _payment(paid, answer, listing)
            found += await self._recorder.record(listing, payment, None)
        known = await self._known(listing)
        lacking = (answer.paid_count or 0) - known - (len(unknown) - len(ripe))
        if lacking > 0:
            self._vain[listing.id] = (answer.paid_count, known)
            log.warning(
                "payments that the service counts and does not list",
                listing=listing.id, number=lacking,
            )  # fmt: skip
        return found

    async def _known(self, listing: Listing) -> int:
        """How many payments have been told by now: webhooks come while we read."""
        now = await self._db.read(lambda tx: listings.find_listing(tx, listing.id))
        return now.paid_count if now else 0

    async def _unknown(self, request_id: str, missing: int) -> list[Paid]:
        """Give the payments that were not told, newest first, until `missing` are there.

        Those made from now on are not among the missing.
        """
        unknown, now = [], self._now()
        async with aclosing(self._paced(self._client.payment_pages(request_id))) as pages:
            async for page in pages:
                ids = [paid.transaction_id for paid in page]
                known = await received_payments.known_transactions(self._db, request_id, ids)
                for paid in page:
                    if paid.transaction_id not in known:
                        unknown.append(paid)
                        missing -= (paid.completed_at or 0) <= now
                if missing <= 0:
                    break
        return unknown

    async def _counted(self, listing: Listing, count: int) -> int:
        """Tell payments of which nothing but their units tells.

        What was sold a while ago has had its webhooks since: what is told by now is taken off it.
        """
        now = self._steady()
        seen = self._seen.get(listing.id)
        if seen is None or now - seen.at < CONFIRMED:
            self._still[listing.id] = seen or Sighting(count, now)
            return 0
        self._still[listing.id] = Sighting(count, now)
        missing = min(seen.sold, count) - listing.paid_count
        if missing <= 0:
            return 0
        return await self._recorder.record_missing(listing.id, listing.paid_count, missing)

    async def _double(self, answer: Answer, listing: Listing) -> None:
        """Take away a request that a lost answer let the server make a second time.

        Nobody was given its link. One that was paid all the same is for the operator to look at.
        Who creates tidies up as well, minutes after; a server may take longer, or fail just then.
        """
        if listing.request_id is None and listing.state != FAILED:
            return  # it is being created: who creates it chooses
        paid = await self._db.read(lambda tx: received_payments.paid_request_ids(tx, listing.id))
        if not is_paid(answer, paid):
            await self._client.delete(answer.id)
            log.warning("double request deleted", listing=listing.id, request=answer.id)
        elif answer.id not in self._reported:
            self._reported.add(answer.id)
            log.error("double request was paid", listing=listing.id, request=answer.id)


def _payment(paid: Paid, answer: Answer, listing: Listing) -> Payment:
    amount = paid_amount.counted(paid.amount, paid.currency, listing.wish)
    return Payment(
        request_id=answer.id,
        transaction_id=paid.transaction_id,
        amount=amount.minor,
        currency=amount.currency,
        payer=paid.payer,
        oversold=paid.oversold,
        found=True,
        named=amount.named,
    )


def _backoff(failed: int, error: Exception) -> float:
    wait = BACKOFF[min(failed, len(BACKOFF) - 1)]
    return max(wait, min(wait_asked_for(error), LONGEST_BACKOFF))


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
