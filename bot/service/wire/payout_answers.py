"""Payout accounts and checkouts as the interface's JSON (see `payout_schemas`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.service.wire.field_types import iso
from bot.service.wire.json_answers import given

if TYPE_CHECKING:
    from bot.service.model.payout import PayoutAccount
    from bot.service.wire.json_answers import Json


def payout(it: PayoutAccount) -> Json:
    """Write a PayoutAnswer."""
    return given(
        id=it.id,
        owner=it.owner,
        kind=it.kind,
        scheme=it.scheme or None,
        automatic=it.automatic,
        currency=it.currencies[0],
        currencies=it.currencies,
        label=it.label,
        createdAt=iso(it.created_at),
    )
