"""Checks that people and webhooks reach this bot, and no other, safely at PUBLIC_URL."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from bot import config
from bot.app.doctor import finding
from bot.chat.jobs.client import Client
from bot.chat.telegram import intake
from bot.core import errors, exact_json
from bot.core.net import http_client, mail
from bot.core.ops import readiness
from bot.core.text import sanitize
from bot.service.notifications import smtp_sender

ADDRESS_SECONDS = 5.0
RESOLVE_SECONDS = 5.0

LEAST_DAYS = 10
"""Days for which a certificate should still be valid; certificates are renewed long before."""

DAY = 24 * 3600

UNSAFE = (
    "{} isn't https, so others on the network can read what payers type: put a proxy with a"
    " certificate in front of the bot and use https://"
)


@dataclass(frozen=True, slots=True)
class AddressReply:
    """The answer of an address: a status, or the problem if there was no answer.

    `deployment` names the installation that answered, None if the answer isn't from a bot. `days`
    is how long the certificate is still valid.
    """

    status: int | None = None
    problem: str = ""
    deployment: str | None = None
    days: float | None = None


async def check_public_address(
    settings: config.Settings, deployment: str | None
) -> list[finding.Finding]:
    """Check PUBLIC_URL, which should lead to the installation named `deployment`."""
    problem = _check_form(settings) or await _check_name(settings)
    return [
        problem or finding.ok("PUBLIC_URL", settings.url),
        *await _check_server(settings, deployment),
    ]


def _check_form(settings: config.Settings) -> finding.Finding | None:
    parts = urlsplit(settings.url)
    host = parts.hostname or ""
    if settings.public_url is None:
        text = f"not set, so payers are sent to {settings.url}: set the address they can reach"
    elif "." not in host and ":" not in host:
        text = f"{host} has no dot, and Telegram refuses such links in buttons: use a full name"
    elif parts.scheme == "http" and not _is_private(host):
        text = UNSAFE.format(settings.url)
    else:
        return None
    return finding.fix("PUBLIC_URL", text)


def _is_private(host: str) -> bool:
    """True if a host is an address of this machine or of its own network."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False


async def _check_name(settings: config.Settings) -> finding.Finding | None:
    host = urlsplit(settings.url).hostname or ""
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        text = f"{host} isn't in the DNS: add a record that points to this machine"
        return finding.fix("PUBLIC_URL", text)
    return None


async def _check_server(settings: config.Settings, deployment: str | None) -> list[finding.Finding]:
    """Check that PUBLIC_URL leads to the bot, if the bot is running."""
    inside = settings.local_url
    async with http_client.web_client() as http:
        near, far = await asyncio.gather(
            _ask_address(http, inside), _ask_address(http, settings.url)
        )
        if near.status is None:
            return [finding.ok("server", "not running, so its address wasn't checked")]
        if deployment is not None and near.deployment != deployment:
            text = f"another program answers at port {settings.port}: stop it or choose another"
            return [finding.fix("server", f"{text} PORT; after an update, restart the bot")]
        wrong = _find_problem(settings, far, near.deployment)
        exposed = "" if wrong else await _check_metrics(http, settings, inside)
    found = (
        finding.fix("server", wrong)
        if wrong
        else finding.ok("server", f"answers at {settings.url}")
    )
    return [found, *([finding.fix("METRICS_TOKEN", exposed)] if exposed else [])]


def _find_problem(
    settings: config.Settings, far: AddressReply, deployment: str | None
) -> str | None:
    """Return why people don't reach this bot at PUBLIC_URL; None if they do."""
    url = settings.url
    if far.problem:
        return f"running, but {url} doesn't lead to it: {far.problem}"
    if far.deployment != deployment:
        reason = f"something else answers there ({far.status})"
        return f"running, but {url} doesn't lead to it: {reason}; check the proxy or the tunnel"
    if far.days is not None and far.days < LEAST_DAYS:
        return f"the certificate of {url} expires in {far.days:.0f} days: check its renewal"
    return None


async def _check_metrics(
    http: http_client.HttpClient, settings: config.Settings, inside: str
) -> str:
    """Check that outsiders can't read /metrics: a proxy without its header looks like loopback."""
    if settings.metrics_token is not None or settings.url == inside:
        return ""
    try:
        reply = await http.call("GET", f"{settings.url}/metrics", {}, seconds=ADDRESS_SECONDS)
    except errors.Unreachable:
        return ""
    if reply.status != HTTPStatus.OK:
        return ""
    return (
        f"anyone can read {settings.url}/metrics: set a token, or make the proxy add"
        " X-Forwarded-For"
    )


async def _ask_address(http: http_client.HttpClient, root: str) -> AddressReply:
    try:
        async with await http.send("GET", f"{root}/livez", {}, seconds=ADDRESS_SECONDS) as answer:
            days = _valid_days(answer.certificate())
            deployment = answer.headers.get(readiness.DEPLOYMENT)
            return AddressReply(answer.status, deployment=deployment, days=days)
    except errors.Unreachable as error:
        return AddressReply(problem=_describe(error))


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


def _valid_days(certificate: Mapping[str, Any]) -> float | None:
    """Return the days for which a certificate is valid; None if there is no TLS."""
    ends = certificate.get("notAfter")
    if ends is None:
        return None
    return (ssl.cert_time_to_seconds(ends) - time.time()) / DAY


# Checks of Telegram: the token, BotFather's switches, the delivery of updates, and the clock.


TELEGRAM_SECONDS = 5.0

TOKEN = re.compile(r"\d{6,}:[A-Za-z0-9_-]{35}")
"""The shape of BotFather's tokens; another Bot API server may use other shapes."""

NOT_SET = (
    "not set: ask BotFather on Telegram for one, or check with doctor --service if this runs"
    " without Telegram"
)

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
class TelegramReply:
    """Telegram's answer: the result, and the time in epoch ms if the answer has one."""

    result: Mapping[str, Any]
    at: int | None


class NoTelegramReply(Exception):
    """Telegram did not answer as expected; the text says what to fix."""


async def check_telegram(
    settings: config.Settings,
    now: Callable[[], int],
    inline_feedback: bool,  # noqa: FBT001 - read from the database
) -> list[finding.Finding]:
    """Check the bot's settings at Telegram; `inline_feedback`: shared cards are reported."""
    if settings.bot_token is None:
        return [finding.fix("BOT_TOKEN", NOT_SET)]
    root, token = settings.telegram_api_url, settings.bot_token.get_secret_value()
    if root == config.TELEGRAM and not TOKEN.fullmatch(token):
        text = "too short or too long: a token has 35 characters after the colon; copy it again"
        return [finding.fix("BOT_TOKEN", text)]
    async with http_client.web_client(http_client.proxy_for(root)) as http:
        try:
            me, hook = (
                await _ask_telegram(http, root, token, "getMe"),
                await _ask_telegram(http, root, token, "getWebhookInfo"),
            )
        except NoTelegramReply as error:
            return [finding.fix("BOT_TOKEN", str(error))]
    return [
        finding.ok("BOT_TOKEN", f"@{me.result.get('username')}"),
        *_check_updates(settings, hook.result, (hook.at or now()) // 1000),
        _check_inline(me.result),
        finding.ok("inline feedback", "on" if inline_feedback else FEEDBACK_UNKNOWN),
        *_check_clock(me.at, now()),
    ]


async def _ask_telegram(
    http: http_client.HttpClient, root: str, token: str, method: str
) -> TelegramReply:
    """Call a method. Raises NoTelegramReply, without the address, which contains the token."""
    try:
        reply = await http.call("POST", f"{root}/bot{token}/{method}", {}, seconds=TELEGRAM_SECONDS)
    except errors.Unreachable as error:
        reason = f"Telegram at {root} can't be reached ({http_client.kind_of(error)})"
        raise NoTelegramReply(f"{reason}: check the network") from None
    if reply.status in UNKNOWN_TOKEN:
        raise NoTelegramReply("Telegram rejects this token: copy it again")
    try:
        data = exact_json.loads(reply.body)
        result = data["result"]
    except (ValueError, TypeError, KeyError):
        reason = f"{root} answered {reply.status} without a result"
        raise NoTelegramReply(f"{reason}: check TELEGRAM_API_URL") from None
    return TelegramReply(result if isinstance(result, dict) else {}, _time_of(reply))


def _time_of(reply: http_client.Reply) -> int | None:
    """Return Telegram's time; the header has whole seconds, so half a second is added."""
    try:
        return int(parsedate_to_datetime(reply.headers["Date"]).timestamp() * 1000) + 500
    except (KeyError, ValueError):
        return None


def _check_inline(me: Mapping[str, Any]) -> finding.Finding:
    if me.get("supports_inline_queries"):
        return finding.ok("inline mode", "on")
    return finding.fix("inline mode", "off, so sharing doesn't work: send /setinline to BotFather")


def _check_clock(there: int | None, here: int) -> list[finding.Finding]:
    if there is None:
        return []
    off = round((here - there) / 1000)
    if abs(off) <= MOST_OFF:
        return [finding.ok("clock", f"within {MOST_OFF} seconds of Telegram's")]
    which = "ahead of" if off > 0 else "behind"
    text = f"{abs(off)} seconds {which} Telegram's, so signatures may be refused: turn on NTP"
    return [finding.fix("clock", text)]


def _check_updates(
    settings: config.Settings, hook: Mapping[str, Any], now: int
) -> list[finding.Finding]:
    """Check where Telegram sends updates and whether they arrive; `now` in epoch seconds."""
    found = [_check_webhook(settings, hook), _check_deliveries(hook, now), _check_backlog(hook)]
    return [finding.fix("TELEGRAM_MODE", text) for text in found if text]


def _check_webhook(settings: config.Settings, hook: Mapping[str, Any]) -> str | None:
    """Name the host of another webhook that gets the updates; the path may be a secret."""
    url = str(hook.get("url") or "")
    if not url or (
        settings.telegram_mode == "webhook" and url == settings.url + intake.WEBHOOK_PATH
    ):
        return None
    host = sanitize.line(urlsplit(url).hostname or "another address", LONGEST_QUOTE)
    return (
        f"updates go to a webhook at {host}: restart the bot to get them back; if another program"
        " uses this token, stop it"
    )


def _check_deliveries(hook: Mapping[str, Any], now: int) -> str | None:
    at, message = hook.get("last_error_date"), hook.get("last_error_message")
    if not isinstance(at, int) or now - at > LATELY or not message:
        return None
    quote = sanitize.line(str(message), LONGEST_QUOTE)
    return f"Telegram recently failed to deliver updates ({quote}): check the proxy and the log"


def _check_backlog(hook: Mapping[str, Any]) -> str | None:
    count = hook.get("pending_update_count")
    if not isinstance(count, int) or count <= MOST_WAITING:
        return None
    return f"{count} updates are waiting at Telegram: start the bot, or check its log for errors"


# Checks of the servers that the bot depends on: another payment service, and the mail server.


MAIL_TIMEOUT = 10.0
"""Seconds; mail servers delay their greeting to recognize spammers."""

FIXES: dict[type[errors.BotError], str] = {
    errors.NotReached: "nothing listens there: check that it is running and that the port is right",
    errors.Unreachable: "it doesn't answer in time: check that server, then try again",
    errors.BadAnswer: "that server isn't a payment service: check PAYMENTS_URL",
    errors.Throttled: "it is limiting our calls: try again later",
    errors.Unauthorized: "copy APP_ID and APP_SECRET again",
}
"""The fix for each error of the payment service; the first match counts."""


async def check_payments(settings: config.Settings) -> list[finding.Finding]:
    """Check that an external payment service accepts our credentials."""
    if settings.payments_url is None or settings.app_secret is None:
        return []
    client = Client(
        settings.payments_url, settings.app_id or "", settings.app_secret.get_secret_value()
    )
    try:
        await client.check_access()
    except (errors.PeerError, errors.Refused) as error:
        fixes = [words for kind, words in FIXES.items() if isinstance(error, kind)]
        return [
            finding.fix(
                "PAYMENTS_URL", "; ".join([f"{settings.payments_url}: {error}", *fixes[:1]])
            )
        ]
    finally:
        await client.close()
    return [finding.ok("PAYMENTS_URL", settings.payments_url)]


async def check_mail(settings: config.Settings, unsent: int) -> list[finding.Finding]:
    """Check that the mail server would accept an email from us, without sending one.

    `unsent` is the number of waiting emails. A mail server is optional.
    """
    if settings.payments_url is not None:
        return []
    if settings.smtp_url is None:
        return [_without_mail(unsent)]
    server = mail.parse_server(settings.smtp_url.get_secret_value())
    sender = mail.parse_sender(settings.smtp_from or "")
    try:
        await smtp_sender.Mailer(server, timeout=MAIL_TIMEOUT).check(sender.addr_spec)
    except errors.MailRefused as error:
        return [finding.fix("SMTP_URL", "; ".join(filter(None, (error.reason, error.remedy))))]
    return [
        finding.ok(
            "SMTP_URL", f"{server.name} accepts our login and emails from {sender.addr_spec}"
        )
    ]


def _without_mail(unsent: int) -> finding.Finding:
    if unsent:
        mails = "1 email is" if unsent == 1 else f"{unsent} emails are"
        return finding.fix("SMTP_URL", f"{mails} waiting and can't be sent: set SMTP_URL again")
    return finding.ok("SMTP_URL", "not set, so email notifications are refused")
