"""Callers: which application or payer calls, and whether they may call now.

Applications are identified by their credentials, payers by a signed cookie, and wallets by the
secret address that they were given.
"""

import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

from fastapi import Depends, FastAPI, Request
from starlette.responses import Response

from bot.core import errors
from bot.core.database import database
from bot.core.net import rates
from bot.service.api import rate_limits
from bot.service.checkouts import checkout
from bot.service.goods import files
from bot.service.payments import payout_accounts, settling
from bot.service.requests import applications, request_commands

# Payers' cookies, and the addresses for wallets.


COOKIE = "payer"
COOKIE_PATH = "/pay"
HINT_PATH = "/hints"

FORM_TIME_MS = 3_600_000
"""Time to fill in the form; after it, the checkout holds its unit."""

DAY_MS = 86_400_000

_COOKIE_VALUE = re.compile(r"([0-9a-f]{24})\.([0-9a-f]{1,12})\.([0-9a-f]{32})")
"""The payer's id, the time of issue in hexadecimal epoch ms, and the signature."""


class PayerCookies:
    """Cookies that identify payers: signed, for one network, without personal data.

    The pay page sets the cookie, so that a browser is known before its first payment. Nothing is
    stored: the signature proves who made the cookie, when, and for which network.
    """

    def __init__(self, key: bytes, reservation_ms: int, *, secure: bool) -> None:
        self._key = key
        self.lifetime_ms = FORM_TIME_MS + reservation_ms
        self._attributes = (
            f"Path={COOKIE_PATH}; Max-Age={self.lifetime_ms // 1000}; HttpOnly; SameSite=Lax"
            + "; Secure" * secure
        )

    def header(self, network: str, now: int, payer: str | None = None) -> str:
        """Return a Set-Cookie header for a new payer or a known one."""
        text = f"{payer or secrets.token_hex(12)}.{now:x}"
        return f"{COOKIE}={text}.{self._hash(f'cookie {text} {network}')}; {self._attributes}"

    def payer(self, cookie: str, network: str, now: int) -> str | None:
        """Return the payer's id; None if the cookie is expired, forged or from another network."""
        found = _COOKIE_VALUE.fullmatch(cookie)
        if found is None:
            return None
        payer, issued, signature = found.groups()
        if not 0 <= now - int(issued, 16) < self.lifetime_ms:
            return None
        expected = self._hash(f"cookie {payer}.{issued} {network}")
        return payer if hmac.compare_digest(signature, expected) else None

    def network_at_request(self, request_id: str, address: str) -> str:
        """Return the pseudonym of an address at one request, meaningless anywhere else."""
        return self._hash(f"network {request_id} {address}")

    def network_at_wallets(self, network: str, now: int) -> str:
        """Return the pseudonym of a network at wallets' hosts, which changes daily."""
        return self._hash(f"peer {now // DAY_MS} {network}")[:16]

    def _hash(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), "sha256").hex()[:32]


def hint_url(public_url: str, payer_key: bytes, checkout_id: str) -> str:
    """Return the secret address at which a wallet announces money for a checkout."""
    return f"{public_url}{HINT_PATH}/{checkout_id}/{_hint_token(payer_key, checkout_id)}"


def is_genuine_hint(payer_key: bytes, checkout_id: str, token: str) -> bool:
    return hmac.compare_digest(_hint_token(payer_key, checkout_id).encode(), token.encode())


def _hint_token(key: bytes, checkout_id: str) -> str:
    return hmac.digest(key, f"hint {checkout_id}".encode(), "sha256").hex()[:32]


# The service as its routes know it; the composition root builds it.


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that the API and the pay pages need."""

    db: database.Database
    now: Callable[[], int]
    """The clock, in UTC epoch ms."""

    public_url: str
    """Without a slash at the end."""

    policy: request_commands.Policy
    payment_context: settling.PaymentContext
    payouts: payout_accounts.Payouts
    api_rate: rates.Rate | None = None
    """Limit on calls of one application; None for no limit."""

    payer_rate: rates.Rate | None = None
    """Limit on calls of one payer; None for no limit."""

    payer_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """Signs payers' cookies and hint addresses; shared by all replicas."""

    operator_contact: str | None = None
    """A contact that `check_contact` accepted."""

    bot_name: Callable[[], str | None] = lambda: None
    """The username of the bot that sellers chat with, None while it is unknown."""

    chat_page: str | None = None
    """The address of the chat with the bot if it isn't in Telegram."""

    counts: rate_limits.SharedCounts | None = None
    """The counts that replicas share; None for a single process."""


class ServiceState:
    """A running service with its rate limits, logins, upload slots and payers' cookies."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.limits = rate_limits.RateLimits(service.api_rate, service.payer_rate, service.counts)
        self.logins = applications.Logins(service.db, service.now)
        self.uploads = files.UploadSlots()
        self.cookies = PayerCookies(
            service.payer_key,
            service.payment_context.reservation,
            secure=service.public_url.startswith("https:"),
        )


class ServiceApp(FastAPI):
    """The ASGI application of a service."""

    running: ServiceState
    """An attribute, because Starlette's `State` looks values up at each call."""


def state_of(request: Request) -> ServiceState:
    app: ServiceApp = request.scope["app"]
    return app.running


async def service_of(request: Request) -> Service:
    return state_of(request).service


# Callers whose calls count against a limit. Each function raises RateLimited.


async def admit_payer(request: Request) -> Service:
    """Count a call of a payer by cookie, or else by address, and return the service.

    A call with a cookie also counts towards the limit of everyone behind the address.
    """
    state, address, payer = state_of(request), _address(request), _payer(request)
    if payer:
        state.limits.crowds.hit(address)
    state.limits.payers.hit(payer or address)
    return state.service


async def admit_receipt_reader(request: Request) -> Service:
    """Count a call for a receipt, and return the service.

    A call with an application's credentials counts for the application, separately from its other
    calls, because the chat fetches the receipts of all buyers from one address.
    """
    state = state_of(request)
    try:
        app = await _authenticate(request, state)
    except errors.Unauthorized:
        return await admit_payer(request)
    state.limits.applications.hit(f"receipts {app.id}")
    return state.service


async def admit_viewer(request: Request) -> Service:
    """Count a view of a pay page, which sets the cookie, and return the service.

    A view without a cookie counts only towards the limit of everyone behind the address, because
    200 guests on one Wi-Fi may open a page for the first time at once.
    """
    state, payer = state_of(request), _payer(request)
    state.limits.crowds.hit(_address(request))
    if payer:
        state.limits.payers.hit(payer)
    return state.service


async def admit_open_page(request: Request) -> Service:
    """Count a call by an open page's script, separately from the payer's own calls."""
    state = state_of(request)
    state.limits.open_pages.hit(_address(request))
    return state.service


def admit_checkout(request: Request, checkout_id: str) -> None:
    """Count a call for one checkout, whose page reloads by itself.

    Each checkout is counted separately, so that payers behind one address don't lock each other
    out.
    """
    state_of(request).limits.checkouts.hit(checkout_id)


def admit_hint(request: Request, checkout_id: str) -> None:
    """Count a wallet's hint for one checkout, separately from its payer's calls.

    Each hint writes to the database, and a seller may run the wallet.
    """
    limits = state_of(request).limits
    limits.crowds.hit(_address(request))
    limits.checkouts.hit(f"hint {checkout_id}")


def set_payer_cookie(request: Request, answer: Response) -> None:
    """Set the payer's cookie, or renew it."""
    state = state_of(request)
    cookie = state.cookies.header(_address(request), state.service.now(), _payer(request))
    answer.headers.append("Set-Cookie", cookie)


def holder_of(request: Request, request_id: str) -> checkout.Holder:
    """Return the payer as the holder of a checkout of this payment request."""
    state, address = state_of(request), _address(request)
    site = rates.site_key(address)
    return checkout.Holder(
        state.cookies.network_at_request(request_id, address),
        _payer(request),
        site and state.cookies.network_at_request(request_id, site),
        peer=state.cookies.network_at_wallets(site or address, state.service.now()),
    )


def _payer(request: Request) -> str | None:
    """Return the payer's id if their cookie is valid for their address."""
    cookie, state = request.cookies.get(COOKIE), state_of(request)
    return cookie and state.cookies.payer(cookie, _address(request), state.service.now())


def _address(request: Request) -> str:
    """Return the caller's address, as reported by a proxy if FORWARDED_ALLOW_IPS lists it."""
    client = request.scope.get("client")
    return rates.subscriber_key(client[0] if client else "")


CALLER = "payments.caller"
"""Scope key of the calling application, once it is authenticated."""


async def caller_of(request: Request) -> request_commands.Caller:
    """Return the calling application. Raises Unauthorized and RateLimited.

    Each call is authenticated and counted once. Failures are counted by address and never for the
    named application. So nobody can use up the calls of others or lock out an application that logs
    in correctly from the same address.
    """
    if known := request.scope.get(CALLER):
        found: request_commands.Caller = known
        return found
    state = state_of(request)
    try:
        app = await _authenticate(request, state)
    except errors.Unauthorized:
        state.limits.failed_logins.hit(_address(request))
        raise
    state.limits.applications.hit(app.id)
    caller = request_commands.Caller(
        app.id, state.service.now(), state.service.policy, confirms=bool(app.confirms)
    )
    request.scope[CALLER] = caller
    return caller


async def _authenticate(request: Request, state: ServiceState) -> applications.App:
    app_id, secret = request.headers.get("app-id"), request.headers.get("app-secret")
    if not app_id or not secret:
        raise errors.Unauthorized
    return await state.logins.authenticate(app_id, secret)


# Parameters of routes. Their functions are async, because FastAPI calls others in a thread.


CallerDep: TypeAlias = Annotated[request_commands.Caller, Depends(caller_of)]
ServiceDep: TypeAlias = Annotated[Service, Depends(service_of)]

PayerDep: TypeAlias = Annotated[Service, Depends(admit_payer)]
ViewerDep: TypeAlias = Annotated[Service, Depends(admit_viewer)]
OpenPageDep: TypeAlias = Annotated[Service, Depends(admit_open_page)]
ReceiptReaderDep: TypeAlias = Annotated[Service, Depends(admit_receipt_reader)]
"""The service, after the call was counted."""
