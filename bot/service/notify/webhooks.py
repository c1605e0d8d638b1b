"""Webhooks out: prepared, signed, sent, and settled by what came back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import httpx

from bot.core import outgoing, signing
from bot.core.dialling import GuardedTransport
from bot.core.errors import ConfigProblem, ForbiddenAddress
from bot.core.worker import Job
from bot.service.model.delivery import Channel
from bot.service.notify.outcomes import MOST_KEPT, Book, Outcome, read_retry_after
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

TIMEOUT = 15  # seconds for name, connection, request and answer together
ROOM = (
    128  # deliveries under way at once: four hosts that hang, and still nobody waits for the last
)
GONE = 410
HEADERS = {
    "User-Agent": "payment-request-bot",
    "Accept": "*/*",
    "Accept-Encoding": "identity",  # the answer is kept as it comes
}


class Webhooks:
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
        self._book = Book(db, Channel.WEBHOOK, now)
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
            headers=HEADERS,
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
        began = self._now()
        outcome = await self._attempt(message)
        host = urlsplit(message.body["url"]).hostname or ""
        await self._book.settle(message, outcome, began, host)

    async def _attempt(self, message: Message) -> Outcome:
        sealed = await apps.read_webhook_secrets(self._db, message.body["appId"], self._now())
        if not sealed:
            return Outcome(trouble="the application is gone", final=True)
        body = writing.event(message.body)
        try:
            headers = self._signed(message.id, body, sealed)
            async with asyncio.timeout(TIMEOUT):
                return await self._post(message.body["url"], body, headers)
        except ForbiddenAddress as error:
            return Outcome(trouble=str(error), final=True)
        except ConfigProblem as error:
            return Outcome(trouble=str(error))
        except (httpx.TimeoutException, TimeoutError):
            return Outcome(trouble=f"no answer within {TIMEOUT} seconds")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Outcome(trouble=f"{type(error).__name__}: {error}")

    def _signed(self, message_id: str, body: bytes, sealed: list[str]) -> dict[str, str]:
        """Sign by every secret that counts, so that receivers can change theirs in peace."""
        at = datetime.fromtimestamp(self._now() / 1000, UTC)
        headers = signing.sign([*map(self._vault.open, sealed)], message_id, at, body)
        return headers | {"Content-Type": "application/json"}

    async def _post(self, url: str, body: bytes, headers: dict[str, str]) -> Outcome:
        async with self._client.stream("POST", url, content=body, headers=headers) as response:
            answer = b""
            async for chunk in response.aiter_raw(MOST_KEPT):
                answer += chunk
                if len(answer) >= MOST_KEPT:
                    break
            wait = read_retry_after(response.headers.get("retry-after"), self._now())
            status = response.status_code
            return Outcome(status, answer, final=status == GONE, retry_after=wait)
