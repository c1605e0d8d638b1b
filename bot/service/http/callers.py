"""Callers: which application or payer calls, and whether they may call now."""

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
from bot.service.checkouts import checkout
from bot.service.goods import files
from bot.service.http import openapi, rate_limits
from bot.service.payments import settling
from bot.service.payouts import payout_accounts
from bot.service.requests import app_rows, applications, request_commands
from bot.service.requests.request import OWNERS

# The cookie that identifies a payer: signed, for one network, without personal data.
#
# The pay page sets it, so that a browser is known before its first payment. Nothing is stored:
# the signature proves that we made it, when, and for which network.


COOKIE = "payer"
COOKIE_PATH = "/pay"
FORM_TIME = 3_600_000
"""Milliseconds that filling in the form may take; after it, the checkout holds its unit."""

DAY = 86_400_000
"""Milliseconds."""

_SHAPE = re.compile(r"([0-9a-f]{24})\.([0-9a-f]{1,12})\.([0-9a-f]{32})")


class PayerCookies:
    """The cookies of a service, which last for `lifetime` ms; `secure` if its pages use https.

    `reservation` in ms.
    """

    def __init__(self, key: bytes, reservation: int, *, secure: bool) -> None:
        self._key = key
        self.lifetime = FORM_TIME + reservation
        self._attributes = (
            f"Path={COOKIE_PATH}; Max-Age={self.lifetime // 1000}; HttpOnly; SameSite=Lax"
            + "; Secure" * secure
        )

    def header(self, network: str, now: int, payer: str | None = None) -> str:
        """Return a Set-Cookie header for a new payer or a known one."""
        text = f"{payer or secrets.token_hex(12)}.{now:x}"
        return f"{COOKIE}={text}.{self._hash(f'cookie {text} {network}')}; {self._attributes}"

    def payer(self, cookie: str, network: str, now: int) -> str | None:
        """Return the payer's id; None for a cookie that is not ours or not of this network."""
        found = _SHAPE.fullmatch(cookie)
        if found is None or not 0 <= now - int(found[2], 16) < self.lifetime:
            return None
        expected = self._hash(f"cookie {found[1]}.{found[2]} {network}")
        return found[1] if hmac.compare_digest(found[3], expected) else None

    def network(self, request_id: str, address: str) -> str:
        """Return the pseudonym of an address at one request, meaningless anywhere else."""
        return self._hash(f"network {request_id} {address}")

    def peer(self, network: str, now: int) -> str:
        """Return the pseudonym of a network at wallets' hosts, another one each day."""
        return self._hash(f"peer {now // DAY} {network}")[:16]

    def _hash(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), "sha256").hex()[:32]


# Addresses at which wallets announce money: one a checkout, unguessable, and not stored.


HINT_PATH = "/hints"


def hint_url(public_url: str, key: bytes, checkout_id: str) -> str:
    """Return the address of a checkout; `key` is the payers'."""
    return f"{public_url}{HINT_PATH}/{checkout_id}/{_token(key, checkout_id)}"


def is_genuine(key: bytes, checkout_id: str, token: str) -> bool:
    """Return whether a token is of the checkout's address."""
    return hmac.compare_digest(_token(key, checkout_id).encode(), token.encode())


def _token(key: bytes, checkout_id: str) -> str:
    return hmac.digest(key, f"hint {checkout_id}".encode(), "sha256").hex()[:32]


# The service as its routes know it; the composition root builds it.


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that the API and the pay page need; `now` returns UTC epoch ms.

    `public_url` has no slash at its end, and `operator_contact` is of `check_contact`.
    A rate of None is no limit; `counts` are those that replicas share, None for a process alone.
    `payer_key` signs the cookies of payers; replicas share it.
    `bot_name` returns the username of the bot that sellers chat with, None while it is unknown;
    `chat_page` is where they do if that isn't Telegram.
    """

    db: database.Database
    now: Callable[[], int]
    public_url: str
    policy: request_commands.Policy
    payment_context: settling.PaymentContext
    payouts: payout_accounts.Payouts
    api_rate: rates.Rate | None = None
    payer_rate: rates.Rate | None = None
    payer_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    operator_contact: str | None = None
    bot_name: Callable[[], str | None] = lambda: None
    chat_page: str | None = None
    counts: rate_limits.SharedCounts | None = None


class ServiceState:
    """A running service: what the routes need, its limits, the cookies of its payers."""

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
    """The application, and the service that it serves; `State` would search for it at each call."""

    running: ServiceState


def state(request: Request) -> ServiceState:
    """Return the state that `create_app` gave the application."""
    app: ServiceApp = request.scope["app"]
    return app.running


async def service(request: Request) -> Service:
    """Return the service; async, because FastAPI calls other dependencies in a thread."""
    return state(request).service


def admit_payer(request: Request) -> Service:
    """Count a call of a payer, by cookie or else by address, and return the service.

    Raises RateLimited beyond `PAYER_RATE`, and where too many call from one address.
    """
    at, address, payer = state(request), _address(request), _payer(request)
    if payer:
        at.limits.crowds.hit(address)
    at.limits.payers.hit(payer or address)
    return at.service


async def admit_holder(request: Request) -> Service:
    """Count a call for a receipt, and return the service.

    One with an application's credentials counts for the application, apart from its other calls:
    the chat fetches the receipts of all buyers from one address. Raises RateLimited.
    """
    at = state(request)
    try:
        app = await _authenticate(request, at)
    except errors.Unauthorized:
        return admit_payer(request)
    at.limits.applications.hit(f"receipts {app.id}")
    return at.service


def admit_viewer(request: Request) -> Service:
    """Count a view of a pay page, which sets the cookie, and return the service.

    A viewer without a cookie counts for the crowd behind their address alone: 200 guests of one
    Wi-Fi open a page for the first time at once. Raises RateLimited.
    """
    at, payer = state(request), _payer(request)
    at.limits.crowds.hit(_address(request))
    if payer:
        at.limits.payers.hit(payer)
    return at.service


def admit_open_page(request: Request) -> Service:
    """Count a call of an open page's script, apart from the payer's own calls.

    Raises RateLimited.
    """
    at = state(request)
    at.limits.open_pages.hit(_address(request))
    return at.service


def admit_checkout(request: Request, checkout_id: str) -> None:
    """Count a call for one checkout, whose page reloads by itself. Raises RateLimited.

    Each checkout is counted apart: payers behind one address don't lock each other out.
    """
    state(request).limits.checkouts.hit(checkout_id)


def admit_hint(request: Request, checkout_id: str) -> None:
    """Count a hint of a wallet for one checkout, apart from those who pay. Raises RateLimited.

    Each is a write to the database, and a seller may run the wallet.
    """
    limits = state(request).limits
    limits.crowds.hit(_address(request))
    limits.checkouts.hit(f"hint {checkout_id}")


def set_payer_cookie(request: Request, answer: Response) -> None:
    """Set the payer's cookie, or renew it."""
    at = state(request)
    cookie = at.cookies.header(_address(request), at.service.now(), _payer(request))
    answer.headers.append("Set-Cookie", cookie)


def holder(request: Request, request_id: str) -> checkout.Holder:
    """Return the holder of a checkout of a payment request that this payer would open."""
    cookies, address = state(request).cookies, _address(request)
    site = rates.site_key(address)
    return checkout.Holder(
        cookies.network(request_id, address),
        _payer(request),
        site and cookies.network(request_id, site),
        peer=cookies.peer(site or address, state(request).service.now()),
    )


def _payer(request: Request) -> str | None:
    """Return the payer's id if their cookie is sound and was set for their address."""
    cookie, at = request.cookies.get(COOKIE), state(request)
    return cookie and at.cookies.payer(cookie, _address(request), at.service.now())


def _address(request: Request) -> str:
    """Return the caller's address; behind a proxy of FORWARDED_ALLOW_IPS, the one it names."""
    client = request.scope.get("client")
    return rates.subscriber_key(client[0] if client else "")


async def caller(request: Request) -> request_commands.Caller:
    """Return the application that calls. Raises Unauthorized and RateLimited.

    Failures are counted by address, never for the application that they name: nobody can use up
    the calls of others, nor lock out an application that calls correctly from the same address.
    """
    at = state(request)
    try:
        app = await _authenticate(request, at)
    except errors.Unauthorized:
        at.limits.failed_logins.hit(_address(request))
        raise
    at.limits.applications.hit(app.id)
    return request_commands.Caller(
        app.id, at.service.now(), at.service.policy, confirms=bool(app.confirms)
    )


def owner(request: Request) -> str:
    """Return the seller for whom an application calls, '' where it names none.

    Raises InvalidBody for a malformed reference.
    """
    owner = request.headers.get(openapi.OWNER)
    if owner is None:
        return ""
    if not OWNERS.fullmatch(owner):
        problem = errors.FieldProblem(openapi.OWNER, "must have 1 to 64 of A-Z, a-z, 0-9, _ and -")
        raise errors.InvalidBody(info=[problem])
    return owner


async def _authenticate(request: Request, at: ServiceState) -> app_rows.App:
    app_id, secret = request.headers.get("app-id"), request.headers.get("app-secret")
    if not app_id or not secret:
        raise errors.Unauthorized
    return await at.logins.authenticate(app_id, secret)


Serving: TypeAlias = Annotated[Service, Depends(service)]
Calling: TypeAlias = Annotated[request_commands.Caller, Depends(caller)]
