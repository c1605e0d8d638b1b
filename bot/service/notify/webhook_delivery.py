"""The delivery of webhooks: signed, sent, and settled by the answer."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Self

import httpx

from bot.core import signing
from bot.core.errors import ConfigProblem, ForbiddenAddress
from bot.core.net import http_client, webhook_addresses
from bot.core.net.guarded_transport import GuardedTransport
from bot.core.net.http_client import read_retry_after
from bot.core.outbox.worker import Job
from bot.service.model.delivery import Channel
from bot.service.notify.delivery_outcomes import LONGEST_ANSWER, DeliveryRecorder, Outcome
from bot.service.store import apps
from bot.service.usecases.delivery_queues import OWN_WEBHOOKS, WEBHOOKS
from bot.service.wire import json_answers

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from bot.core.database.database import Database
    from bot.core.database.vault import Vault
    from bot.core.net.guarded_transport import InternalHosts
    from bot.core.net.webhook_addresses import AllowList
    from bot.core.outbox.outbox import Message
    from bot.core.outbox.queue_policy import Queue

TIMEOUT = 15  # seconds for DNS, connection, request and the head of the answer together
BODY_TIMEOUT = 2  # seconds for the body of the answer, which decides nothing
CONCURRENCY = 128  # eight hosts that hang use all of it, seven delay no other host
GONE = 410
HEADERS = {
    "User-Agent": "payment-request-bot",
    "Accept": "*/*",
    "Accept-Encoding": "identity",  # the answer is stored as it comes
}


class WebhookDelivery:
    """Delivers queued webhooks; workers perform its `jobs`.

    `internal` has the address of the bot's own receiver by host; without it another process
    performs `own_job`. Only webhooks of the application `embedded_app_id` reach it: they have an
    HTTP client of their own and share no connection with the others.
    """

    def __init__(
        self,
        db: Database,
        vault: Vault,
        now: Callable[[], int],
        allow: AllowList,
        internal: InternalHosts | None = None,
        *,
        embedded_app_id: str | None = None,
    ) -> None:
        self._db = db
        self._vault = vault
        self._now = now
        self._embedded_app_id = embedded_app_id
        verify = http_client.ssl_context()
        self._outside = _client(allow, {}, verify)
        self._inside = _client(allow, internal or {}, verify)
        self.job, self.own_job = self._job(WEBHOOKS), self._job(OWN_WEBHOOKS)
        self.jobs = [self.job, self.own_job] if internal else [self.job]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._outside.aclose()
        await self._inside.aclose()

    def _job(self, queue: Queue) -> Job:
        recorder = DeliveryRecorder(self._db, Channel.WEBHOOK, queue, self._now)
        handle = partial(self._deliver, recorder=recorder)
        return Job(queue, handle, CONCURRENCY, recorder.count_buried)

    async def _deliver(self, message: Message, recorder: DeliveryRecorder) -> None:
        began = self._now()
        outcome = await self._attempt(message)
        host = webhook_addresses.endpoint(message.body.url).host
        await recorder.settle(message, outcome, began, host)

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
            # ValueError: httpx can't make a request of the address.
            return Outcome(trouble=": ".join(filter(None, (type(error).__name__, str(error)))))

    def _signed(self, message_id: str, body: bytes, sealed: list[str]) -> dict[str, str]:
        """Sign with every valid secret, so that receivers can change theirs one after another."""
        at = datetime.fromtimestamp(self._now() / 1000, UTC)
        headers = signing.sign([*map(self._vault.open, sealed)], message_id, at, body)
        return headers | {"Content-Type": "application/json"}

    async def _post(self, message: Message, body: bytes, headers: dict[str, str]) -> Outcome:
        own = message.body.app_id == self._embedded_app_id
        client = self._inside if own else self._outside
        async with asyncio.timeout(TIMEOUT):
            request = client.build_request("POST", message.body.url, content=body, headers=headers)
            response = await client.send(request, stream=True)
        answer = await _answer_body(response)
        wait = read_retry_after(response.headers.get("retry-after"), self._now())
        status = response.status_code
        return Outcome(status, answer, final=status == GONE, retry_after=wait)


async def _answer_body(response: httpx.Response) -> bytes:
    """Return the beginning of the body; a failure is ignored, because the status decides."""
    body = b""
    with suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(BODY_TIMEOUT), aclosing(response):
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) >= LONGEST_ANSWER:
                    break
    return body[:LONGEST_ANSWER]


def _client(allow: AllowList, internal: InternalHosts, verify: ssl.SSLContext) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=CONCURRENCY, max_keepalive_connections=20)
    return httpx.AsyncClient(
        transport=GuardedTransport(allow, internal=internal, verify=verify, limits=limits),
        timeout=TIMEOUT,
        follow_redirects=False,
        trust_env=False,
        # A cookie that an endpoint sets is never sent to it or to another one.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers=HEADERS,
    )
