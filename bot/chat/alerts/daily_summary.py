"""The daily summary that sellers can switch on: takings by request, at a local time each day."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.alerts.alert_text import total_line
from bot.chat.alerts.delivery import is_quiet
from bot.chat.cards.card_text import other_money, total_text
from bot.chat.cards.request_card import card_of
from bot.chat.messages.payloads import TextMessage
from bot.chat.messages.reply import Reply, escaped
from bot.chat.store import sellers
from bot.chat.store.takings import Takings, takings_between
from bot.chat.times import local_time, zones
from bot.core.outbox import lanes, outbox
from bot.core.outbox.queue_policy import NOTICE
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bot.chat.messages.queues import Queues
    from bot.chat.model.draft import Seller
    from bot.chat.store.sellers import DueSummary
    from bot.chat.store.takings import ListingTakings
    from bot.core.database.database import Transaction

BATCH = 50
"""Sellers in one transaction, because others wait for it; the next one takes the rest."""

MAX_LISTED = 20
"""Requests in one summary; nobody reads a longer one."""

LONGEST_DAY, SHORTEST_DAY = 26 * 3_600_000, 12 * 3_600_000
"""Milliseconds after which a local time returns on the next day, at most and at least: summer time
moves clocks, and a time that occurs twice in one night belongs to one day."""

RETRY = 60_000
"""Milliseconds until the next attempt where no file handle is free for the rules of a zone."""

_NAME = 60
"""UTF-16 units of a request's name."""


@dataclass(frozen=True, slots=True)
class Span:
    """The start and end of a summary's day, and the time of the next summary, in epoch ms."""

    since: int
    until: int
    next_at: int


def enqueue_due(tx: Transaction, queues: Queues, now: int) -> int:
    """Queue the summaries due at `now` (epoch ms), at most BATCH, and return their number.

    Summaries missed while the bot was stopped are sent as one. A paused chat gets none: they would
    all arrive once it is resumed.
    """
    due = sellers.summaries_due(tx, now, LONGEST_DAY, BATCH)
    for awaiting in due:
        _enqueue(tx, queues, awaiting, now)
    return len(due)


def _enqueue(tx: Transaction, queues: Queues, awaiting: DueSummary, now: int) -> None:
    seller_id, seller = awaiting.seller_id, awaiting.seller
    span = _span(seller, now)
    is_ours = sellers.claim_summary(tx, awaiting, span.next_at if span else now + RETRY)
    if span is None or not is_ours:
        return
    lane = str(seller_id)
    if lanes.is_paused(tx, queues.messages, lane):
        return
    days = takings_between(tx, seller_id, span.since, span.until)
    text = summary_reply(days, seller.language, now).text
    message = TextMessage(text, seller.language, is_silent=is_quiet(seller, now))
    outbox.put(tx, queues.messages, lane, message, now, priority=NOTICE)


def _span(seller: Seller, now: int) -> Span | None:
    """Return the last whole day before this seller's time, across summer time.

    None while the rules of the zone can't be read.
    """
    try:
        return _span_in_zone(seller.summary or 0, seller.zone or zones.UTC_ZONE, now)
    except OSError:
        return None
    except KeyError:  # an update of the time zones removed it
        return _span_in_zone(seller.summary or 0, zones.UTC_ZONE, now)


def _span_in_zone(minute: int, zone: str, now: int) -> Span:
    until = local_time.next_epoch_at(minute, now - LONGEST_DAY, zone)
    while (later := local_time.next_epoch_at(minute, until, zone)) <= now:
        until = later
    if later - until < SHORTEST_DAY:
        later = local_time.next_epoch_at(minute, later, zone)
    return Span(local_time.next_epoch_at(minute, until - LONGEST_DAY, zone), until, later)


def summary_reply(days: Sequence[ListingTakings], language: str, now: int) -> Reply:
    """Render the takings by request, their total where there are several, and what to refund."""
    if not days:
        return Reply(t(language, "summary-none"))
    earning = [day for day in days if day.takings.earned]
    lines = [t(language, "summary")]
    lines += [_line(day, language, now) for day in earning[:MAX_LISTED]]
    if more := len(earning[MAX_LISTED:]):
        lines.append(t(language, "summary-more", more=more))
    if len(earning) > 1:
        count = sum(day.takings.earned_count for day in earning)
        total = _sum_by_currency(day.takings.earned for day in earning)
        lines.append(total_line(total, count, language))
    lines += other_money(_together(days), language)
    return Reply("\n".join(lines))


def _line(day: ListingTakings, language: str, now: int) -> str:
    name, total = escaped(day.listing.wish.name, _NAME), total_text(day.takings.earned, language)
    line = t(language, "summary-line", name=name, total=total, count=day.takings.earned_count)
    card = card_of(day.listing, now)
    if card.remaining_units is None or card.total_units is None:
        return line
    left = t(language, "left-of", left=card.remaining_units, total=card.total_units)
    return f"{line} · {t(language, 'status-soldOut') if card.status == 'soldOut' else left}"


def _together(days: Sequence[ListingTakings]) -> Takings:
    """Sum up the money of all requests that is no takings, or that went back."""
    every = [day.takings for day in days]
    return Takings(
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
