"""What the service works with; the composition root fills it in."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.core.net.addresses import AllowList
from bot.service.rails.exchange_rates import Exchange, SandboxExchange
from bot.service.rails.rail import Rail, SandboxRail
from bot.service.usecases.paying import PaymentContext
from bot.service.usecases.request_commands import Policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database
    from bot.core.net.rates import Rate


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that the API and the pay page need.

    `now` gives UTC epoch ms, `public_url` has no slash at its end, `reservation` is in ms;
    a rate of None is no limit, `mails` says whether e-mail can be sent. `schemes` are those of
    applications that payers may be led to. `holds` is PAYER_HOLDS, 0 for no cap; `payer_key` signs
    the cookies of payers, replicas share it.
    """

    db: Database
    now: Callable[[], int]
    public_url: str
    embedded_app_id: str | None = None
    allow: AllowList = field(default_factory=AllowList)
    rail: Rail = field(default_factory=SandboxRail)
    exchange: Exchange = field(default_factory=SandboxExchange)
    mails: bool = False
    schemes: frozenset[str] = frozenset()
    holds: int = 0
    payer_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    reservation: int = 900_000
    api_rate: Rate | None = None
    payer_rate: Rate | None = None

    @property
    def policy(self) -> Policy:
        """Return what callers are allowed."""
        return Policy(self.allow, self.exchange, self.embedded_app_id, self.mails, self.schemes)

    @property
    def payment_context(self) -> PaymentContext:
        """Return how payments are taken."""
        return PaymentContext(self.rail, self.exchange, self.reservation, self.holds)
