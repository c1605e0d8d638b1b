"""The public address: whether people and webhooks reach this very bot there, and safely."""

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
from bot.wiring.doctor.finding import Finding, mend, well
from bot.wiring.web.process import loopback

if TYPE_CHECKING:
    from bot.config import Settings

PATIENCE = httpx.Timeout(5.0)
RESOLVING = 5.0
"""Seconds for name servers."""

LEAST_DAYS = 10
"""Days before its end when a certificate should long have been renewed."""

DAY = 24 * 3600

UNSAFE = (
    "{} is not https, so anybody on the way reads what payers write: put a proxy with a"
    " certificate before the bot, and write https://"
)


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of asking an address: a status, or why there was none.

    `deployment` names the installation that answered, None where it is no bot; `days` how long
    its certificate holds.
    """

    status: int | None = None
    trouble: str = ""
    deployment: str | None = None
    days: float | None = None


async def look(settings: Settings, deployment: str | None) -> list[Finding]:
    """Look at PUBLIC_URL, and whether it leads to the bot that has the name `deployment`."""
    shape = _shape(settings) or await _resolved(settings)
    return [
        shape or well("PUBLIC_URL", settings.url),
        *await _reached(settings, deployment),
    ]


def _shape(settings: Settings) -> Finding | None:
    parts = urlsplit(settings.url)
    host = parts.hostname or ""
    if "." not in host and ":" not in host:
        text = f"{host} has no dot: Telegram refuses such links, so buttons become text"
    elif settings.public_url is None:
        text = f"not set, so payers are sent to {settings.url}: give the address they reach"
    elif parts.scheme == "http" and not _is_inside(host):
        text = UNSAFE.format(settings.url)
    else:
        return None
    return mend("PUBLIC_URL", text)


def _is_inside(host: str) -> bool:
    """Whether a host is an address of this machine or its own network."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False


async def _resolved(settings: Settings) -> Finding | None:
    host = urlsplit(settings.url).hostname or ""
    try:
        async with asyncio.timeout(RESOLVING):
            await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError):
        text = f"name servers know no {host}: make an entry for it that leads to this machine"
        return mend("PUBLIC_URL", text)
    return None


async def _reached(settings: Settings, deployment: str | None) -> list[Finding]:
    """Ask for /livez from outside; a bot that does not run yet can't answer."""
    inside = f"http://{loopback(settings.host)}:{settings.port}"
    async with httpx.AsyncClient(
        timeout=PATIENCE, trust_env=False, verify=http_client.context(), follow_redirects=False
    ) as http:
        near, far = await asyncio.gather(_ask(http, inside), _ask(http, settings.url))
        if near.status is None:
            return [well("server", "not running, so its address was not tried")]
        if deployment is not None and near.deployment != deployment:
            text = f"another program answers at port {settings.port}: end it, or choose another"
            return [mend("server", f"{text} PORT; after an update, start the bot again")]
        wrong = _astray(settings, far, near.deployment)
        exposed = "" if wrong else await _exposed(http, settings, inside)
    found = mend("server", wrong) if wrong else well("server", f"answers at {settings.url}")
    return [found, *([mend("METRICS_TOKEN", exposed)] if exposed else [])]


def _astray(settings: Settings, far: Answered, deployment: str | None) -> str | None:
    """Say why PUBLIC_URL is not where people reach this bot, None where it is."""
    url = settings.url
    if far.trouble:
        return f"runs, but {url} does not lead to it: {far.trouble}"
    if far.deployment != deployment:
        told = f"something else answers there ({far.status})"
        return f"runs, but {url} does not lead to it: {told}; look at the proxy or the tunnel"
    if far.days is not None and far.days < LEAST_DAYS:
        return f"the certificate of {url} ends in {far.days:.0f} days: see why it is not renewed"
    return None


async def _exposed(http: httpx.AsyncClient, settings: Settings, inside: str) -> str:
    """Say that /metrics is open to the world: a proxy that adds no header looks like ourselves."""
    if settings.metrics_token is not None or settings.url == inside:
        return ""
    try:
        answer = await http.get(f"{settings.url}/metrics")
    except httpx.HTTPError:
        return ""
    if answer.status_code != httpx.codes.OK:
        return ""
    return (
        f"everybody may read {settings.url}/metrics: set it, or let the proxy add X-Forwarded-For"
    )


async def _ask(http: httpx.AsyncClient, root: str) -> Answered:
    try:
        async with http.stream("GET", f"{root}/livez") as response:
            days = _days(response.extensions.get("network_stream"))
            deployment = response.headers.get(DEPLOYMENT)
            return Answered(response.status_code, deployment=deployment, days=days)
    except httpx.HTTPError as error:
        return Answered(trouble=_trouble(error))


def _trouble(error: BaseException) -> str:
    """Say what stood in the way, and what to look at."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({cause.verify_message}): renew or replace it"
        cause = cause.__cause__ or cause.__context__
    kind = type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        return f"no answer in time ({kind}); look at the proxy, the tunnel or the firewall"
    return f"no connection ({kind}); look at the proxy or the tunnel"


def _days(stream: Any) -> float | None:
    """Give the days that the certificate of a connection still holds, None without TLS."""
    wire = stream.get_extra_info("ssl_object") if stream is not None else None
    ends = (wire.getpeercert() or {}).get("notAfter") if wire is not None else None
    if ends is None:
        return None
    return (ssl.cert_time_to_seconds(ends) - time.time()) / DAY
