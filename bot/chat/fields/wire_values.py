"""Values of a wish as the interface has them (section 2.1)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from bot.core.money import amounts

if TYPE_CHECKING:
    from bot.chat.fields.field import Sending
    from bot.chat.model.wish import Wish

_EXPIRATION = {"donation": "never", "oneoff": "onPaymentCompleted", "drop": "limit"}


def expiration_type(wish: Wish, _sending: Sending) -> str:
    """Return the interface's expirationType (section 1)."""
    return _EXPIRATION[wish.kind]


def image_url(wish: Wish, sending: Sending) -> str | None:
    """Return the address of the picture."""
    return wish.image and f"{sending.images}/{wish.image}"


def receivers(wish: Wish, _sending: Sending) -> list[dict[str, Any]]:
    """Return who gets how much, in major units."""
    return [
        {
            "sendAmount": amounts.from_minor(share.amount, wish.currency),
            "destination": share.destination,
        }
        for share in wish.shares
    ]


def payer_fields(wish: Wish, _sending: Sending) -> list[str]:
    """Return what payers are asked for."""
    return [*wish.payer_fields]


def enabled_at(wish: Wish, sending: Sending) -> str | None:
    """Return when the request opens, as ISO 8601 in UTC; None where it is open."""
    at = wish.starts_at
    if at is None or at <= sending.now:
        return None
    moment = datetime.fromtimestamp(at // 1000, UTC) + timedelta(milliseconds=at % 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def expires_in(wish: Wish, sending: Sending) -> int | None:
    """Return the seconds until the request ends; None where it does not."""
    return None if wish.ends_at is None else seconds_until(wish.ends_at, sending.now)


def seconds_until(moment: int, now: int) -> int:
    """Return the seconds, at least 1, between two times in epoch ms."""
    return max(1, -((now - moment) // 1000))
