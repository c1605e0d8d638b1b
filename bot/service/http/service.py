"""The service as its routes know it; the composition root builds it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import FastAPI

from bot.service.goods.uploads import UploadSlots
from bot.service.http.payer_cookies import PayerCookies
from bot.service.http.rate_limits import RateLimits
from bot.service.usecases.applications import Logins

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.core.database.database import Database
    from bot.core.net.rates import Rate
    from bot.service.http.shared_counts import SharedCounts
    from bot.service.usecases.payment_context import PaymentContext
    from bot.service.usecases.payouts import Payouts
    from bot.service.usecases.request_commands import Policy


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that the API and the pay page need; `now` returns UTC epoch ms.

    `public_url` has no slash at its end, and `operator_contact` is of `check_contact`.
    A rate of None is no limit; `counts` are those that replicas share, None for a process alone.
    `payer_key` signs the cookies of payers; replicas share it.
    `bot_name` returns the username of the bot that sellers chat with, None while it is unknown;
    `chat_page` is where they do if that isn't Telegram.
    """

    db: Database
    now: Callable[[], int]
    public_url: str
    policy: Policy
    payment_context: PaymentContext
    payouts: Payouts
    api_rate: Rate | None = None
    payer_rate: Rate | None = None
    payer_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    operator_contact: str | None = None
    bot_name: Callable[[], str | None] = lambda: None
    chat_page: str | None = None
    counts: SharedCounts | None = None


class ServiceState:
    """A running service: what the routes need, its limits, the cookies of its payers."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.limits = RateLimits(service.api_rate, service.payer_rate, service.counts)
        self.logins = Logins(service.db, service.now)
        self.uploads = UploadSlots()
        self.cookies = PayerCookies(
            service.payer_key,
            service.payment_context.reservation,
            secure=service.public_url.startswith("https:"),
        )


class ServiceApp(FastAPI):
    """The application, and the service that it serves; `State` would search for it at each call."""

    running: ServiceState
