"""`/email/…`: the pages that letters link to, where recipients confirm or stop letters.

Opening a link changes nothing, because mail scanners open every link. The page has a button.
"""

from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from bot.core import errors
from bot.service.api import callers
from bot.service.checkouts import order
from bot.service.notifications import notification, payer_letters, recipients
from bot.service.pages import page_texts, payer_form, render

router = APIRouter(include_in_schema=False)

EVERYBODY = "everybody"
"""Value of the button that stops the letters of all sellers."""


@router.api_route(f"{notification.CONFIRM_PATH}{{token}}", methods=["GET", "HEAD"])
async def ask(request: Request, token: str, service: callers.PayerDep) -> Response:
    """Show the address with a button that confirms it."""
    recipient = await service.db.read(lambda tx: recipients.find(tx, token=token))
    return _confirming(request, recipient, service.now())


@router.post(f"{notification.CONFIRM_PATH}{{token}}")
async def confirm(request: Request, token: str, service: callers.PayerDep) -> Response:
    """Confirm the address; a link works once."""
    payer_form.refuse_other_sites(request)
    now = service.now()
    confirmed = await service.db.transaction(lambda tx: recipients.confirm(tx, token, now))
    recipient = confirmed or await service.db.read(lambda tx: recipients.find(tx, token=token))
    return _confirming(request, recipient, now)


@router.api_route(f"{notification.STOP_PATH}{{token}}", methods=["GET", "HEAD"])
async def offer(request: Request, token: str, service: callers.PayerDep) -> Response:
    """Show the buttons that stop letters."""
    recipient = await service.db.read(lambda tx: recipients.find(tx, stop_token=token))
    if recipient is None:
        return _page(request, recipient, "unknown", status=404)
    ended = recipient.state is notification.RecipientState.ENDED
    buttons = (EVERYBODY,) if ended else ("seller", EVERYBODY)
    return _page(request, recipient, "stopped" if ended else "stop", buttons=buttons)


@router.post(f"{notification.STOP_PATH}{{token}}")
async def stop(request: Request, token: str, service: callers.PayerDep) -> Response:
    """Stop the letters of a seller or of all sellers; mail programs post here too (RFC 8058)."""
    everybody, now = await _asked(request) == EVERYBODY, service.now()
    recipient = await service.db.transaction(
        lambda tx: recipients.unsubscribe(tx, token, now, everybody=everybody)
    )
    if recipient is None:
        return _page(request, None, "unknown", status=404)
    return _page(request, recipient, "all-stopped" if everybody else "stopped")


async def read_mailbox(token: str, service: callers.PayerDep) -> str | None:
    """Return the mailbox of a receipt's unsubscribe link."""
    return notification.read_stop_token(service.payer_key, token)


MailboxDep: TypeAlias = Annotated[str | None, Depends(read_mailbox)]


@router.api_route(
    f"{notification.STOP_PATH}{notification.STOP_RECEIPTS}{{token}}", methods=["GET", "HEAD"]
)
async def offer_receipts(
    request: Request, service: callers.ServiceDep, mailbox: MailboxDep
) -> Response:
    """Show the buttons that stop a payer's receipts."""
    if mailbox is None:
        return _page(request, None, "unknown", status=404)
    if await service.db.read(lambda tx: payer_letters.has_stopped(tx, mailbox)):
        return _page(request, None, "receipts-stopped", buttons=(EVERYBODY,))
    return _page(request, None, "receipts", buttons=("receipts", EVERYBODY))


@router.post(f"{notification.STOP_PATH}{notification.STOP_RECEIPTS}{{token}}")
async def stop_receipts(
    request: Request, service: callers.ServiceDep, mailbox: MailboxDep
) -> Response:
    """Stop receipts to a payer's mailbox, or all letters; mail programs post here too."""
    if mailbox is None:
        return _page(request, None, "unknown", status=404)
    everybody, now = await _asked(request) == EVERYBODY, service.now()
    await service.db.transaction(
        lambda tx: payer_letters.stop_receipts(tx, mailbox, now, everybody=everybody)
    )
    return _page(request, None, "receipts-all" if everybody else "receipts-stopped")


async def _asked(request: Request) -> str:
    """Return the pressed button, "" for mail programs, whose forms differ. Raises CrossSite.

    A mail program that is a website posts from there, and presses no button.
    """
    try:
        scope = (await payer_form.read(request)).get("scope", "")
    except errors.UnsupportedMediaType:
        return ""
    if scope:
        payer_form.refuse_other_sites(request)
    return scope


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
