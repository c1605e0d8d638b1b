"""The schedule: cards that open, end or get units back with time, summaries and reminders.

Times are stored in the database, so that a restart misses nothing: overdue work is done at startup.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

import structlog

from bot.chat.cards import alerts, card_text, claim_cards, payment_lines, request_card
from bot.chat.model import drafts, jobs, moments, payloads, queues, replies, zones
from bot.chat.store import claim_rows, link_rows, payment_rows, post_rows, seller_rows
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import lanes
from bot.core.text import translations

log = structlog.get_logger()

LONGEST_WAIT = {"sqlite": 30.0, "postgresql": 5.0}
"""Maximum seconds between two checks, by engine, because other processes store times too. With
PostgreSQL there may be many replicas, and a wake-up from another machine may be lost."""

BATCH = 50
"""Links, sellers or claims in one transaction; a limit, because other transactions wait."""


class Schedule:
    """Performs due work; `now` in epoch ms."""

    def __init__(
        self, db: database.Database, queues: queues.Queues, now: Callable[[], int]
    ) -> None:
        self._db = db
        self._queues = queues
        self._now = now
        self._longest_wait = LONGEST_WAIT[db.engine]

    async def run(self) -> None:
        """Perform due work until cancelled; errors are logged, and the work is tried again later.

        Raises NoLongerLead.
        """
        woken = self._db.listen(post_rows.DUE_TOPIC)
        while True:
            woken.clear()
            wait = self._longest_wait
            try:
                wait = await self.tick()
            except errors.StorageError as error:
                log.debug("due work waits", reason=str(error))
            except errors.NoLongerLead:
                raise
            except Exception:
                log.exception("due work waits")
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), wait)

    async def tick(self) -> float:
        """Perform all due work; return the seconds until the next check.

        Raises StorageError.
        """
        now = self._now()
        for enqueue in DUE_WORK:
            while await self._db.bulk(partial(self._perform, enqueue, now)):
                pass
        due_at = await self._db.read(post_rows.next_due)
        wait = self._longest_wait if due_at is None else (due_at - self._now()) / 1000
        return min(max(wait, 0.0), self._longest_wait)

    def _perform(
        self, enqueue: Callable[[queues.ChatStep], int], now: int, tx: database.Transaction
    ) -> int:
        return enqueue(queues.Step(tx, self._queues, now))


def refresh_due_cards(step: queues.ChatStep) -> int:
    """Queue the refresh of up to BATCH links whose scheduled change is due now.

    Return their number. If units are reserved, a check is queued too, because only the service
    knows whether they were sold.
    """
    due = post_rows.claim_due(step.tx, step.now, BATCH)
    for link_id in due:
        link = link_rows.get_link(step.tx, link_id)
        post_rows.refresh(step, link_id)
        if link.state == link_rows.LIVE and link.answer and link.answer.reserved_units:
            queues.put_job(step, jobs.CheckRequest(link_id))
    return len(due)


def retry_pictures(step: queues.ChatStep) -> int:
    """Queue another attempt at up to BATCH pictures that Telegram refused; return their number."""
    return post_rows.retry_pictures(step, BATCH)


# Reminders and digests of claims.


MOST_REMINDERS = 3
"""Maximum reminders of one claim; after that only `/payments` shows the claim."""


def enqueue_digests(step: queues.ChatStep) -> int:
    """Queue the digests due now, at most BATCH; return their number."""
    due = claim_rows.due_digests(step.tx, step.now, BATCH)
    for digest in due:
        alerts.send_digest(step, digest)
    return len(due)


def enqueue_reminders(step: queues.ChatStep) -> int:
    """Queue the reminders due now, at most BATCH; return the number of claims.

    In quiet hours reminders wait until the end; lapsed claims get none.
    """
    due = claim_rows.due_claims(step.tx, step.now, BATCH)
    for claim in due:
        _remind(step, claim)
    return len(due)


def _remind(step: queues.ChatStep, claim: claim_rows.Claim) -> None:
    _, seller = claim_cards.link_and_seller(step.tx, claim.link_id)
    if not claim.is_waiting(step.now):
        claim_rows.set_reminder(step.tx, claim, claim.reminders, None)
        claim_cards.show_claim(step, claim.id)
        return
    if seller.quiet is not None and alerts.is_quiet(seller, step.now):
        later = moments.next_epoch_at(seller.quiet[1], step.now, seller.zone or zones.UTC_ZONE)
        claim_rows.set_reminder(step.tx, claim, claim.reminders, later)
        return
    number = claim.reminders + 1
    next_at = step.now + alerts.REMIND_AFTER if number < MOST_REMINDERS else claim.lapses_at
    if not claim_rows.set_reminder(step.tx, claim, number, min(next_at, claim.lapses_at)):
        return
    if claim.alone:
        alerts.put_claim_alert(step, claim, is_reminder=True)
    else:
        alerts.sound_digest(step, claim.link_id, alerts.REMIND_AFTER)


# The optional daily summary: revenue by request, sent at a local time each day.


MAX_LISTED = 20
"""Maximum requests in one summary; nobody reads a longer one."""

LONGEST_DAY, SHORTEST_DAY = 26 * 3_600_000, 12 * 3_600_000
"""Longest and shortest time from a local time to the same time on the next day, in ms: clocks
change, and a time that occurs twice in one night belongs to one day."""

SUMMARY_RETRY = 60_000
"""Milliseconds until the next attempt if no file handle is free for reading a zone's rules."""

_NAME = 60
"""Maximum UTF-16 units of a request's name."""


def enqueue_summaries(step: queues.ChatStep) -> int:
    """Queue the summaries due now, at most BATCH, and return their number.

    Summaries missed while the bot was stopped are sent as one. Paused chats get none, because all
    of them would arrive once the chat is resumed.
    """
    due = seller_rows.summaries_due(step.tx, step.now, LONGEST_DAY, BATCH)
    for awaiting in due:
        seller, lane = awaiting.seller, str(awaiting.seller_id)
        span = _span(seller, step.now)
        next_at = span[2] if span else step.now + SUMMARY_RETRY
        is_ours = seller_rows.claim_summary(step.tx, awaiting, next_at)
        if span is None or not is_ours or lanes.is_paused(step.tx, step.queues.messages, lane):
            continue
        days = payment_rows.revenue_between(step.tx, awaiting.seller_id, span[0], span[1])
        text = summary_reply(days, seller.language, step.now).text
        is_silent = alerts.is_quiet(seller, step.now)
        message = payloads.TextMessage(text, seller.language, is_silent=is_silent)
        queues.put_message(step, lane, message)
    return len(due)


def _span(seller: drafts.Seller, now: int) -> tuple[int, int, int] | None:
    """Return the last whole day before the seller's summary time, and the next summary's time.

    These are its start, its end and that time, in epoch ms, allowing for clock changes. None if the
    zone's rules can't be read now.
    """
    try:
        return _span_in_zone(seller.summary or 0, seller.zone or zones.UTC_ZONE, now)
    except OSError:
        return None
    except KeyError:  # the zone was removed by a time zone update
        return _span_in_zone(seller.summary or 0, zones.UTC_ZONE, now)


def _span_in_zone(minute: int, zone: str, now: int) -> tuple[int, int, int]:
    until = moments.next_epoch_at(minute, now - LONGEST_DAY, zone)
    while (later := moments.next_epoch_at(minute, until, zone)) <= now:
        until = later
    if later - until < SHORTEST_DAY:
        later = moments.next_epoch_at(minute, later, zone)
    return moments.next_epoch_at(minute, until - LONGEST_DAY, zone), until, later


def summary_reply(
    days: Sequence[payment_rows.LinkRevenue], language: str, now: int
) -> replies.Reply:
    """Render the revenue by request, the total if there are several, and the amounts to refund."""
    if not days:
        return replies.Reply(translations.t(language, "summary-none"))
    earning = [day for day in days if day.totals.earned]
    lines = [translations.t(language, "summary")]
    lines += [_line(day, language, now) for day in earning[:MAX_LISTED]]
    if more := len(earning[MAX_LISTED:]):
        lines.append(translations.t(language, "summary-more", more=more))
    if len(earning) > 1:
        count = sum(day.totals.earned_count for day in earning)
        total = _sum_by_currency(day.totals.earned for day in earning)
        lines.append(payment_lines.total_line(total, count, language))
    lines += payment_lines.other_money(_together(days), language)
    return replies.Reply("\n".join(lines))


def _line(day: payment_rows.LinkRevenue, language: str, now: int) -> str:
    name, total = (
        replies.escaped(day.link.spec.name, _NAME),
        payment_lines.total_text(day.totals.earned, language),
    )
    line = translations.t(
        language, "summary-line", name=name, total=total, count=day.totals.earned_count
    )
    card = request_card.card_of(day.link, now)
    sold_out = translations.t(language, "status-soldOut") if card.status == "soldOut" else None
    return " · ".join(filter(None, [line, sold_out, card_text.units_left(card, language)]))


def _together(days: Sequence[payment_rows.LinkRevenue]) -> payment_rows.RevenueTotals:
    """Add up the non-revenue and paid-back amounts of all requests."""
    every = [day.totals for day in days]
    return payment_rows.RevenueTotals(
        to_refund=_sum_by_currency(one.to_refund for one in every),
        refund_count=sum(one.refund_count for one in every),
        short=_sum_by_currency(one.short for one in every),
        short_count=sum(one.short_count for one in every),
        returned=_sum_by_currency(one.returned for one in every),
        returned_count=sum(one.returned_count for one in every),
    )


def _sum_by_currency(parts: Iterable[Sequence[tuple[int, str]]]) -> tuple[tuple[int, str], ...]:
    sums: Counter[str] = Counter()  # in the order of the list
    for amounts in parts:
        for amount, currency in amounts:
            sums[currency] += amount
    return tuple((amount, currency) for currency, amount in sums.items())


DUE_WORK = (
    refresh_due_cards,
    retry_pictures,
    enqueue_summaries,
    enqueue_reminders,
    enqueue_digests,
)
"""Scheduled work: each function queues a batch of due work and returns its size."""
