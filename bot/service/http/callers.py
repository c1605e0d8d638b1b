"""Callers: which application or payer calls, and whether they may call now."""

from typing import Annotated, TypeAlias

from fastapi import Depends, Request
from starlette.responses import Response

from bot.core.errors import FieldProblem, InvalidBody, Unauthorized
from bot.core.net.rates import site_key, subscriber_key
from bot.service.http.openapi import OWNER
from bot.service.http.payer_cookies import COOKIE
from bot.service.http.service import Service, ServiceApp, ServiceState
from bot.service.model.checkout import Holder
from bot.service.model.seller import OWNERS
from bot.service.store.apps import App
from bot.service.usecases.request_commands import Caller


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
    except Unauthorized:
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


def holder(request: Request, request_id: str) -> Holder:
    """Return the holder of a checkout of a payment request that this payer would open."""
    cookies, address = state(request).cookies, _address(request)
    site = site_key(address)
    return Holder(
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
    return subscriber_key(client[0] if client else "")


async def caller(request: Request) -> Caller:
    """Return the application that calls. Raises Unauthorized and RateLimited.

    Failures are counted by address, never for the application that they name: nobody can use up
    the calls of others, nor lock out an application that calls correctly from the same address.
    """
    at = state(request)
    try:
        app = await _authenticate(request, at)
    except Unauthorized:
        at.limits.failed_logins.hit(_address(request))
        raise
    at.limits.applications.hit(app.id)
    return Caller(app.id, at.service.now(), at.service.policy, confirms=bool(app.confirms))


def owner(request: Request) -> str:
    """Return the seller for whom an application calls, '' where it names none.

    Raises InvalidBody for a malformed reference.
    """
    owner = request.headers.get(OWNER)
    if owner is None:
        return ""
    if not OWNERS.fullmatch(owner):
        problem = FieldProblem(OWNER, "must have 1 to 64 of A-Z, a-z, 0-9, _ and -")
        raise InvalidBody(info=[problem])
    return owner


async def _authenticate(request: Request, at: ServiceState) -> App:
    app_id, secret = request.headers.get("app-id"), request.headers.get("app-secret")
    if not app_id or not secret:
        raise Unauthorized
    return await at.logins.authenticate(app_id, secret)


Serving: TypeAlias = Annotated[Service, Depends(service)]
Calling: TypeAlias = Annotated[Caller, Depends(caller)]
