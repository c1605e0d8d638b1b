"""Webhooks out: prepared, sent, and settled by what came back."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import httpx
import structlog

from bot.core import outbox, outgoing, signing
from bot.core.dialling import GuardedTransport
from bot.core.errors import ConfigProblem, ForbiddenAddress
from bot.core.worker import Job
from bot.service.store import apps
from bot.service.usecases.deliveries import WEBHOOKS
from bot.service.wire import writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from bot.core.addresses import AllowList
    from bot.core.db import Database
    from bot.core.dialling import InternalHosts
    from bot.core.outbox import Message
    from bot.core.vault import Vault

log = structlog.get_logger()

# Seconds before each attempt; no more of them, dead.
SCHEDULE = (0, 5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 10 * 3600)
JITTER = 200  # per mille, both ways
LONGEST_RETRY_AFTER = 24 * 3600  # seconds; an endpoint can't park its webhooks for ever
TIMEOUT = 15  # seconds for name, connection, request and answer together
MOST_READ = 1024  # bytes of the answer
ROOM = 100  # deliveries under way at once
GONE = 410


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt: `status` of the answer, or `trouble` where there was none."""

    status: int | None = None
    trouble: str | None = None
    forbidden: bool = False
    retry_after: int = 0

    @property
    def delivered(self) -> bool:
        """Whether the receiver took it."""
        return self.status is not None and httpx.codes.is_success(self.status)

    @property
    def final(self) -> bool:
        """Whether trying again is of no use."""
        return self.forbidden or self.status == GONE

    @property
    def note(self) -> str:
        """Say it to the operator."""
        return self.trouble or f"answered {self.status}"


def next_attempt(made: int, now: int, retry_after: int, jitter: int) -> int | None:
    """Give when to try after `made` attempts, in epoch ms; None after the last one.

    `jitter` is in per mille of the wait, `retry_after` in seconds.
    """
    if made >= len(SCHEDULE):
        return None
    wait = SCHEDULE[made] * (1000 + jitter)
    return now + max(wait, min(retry_after, LONGEST_RETRY_AFTER) * 1000)


def read_retry_after(header: str | None, now: int) -> int:
    """Seconds of a Retry-After header (RFC 9110 section 10.2.3); 0 for none or nonsense."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return int(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return 0
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0, int(at.timestamp()) - now // 1000)


class Notifier:
    """Delivers the webhooks of the outbox; `job` is what a worker works.

    `internal` says where the bot's own receiver listens, by host.
    """

    def __init__(
        self,
        db: Database,
        vault: Vault,
        now: Callable[[], int],
        allow: AllowList,
        internal: InternalHosts | None = None,
    ) -> None:
        self._db = db
        self._vault = vault
        self._now = now
        limits = httpx.Limits(max_connections=ROOM, max_keepalive_connections=20)
        # No cookie of one delivery comes back with the next one.
        nothing = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        self._client = httpx.AsyncClient(
            transport=GuardedTransport(
                allow, internal=internal, verify=outgoing.context(), limits=limits
            ),
            timeout=TIMEOUT,
            follow_redirects=False,
            trust_env=False,
            cookies=nothing,
            headers={"User-Agent": "payment-request-bot", "Accept": "*/*"},
        )
        self.job = Job(WEBHOOKS, self.handle, ROOM)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def handle(self, message: Message) -> None:
        """Make one attempt and settle it."""
        started = self._now()
        outcome = await self._attempt(message)
        await self._settle(message, outcome, self._now() - started)

    async def _attempt(self, message: Message) -> Outcome:
        sealed = await apps.read_webhook_secret(self._db, message.body["appId"])
        if sealed is None:
            return Outcome(trouble="the application is gone", forbidden=True)
        body = writing.event(message.body)
        try:
            headers = self._signed(message.id, body, sealed)
            async with asyncio.timeout(TIMEOUT):
                return await self._post(message.body["url"], body, headers)
        except ForbiddenAddress as error:
            return Outcome(trouble=str(error), forbidden=True)
        except ConfigProblem as error:
            return Outcome(trouble=str(error))
        except (httpx.TimeoutException, TimeoutError):
            return Outcome(trouble=f"no answer within {TIMEOUT} seconds")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Outcome(trouble=f"{type(error).__name__}: {error}"[:200])

    def _signed(self, message_id: str, body: bytes, sealed: str) -> dict[str, str]:
        at = datetime.fromtimestamp(self._now() / 1000, UTC)
        headers = signing.sign([self._vault.open(sealed)], message_id, at, body)
        return headers | {"Content-Type": "application/json"}

    async def _post(self, url: str, body: bytes, headers: dict[str, str]) -> Outcome:
        async with self._client.stream("POST", url, content=body, headers=headers) as response:
            read = 0
            async for chunk in response.aiter_raw(MOST_READ):
                read += len(chunk)
                if read >= MOST_READ:
                    break
            wait = read_retry_after(response.headers.get("retry-after"), self._now())
            return Outcome(response.status_code, retry_after=wait)

    async def _settle(self, message: Message, outcome: Outcome, took: int) -> None:
        now = self._now()
        jitter = secrets.randbelow(2 * JITTER + 1) - JITTER
        due_at = next_attempt(message.attempts, now, outcome.retry_after, jitter)
        told = log.bind(
            delivery=message.id,
            request=message.body["requestId"],
            host=urlsplit(message.body["url"]).hostname,
            attempt=message.attempts,
            took_ms=took,
        )
        if outcome.delivered:
            await self._db.transaction(lambda tx: outbox.done(tx, WEBHOOKS, message, now))
            told.info("webhook delivered", status=outcome.status)
        elif outcome.final or due_at is None:
            await self._db.transaction(
                lambda tx: outbox.bury(tx, WEBHOOKS, message, now, outcome.note)
            )
            told.warning("webhook dead", why=outcome.note)
        else:
            await self._db.transaction(
                lambda tx: outbox.retry(tx, WEBHOOKS, message, due_at, outcome.note)
            )
            told.warning("webhook failed", why=outcome.note, again_in_s=(due_at - now) // 1000)
