"""The delivery of webhooks: signed, sent, and settled by the answer."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Self

import httpx

from bot.core import signing
from bot.core.errors import ConfigProblem, ForbiddenAddress
from bot.core.net import http_client, webhook_addresses
from bot.core.net.app_client import AppClient
from bot.core.net.guarded_socket import GuardedDialler
from bot.core.net.http_client import read_retry_after
from bot.core.net.post_client import PostClient
from bot.core.outbox.worker import Job
from bot.service.model.delivery import Channel
from bot.service.notify.delivery_outcomes import LONGEST_ANSWER, DeliveryRecorder, Outcome
from bot.service.notify.endpoint_windows import EndpointWindows
from bot.service.store import apps
from bot.service.usecases.delivery_queues import OWN_WEBHOOKS, WEBHOOKS, groups_of
from bot.service.usecases.request_commands import INTERNAL_HOST
from bot.service.wire import json_answers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.core.database.database import Database
    from bot.core.database.vault import Vault
    from bot.core.net.app_client import App
    from bot.core.net.webhook_addresses import AllowList
    from bot.core.outbox.outbox import Message
    from bot.core.outbox.queue_policy import Queue

TIMEOUT = 15  # seconds for DNS, connection, request and the head of the answer together
BODY_TIMEOUT = 2  # seconds for the body of the answer, which decides nothing
CONCURRENCY = 256  # eight hosts that hang use all of it, seven delay no other host
OWN_CONCURRENCY = 64  # as many as the writer commits together: more would wait for each other
CLAIM_PAUSE = 0.005  # seconds between two claims, which cost as much as three webhooks
SECRETS_KNOWN = 256  # opened secrets, of which each takes as long to open as a post to send
GONE = 410
HEADERS = {
    "User-Agent": "payment-request-bot",
    "Accept": "*/*",
    "Accept-Encoding": "identity",  # the answer is stored as it comes
    "Content-Type": "application/json",
}


class WebhookDelivery:
    """Delivers queued webhooks; workers perform its `jobs`.

    `receiver` is the application with the bot's own receiver; without it another process performs
    `own_job`. Only webhooks of the application `embedded_app_id` reach it.
    """

    def __init__(
        self,
        db: Database,
        vault: Vault,
        now: Callable[[], int],
        allow: AllowList,
        receiver: App | None = None,
        *,
        embedded_app_id: str | None = None,
    ) -> None:
        self._db = db
        self._open = lru_cache(maxsize=SECRETS_KNOWN)(vault.open)
        self._now = now
        self._embedded_app_id = embedded_app_id
        context = http_client.ssl_context()
        self._outside = PostClient(
            GuardedDialler(allow), context, HEADERS, seconds=TIMEOUT, longest=LONGEST_ANSWER
        )
        self._inside = AppClient(receiver, HEADERS) if receiver else None
        self._windows = EndpointWindows()
        self.job = self._job(self._windows.bound(WEBHOOKS), CONCURRENCY)
        self.own_job = self._job(OWN_WEBHOOKS, OWN_CONCURRENCY)
        self.jobs = [self.job, self.own_job] if receiver else [self.job]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._outside.close()

    def _job(self, queue: Queue, room: int) -> Job:
        recorder = DeliveryRecorder(self._db, Channel.WEBHOOK, queue, self._now)
        handle = partial(self._deliver, recorder=recorder)
        return Job(queue, handle, room, recorder.count_buried, pause=CLAIM_PAUSE)

    async def _deliver(self, message: Message, recorder: DeliveryRecorder) -> Awaitable[None]:
        began = self._now()
        outcome = await self._attempt(message)
        if recorder.queue.group is not None:
            self._windows.store(groups_of(message.lane), outcome, self._now() - began)
        host = webhook_addresses.endpoint(message.body.url).host
        return recorder.settle(message, outcome, began, host)

    async def _attempt(self, message: Message) -> Outcome:
        sealed = await apps.read_webhook_secrets(self._db, message.body.app_id, self._now())
        if not sealed:
            return Outcome(trouble="the application is gone", final=True)
        body = json_answers.event(message.body)
        try:
            headers = self._signed(message.id, body, sealed)
            return await self._post(message, body, headers)
        except ForbiddenAddress as error:
            return Outcome(trouble=str(error), final=True)
        except ConfigProblem as error:
            return Outcome(trouble=str(error))
        except (httpx.TimeoutException, TimeoutError):
            return Outcome(trouble=f"no answer within {TIMEOUT} seconds")
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # ValueError: the address can't be parsed.
            return Outcome(trouble=": ".join(filter(None, (type(error).__name__, str(error)))))

    def _signed(self, message_id: str, body: bytes, sealed: list[str]) -> dict[str, str]:
        """Sign with every valid secret, so that receivers can change theirs one after another."""
        at = datetime.fromtimestamp(self._now() / 1000, UTC)
        return signing.sign([*map(self._open, sealed)], message_id, at, body)

    async def _post(self, message: Message, body: bytes, headers: dict[str, str]) -> Outcome:
        client = self._client(message.body.app_id, message.body.url)
        async with asyncio.timeout(TIMEOUT):
            reply = await client.post(message.body.url, headers, body)
        answer = (await reply.read(BODY_TIMEOUT))[:LONGEST_ANSWER]
        wait = read_retry_after(reply.headers.get("retry-after"), self._now())
        return Outcome(reply.status, answer, final=reply.status == GONE, retry_after=wait)

    def _client(self, app_id: str, url: str) -> PostClient | AppClient:
        """Return the way to the bot's own receiver for its own application, or to the outside."""
        is_own = app_id == self._embedded_app_id
        if self._inside and is_own and webhook_addresses.endpoint(url).host == INTERNAL_HOST:
            return self._inside
        return self._outside
