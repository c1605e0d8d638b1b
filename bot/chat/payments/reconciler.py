"""The reconciler, which regularly compares our requests with the service's.

A webhook is lost for good if the receiver is down for longer than the server retries, or if its
address has changed. The service's own list can't be lost. It shows the payments that are missing
here, which are recorded as found later, and the codes that another program added.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TypeVar

import structlog

from bot.chat.model import remote_request
from bot.chat.payments import client, recording
from bot.chat.store import link_rows, payment_rows
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import queue_policy

log = structlog.get_logger()
T = TypeVar("T")

WEBHOOK_GRACE = 30_000
"""Milliseconds that the webhook of a payment may take to arrive."""

GAP_CONFIRMED = 60_000
"""Milliseconds after which missing units count as sold."""

SEARCH_AGAIN = 3_600_000
"""Milliseconds until the next search for payments that the service counts but doesn't list."""

PAID_STATUSES = ("completed", "soldOut")
"""Values of `status` for a one-off that was paid, on servers that send a status."""

FIRST_WAIT = 5.0
"""Seconds after the start in which waiting webhooks arrive."""
INTERVAL = 60.0
"""Seconds between two comparisons."""
REST_FACTOR = 100
"""A rest is this many times as long as the server took for a page, so we use 1 % of its time."""
LEAST_REST, LONGEST_REST = 0.25, 600.0
"""Seconds; with the shortest rest, calls stay far below every server's rate limit."""
RETRIES = queue_policy.RetryTable(
    (60_000, 120_000, 300_000, 600_000), repeats=True, longest_asked=3_600_000
)
"""Delays until the next comparison after a failed one."""
MOST_FAILURES = 5
"""Requests of one comparison that may fail before the server as a whole counts as failing."""


class Reconciler:
    """Compares all requests, and records the payments that no webhook reported.

    Some servers list their payments. Others send only the number of missing units, which count as
    sold after they have been missing for a while. `now` in epoch ms, `sleep` waits a number of
    seconds.
    """

    def __init__(
        self,
        db: database.Database,
        client: client.Client,
        recorder: recording.PaymentRecorder,
        now: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._db = db
        self._client = client
        self._recorder = recorder
        self._now = now
        self._sleep = sleep
        self._rest = 0.0
        self._failures = 0
        self._outdated: set[str] = set()
        """The observed gaps, without those that this comparison has observed again."""

    async def run(self) -> None:
        """Compare until cancelled; failures are logged. Raises NoLongerLead."""
        failed = 0
        await self._sleep(FIRST_WAIT)
        while True:
            try:
                await self.compare()
            except (errors.PeerError, errors.Refused, errors.StorageError) as error:
                failed += 1
                wait = _delay(failed, error)
                log.warning("not compared with the service", reason=_reason(error), again_in=wait)
            except errors.NoLongerLead:
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

        Raises PeerError, Refused and StorageError; payments found before that are recorded.
        """
        found = self._failures = 0
        self._outdated = await self._db.read(observed_links)
        try:
            async with aclosing(self._paced(self._client.request_pages())) as pages:
                async for page in pages:
                    found += await self._compare_page(page)
            if outdated := self._outdated:
                await self._db.transaction(lambda tx: delete_observations(tx, outdated))
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

    async def _compare_page(self, page: Sequence[remote_request.RemoteRequest]) -> int:
        known = await link_rows.links_by_id(
            self._db, [answer.link_id for answer in page if answer.link_id]
        )
        found = 0
        for answer in page:
            link = known.get(answer.link_id or "")
            if link is None:
                continue
            try:
                if answer.id == link.request_id:
                    found += await self._record_missing(answer, link)
                    if answer.serves_more(link.answer):  # no webhook reports added codes
                        await self._db.transaction(partial(self._recorder.check, link_id=link.id))
                else:
                    await self._delete_copy(answer, link)
            except (errors.PeerError, errors.Refused) as error:
                self._failures += 1
                if self._failures > MOST_FAILURES or errors.requested_wait(error):
                    raise
                log.warning("request not compared", listing=link.id, reason=_reason(error))
        return found

    async def _record_missing(
        self, answer: remote_request.RemoteRequest, link: link_rows.PaymentLink
    ) -> int:
        """Record the missing payments of a request; return their number.

        Raises PeerError, Refused and StorageError.
        """
        sold = count_sold(answer, link, self._now())
        if sold <= link.units_sold:
            return 0
        if answer.paid_count is not None:
            try:
                return await self._record_listed(answer, link, answer.paid_count)
            except (errors.NotFound, errors.MethodNotAllowed):
                log.debug("the service lists no payments", listing=link.id)
        return await self._record_counted(link, sold)

    async def _record_listed(
        self, answer: remote_request.RemoteRequest, link: link_rows.PaymentLink, counted: int
    ) -> int:
        """Record the payments that the service lists and the chat doesn't know, oldest first."""
        gap, since = (counted, link.paid_count), self._now() - SEARCH_AGAIN
        if await self._db.read(lambda tx: is_gap_known(tx, link.id, gap, since)):
            return 0
        unknown = await self._fetch_unknown(answer.id, counted - link.paid_count)
        before = self._now() - WEBHOOK_GRACE
        due = [paid for paid in unknown if (paid.completed_at or 0) <= before]
        later = [paid for paid in unknown if paid not in due]
        sales = (paid for paid in unknown if not (paid.oversold or paid.underpaid))
        found, newest = 0, next(sales, None)
        for paid in reversed(due):
            # The units left aren't passed, because more units may have been sold meanwhile.
            payment = replace(recording.payment_of(paid, answer.id, link), found=True)
            if paid is newest and answer.codes:  # if any buyer waits, this buyer does
                payment = replace(payment, codes_waiting=answer.codes.waiting)
            found += await self._db.transaction(
                partial(self._recorder.record, link_id=link.id, payment=payment, left=None)
            )
        # Webhooks may have arrived meanwhile.
        recorded = (await self._db.read(lambda tx: link_rows.get_link(tx, link.id))).paid_count
        missing = counted - recorded - sum(not paid.underpaid for paid in later)
        if missing > 0:
            await self._db.transaction(
                lambda tx: save_gap(tx, link.id, (counted, recorded), self._now())
            )
            log.warning(
                "payments that the service counts and does not list",
                listing=link.id, number=missing,
            )  # fmt: skip
        return found

    async def _fetch_unknown(
        self, request_id: str, missing: int
    ) -> list[remote_request.SentPayment]:
        """Fetch the unknown payments, newest first, until `missing` of them are found.

        Payments made from now on don't count as missing, and neither do underpaid payments, which
        the service doesn't count. But if they are found, they are recorded too.
        """
        unknown, now = [], self._now()
        async with aclosing(self._paced(self._client.payment_pages(request_id))) as pages:
            async for page in pages:
                ids = [paid.transaction_id for paid in page]
                known = await payment_rows.known_transactions(self._db, request_id, ids)
                for paid in page:
                    was_short = known.get(paid.transaction_id)
                    if was_short is None or (was_short and not paid.underpaid):
                        unknown.append(paid)
                        missing -= not paid.underpaid and (paid.completed_at or 0) <= now
                if missing <= 0:
                    break
        return unknown

    async def _record_counted(self, link: link_rows.PaymentLink, sold: int) -> int:
        """Record payments of which only the units are known, after the gap is confirmed.

        Webhooks about units that went missing a while ago have arrived by now, so recorded payments
        are subtracted. An observation from the future was made before the clock was set back.
        """
        self._outdated.discard(link.id)
        now = self._now()
        observed = await self._db.read(lambda tx: find_observation(tx, link.id))
        found, (sold_then, seen_at) = 0, observed or (0, now + 1)
        if seen_at <= now < seen_at + GAP_CONFIRMED:
            return 0
        if seen_at <= now:
            missing = min(sold_then, sold) - link.units_sold
            if missing > 0:
                found = await self._db.transaction(
                    lambda tx: self._recorder.record_missing(tx, link.id, link.units_sold, missing)
                )
        # Saved after the recording, so that a crash between them repeats nothing.
        await self._db.transaction(lambda tx: save_observation(tx, link.id, sold, now))
        return found

    async def _delete_copy(
        self, answer: remote_request.RemoteRequest, link: link_rows.PaymentLink
    ) -> None:
        """Delete an accidental copy: a request that a server made twice after a lost answer.

        Nobody has the copy's link; if it was paid all the same, the operator has to act. The create
        job deletes copies too, but only within minutes, and a server may take longer.
        """
        if link.request_id is None and link.state != link_rows.FAILED:
            return  # the create job is still running and chooses the request to keep
        paid = await self._db.read(lambda tx: payment_rows.paid_request_ids(tx, link.id))
        if not remote_request.was_paid(answer, paid):
            await self._client.delete(answer.id)
            log.warning("double request deleted", listing=link.id, request=answer.id)
        elif await self._db.transaction(lambda tx: mark_double_reported(tx, link.id, answer.id)):
            log.error("double request was paid", listing=link.id, request=answer.id)


def count_sold(answer: remote_request.RemoteRequest, link: link_rows.PaymentLink, now: int) -> int:
    """Count a request's sold units that its server's answer proves, at `now` (epoch ms).

    A payment that the server counts but that isn't recorded means at least one unit.
    """
    if answer.paid_count is not None:
        return link.units_sold + answer.paid_count - link.paid_count
    if link.spec.kind == "oneoff":
        return int(_is_closed(answer, link, now))
    totals = [total for total in (answer.total_units, link.spec.units) if total is not None]
    if not totals or answer.remaining_units is None:
        return 0
    # The spec's units shrink when units are taken out; not every server lowers its total.
    return max(0, min(totals) - answer.remaining_units - answer.reserved_units)


def _is_closed(answer: remote_request.RemoteRequest, link: link_rows.PaymentLink, now: int) -> bool:
    """True if a one-off was closed by a payment, not by its end, its start or a pause."""
    if answer.is_enabled:
        return False
    if answer.status is not None:
        return answer.status in PAID_STATUSES
    ended = answer.expires_at is not None and answer.expires_at <= now
    has_begun = answer.enabled_at is None or answer.enabled_at <= now
    return link.state == link_rows.LIVE and has_begun and not ended


def _delay(failed: int, error: Exception) -> float:
    return RETRIES.delay_or_last(failed, errors.requested_wait(error)) / 1000


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# What is remembered of comparisons.


# An observation: a comparison in which the server had sold more units than the chat had recorded.


def find_observation(tx: database.Transaction, link_id: str) -> tuple[int, int] | None:
    """Return the units sold at the server, and the time (epoch ms) of the observation."""
    row = tx.one("SELECT sold, seen_at FROM sightings WHERE listing_id = :id", id=link_id)
    return (row["sold"], row["seen_at"]) if row else None


def observed_links(tx: database.Transaction) -> set[str]:
    """Return the ids of all links that have an observation."""
    return {str(row["listing_id"]) for row in tx.query("SELECT listing_id FROM sightings")}


def save_observation(tx: database.Transaction, link_id: str, sold: int, now: int) -> None:
    """Store the observation of a link at `now`, replacing an earlier one."""
    sql = (
        "INSERT INTO sightings (listing_id, sold, seen_at) VALUES (:id, :sold, :seen_at)"
        " ON CONFLICT (listing_id) DO UPDATE SET sold = excluded.sold, seen_at = excluded.seen_at"
    )
    tx.execute(sql, id=link_id, sold=sold, seen_at=now)


def delete_observations(tx: database.Transaction, link_ids: Iterable[str]) -> None:
    """Delete the observations of these links."""
    for link_id in link_ids:
        tx.execute("DELETE FROM sightings WHERE listing_id = :id", id=link_id)


def is_gap_known(tx: database.Transaction, link_id: str, gap: tuple[int, int], since: int) -> bool:
    """True if a search after `since` (epoch ms) left this gap (see `save_gap`)."""
    sql = (
        "SELECT 1 AS one FROM payment_gaps WHERE listing_id = :id"
        " AND counted = :counted AND recorded = :recorded AND searched_at > :since"
    )
    counted, recorded = gap
    return tx.one(sql, id=link_id, counted=counted, recorded=recorded, since=since) is not None


def save_gap(tx: database.Transaction, link_id: str, gap: tuple[int, int], now: int) -> None:
    """Store a gap: the numbers of payments that the server counts and that the chat recorded.

    It remains if the server lists fewer payments than it counts.
    """
    sql = (
        "INSERT INTO payment_gaps (listing_id, counted, recorded, searched_at)"
        " VALUES (:id, :counted, :recorded, :now) ON CONFLICT (listing_id) DO UPDATE SET"
        " counted = excluded.counted, recorded = excluded.recorded,"
        " searched_at = excluded.searched_at"
    )
    tx.execute(sql, id=link_id, counted=gap[0], recorded=gap[1], now=now)


def mark_double_reported(tx: database.Transaction, link_id: str, request_id: str) -> bool:
    """Store that a paid duplicate was reported to the operator; False if it already was."""
    sql = (
        "INSERT INTO paid_doubles (request_id, listing_id) VALUES (:request, :listing)"
        " ON CONFLICT (request_id) DO NOTHING"
    )
    return bool(tx.execute(sql, request=request_id, listing=link_id))
