"""Checks of what lies outside: Telegram, the public address, another service, the mail server."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from bot import config
from bot.app.doctor import findings
from bot.chat.payments.client import Client
from bot.chat.telegram import intake
from bot.core import errors, exact_json
from bot.core.net import http_client, mail
from bot.core.ops import readiness
from bot.core.text import sanitize
from bot.service.notifications import emails

ASK_SECONDS = 5.0
"""The longest wait for an answer of Telegram or of an address."""

# Telegram: the token, BotFather's switches, the delivery of updates, and the clock.

TOKEN = re.compile(r"\d{6,}:[A-Za-z0-9_-]{35}")
"""The shape of BotFather's tokens; another Bot API server may use other shapes."""

UNKNOWN_TOKEN = (401, 404)
"""Telegram's status codes for an unknown token."""

MOST_WAITING = 100
"""Number of updates: fewer wait at Telegram while the bot is running."""

LATELY = 3600
"""Seconds for which a failed webhook call is worth reporting."""

MOST_OFF = 30
"""Seconds by which the clock may be wrong; webhook signatures are valid for five minutes."""

LONGEST_QUOTE = 200
"""The most characters quoted from an answer of Telegram."""

FEEDBACK_UNKNOWN = (
    "Telegram doesn't say whether it's on; if shared cards should show new sales, send"
    " /setinlinefeedback to BotFather and choose 100%"
)


@dataclass(frozen=True, slots=True)
class Telegram:
    """What Telegram says about the bot."""

    installation: findings.Installation
    me: Mapping[str, Any]
    """The result of getMe."""
    hook: Mapping[str, Any]
    """The result of getWebhookInfo."""
    ahead: float | None
    """Seconds by which our clock is ahead; None if the answer had no time."""
    at: int
    """The time of the answer, or ours, in epoch seconds."""


async def _ask_telegram(it: findings.Installation) -> Telegram:
    if it.settings.bot_token is None:
        raise findings.Unanswered(
            "not set: ask BotFather on Telegram for one, or check with doctor --service if this"
            " runs without Telegram"
        )
    root, token = it.settings.telegram_api_url, it.settings.bot_token.get_secret_value()
    if root == config.TELEGRAM and not TOKEN.fullmatch(token):
        raise findings.Unanswered(
            "too short or too long: a token has 35 characters after the colon; copy it again"
        )
    async with http_client.web_client(http_client.proxy_for(root)) as http:
        me, at = await _call(http, root, token, "getMe")
        hook, hook_at = await _call(http, root, token, "getWebhookInfo")
    ahead = None if at is None else (it.now() - at) / 1000
    return Telegram(it, me, hook, ahead, (hook_at or it.now()) // 1000)


async def _call(
    http: http_client.HttpClient, root: str, token: str, method: str
) -> tuple[Mapping[str, Any], int | None]:
    """Return the result of a method, and Telegram's time in epoch ms, if the answer has it.

    Raises Unanswered, without the address, which contains the token.
    """
    try:
        reply = await http.call("POST", f"{root}/bot{token}/{method}", {}, seconds=ASK_SECONDS)
    except errors.Unreachable as error:
        kind = http_client.kind_of(error)
        text = f"Telegram at {root} can't be reached ({kind}): check the network"
        raise findings.Unanswered(text) from None
    if reply.status in UNKNOWN_TOKEN:
        raise findings.Unanswered("Telegram rejects this token: copy it again")
    try:
        result = exact_json.loads(reply.body)["result"]
    except (ValueError, TypeError, KeyError):
        text = f"{root} answered {reply.status} without a result: check TELEGRAM_API_URL"
        raise findings.Unanswered(text) from None
    try:  # the header has whole seconds
        at = int(parsedate_to_datetime(reply.headers["Date"]).timestamp() * 1000) + 500
    except (KeyError, ValueError):
        at = None
    return result if isinstance(result, dict) else {}, at


def _updates(it: Telegram) -> Iterator[str]:
    """Check where Telegram sends updates and whether they arrive."""
    settings, url = it.installation.settings, str(it.hook.get("url") or "")
    ours = settings.url + intake.WEBHOOK_PATH if settings.telegram_mode == "webhook" else ""
    if url not in {"", ours}:  # only its host is shown: the path may be a secret
        host = sanitize.line(urlsplit(url).hostname or "another address", LONGEST_QUOTE)
        yield (
            f"updates go to a webhook at {host}: restart the bot to get them back; if another"
            " program uses this token, stop it"
        )
    failed_at, message = it.hook.get("last_error_date"), it.hook.get("last_error_message")
    if isinstance(failed_at, int) and it.at - failed_at <= LATELY and message:
        quote = sanitize.line(str(message), LONGEST_QUOTE)
        yield f"Telegram recently failed to deliver updates ({quote}): check the proxy and the log"
    count = it.hook.get("pending_update_count")
    if isinstance(count, int) and count > MOST_WAITING:
        yield f"{count} updates are waiting at Telegram: start the bot, or check its log for errors"


def _inline_mode(it: Telegram) -> Iterator[str]:
    if not it.me.get("supports_inline_queries"):
        yield "off, so sharing doesn't work: send /setinline to BotFather"


def _clock(it: Telegram) -> Iterator[str]:
    off = round(it.ahead or 0)
    if abs(off) > MOST_OFF:
        which = "ahead of" if off > 0 else "behind"
        yield f"{abs(off)} seconds {which} Telegram's, so signatures may be refused: turn on NTP"


TELEGRAM = findings.Part(
    "BOT_TOKEN",
    _ask_telegram,
    (
        findings.Check("BOT_TOKEN", well=lambda it: f"@{it.me.get('username')}"),
        findings.Check("TELEGRAM_MODE", _updates),
        findings.Check("inline mode", _inline_mode, well=lambda _: "on"),
        findings.Check(
            "inline feedback",
            well=lambda it: "on" if it.installation.inline_feedback else FEEDBACK_UNKNOWN,
        ),
        findings.Check(
            "clock",
            _clock,
            well=lambda it: (
                None if it.ahead is None else f"within {MOST_OFF} seconds of Telegram's"
            ),
        ),
    ),
    applies=lambda it: it.has_chat,
)


# PUBLIC_URL: people and webhooks reach this bot, and no other, safely.

LEAST_DAYS = 10
"""Days for which a certificate should still be valid; certificates are renewed long before."""

DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of an address."""

    status: int | None = None
    """None if there was no answer."""
    problem: str = ""
    """Why there was no answer, and what to check."""
    is_named: bool = True
    """False if the host has no address."""
    deployment: str | None = None
    """The name of the installation that answered; None if it isn't from a bot."""
    days: float | None = None
    """How long the certificate is still valid; None if there is no TLS."""


@dataclass(frozen=True, slots=True)
class PublicAddress:
    """What answers at PUBLIC_URL, and at the bot's own port."""

    installation: findings.Installation
    near: Reply
    """The answer at the bot's port."""
    far: Reply
    """The answer at PUBLIC_URL."""
    shows_metrics: bool = False
    """True if outsiders can read /metrics there."""


async def _ask_public_address(it: findings.Installation) -> PublicAddress:
    url, inside = it.settings.url, it.settings.local_url
    async with http_client.web_client() as http:
        near, far = await asyncio.gather(_ask_address(http, inside), _ask_address(http, url))
        found = PublicAddress(it, near, far)
        is_hidden = it.settings.metrics_token is not None or url == inside
        if is_hidden or near.status is None or any(_server(found)):
            return found
        with suppress(errors.Unreachable):  # a proxy without its header looks like loopback
            reply = await http.call("GET", f"{url}/metrics", {}, seconds=ASK_SECONDS)
            found = replace(found, shows_metrics=reply.status == HTTPStatus.OK)
    return found


async def _ask_address(http: http_client.HttpClient, root: str) -> Reply:
    try:
        async with await http.send("GET", f"{root}/livez", {}, seconds=ASK_SECONDS) as answer:
            ends = answer.certificate().get("notAfter")
            days = ends and (ssl.cert_time_to_seconds(ends) - time.time()) / DAY
            deployment = answer.headers.get(readiness.DEPLOYMENT)
            return Reply(answer.status, deployment=deployment, days=days)
    except errors.Unreachable as error:
        is_named = not isinstance(error, errors.NoSuchHost)
        return Reply(problem=_describe(error), is_named=is_named)


def _describe(error: errors.Unreachable) -> str:
    """Describe why there was no answer, and what to check."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate isn't trusted ({cause.verify_message}): renew or replace it"
        cause = cause.__cause__ or cause.__context__
    kind = http_client.kind_of(error)
    if kind.endswith("Timeout"):
        return f"no answer in time ({kind}); check the proxy, the tunnel or the firewall"
    return f"no connection ({kind}); check the proxy or the tunnel"


def _form(it: PublicAddress) -> Iterator[str]:
    """Check the address itself; only its first problem is reported."""
    settings = it.installation.settings
    parts = urlsplit(settings.url)
    host = parts.hostname or ""
    if settings.public_url is None:
        yield f"not set, so payers are sent to {settings.url}: set the address they can reach"
    elif "." not in host and ":" not in host:
        yield f"{host} has no dot, and Telegram refuses such links in buttons: use a full name"
    elif parts.scheme == "http" and not _is_private(host):
        yield (
            f"{settings.url} isn't https, so others on the network can read what payers type: put"
            " a proxy with a certificate in front of the bot and use https://"
        )
    elif not it.far.is_named:
        yield f"{host} isn't in the DNS: add a record that points to this machine"


def _is_private(host: str) -> bool:
    """True if a host is an address of this machine or of its own network."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False


def _server(it: PublicAddress) -> Iterator[str]:
    """Check that PUBLIC_URL leads to the bot, if the bot is running."""
    url, port = it.installation.settings.url, it.installation.settings.port
    if it.near.status is None:
        return
    if it.installation.deployment not in {None, it.near.deployment}:
        yield (
            f"another program answers at port {port}: stop it or choose another PORT; after an"
            " update, restart the bot"
        )
    elif it.far.problem:
        yield f"running, but {url} doesn't lead to it: {it.far.problem}"
    elif it.far.deployment != it.near.deployment:
        yield (
            f"running, but {url} doesn't lead to it: something else answers there"
            f" ({it.far.status}); check the proxy or the tunnel"
        )
    elif it.far.days is not None and it.far.days < LEAST_DAYS:
        yield f"the certificate of {url} expires in {it.far.days:.0f} days: check its renewal"


def _metrics(it: PublicAddress) -> Iterator[str]:
    if it.shows_metrics:
        yield (
            f"anyone can read {it.installation.settings.url}/metrics: set a token, or make the"
            " proxy add X-Forwarded-For"
        )


PUBLIC_ADDRESS = findings.Part(
    "PUBLIC_URL",
    _ask_public_address,
    (
        findings.Check("PUBLIC_URL", _form, well=lambda it: it.installation.settings.url),
        findings.Check(
            "server",
            _server,
            well=lambda it: (
                "not running, so its address wasn't checked"
                if it.near.status is None
                else f"answers at {it.installation.settings.url}"
            ),
        ),
        findings.Check("METRICS_TOKEN", _metrics),
    ),
)


# Servers that the bot depends on: another payment service, and the mail server.

MAIL_SECONDS = 10.0
"""Mail servers delay their greeting to recognize spammers."""

FIXES: dict[type[errors.BotError], str] = {
    errors.NotReached: "nothing listens there: check that it is running and that the port is right",
    errors.Unreachable: "it doesn't answer in time: check that server, then try again",
    errors.BadAnswer: "that server isn't a payment service: check PAYMENTS_URL",
    errors.Throttled: "it is limiting our calls: try again later",
    errors.Unauthorized: "copy APP_ID and APP_SECRET again",
}
"""The fix for each error of the payment service; the first match counts."""


async def _ask_payments(it: findings.Installation) -> str:
    """Return the address of another payment service that accepts our credentials."""
    url, secret = it.settings.payments_url or "", it.settings.app_secret
    client = Client(url, it.settings.app_id or "", secret.get_secret_value() if secret else "")
    try:
        await client.check_access()
    except (errors.PeerError, errors.Refused) as error:
        fixes = [words for kind, words in FIXES.items() if isinstance(error, kind)]
        raise findings.Unanswered("; ".join([f"{url}: {error}", *fixes[:1]])) from None
    finally:
        await client.close()
    return url


async def _ask_mail(it: findings.Installation) -> str:
    """Check that the mail server would accept an email from us, without sending one.

    A mail server is optional.
    """
    if it.settings.smtp_url is None:
        if it.unsent_mails:
            mails = "1 email is" if it.unsent_mails == 1 else f"{it.unsent_mails} emails are"
            text = f"{mails} waiting and can't be sent: set SMTP_URL again"
            raise findings.Unanswered(text)
        return "not set, so email notifications are refused"
    server = mail.parse_server(it.settings.smtp_url.get_secret_value())
    sender = mail.parse_sender(it.settings.smtp_from or "").addr_spec
    try:
        await emails.Mailer(server, timeout=MAIL_SECONDS).check(sender)
    except errors.MailRefused as error:
        text = "; ".join(filter(None, (error.reason, error.remedy)))
        raise findings.Unanswered(text) from None
    return f"{server.name} accepts our login and emails from {sender}"


PAYMENTS = findings.Part(
    "PAYMENTS_URL",
    _ask_payments,
    (findings.Check("PAYMENTS_URL", well=str),),
    applies=lambda it: it.settings.payments_url is not None,
)
MAIL = findings.Part(
    "SMTP_URL",
    _ask_mail,
    (findings.Check("SMTP_URL", well=str),),
    applies=lambda it: it.settings.payments_url is None,
)
