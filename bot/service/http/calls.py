"""Who calls, and with what: what the routes share."""

import hashlib
from typing import Annotated, TypeAlias

from fastapi import Depends, Request
from starlette.responses import Response

from bot.core import exact_json
from bot.core.errors import FieldProblem, InvalidBody, Unauthorized
from bot.core.net.rates import Rate
from bot.service.http import bodies
from bot.service.http.dependencies import Service
from bot.service.http.openapi import IDEMPOTENCY_KEY, MAX_KEY, OWNER, OWNERS
from bot.service.http.payers import COOKIE, PayerCookies
from bot.service.http.rate_limits import Limiter, payer_key
from bot.service.model.checkout_limits import Holder
from bot.service.store.apps import App
from bot.service.usecases import applications
from bot.service.usecases.request_commands import Caller, IdempotencyKey
from bot.service.wire import body_parsing

CROWD = 20
"""Times `PAYER_RATE` that one address may call for many: the scripts of open pages, looks at pay
pages, and browsers that are known by their cookie and have a count of their own beside it."""


class Doors:
    """The service with its counters, as it stands in the application's state."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.api = Limiter(service.api_rate)
        self.payers = Limiter(service.payer_rate)
        self.waiting = Limiter(service.payer_rate)
        self.watching = Limiter(_crowd(service.payer_rate))
        self.crowds = Limiter(_crowd(service.payer_rate))
        self.cookies = PayerCookies(
            service.payer_key, service.reservation, secure=service.public_url.startswith("https:")
        )
        self.strangers = Limiter(service.api_rate)


def _crowd(rate: Rate | None) -> Rate | None:
    return rate and Rate(rate.count * CROWD, rate.seconds)


def doors(request: Request) -> Doors:
    """Give what the composition root left in the application's state."""
    found: Doors = request.app.state.doors
    return found


async def service(request: Request) -> Service:
    """Give the service of the application; async, or else each call would cost a thread."""
    return doors(request).service


def payer(request: Request) -> Service:
    """Return the service to a payer, who is counted by cookie or else by address.

    Raises RateLimited beyond `PAYER_RATE`, and where an address calls for too large a crowd.
    """
    at, address, known = doors(request), _address(request), _known(request)
    if known:
        at.crowds.hit(address)
    at.payers.hit(known or address)
    return at.service


def viewer(request: Request) -> Service:
    """Return the service to who looks at a pay page, which brings the cookie to who has none.

    So whoever has none counts for the crowd behind their address alone: 200 guests of one Wi-Fi
    look for the first time at once. Raises RateLimited.
    """
    at, known = doors(request), _known(request)
    at.crowds.hit(_address(request))
    if known:
        at.payers.hit(known)
    return at.service


def remember(request: Request, answer: Response) -> None:
    """Make the payer known from now on, or known for longer."""
    at = doors(request)
    cookie = at.cookies.header(_address(request), at.service.now(), _known(request))
    answer.headers.append("Set-Cookie", cookie)


def holder(request: Request, request_id: str) -> Holder:
    """Return who would hold a checkout of a payment request."""
    network = doors(request).cookies.network(request_id, _address(request))
    return Holder(network, _known(request))


def _known(request: Request) -> str | None:
    """Return the payer's id where their cookie is sound and was made for their address."""
    cookie, at = request.cookies.get(COOKIE), doors(request)
    return cookie and at.cookies.payer(cookie, _address(request), at.service.now())


def watcher(request: Request) -> None:
    """Count a look of an open page's script, which uses up nothing of the payer's own calls."""
    doors(request).watching.hit(_address(request))


def _address(request: Request) -> str:
    """Give whom a call is counted for; behind a proxy of FORWARDED_ALLOW_IPS, whom it names."""
    return payer_key(request.client.host if request.client else "")


async def caller(request: Request) -> Caller:
    """Give the application that calls. Raises Unauthorized and RateLimited.

    Failures are counted by address, never for the application that they name: nobody can use up
    another's calls, nor lock out who calls rightly from the same address.
    """
    at = doors(request)
    try:
        app = await _authenticated(request, at.service)
    except Unauthorized:
        at.strangers.hit(_address(request))
        raise
    at.api.hit(app.id)
    return Caller(app.id, at.service.now(), at.service.policy, confirms=bool(app.confirms))


def owner(request: Request) -> str:
    """Return for whom of its sellers an application calls, '' where it does not say.

    Raises InvalidBody for what is no short reference.
    """
    owner = request.headers.get(OWNER)
    if owner is None:
        return ""
    if not OWNERS.fullmatch(owner):
        problem = FieldProblem(OWNER, "must have 1 to 64 of A-Z, a-z, 0-9, _ and -")
        raise InvalidBody(f"{problem.field}: {problem.message}", [problem])
    return owner


async def _authenticated(request: Request, service: Service) -> App:
    app_id, secret = request.headers.get("app-id"), request.headers.get("app-secret")
    if not app_id or not secret:
        raise Unauthorized
    return await applications.authenticate(service.db, app_id, secret)


Serving: TypeAlias = Annotated[Service, Depends(service)]
Calling: TypeAlias = Annotated[Caller, Depends(caller)]


async def json_text(request: Request) -> str:
    """Give a JSON body as text. Raises InvalidBody, BodyTooLarge and UnsupportedMediaType."""
    return await bodies.read(request, "application/json")


def key(request: Request, text: str) -> IdempotencyKey | None:
    """Give the Idempotency-Key with the hash of a sound JSON body, however it is spaced.

    Raises InvalidBody for a key that is empty or too long.
    """
    header = request.headers.get(IDEMPOTENCY_KEY)
    if header is None:
        return None
    if not 1 <= len(header) <= MAX_KEY:
        problem = FieldProblem(IDEMPOTENCY_KEY, f"must have 1 to {MAX_KEY} characters")
        raise InvalidBody(f"{problem.field}: {problem.message}", [problem])
    body = exact_json.canonical(body_parsing.read_json(text))
    return IdempotencyKey(header, hashlib.sha256(body.encode()).hexdigest())
