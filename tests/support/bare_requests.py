"""Requests as a server lists them that knows only the interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.chat_harness import REQUEST_ID, URL

if TYPE_CHECKING:
    from bot.chat.store.listings import Listing


def item(listing: Listing, request_id: str = REQUEST_ID, **fields: Any) -> dict[str, Any]:
    """Build a listed request with these fields."""
    of = {"webhook": {"customParameters": {"listing": listing.id}}}
    return {"id": request_id, "paymentRequestUrl": URL, "notifications": of, **fields}


def units(left: int) -> dict[str, Any]:
    return {"totalUnits": 5, "remainingUnits": left}
