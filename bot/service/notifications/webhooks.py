"""Sends queued webhooks: signs them, sends a few at a time per endpoint, settles by the answer."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Self

from bot.core import errors, signing
from bot.core.database import database, vault
from bot.core.net import guarded_transport, http_client, webhook_addresses
from bot.core.outbox import outbox, queue_policy, worker
from bot.service.notifications import notification, notification_queues
from bot.service.payments import payment_reports
from bot.service.requests import applications, request_commands

# Windows: how many webhooks are sent at once to one endpoint and to one host. As in TCP's slow
# start, an unknown peer begins with a small window. Each quick success widens the window by one, so
# that it doubles every round, and a failure closes it. So a peer that hangs uses few slots, and a
# peer that answers gets as many as it can use. One endpoint doesn't block the others of its host:
# the host's window closes only if nothing answered in time. Each process has its own windows, in
# memory.

SLOW = 2_000
"""Milliseconds after which an attempt counts as slow, because other webhooks wait for its slot."""

MOST_KNOWN = 4_000
"""Windows to remember, the most recently used. Forgotten windows start over."""

LEAST, START, MOST = {"endpoint": 1, "host": 16}, {"endpoint": 8, "host": 16}, 32
"""Widths of a closed window, of an unknown peer's, and of the widest one."""


class Windows:
    """The windows of endpoints and hosts, which are the groups of the webhook queue."""

    def __init__(self) -> None:
        self._known = OrderedDict[str, int]()

    def width_of(self, name: str) -> int:
        """Return the current width of a group, which is an endpoint or a host."""
        return self._known.get(name, START[_kind(name)])

    def store(
        self, groups: tuple[str, ...], outcome: notification_queues.AttemptOutcome, took: int
    ) -> None:
        """Record an attempt that took `took` ms."""
        is_slow = took >= SLOW
        for name in groups:
            if outcome.delivered and not is_slow:
                width = min(MOST, self.width_of(name) + 1)
            elif _kind(name) == "endpoint" or outcome.problem or is_slow:
                width = LEAST[_kind(name)]
            else:
                continue
            self._known[name] = width
            self._known.move_to_end(name)
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)


def _kind(name: str) -> str:
    return "endpoint" if "/" in name else "host"


TIMEOUT = 15  # seconds for DNS, connection, request and the head of the answer together
BODY_TIMEOUT = 2  # seconds for the body of the answer, which doesn't affect the outcome
CONCURRENCY = 256  # eight hanging hosts use it all, seven delay no other host
OWN_CONCURRENCY = 64  # as many as the writer commits together: more would wait for each other
CLAIM_PAUSE = 0.005  # seconds between two claims; a claim costs as much as three webhooks
SECRETS_KNOWN = 256  # unsealed secrets to cache: unsealing takes as long as sending a webhook
GONE = 410
CONTENT_TYPE = {"Content-Type": "application/json"}


class WebhookSender:
    """Sends queued webhooks; workers perform its `jobs`.

    `inside` calls the bot's own receiver, which only the application `embedded_app_id` reaches.
    Without it, another process runs `own_queue_handler`.
    """

    def __init__(
        self,
        db: database.Database,
        vault: vault.Vault,
        now: Callable[[], int],
        allow: webhook_addresses.AllowList,
        inside: http_client.HttpClient | None = None,
        *,
        embedded_app_id: str | None = None,
    ) -> None:
        self._db = db
        self._open = lru_cache(maxsize=SECRETS_KNOWN)(vault.open)
        self._now = now
        self._embedded_app_id = embedded_app_id
        self._outside = guarded_transport.guarded_client(allow)
        self._inside = inside
        self._windows = Windows()
        self.queue_handler = self._queue_handler(
            replace(notification_queues.WEBHOOKS, group_width=self._windows.width_of), CONCURRENCY
        )
        self.own_queue_handler = self._queue_handler(
            notification_queues.OWN_WEBHOOKS, OWN_CONCURRENCY
        )
        self.queue_handlers = (
            [self.queue_handler, self.own_queue_handler] if inside else [self.queue_handler]
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._outside.close()

    def _queue_handler(self, queue: queue_policy.Queue, room: int) -> worker.QueueHandler:
        recorder = notification_queues.AttemptRecorder(
            self._db, notification.Channel.WEBHOOK, queue, self._now
        )
        handle = partial(self._handle, recorder=recorder)
        return worker.QueueHandler(
            queue, handle, room, recorder.settle_dead_letter, pause=CLAIM_PAUSE
        )

    async def _handle(
        self, message: outbox.Message, recorder: notification_queues.AttemptRecorder
    ) -> Awaitable[None]:
        began = self._now()
        outcome = await self._attempt(message)
        if recorder.queue.group is not None:
            groups = notification_queues.groups_of(message.lane)
            self._windows.store(groups, outcome, self._now() - began)
        host = webhook_addresses.endpoint(message.body.url).host
        # The next webhook of a batch is sent while this outcome is stored.
        return asyncio.create_task(recorder.settle(message, outcome, began, host))

    async def _attempt(self, message: outbox.Message) -> notification_queues.AttemptOutcome:
        sealed = await applications.read_webhook_secrets(self._db, message.body.app_id, self._now())
        if not sealed:
            return notification_queues.AttemptOutcome(problem="the application is gone", final=True)
        body = payment_reports.event(message.body).json_text().encode()
        try:
            # Every valid secret signs, so that receivers can change their secrets one by one.
            secrets = [*map(self._open, sealed)]
            at = datetime.fromtimestamp(self._now() / 1000, UTC)
            headers = signing.sign(secrets, message.id, at, body)
            return await self._post(message, body, headers)
        except errors.ForbiddenAddress as error:
            return notification_queues.AttemptOutcome(problem=str(error), final=True)
        except TimeoutError:
            return notification_queues.AttemptOutcome(problem=f"no answer within {TIMEOUT} seconds")
        except (errors.ConfigProblem, errors.Unreachable) as error:
            return notification_queues.AttemptOutcome(problem=str(error))

    async def _post(
        self, message: outbox.Message, body: bytes, headers: dict[str, str]
    ) -> notification_queues.AttemptOutcome:
        url, client = message.body.url, self._outside
        if self._inside is not None and message.body.app_id == self._embedded_app_id:
            is_internal = webhook_addresses.endpoint(url).host == request_commands.INTERNAL_HOST
            client = self._inside if is_internal else self._outside
        async with asyncio.timeout(TIMEOUT):
            answer = await client.send(
                "POST", url, CONTENT_TYPE | headers, body, seconds=TIMEOUT + BODY_TIMEOUT
            )
        kept = bytearray()
        async with answer, aclosing(answer.chunks()) as chunks:
            with suppress(TimeoutError, errors.Unreachable):
                async with asyncio.timeout(BODY_TIMEOUT):
                    async for chunk in chunks:
                        kept += chunk
                        if len(kept) >= notification_queues.LONGEST_ANSWER:
                            break
        return notification_queues.AttemptOutcome(
            answer.status,
            bytes(kept[: notification_queues.LONGEST_ANSWER]),
            final=answer.status == GONE,
            retry_after=http_client.read_retry_after(
                answer.headers.get("retry-after"), self._now()
            ),
        )
