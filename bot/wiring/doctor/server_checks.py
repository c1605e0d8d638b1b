"""Checks of the servers that the bot depends on: another payment service, the mail server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.provider.client import Client
from bot.core.errors import (
    BadAnswer,
    BotError,
    MailRefused,
    NotReached,
    PeerError,
    Refused,
    Throttled,
    Unauthorized,
    Unreachable,
)
from bot.core.mail.smtp import parse_sender, parse_server
from bot.service.notify.smtp_sender import Mailer
from bot.wiring.doctor.finding import Finding, fix, ok

if TYPE_CHECKING:
    from bot.config import Settings

MAIL_TIMEOUT = 10.0
"""Seconds: mail servers delay their greeting to recognize spammers."""

FIXES: dict[type[BotError], str] = {
    NotReached: "nothing listens there: check that it is running and that the port is right",
    Unreachable: "it doesn't answer in time: check that server, then try again",
    BadAnswer: "that server isn't a payment service: check PAYMENTS_URL",
    Throttled: "it is limiting our calls: try again later",
    Unauthorized: "copy APP_ID and APP_SECRET again",
}
"""The fix for each error of the payment service; the first that matches."""


async def check_payments(settings: Settings) -> list[Finding]:
    """Check that another payment service accepts our credentials."""
    if settings.payments_url is None or settings.app_secret is None:
        return []
    client = Client(
        settings.payments_url, settings.app_id or "", settings.app_secret.get_secret_value()
    )
    try:
        await client.check_access()
    except (PeerError, Refused) as error:
        fixes = [words for kind, words in FIXES.items() if isinstance(error, kind)]
        return [fix("PAYMENTS_URL", "; ".join([f"{settings.payments_url}: {error}", *fixes[:1]]))]
    finally:
        await client.close()
    return [ok("PAYMENTS_URL", settings.payments_url)]


async def check_mail(settings: Settings, unsent: int) -> list[Finding]:
    """Check that the mail server would accept an email of ours, without sending one.

    `unsent` is the number of emails that wait. A mail server is optional.
    """
    if settings.payments_url is not None:
        return []
    if settings.smtp_url is None:
        return [_without_mail(unsent)]
    server = parse_server(settings.smtp_url.get_secret_value())
    sender = parse_sender(settings.smtp_from or "")
    try:
        await Mailer(server, timeout=MAIL_TIMEOUT).check(sender.addr_spec)
    except MailRefused as error:
        return [fix("SMTP_URL", "; ".join(filter(None, (error.told, error.remedy))))]
    return [ok("SMTP_URL", f"{server.name} accepts our login and emails from {sender.addr_spec}")]


def _without_mail(unsent: int) -> Finding:
    if unsent:
        mails = "1 email is" if unsent == 1 else f"{unsent} emails are"
        return fix("SMTP_URL", f"{mails} waiting and can't be sent: set SMTP_URL again")
    return ok("SMTP_URL", "not set, so email notifications are refused")
