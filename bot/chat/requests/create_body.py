"""The body of create: a wish as the interface has it (section 2.1)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from bot.chat.provider.dialects import DIALECTS, instrument_of
from bot.chat.requests.change import seconds
from bot.core.money import amounts

if TYPE_CHECKING:
    from bot.chat.model.wish import Share
    from bot.chat.provider.dialects import Dialect
    from bot.chat.requests.edit_rules import Addresses
    from bot.chat.store.listings import Listing

EXPIRATION = {"donation": "never", "oneoff": "onPaymentCompleted", "drop": "limit"}
"""The interface's expirationType of each kind (section 1)."""


def request_body(
    listing: Listing,
    addresses: Addresses,
    instrument: str | None,
    now: int,
    dialect: Dialect = DIALECTS[0],
) -> dict[str, Any]:
    """Return the body of create (interface, section 2.1) as at `now` (epoch ms).

    `instrument` is the operator's, for a wish that names none. What is not wished for is left out.
    """
    wish = listing.wish
    starts = wish.starts_at if (wish.starts_at or 0) > now else None
    webhook = {
        "webhookUrl": f"{addresses.receiver}/{listing.token}",
        "customParameters": {"listing": listing.id},
    }
    product = {
        "name": wish.name,
        "description": wish.description,
        "imageUrl": wish.image and f"{addresses.images}/{wish.image}",
    }
    body = {
        "product": _given(product),
        **dialect.spell(wish, instrument_of(wish, instrument)),
        "receivers": [_receiver(share, wish.currency) for share in wish.shares],
        "notifications": _given({"webhook": webhook, "email": wish.email}),
        "expirationType": EXPIRATION[wish.kind],
        "totalUnits": wish.units,
        "requestedUserData": list(wish.asks),
        "redirectUrl": wish.redirect_url,
        "enabledAt": None if starts is None else _iso(starts),
        "expirationInSeconds": None if wish.ends_at is None else seconds(wish.ends_at, now),
    }
    return _given(body)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is not wished for."""
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _receiver(share: Share, currency: str) -> dict[str, Any]:
    return {
        "sendAmount": amounts.from_minor(share.amount, currency),
        "destination": share.destination,
    }


def _iso(at: int) -> str:
    """Write a time in epoch ms as ISO 8601 in UTC."""
    moment = datetime.fromtimestamp(at // 1000, UTC) + timedelta(milliseconds=at % 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
