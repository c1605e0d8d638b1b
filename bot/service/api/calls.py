"""Who calls, and with what: what the routes share."""

import hashlib
import re
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from bot.core.errors import FieldProblem, InvalidBody, Unauthorized
from bot.core.rates import Rate
from bot.service.api import bodies
from bot.service.api.contract import IDEMPOTENCY_KEY, MAX_KEY
from bot.service.api.limits import Limiter, payer_key
from bot.service.deps import Service
from bot.service.store.apps import App
from bot.service.usecases import apps
from bot.service.usecases.requests import Caller, Key
from bot.service.wire import exact_json

OWNER = "Owner-Ref"
"""Header by which an application tells its sellers apart: whose the request is that it makes."""

OWNERS = re.compile(r"[A-Za-z0-9_-]{1,64}")

WATCHERS = 20
"""Times `PAYER_RATE` that the scripts of open pages may look from one address: many share one."""


class Doors:
    """The service with its counters, as it stands in the application's state."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.api = Limiter(service.api_rate)
        self.payers = Limiter(service.payer_rate)
        self.waiting = Limiter(service.payer_rate)
        self.watching = Limiter(_watching(service.payer_rate))
        self.strangers = Limiter(service.api_rate)


def _watching(rate: Rate | None) -> Rate | None:
    return rate and Rate(rate.count * WATCHERS, rate.seconds)


def doors(request: Request) -> Doors:
    """Give what the composition root left in the application's state."""
    found: Doors = request.app.state.doors
    return found


async def service(request: Request) -> Service:
    """Give the service of the application; async, or else each call would cost a thread."""
    return doors(request).service


def payer(request: Request) -> Service:
    """Give the service to a payer, whose address is counted; RateLimited beyond `PAYER_RATE`."""
    at = doors(request)
    at.payers.hit(_address(request))
    return at.service


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
    now, policy = at.service.now(), at.service.policy
    return Caller(app.id, now, policy, _owner(request), confirms=bool(app.confirms))


def _owner(request: Request) -> str:
    """Return whom of its sellers the application calls for; '' where it does not say."""
    owner = request.headers.get(OWNER, "")
    if owner and not OWNERS.fullmatch(owner):
        problem = FieldProblem(OWNER, "must have 1 to 64 of A-Z, a-z, 0-9, _ and -")
        raise InvalidBody(f"{problem.field}: {problem.message}", [problem])
    return owner


async def _authenticated(request: Request, service: Service) -> App:
    app_id, secret = request.headers.get("app-id"), request.headers.get("app-secret")
    if not app_id or not secret:
        raise Unauthorized
    return await apps.authenticate(service.db, app_id, secret)


Serving: TypeAlias = Annotated[Service, Depends(service)]
Calling: TypeAlias = Annotated[Caller, Depends(caller)]


async def json_text(request: Request) -> str:
    """Give a JSON body as text. Raises InvalidBody, BodyTooLarge and UnsupportedMediaType."""
    return await bodies.read(request, "application/json")


def key(request: Request, text: str) -> Key | None:
    """Give the Idempotency-Key with the hash of a sound JSON body, however it is spaced.

    Raises InvalidBody for a key that is empty or too long.
    """
    header = request.headers.get(IDEMPOTENCY_KEY)
    if header is None:
        return None
    if not 1 <= len(header) <= MAX_KEY:
        problem = FieldProblem(IDEMPOTENCY_KEY, f"must have 1 to {MAX_KEY} characters")
        raise InvalidBody(f"{problem.field}: {problem.message}", [problem])
    body = exact_json.canonical(exact_json.loads(text))
    return Key(header, hashlib.sha256(body.encode()).hexdigest())
