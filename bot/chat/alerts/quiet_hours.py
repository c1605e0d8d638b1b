"""Quiet hours, in which messages are sent without a sound. Nothing is delayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.times import local_time, zones

if TYPE_CHECKING:
    from bot.chat.model.draft import Seller


def is_quiet(seller: Seller | None, now: int) -> bool:
    """Check whether this seller has quiet hours at `now` (epoch ms).

    False while the rules of the zone can't be read: a sound does less harm than a missed alert.
    """
    if seller is None or seller.quiet is None:
        return False
    try:
        return local_time.is_within_hours(now, seller.zone or zones.UTC_ZONE, seller.quiet)
    except (OSError, KeyError):
        return False
