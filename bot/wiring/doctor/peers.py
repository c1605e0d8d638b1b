"""The servers that the bot leans on: another payment service, the mail server."""

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
from bot.wiring.doctor.finding import Finding, mend, well

if TYPE_CHECKING:
    from bot.config import Settings

MAIL_PATIENCE = 10.0  # seconds; mail servers hold back their greeting to tell spammers

REMEDIES: dict[type[BotError], str] = {
    NotReached: "nothing listens there: is it running, is the port right?",
    Unreachable: "it does not answer in time: look at it, then again",
    BadAnswer: "no payment service speaks there: check PAYMENTS_URL",
    Throttled: "it asks us to wait: look again later",
    Unauthorized: "copy APP_ID and APP_SECRET again",
}
"""What mends what the payment service says, the first that fits."""


async def payments(settings: Settings) -> list[Finding]:
    """Ask the payment service for something of ours."""
    if settings.payments_url is None or settings.app_secret is None:
        return []
    client = Client(
        settings.payments_url, settings.app_id or "", settings.app_secret.get_secret_value()
    )
    try:
        await client.check_access()
    except (PeerError, Refused) as error:
        remedies = (words for kind, words in REMEDIES.items() if isinstance(error, kind))
        text = "; ".join([f"{settings.payments_url}: {error}", *list(remedies)[:1]])
        return [mend("PAYMENTS_URL", text)]
    finally:
        await client.close()
    return [well("PAYMENTS_URL", settings.payments_url)]


async def mail(settings: Settings, waiting: int) -> list[Finding]:
    """Go as far with the mail server as one can without a letter; none is needed.

    `waiting` e-mails were promised and not sent yet.
    """
    if settings.payments_url is not None:
        return []
    if settings.smtp_url is None:
        return [_no_mail(waiting)]
    server = parse_server(settings.smtp_url.get_secret_value())
    sender = parse_sender(settings.smtp_from or "")
    try:
        await Mailer(server, timeout=MAIL_PATIENCE).check(sender.addr_spec)
    except MailRefused as error:
        return [mend("SMTP_URL", "; ".join(filter(None, (error.told, error.remedy))))]
    text = f"{server.name} lets us in and takes e-mails of {sender.addr_spec}"
    return [well("SMTP_URL", text)]


def _no_mail(waiting: int) -> Finding:
    """Without a mail server new requests can't ask for e-mails; older ones may be owed theirs."""
    if waiting:
        them = "1 e-mail waits" if waiting == 1 else f"{waiting} e-mails wait"
        return mend("SMTP_URL", f"{them} that nobody sends: set SMTP_URL again")
    return well("SMTP_URL", "not set, so e-mail notifications are refused")
