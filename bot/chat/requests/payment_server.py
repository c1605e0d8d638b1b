"""The payment server that jobs call, and how requests are made there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.chat.provider.client import Client

SETTLING = 60_000
"""Milliseconds from a lost answer until the server's list is trusted to have the request or not."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Our addresses as the server gets them: `receiver` of webhooks, `images` of pictures."""

    receiver: str
    images: str


@dataclass(frozen=True, slots=True)
class PaymentServer:
    """A payment server with the settings for it.

    `instrument` is the operator's INSTRUMENT_CURRENCY. `settling` is 0 for a server that takes an
    Idempotency-Key. `url` is None for the embedded service, whose dialect is known.
    """

    client: Client
    addresses: Addresses
    instrument: str | None = None
    settling: int = SETTLING
    url: str | None = None
