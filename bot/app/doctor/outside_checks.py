"""Checks of what lies outside: Telegram, the public address, money, another service, email."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, TypeAlias
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
from bot.service.rails import exchange_rates

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

INLINE_OFF = "off, so sharing doesn't work: send /setinline to BotFather"

FEEDBACK_UNKNOWN = (
    "Telegram doesn't say whether it's on; if shared cards should show new sales, send"
    " /setinlinefeedback to BotFather and choose 100%"
)


async def telegram(it: findings.Installation) -> list[findings.Finding]:
    """Ask Telegram about the bot, unless the service runs alone. Raises Unanswered."""
    if not it.has_chat:
        return []
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
    sharing = [] if me.get("supports_inline_queries") else [INLINE_OFF]
    ahead = None if at is None else (it.now() - at) / 1000
    in_time = None if ahead is None else f"within {MOST_OFF} seconds of Telegram's"
    return [
        *findings.judged("BOT_TOKEN", (), f"@{me.get('username')}"),
        *findings.judged("TELEGRAM_MODE", _updates(it, hook, (hook_at or it.now()) // 1000)),
        *findings.judged("inline mode", sharing, "on"),
        *findings.judged("inline feedback", (), "on" if it.inline_feedback else FEEDBACK_UNKNOWN),
        *findings.judged("clock", _clock(ahead or 0), in_time),
    ]


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


def _updates(it: findings.Installation, hook: Mapping[str, Any], at: int) -> Iterator[str]:
    """Check where Telegram sends updates and whether they arrive; `at` in epoch seconds."""
    settings, url = it.settings, str(hook.get("url") or "")
    ours = settings.url + intake.WEBHOOK_PATH if settings.telegram_mode == "webhook" else ""
    if url not in {"", ours}:  # only its host is shown: the path may be a secret
        host = sanitize.line(urlsplit(url).hostname or "another address", LONGEST_QUOTE)
        yield (
            f"updates go to a webhook at {host}: restart the bot to get them back; if another"
            " program uses this token, stop it"
        )
    failed_at, message = hook.get("last_error_date"), hook.get("last_error_message")
    if isinstance(failed_at, int) and at - failed_at <= LATELY and message:
        quote = sanitize.line(str(message), LONGEST_QUOTE)
        yield f"Telegram recently failed to deliver updates ({quote}): check the proxy and the log"
    count = hook.get("pending_update_count")
    if isinstance(count, int) and count > MOST_WAITING:
        yield f"{count} updates are waiting at Telegram: start the bot, or check its log for errors"


def _clock(ahead: float) -> Iterator[str]:
    """Check the seconds by which our clock is ahead."""
    off = round(ahead)
    if abs(off) > MOST_OFF:
        which = "ahead of" if off > 0 else "behind"
        yield f"{abs(off)} seconds {which} Telegram's, so signatures may be refused: turn on NTP"


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


async def public_address(it: findings.Installation) -> list[findings.Finding]:
    """Check PUBLIC_URL, and what answers there and at the bot's own port."""
    url, inside = it.settings.url, it.settings.local_url
    shows_metrics = False
    async with http_client.web_client() as http:
        near, far = await asyncio.gather(_ask_address(http, inside), _ask_address(http, url))
        found = [*_server(it, near, far)]
        is_hidden = it.settings.metrics_token is not None or url == inside
        if not is_hidden and near.status is not None and not found:
            with suppress(errors.Unreachable):  # a proxy without its header looks like loopback
                reply = await http.call("GET", f"{url}/metrics", {}, seconds=ASK_SECONDS)
                shows_metrics = reply.status == HTTPStatus.OK
    running = f"answers at {url}" if near.status else "not running, so its address wasn't checked"
    public = f"anyone can read {url}/metrics: set a token, or make the proxy add X-Forwarded-For"
    return [
        *findings.judged("PUBLIC_URL", _form(it, is_named=far.is_named), url),
        *findings.judged("server", found, running),
        *findings.judged("METRICS_TOKEN", [public] if shows_metrics else []),
    ]


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


def _form(it: findings.Installation, *, is_named: bool) -> Iterator[str]:
    """Check the address itself; only its first problem is reported."""
    settings = it.settings
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
    elif not is_named:
        yield f"{host} isn't in the DNS: add a record that points to this machine"


def _is_private(host: str) -> bool:
    """True if a host is an address of this machine or of its own network."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False


def _server(it: findings.Installation, near: Reply, far: Reply) -> Iterator[str]:
    """Check that PUBLIC_URL (`far`) leads to the bot, if the bot is running (`near`)."""
    url, port = it.settings.url, it.settings.port
    if near.status is None:
        return
    if it.deployment not in {None, near.deployment}:
        yield (
            f"another program answers at port {port}: stop it or choose another PORT; after an"
            " update, restart the bot"
        )
    elif far.problem:
        yield f"running, but {url} doesn't lead to it: {far.problem}"
    elif far.deployment != near.deployment:
        yield (
            f"running, but {url} doesn't lead to it: something else answers there"
            f" ({far.status}); check the proxy or the tunnel"
        )
    elif far.days is not None and far.days < LEAST_DAYS:
        yield f"the certificate of {url} expires in {far.days:.0f} days: check its renewal"


# How sellers are paid: the rails, and the exchange rates that the rails need.

Answers: TypeAlias = Mapping[str, Mapping[str, Decimal] | str]
"""Each source's prices of one bitcoin by currency, or why it gave none."""

SAMPLE = ("USD", "EUR")
"""Currencies that every known source has."""


async def money(it: findings.Installation) -> list[findings.Finding]:
    """Check the rails; ask the sources of exchange rates, if rates are needed."""
    answers: Answers = {}
    if it.settings.payments_url is None and it.settings.asks_rates:
        names = [exchange_rates.name_of(url) for url in it.settings.rates_urls]
        found = await asyncio.gather(*map(_ask_source, it.settings.rates_urls))
        answers = dict(zip(names, found, strict=True))
    return [
        *findings.judged("RAILS", _rails(it), _describe_rails(it)),
        *findings.judged("RATES_URLS", _rates(it, answers)),
    ]


async def _ask_source(url: str) -> Mapping[str, Decimal] | str:
    try:
        return await exchange_rates.fetch_prices(url)
    except errors.PeerError as error:
        return str(error)


def _rails(it: findings.Installation) -> Iterator[str]:
    settings, accounts = it.settings, it.accounts
    if settings.payments_url is not None:
        if not settings.test_money:
            other = settings.payments_url
            yield f"not used: payments are those of {other}. Delete RAILS or PAYMENTS_URL"
    elif settings.test_money:
        if accounts:
            yield (
                f"sellers have connected {_count(sum(accounts.values()))}, but RAILS is sandbox:"
                f" their links can't be paid. Set RAILS={','.join(accounts)}"
            )
    else:
        if urlsplit(settings.url).scheme != "https":
            yield (
                f"real money is taken at {settings.url}, where others on the network can replace a"
                " seller's account with their own: set PUBLIC_URL to an https:// address"
            )
        for kind, number in accounts.items():
            if kind not in settings.rails:
                yield (
                    f"{_count(number)} of the kind {kind} can't be paid: add {kind} back to RAILS"
                )


def _describe_rails(it: findings.Installation) -> str | None:
    settings, accounts = it.settings, it.accounts
    if settings.payments_url is not None:
        return None
    if settings.test_money:
        return "sandbox: payments are test money"
    named = (f"{kind} ({_count(accounts.get(kind, 0))})" for kind in settings.rails)
    return f"real money by {', '.join(named)}"


def _count(number: int) -> str:
    return "1 account" if number == 1 else f"{number} accounts"


def _rates(it: findings.Installation, answers: Answers) -> Iterator[str | findings.Finding]:
    settings = it.settings
    is_table = settings.rates_urls == (config.RATES_TABLE,)
    if is_table and settings.converts and settings.payments_url is None:
        yield "real money is converted at made-up rates, which are for tests: delete this setting"
    failed = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
    if failed and len(failed) == len(answers):  # usually caused by this machine
        lines = [f"\n     {name}: {answer}" for name, answer in failed.items()]
        yield (
            "no source answers, so prices can't be converted: check this machine's connection, then"
            f" the addresses{''.join(lines)}"
        )
        return
    for name, answer in failed.items():
        yield f"{name}: {answer}; check its address, or replace it"
    if answers:
        yield from _compare(it, answers)


def _compare(it: findings.Installation, answers: Answers) -> Iterator[str | findings.Finding]:
    """Compare the sources by the first of SAMPLE that enough sources have, then by the others."""
    now = it.now()
    rates = exchange_rates.StoredRates([*answers], lambda: now)
    rates.replace({
        name: (now, answer) for name, answer in answers.items() if not isinstance(answer, str)
    })  # fmt: skip
    medians = rates.medians()
    sampled = [code for code in SAMPLE if code in medians]
    if not sampled:
        yield "too few sources answer, so prices can't be converted: add others"
        return
    found = medians[sampled[0]]
    apart = f"1 BTC is {found.price:.2f} {sampled[0]}, {found.source}, {found.spread:.2%} apart"
    if not found.agrees:
        spread = exchange_rates.MOST_SPREAD
        yield f"{apart}: more than {spread:.0%}, so nothing is converted. Replace one of them"
        return
    if len(answers) == 1:
        yield f"{found.source} is the only source, so nothing is noticed if it's wrong: add others"
        return
    outliers = {one.source: (code, one) for code in sampled for one in medians[code].outliers}
    for source, (code, one) in outliers.items():
        yield (
            f"{source}: 1 BTC is {one.price:.2f} {code} there, too far from the others, so it isn't"
            " used; check its address, or replace it"
        )
    if it.rated_at is not None:
        minutes = max(0, now - it.rated_at) / 60_000
        apart += f"; the bot stored rates {minutes:.1f} minutes ago"
    # Sources disagree about currencies whose official rates nobody uses.
    if outlying := [code for code, one in medians.items() if code not in SAMPLE and one.outliers]:
        apart += f"; used without one that is too far off: {', '.join(outlying)}"
    if disputed := [code for code, one in medians.items() if not one.agrees]:
        apart += f"; too far apart to be converted: {', '.join(disputed)}"
    yield findings.Finding("RATES_URLS", ok=True, text=apart)


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


async def payments(it: findings.Installation) -> list[findings.Finding]:
    """Check that another payment service accepts our credentials. Raises Unanswered."""
    url, secret = it.settings.payments_url, it.settings.app_secret
    if url is None:
        return []
    client = Client(url, it.settings.app_id or "", secret.get_secret_value() if secret else "")
    try:
        await client.check_access()
    except (errors.PeerError, errors.Refused) as error:
        fixes = [words for kind, words in FIXES.items() if isinstance(error, kind)]
        raise findings.Unanswered("; ".join([f"{url}: {error}", *fixes[:1]])) from None
    finally:
        await client.close()
    return findings.judged("PAYMENTS_URL", (), url)


async def mail_server(it: findings.Installation) -> list[findings.Finding]:
    """Check that the mail server would accept an email from us, without sending one.

    A mail server is optional. Raises Unanswered.
    """
    if it.settings.payments_url is not None:
        return []
    if it.settings.smtp_url is None:
        if it.unsent_mails:
            mails = "1 email is" if it.unsent_mails == 1 else f"{it.unsent_mails} emails are"
            text = f"{mails} waiting and can't be sent: set SMTP_URL again"
            raise findings.Unanswered(text)
        return findings.judged("SMTP_URL", (), "not set, so email notifications are refused")
    server = mail.parse_server(it.settings.smtp_url.get_secret_value())
    sender = mail.parse_sender(it.settings.smtp_from or "").addr_spec
    try:
        await emails.Mailer(server, timeout=MAIL_SECONDS).check(sender)
    except errors.MailRefused as error:
        text = "; ".join(filter(None, (error.reason, error.remedy)))
        raise findings.Unanswered(text) from None
    well = f"{server.name} accepts our login and emails from {sender}"
    return findings.judged("SMTP_URL", (), well)
