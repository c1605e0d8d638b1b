"""The reconciler: it compares our requests with the service's, again and again.

A webhook can be lost for good: the receiver was down for longer than the other server retries, or
its address has changed. The service's own list can't be lost, so payments that are missing here
are found by it (`missing_payments`) and recorded as found later. So are codes that another program
added.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

import structlog

from bot.chat.model.answers import was_paid
from bot.chat.payments.missing_payments import MissingPayments
from bot.chat.store import listings, server_memory
from bot.chat.store.listings import FAILED
from bot.chat.store.received_payments import paid_request_ids
from bot.core.errors import NoLongerLead, PeerError, Refused, StorageError, requested_wait
from bot.core.outbox.queue_policy import RetryTable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from bot.chat.model.answers import Answer
    from bot.chat.payments.recording import PaymentRecorder
    from bot.chat.provider.client import Client
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database

log = structlog.get_logger()
T = TypeVar("T")

FIRST_WAIT = 5.0
"""Seconds after the start: webhooks that waited for us arrive meanwhile."""
INTERVAL = 60.0
"""Seconds between two comparisons."""
REST_FACTOR = 100
"""Rest this many times as long as the server took for a page: we use a hundredth of its time."""
LEAST_REST, LONGEST_REST = 0.25, 600.0
"""Seconds; the least is far below every server's rate limit."""
RETRIES = RetryTable((60_000, 120_000, 300_000, 600_000), repeats=True, longest_asked=3_600_000)
"""Delays until the next comparison after a failed one."""
MOST_FAILURES = 5
"""Requests of one comparison that may fail, each by itself, before the server counts as failing."""


class Reconciler:
    """Runs the comparisons; `now` in epoch ms, `sleep` waits a number of seconds."""

    def __init__(
        self,
        db: Database,
        client: Client,
        recorder: PaymentRecorder,
        now: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._db = db
        self._client = client
        self._recorder = recorder
        self._now = now
        self._sleep = sleep
        self._missing = MissingPayments(db, client, recorder, now, self._paced)
        self._rest = 0.0
        self._failures = 0

    async def run(self) -> None:
        """Compare until cancelled; a failure is a line in the log. Raises NoLongerLead."""
        failed = 0
        await self._sleep(FIRST_WAIT)
        while True:
            try:
                await self.compare()
            except (PeerError, Refused, StorageError) as error:
                failed += 1
                wait = _delay(failed, error)
                log.warning("not compared with the service", reason=_reason(error), again_in=wait)
            except NoLongerLead:
                raise
            except Exception as error:
                failed += 1
                wait = _delay(failed, error)
                log.exception("not compared with the service", again_in=wait)
            else:
                wait, failed = INTERVAL, 0
            await self._sleep(wait)

    async def compare(self) -> int:
        """Compare every request once; return the number of payments found.

        Raises PeerError, Refused and StorageError; what was found before that is recorded.
        """
        found = self._failures = 0
        await self._missing.begin()
        try:
            async with aclosing(self._paced(self._client.request_pages())) as pages:
                async for page in pages:
                    found += await self._compare_page(page)
            await self._missing.end()
        finally:
            line = log.info if found else log.debug
            line("compared with the service", found=found)
        return found

    async def _paced(self, pages: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield the pages, with a rest for the server before each."""
        async with aclosing(pages):
            while True:
                await self._sleep(self._rest)
                began = self._now()
                try:
                    page = await anext(pages)
                except StopAsyncIteration:
                    return
                finally:
                    took = (self._now() - began) / 1000
                    self._rest = min(max(LEAST_REST, REST_FACTOR * took), LONGEST_REST)
                yield page

    async def _compare_page(self, page: Sequence[Answer]) -> int:
        known = await listings.listings_by_id(
            self._db, [answer.listing_id for answer in page if answer.listing_id]
        )
        found = 0
        for answer in page:
            listing = known.get(answer.listing_id or "")
            if listing is None:
                continue
            try:
                if answer.id == listing.request_id:
                    found += await self._missing.record(answer, listing)
                    if answer.serves_more(listing.answer):  # no webhook reports that
                        await self._recorder.check(listing.id)
                else:
                    await self._delete_double(answer, listing)
            except (PeerError, Refused) as error:
                self._failures += 1
                if self._failures > MOST_FAILURES or requested_wait(error):
                    raise
                log.warning("request not compared", listing=listing.id, reason=_reason(error))
        return found

    async def _delete_double(self, answer: Answer, listing: Listing) -> None:
        """Delete a request that a server made a second time, after a lost answer.

        Nobody has its link; if it was paid all the same, the operator has to look at it. The create
        job tidies up as well, but only for minutes: a server may take longer.
        """
        if listing.request_id is None and listing.state != FAILED:
            return  # the create job is at work and chooses the request to keep
        paid = await self._db.read(lambda tx: paid_request_ids(tx, listing.id))
        if not was_paid(answer, paid):
            await self._client.delete(answer.id)
            log.warning("double request deleted", listing=listing.id, request=answer.id)
        elif await self._db.transaction(
            lambda tx: server_memory.mark_double_reported(tx, listing.id, answer.id)
        ):
            log.error("double request was paid", listing=listing.id, request=answer.id)


def _delay(failed: int, error: Exception) -> float:
    return RETRIES.delay_or_last(failed, requested_wait(error)) / 1000


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
