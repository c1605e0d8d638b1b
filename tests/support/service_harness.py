"""The payment service: the real application over ASGI, a real SQLite file, a clock that is set."""

from __future__ import annotations

import dataclasses
import html
import re
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from bot.core.database.database import Database, Row
from bot.core.database.vault import Vault
from bot.core.net.webhook_addresses import AllowList
from bot.interface.answers import ErrorAnswer
from bot.service.api import callers
from bot.service.api.callers import Service
from bot.service.pages.app import create_app
from bot.service.payments.payout_accounts import Payouts
from bot.service.payments.settling import PaymentContext
from bot.service.rails.exchange_rates import SandboxExchange
from bot.service.rails.rail import Rails, SandboxRail
from bot.service.requests import applications
from bot.service.requests.applications import Credentials
from bot.service.requests.request_commands import Policy
from tests.support.databases import POSTGRESQL, open_quick

if TYPE_CHECKING:
    import pytest


URL = "http://pay.test"
REQUESTS_PATH = "/v3/paymentRequests"
NOON = 1_800_000_000_000  # 2027-01-15T08:00:00Z
NOON_ISO = "2027-01-15T08:00:00.000Z"
LOOPBACK = AllowList.parse("127.0.0.0/8")
NEW: dict[str, Any] = {
    "product": {"name": "Coffee"},
    "instrumentCurrencyCode": "USD",
    "receivers": [{"sendAmount": 5, "destination": "alice"}],
    "expirationType": "never",
}
DROP: dict[str, Any] = {"expirationType": "limit", "totalUnits": 3}
HOOK = {"webhookUrl": "https://h.example/w", "customParameters": {"order": 7}}


KEY = "key"


class Clock:
    """Time as a test sets it, in epoch ms."""

    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> int:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += int(seconds * 1000)


@dataclass
class ServiceHarness:
    """A running service with one application, and clients with and without its credentials."""

    db: Database
    clock: Clock
    vault: Vault
    credentials: Credentials
    seller: httpx.AsyncClient
    anyone: httpx.AsyncClient
    context: PaymentContext

    async def create(self, **fields: Any) -> dict[str, Any]:
        answer = await self.seller.post(REQUESTS_PATH, json=NEW | fields)
        assert answer.status_code == 200, answer.text
        made: dict[str, Any] = answer.json()
        return made

    async def get(self, request_id: str) -> dict[str, Any]:
        answer = await self.seller.get(f"{REQUESTS_PATH}/{request_id}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def edit(self, request_id: str, body: dict[str, Any]) -> httpx.Response:
        return await self.seller.put(f"{REQUESTS_PATH}/{request_id}", json=body)

    def stranger(self) -> dict[str, str]:
        """Return the headers of a new application."""
        return headers_of(self.db.run(lambda tx: applications.create(tx, self.vault, "other", 0)))

    async def token(self, request_id: str) -> str:
        page = await self.anyone.get(f"/pay/{request_id}")
        return form_token(page.text)

    async def pay(self, request_id: str, token: str = "t" * 32, **data: str) -> httpx.Response:
        return await self.anyone.post(f"/pay/{request_id}", data={"token": token, **data})

    async def rows(self, table: str) -> list[Row]:
        return await self.db.query(f"SELECT * FROM {table}")


def refusal_code(answer: httpx.Response) -> tuple[int, str]:
    """Return status and code of a refusal, which must have the interface's form."""
    ErrorAnswer.model_validate(answer.json())
    return answer.status_code, answer.json()["code"]


def refused_fields(answer: httpx.Response) -> list[str]:
    """Return the fields that a refusal names."""
    return [one["field"] for one in answer.json()["info"]]


def form_token(page: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', page)
    assert found, page
    return found[1]


def only_problem(page: str, field: str) -> str:
    """Return the problem of a form with a single one, which stands at its field alone."""
    found = re.search(
        rf'<span class="wrong" id="{field}-hint"[^>]* role="alert">(.*?)</span>', page
    )
    assert found, f"{field} has no problem"
    assert page.count(found[1]) == 1
    assert 'class="problem"' not in page
    assert re.search(rf'<\w+ [^>]*id="{field}"[^>]* aria-invalid="true" autofocus>', page)
    return html.unescape(found[1])


def make_service(
    db: Database, now: Callable[[], int], public_url: str = URL, **settings: Any
) -> Service:
    """Build the service with fields of its parts: `holds=5`, `payer_rate=Rate(1, 60)`."""
    policy: dict[str, Any] = {"allow": AllowList(), "exchange": SandboxExchange()}
    context: dict[str, Any] = {"rails": Rails(SandboxRail()), "reservation": 900_000}
    policy |= _taken(settings, Policy)
    payouts = Payouts(db, Vault(KEY), settings.get("rails", context["rails"]), now)
    key = secrets.token_bytes(32)
    settings = {"payer_key": key} | settings
    hint = partial(callers.hint_url, public_url, settings["payer_key"])
    context |= {"details_of": payouts.details_of, "hint_url": hint}
    context |= _taken(settings, PaymentContext) | {"exchange": policy["exchange"]}
    known = {
        one.name for kind in (Service, Policy, PaymentContext) for one in dataclasses.fields(kind)
    }
    assert not settings.keys() - known
    policy.setdefault("test_money", context["rails"].test_money)
    return Service(
        db,
        now,
        public_url,
        Policy(**policy),
        PaymentContext(**context),
        payouts,
        **_taken(settings, Service),
    )


def _taken(settings: dict[str, Any], kind: type) -> dict[str, Any]:
    return {
        one.name: settings[one.name] for one in dataclasses.fields(kind) if one.name in settings
    }


@asynccontextmanager
async def open_on_engine(
    request: pytest.FixtureRequest, folder: Path
) -> AsyncIterator[ServiceHarness]:
    """Open the service on the engine of a fixture, with files and connections as it runs."""
    databases = request.getfixturevalue("postgres") if request.param == POSTGRESQL else None
    url = databases.new() if databases else f"sqlite:///{folder}/bot.db"
    async with open_service(url) as it:
        yield it
    if databases:
        databases.drop(url)


@asynccontextmanager
async def open_service(database_url: str, **settings: Any) -> AsyncIterator[ServiceHarness]:
    """Open the service on a new database; `settings` go to `make_service`.

    Rails that need the database are a function of it and the clock.
    """
    db, clock, vault = open_quick(database_url), Clock(), Vault(KEY)
    if callable(settings.get("rails")):
        settings["rails"] = settings["rails"](db, clock)
    credentials = db.run(lambda tx: applications.create(tx, vault, "shop", clock()))
    service = make_service(db, clock, **settings)
    app, context = create_app(service), service.payment_context
    async with client(app, headers_of(credentials)) as seller, client(app) as anyone:
        yield ServiceHarness(db, clock, vault, credentials, seller, anyone, context)
    db.close()


def client(app: Any, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=URL, headers=headers)


def headers_of(credentials: Credentials) -> dict[str, str]:
    return {"App-Id": credentials.app_id, "App-Secret": credentials.app_secret}
