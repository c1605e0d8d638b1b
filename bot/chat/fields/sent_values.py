"""Values of a wish as the interface has them, where they are not sent as they are.

Each function takes the wish, the address of sellers' pictures and the time (epoch ms).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from bot.chat.model.amount_choice import in_major
from bot.chat.model.wish import seconds_until
from bot.core.money.amounts import from_minor

if TYPE_CHECKING:
    from decimal import Decimal

    from bot.chat.model.wish import Wish

_EXPIRATION = {"donation": "never", "oneoff": "onPaymentCompleted", "drop": "limit"}


def expiration(wish: Wish, _images: str, _now: int) -> str:
    """Return what ends a request of this kind."""
    return _EXPIRATION[wish.kind]


def receivers(wish: Wish, _images: str, _now: int) -> list[dict[str, Any]]:
    return [
        {"sendAmount": from_minor(share.amount, wish.currency), "destination": share.destination}
        for share in wish.shares
    ]


def choice(wish: Wish, _images: str, _now: int) -> dict[str, Any] | None:
    """Return the amounts that payers choose from; None for a fixed price."""
    choice = in_major(wish.choice, wish.currency)
    if choice is None:
        return None
    body = {"minimum": choice.minimum, "suggested": [*choice.suggested], "maximum": choice.maximum}
    return {name: value for name, value in body.items() if value not in (None, [])}


def goal(wish: Wish, _images: str, _now: int) -> Decimal | None:
    return None if wish.goal is None else from_minor(wish.goal, wish.currency)


def start(wish: Wish, _images: str, now: int) -> str | None:
    """Return when the request opens, as ISO 8601 in UTC; None where it is open."""
    at = wish.starts_at
    if at is None or at <= now:
        return None
    moment = datetime.fromtimestamp(at // 1000, UTC) + timedelta(milliseconds=at % 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def end(wish: Wish, _images: str, now: int) -> int | None:
    return None if wish.ends_at is None else seconds_until(wish.ends_at, now)
