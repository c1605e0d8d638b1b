"""`/email/…`: the pages that letters link to, where recipients confirm or stop letters.

Opening a link changes nothing, because mail scanners open every link. The page has a button.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi import APIRouter, Request

from bot.core import errors
from bot.service.checkouts import order
from bot.service.http import callers, routes
from bot.service.notifications import notification, payer_letters, recipients
from bot.service.pages import page_texts, payer_form, render

if TYPE_CHECKING:
    from starlette.responses import Response


router = APIRouter(include_in_schema=False, route_class=routes.PlainRoute)

EVERYBODY = "everybody"
"""Value of the button that stops the letters of all sellers."""


@router.api_route(f"{notification.CONFIRM_PATH}{{token}}", methods=["GET", "HEAD"])
async def ask(request: Request) -> Response:
    """Show the address with a button that confirms it."""
    service, token = callers.admit_payer(request), request.path_params["token"]
    recipient = await service.db.read(lambda tx: recipients.find_by_token(tx, token))
    return _confirming(request, recipient, service.now())


@router.api_route(f"{notification.CONFIRM_PATH}{{token}}", methods=["POST"])
async def confirm(request: Request) -> Response:
    """Confirm the address; a link works once."""
    service, token = callers.admit_payer(request), request.path_params["token"]
    now = service.now()
    confirmed = await service.db.transaction(lambda tx: recipients.confirm(tx, token, now))
    recipient = confirmed or await service.db.read(lambda tx: recipients.find_by_token(tx, token))
    return _confirming(request, recipient, now)


@router.api_route(f"{notification.STOP_PATH}{{token}}", methods=["GET", "HEAD"])
async def offer(request: Request) -> Response:
    """Show the buttons that stop letters."""
    service, token = callers.admit_payer(request), request.path_params["token"]
    recipient = await service.db.read(lambda tx: recipients.find_by_stop_token(tx, token))
    if recipient is None:
        return _page(request, recipient, "unknown", status=404)
    ended = recipient.state is notification.RecipientState.ENDED
    buttons = (EVERYBODY,) if ended else ("seller", EVERYBODY)
    return _page(request, recipient, "stopped" if ended else "stop", buttons=buttons)


@router.api_route(f"{notification.STOP_PATH}{{token}}", methods=["POST"])
async def stop(request: Request) -> Response:
    """Stop the letters of a seller or of all sellers; mail programs post here too (RFC 8058)."""
    service, token = callers.admit_payer(request), request.path_params["token"]
    everybody, now = await _asked(request) == EVERYBODY, service.now()
    recipient = await service.db.transaction(
        lambda tx: recipients.unsubscribe(tx, token, now, everybody=everybody)
    )
    if recipient is None:
        return _page(request, None, "unknown", status=404)
    return _page(request, recipient, "all-stopped" if everybody else "stopped")


@router.api_route(
    f"{notification.STOP_PATH}{notification.STOP_RECEIPTS}{{token}}", methods=["GET", "HEAD"]
)
async def offer_receipts(request: Request) -> Response:
    """Show the buttons that stop a payer's receipts."""
    service, mailbox = _receipts_of(request)
    if mailbox is None:
        return _page(request, None, "unknown", status=404)
    if await service.db.read(lambda tx: payer_letters.has_stopped(tx, mailbox)):
        return _page(request, None, "receipts-stopped", buttons=(EVERYBODY,))
    return _page(request, None, "receipts", buttons=("receipts", EVERYBODY))


@router.api_route(
    f"{notification.STOP_PATH}{notification.STOP_RECEIPTS}{{token}}", methods=["POST"]
)
async def stop_receipts(request: Request) -> Response:
    """Stop receipts to a payer's mailbox, or all letters; mail programs post here too."""
    service, mailbox = _receipts_of(request)
    if mailbox is None:
        return _page(request, None, "unknown", status=404)
    everybody, now = await _asked(request) == EVERYBODY, service.now()
    await service.db.transaction(
        lambda tx: payer_letters.stop_receipts(tx, mailbox, now, everybody=everybody)
    )
    return _page(request, None, "receipts-all" if everybody else "receipts-stopped")


def _receipts_of(request: Request) -> tuple[callers.Service, str | None]:
    """Return the service, and the mailbox of a receipt's unsubscribe link."""
    service = callers.admit_payer(request)
    token = request.path_params["token"]
    return service, notification.read_stop_token(service.payer_key, token)


async def _asked(request: Request) -> str:
    """Return the pressed button, "" for mail programs, whose forms differ."""
    try:
        form = await payer_form.read(request)
    except errors.UnsupportedMediaType:
        return ""
    return form.get("scope", "")


def _confirming(request: Request, recipient: notification.Recipient | None, now: int) -> Response:
    """Answer with the state of a confirmation link's address."""
    if recipient is None:
        return _page(request, recipient, "unknown", status=404)
    if recipient.may_be_confirmed(now):
        return _page(request, recipient, "confirm", buttons=("confirm",))
    if recipient.state is notification.RecipientState.UNCONFIRMED:
        return _page(request, recipient, "lapsed", status=410)
    ended = recipient.state is notification.RecipientState.ENDED
    return _page(request, recipient, "stopped" if ended else "done")


def _page(
    request: Request,
    recipient: notification.Recipient | None,
    name: str,
    *,
    buttons: tuple[str, ...] = (),
    status: int = 200,
) -> Response:
    locale = page_texts.locale_of(request)
    names = {
        "address": order.masked("email", recipient.address) if recipient else "",
        "host": urlsplit(callers.state_of(request).service.public_url).netloc,
    }
    values = {
        "title": locale.t(f"consent-{name}"),
        "why": locale.t(f"consent-{name}-why", **names),
        "buttons": [
            (value, locale.t(f"consent-button-{value}", host=names["host"])) for value in buttons
        ],
    }
    return render.html("consent.html", locale, values, status=status)
