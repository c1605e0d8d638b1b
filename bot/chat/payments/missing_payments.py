"""Payments of one request that no webhook reported: found at the service and recorded.

A server that lists its payments names them. Of the others only the number of units that are gone
is known, so those count as sold once they have been gone for a while.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import structlog

from bot.chat.payments.reported import payment_of
from bot.chat.store import server_memory
from bot.chat.store.listings import LIVE, get_listing
from bot.chat.store.received_payments import known_transactions
from bot.chat.store.server_memory import Sighting
from bot.core.errors import MethodNotAllowed, NotFound

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from bot.chat.model.answers import Answer, ServerPayment
    from bot.chat.payments.recording import PaymentRecorder
    from bot.chat.provider.client import Client
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database

log = structlog.get_logger()

GRACE = 30_000
"""Milliseconds that the webhook of a payment may take to arrive."""
CONFIRMED = 60_000
"""Milliseconds after which units that are still gone count as sold."""
SEARCH_AGAIN = 3_600_000
"""Milliseconds after which payments that the service counts are searched for again."""
PAID = ("completed", "soldOut")
"""Values of `status` for a one-off that was paid, on servers that send a status."""

Pages: TypeAlias = "AsyncGenerator[list[ServerPayment], None]"
Paced: TypeAlias = "Callable[[Pages], Pages]"


class MissingPayments:
    """Finds and records the missing payments of requests, between `begin` and `end`.

    `now` in epoch ms; `paced` adds rests between the pages of a list.
    """

    def __init__(
        self,
        db: Database,
        client: Client,
        recorder: PaymentRecorder,
        now: Callable[[], int],
        paced: Paced,
    ) -> None:
        self._db = db
        self._client = client
        self._recorder = recorder
        self._now = now
        self._paced = paced
        self._outdated: set[str] = set()

    async def begin(self) -> None:
        """Begin a comparison of all requests."""
        self._outdated = await self._db.read(server_memory.sighted_listings)

    async def end(self) -> None:
        """End a comparison that reached all requests: sightings that it did not repeat are over."""
        if outdated := self._outdated:
            await self._db.transaction(lambda tx: server_memory.delete_sightings(tx, outdated))

    async def record(self, answer: Answer, listing: Listing) -> int:
        """Record the missing payments of a request; return their number.

        Raises PeerError, Refused and StorageError.
        """
        sold = count_sold(answer, listing, self._now())
        if sold <= listing.pieces:
            return 0
        if answer.paid_count is not None:
            try:
                return await self._record_listed(answer, listing, answer.paid_count)
            except (NotFound, MethodNotAllowed):
                log.debug("the service lists no payments", listing=listing.id)
        return await self._record_counted(listing, sold)

    async def _record_listed(self, answer: Answer, listing: Listing, counted: int) -> int:
        """Record the payments that the service lists and we don't know, oldest first."""
        gap, since = (counted, listing.paid_count), self._now() - SEARCH_AGAIN
        if await self._db.read(lambda tx: server_memory.is_gap_known(tx, listing.id, gap, since)):
            return 0
        unknown = await self._unknown(answer.id, counted - listing.paid_count)
        before = self._now() - GRACE
        due = [paid for paid in unknown if (paid.completed_at or 0) <= before]
        later = [paid for paid in unknown if paid not in due]
        sales = (paid for paid in unknown if not (paid.oversold or paid.underpaid))
        found, newest = 0, next(sales, None)
        for paid in reversed(due):
            # No units left are passed: more may have been sold since the server was asked.
            payment = replace(payment_of(paid, answer.id, listing), found=True)
            if paid is newest and answer.codes:  # if any buyers wait, this one does
                payment = replace(payment, codes_waiting=answer.codes.waiting)
            found += await self._recorder.record(listing, payment, None)
        # Webhooks arrive meanwhile.
        recorded = (await self._db.read(lambda tx: get_listing(tx, listing.id))).paid_count
        missing = counted - recorded - sum(not paid.underpaid for paid in later)
        if missing > 0:
            await self._db.transaction(
                lambda tx: server_memory.save_gap(tx, listing.id, (counted, recorded), self._now())
            )
            log.warning(
                "payments that the service counts and does not list",
                listing=listing.id, number=missing,
            )  # fmt: skip
        return found

    async def _unknown(self, request_id: str, missing: int) -> list[ServerPayment]:
        """Fetch the unknown payments, newest first, until `missing` of them are found.

        Payments made from now on are not among the missing ones, nor are underpaid ones, which the
        service doesn't count; those that are found are recorded too.
        """
        unknown, now = [], self._now()
        async with aclosing(self._paced(self._client.payment_pages(request_id))) as pages:
            async for page in pages:
                ids = [paid.transaction_id for paid in page]
                known = await known_transactions(self._db, request_id, ids)
                for paid in page:
                    was_short = known.get(paid.transaction_id)
                    if was_short is None or (was_short and not paid.underpaid):
                        unknown.append(paid)
                        missing -= not paid.underpaid and (paid.completed_at or 0) <= now
                if missing <= 0:
                    break
        return unknown

    async def _record_counted(self, listing: Listing, sold: int) -> int:
        """Record payments of which only the units are known, once they are confirmed.

        Units that were gone a while ago have had their webhooks since: payments recorded by now are
        subtracted. A sighting from the future was made by a clock that was set back since.
        """
        self._outdated.discard(listing.id)
        now = self._now()
        seen = await self._db.read(lambda tx: server_memory.find_sighting(tx, listing.id))
        if seen is not None and seen.seen_at <= now < seen.seen_at + CONFIRMED:
            return 0
        found = 0
        if seen is not None and seen.seen_at <= now:
            missing = min(seen.sold, sold) - listing.pieces
            if missing > 0:
                found = await self._recorder.record_missing(listing.id, listing.pieces, missing)
        sighting = Sighting(sold, now)  # after the recording: a crash between them repeats nothing
        await self._db.transaction(lambda tx: server_memory.save_sighting(tx, listing.id, sighting))
        return found


def count_sold(answer: Answer, listing: Listing, now: int) -> int:
    """Count the pieces of a request that its server's answer proves, at `now` (epoch ms).

    A payment that the server counts and that isn't recorded stands for one piece at least.
    """
    if answer.paid_count is not None:
        return listing.pieces + answer.paid_count - listing.paid_count
    if listing.wish.kind == "oneoff":
        return int(_is_closed(answer, listing, now))
    totals = [total for total in (answer.total_units, listing.wish.units) if total is not None]
    if not totals or answer.remaining_units is None:
        return 0
    # The wish's units shrink when units are taken out; not every server lowers its total.
    return max(0, min(totals) - answer.remaining_units - answer.reserved_units)


def _is_closed(answer: Answer, listing: Listing, now: int) -> bool:
    """Check that a one-off is closed by a payment: not by its end, its start or a stop."""
    if answer.is_enabled:
        return False
    if answer.status is not None:
        return answer.status in PAID
    ended = answer.expires_at is not None and answer.expires_at <= now
    has_begun = answer.enabled_at is None or answer.enabled_at <= now
    return listing.state == LIVE and has_begun and not ended
