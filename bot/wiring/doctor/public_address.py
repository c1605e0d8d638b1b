"""Checks of PUBLIC_URL: people and webhooks must reach this very bot there, and safely."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from bot.core.net import http_client
from bot.core.ops.endpoints import DEPLOYMENT
from bot.wiring.doctor.finding import Finding, fix, ok

if TYPE_CHECKING:
    from bot.config import Settings

TIMEOUT = httpx.Timeout(5.0)
RESOLVE_SECONDS = 5.0

LEAST_DAYS = 10
"""Days of validity that a certificate should have: it is renewed long before."""

DAY = 24 * 3600

UNSAFE = (
    "{} isn't https, so others on the network can read what payers type: put a proxy with a"
    " certificate in front of the bot and use https://"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of an address: a status, or the problem if there was none.

    `deployment` names the installation that answered, None if it is no bot; `days` is how long its
    certificate is still valid.
    """

    status: int | None = None
    problem: str = ""
    deployment: str | None = None
    days: float | None = None


async def check(settings: Settings, deployment: str | None) -> list[Finding]:
    """Check PUBLIC_URL, and that it leads to the installation named `deployment`."""
    problem = _check_form(settings) or await _check_name(settings)
    return [problem or ok("PUBLIC_URL", settings.url), *await _check_server(settings, deployment)]


def _check_form(settings: Settings) -> Finding | None:
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
    return fix("PUBLIC_URL", text)


def _is_private(host: str) -> bool:
    """Return whether a host is an address of this machine or its own network."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False


async def _check_name(settings: Settings) -> Finding | None:
    host = urlsplit(settings.url).hostname or ""
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        text = f"{host} isn't in the DNS: add a record that points to this machine"
        return fix("PUBLIC_URL", text)
    return None


async def _check_server(settings: Settings, deployment: str | None) -> list[Finding]:
    """Check that PUBLIC_URL leads to the bot, if it is running."""
    inside = settings.local_url
    async with httpx.AsyncClient(
        timeout=TIMEOUT, trust_env=False, verify=http_client.ssl_context(), follow_redirects=False
    ) as http:
        near, far = await asyncio.gather(_ask(http, inside), _ask(http, settings.url))
        if near.status is None:
            return [ok("server", "not running, so its address wasn't checked")]
        if deployment is not None and near.deployment != deployment:
            text = f"another program answers at port {settings.port}: stop it or choose another"
            return [fix("server", f"{text} PORT; after an update, restart the bot")]
        wrong = _find_problem(settings, far, near.deployment)
        exposed = "" if wrong else await _check_metrics(http, settings, inside)
    found = fix("server", wrong) if wrong else ok("server", f"answers at {settings.url}")
    return [found, *([fix("METRICS_TOKEN", exposed)] if exposed else [])]


def _find_problem(settings: Settings, far: Answer, deployment: str | None) -> str | None:
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


async def _check_metrics(http: httpx.AsyncClient, settings: Settings, inside: str) -> str:
    """Check that strangers can't read /metrics: without its header, a proxy looks like loopback."""
    if settings.metrics_token is not None or settings.url == inside:
        return ""
    try:
        answer = await http.get(f"{settings.url}/metrics")
    except httpx.HTTPError:
        return ""
    if answer.status_code != httpx.codes.OK:
        return ""
    return (
        f"anyone can read {settings.url}/metrics: set a token, or make the proxy add"
        " X-Forwarded-For"
    )


async def _ask(http: httpx.AsyncClient, root: str) -> Answer:
    try:
        async with http.stream("GET", f"{root}/livez") as response:
            days = _valid_days(response.extensions.get("network_stream"))
            deployment = response.headers.get(DEPLOYMENT)
            return Answer(response.status_code, deployment=deployment, days=days)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Answer(problem=_describe(error))


def _describe(error: BaseException) -> str:
    """Describe why there was no answer, and what to check."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate isn't trusted ({cause.verify_message}): renew or replace it"
        cause = cause.__cause__ or cause.__context__
    kind = type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        return f"no answer in time ({kind}); check the proxy, the tunnel or the firewall"
    return f"no connection ({kind}); check the proxy or the tunnel"


def _valid_days(stream: Any) -> float | None:
    """Return for how many days the certificate of a connection is valid, None without TLS."""
    wire = stream.get_extra_info("ssl_object") if stream is not None else None
    ends = (wire.getpeercert() or {}).get("notAfter") if wire is not None else None
    if ends is None:
        return None
    return (ssl.cert_time_to_seconds(ends) - time.time()) / DAY
