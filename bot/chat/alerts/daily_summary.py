"""The optional daily summary: revenue by request, sent at a local time each day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot.chat.alerts import delivery
from bot.chat.cards import card_text, payment_lines, request_card
from bot.chat.model import drafts, moments, payloads, queues, replies, zones
from bot.chat.store import payment_rows, seller_rows
from bot.core.database import database
from bot.core.outbox import lanes, outbox, queue_policy
from bot.core.text import translations

BATCH = 50
"""Sellers in one transaction; a limit, because other transactions wait."""

MAX_LISTED = 20
"""Maximum requests in one summary; nobody reads a longer one."""

LONGEST_DAY, SHORTEST_DAY = 26 * 3_600_000, 12 * 3_600_000
"""Longest and shortest time from a local time to the same time on the next day, in ms: clocks
change, and a time that occurs twice in one night belongs to one day."""

RETRY = 60_000
"""Milliseconds until the next attempt if no file handle is free for reading a zone's rules."""

_NAME = 60
"""Maximum UTF-16 units of a request's name."""


@dataclass(frozen=True, slots=True)
class Span:
    """The start and end of a summary's day, and the time of the next summary, in epoch ms."""

    since: int
    until: int
    next_at: int


def enqueue_due(tx: database.Transaction, queues: queues.Queues, now: int) -> int:
    """Queue the summaries due at `now` (epoch ms), at most BATCH, and return their number.

    Summaries missed while the bot was stopped are sent as one. Paused chats get none, because all
    of them would arrive once the chat is resumed.
    """
    due = seller_rows.summaries_due(tx, now, LONGEST_DAY, BATCH)
    for awaiting in due:
        _enqueue(tx, queues, awaiting, now)
    return len(due)


def _enqueue(
    tx: database.Transaction, queues: queues.Queues, awaiting: seller_rows.DueSummary, now: int
) -> None:
    seller_id, seller = awaiting.seller_id, awaiting.seller
    span = _span(seller, now)
    is_ours = seller_rows.claim_summary(tx, awaiting, span.next_at if span else now + RETRY)
    if span is None or not is_ours:
        return
    lane = str(seller_id)
    if lanes.is_paused(tx, queues.messages, lane):
        return
    days = payment_rows.revenue_between(tx, seller_id, span.since, span.until)
    text = summary_reply(days, seller.language, now).text
    message = payloads.TextMessage(text, seller.language, is_silent=delivery.is_quiet(seller, now))
    outbox.put(tx, queues.messages, lane, message, now, priority=queue_policy.NOTICE)


def _span(seller: drafts.Seller, now: int) -> Span | None:
    """Return the last whole day before the seller's summary time, allowing for clock changes.

    None if the zone's rules can't be read now.
    """
    try:
        return _span_in_zone(seller.summary or 0, seller.zone or zones.UTC_ZONE, now)
    except OSError:
        return None
    except KeyError:  # the zone was removed by a time zone update
        return _span_in_zone(seller.summary or 0, zones.UTC_ZONE, now)


def _span_in_zone(minute: int, zone: str, now: int) -> Span:
    until = moments.next_epoch_at(minute, now - LONGEST_DAY, zone)
    while (later := moments.next_epoch_at(minute, until, zone)) <= now:
        until = later
    if later - until < SHORTEST_DAY:
        later = moments.next_epoch_at(minute, later, zone)
    return Span(moments.next_epoch_at(minute, until - LONGEST_DAY, zone), until, later)


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
