"""When a message makes no sound: where its seller wishes so, and at night. Nothing is held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.times import local_time, zones

if TYPE_CHECKING:
    from bot.chat.model.seller import Seller


def is_quiet(seller: Seller | None, now: int) -> bool:
    """Whether this seller has quiet hours at `now` (epoch ms).

    Not while the zone's rules can't be read: a sound too many harms less than an alert lost.
    """
    if seller is None or seller.quiet is None:
        return False
    try:
        return local_time.is_within_hours(now, seller.zone or zones.UTC_ZONE, seller.quiet)
    except (OSError, KeyError):
        return False
