"""The delivery of webhooks: signed, sent, and settled by the answer."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Self

import httpx

from bot.core import errors, signing
from bot.core.database import database, vault
from bot.core.net import app_client, guarded_transport, http_client, post_client, webhook_addresses
from bot.core.outbox import outbox, queue_policy, worker
from bot.service.notifications import notification, notification_queues, outcomes
from bot.service.requests import app_rows, request_commands
from bot.service.wire import json_answers

# How many webhooks are under way at once to one endpoint, and to one host: slow start.
#
# An unknown one begins with a few. Each quick success makes its window one wider, so that it
# doubles with every round; a failure closes it. So a peer that hangs holds few places, and one
# that answers has as many as it can use. A host keeps room for its other endpoints: it closes
# only where nothing answered in time. Windows are the process's own; after a start they begin
# again.


SLOW = 2_000
"""Milliseconds; a place that is held for so long is missed by others."""

MOST_KNOWN = 2_000
"""Windows of a kind that are remembered, the last used ones; for the others they begin again."""


@dataclass(slots=True)
class Windows:
    """The windows of a kind of groups, by name."""

    least: int
    start: int
    most: int
    _known: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def width_of(self, name: str) -> int:
        """Return the present width of a group."""
        return self._known.get(name, self.start)

    def widen(self, name: str) -> None:
        """Store that something succeeded quickly."""
        self._store(name, min(self.most, self.width_of(name) + 1))

    def close(self, name: str) -> None:
        """Store that something failed, or took long."""
        self._store(name, self.least)

    def _store(self, name: str, width: int) -> None:
        self._known[name] = width
        self._known.move_to_end(name)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)


@dataclass(frozen=True, slots=True)
class EndpointWindows:
    """The windows of endpoints and hosts, the groups of the queue of webhooks."""

    endpoints: Windows = field(default_factory=lambda: Windows(least=1, start=8, most=32))
    hosts: Windows = field(default_factory=lambda: Windows(least=16, start=16, most=32))

    def bound(self, queue: queue_policy.Queue) -> queue_policy.Queue:
        """Return the queue with these windows as the widths of its groups."""
        return replace(queue, group_width=self.width_of)

    def width_of(self, name: str) -> int:
        """Return the width of a group, an endpoint or a host."""
        return self._of(name).width_of(name)

    def store(self, groups: tuple[str, ...], outcome: outcomes.AttemptOutcome, took: int) -> None:
        """Store how an attempt ended that took so many milliseconds."""
        is_slow = took >= SLOW
        for name in groups:
            windows = self._of(name)
            if outcome.delivered and not is_slow:
                windows.widen(name)
            elif windows is self.endpoints or outcome.problem or is_slow:
                windows.close(name)

    def _of(self, name: str) -> Windows:
        return self.endpoints if "/" in name else self.hosts


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


class WebhookSender:
    """Delivers queued webhooks; workers perform its `jobs`.

    `receiver` is the application with the bot's own receiver; without it another process performs
    `own_job`. Only webhooks of the application `embedded_app_id` reach it.
    """

    def __init__(
        self,
        db: database.Database,
        vault: vault.Vault,
        now: Callable[[], int],
        allow: webhook_addresses.AllowList,
        receiver: app_client.App | None = None,
        *,
        embedded_app_id: str | None = None,
    ) -> None:
        self._db = db
        self._open = lru_cache(maxsize=SECRETS_KNOWN)(vault.open)
        self._now = now
        self._embedded_app_id = embedded_app_id
        context = http_client.ssl_context()
        self._outside = post_client.PostClient(
            guarded_transport.GuardedDialler(allow),
            context,
            HEADERS,
            seconds=TIMEOUT,
            longest=outcomes.LONGEST_ANSWER,
        )
        self._inside = app_client.AppClient(receiver, HEADERS) if receiver else None
        self._windows = EndpointWindows()
        self.job = self._job(self._windows.bound(notification_queues.WEBHOOKS), CONCURRENCY)
        self.own_job = self._job(notification_queues.OWN_WEBHOOKS, OWN_CONCURRENCY)
        self.jobs = [self.job, self.own_job] if receiver else [self.job]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._outside.close()

    def _job(self, queue: queue_policy.Queue, room: int) -> worker.Job:
        recorder = outcomes.AttemptRecorder(
            self._db, notification.Channel.WEBHOOK, queue, self._now
        )
        handle = partial(self._deliver, recorder=recorder)
        return worker.Job(queue, handle, room, recorder.count_dead_letter, pause=CLAIM_PAUSE)

    async def _deliver(
        self, message: outbox.Message, recorder: outcomes.AttemptRecorder
    ) -> Awaitable[None]:
        began = self._now()
        outcome = await self._attempt(message)
        if recorder.queue.group is not None:
            self._windows.store(
                notification_queues.groups_of(message.lane), outcome, self._now() - began
            )
        host = webhook_addresses.endpoint(message.body.url).host
        return recorder.settle(message, outcome, began, host)

    async def _attempt(self, message: outbox.Message) -> outcomes.AttemptOutcome:
        sealed = await app_rows.read_webhook_secrets(self._db, message.body.app_id, self._now())
        if not sealed:
            return outcomes.AttemptOutcome(problem="the application is gone", final=True)
        body = json_answers.event(message.body)
        try:
            headers = self._signed(message.id, body, sealed)
            return await self._post(message, body, headers)
        except errors.ForbiddenAddress as error:
            return outcomes.AttemptOutcome(problem=str(error), final=True)
        except errors.ConfigProblem as error:
            return outcomes.AttemptOutcome(problem=str(error))
        except (httpx.TimeoutException, TimeoutError):
            return outcomes.AttemptOutcome(problem=f"no answer within {TIMEOUT} seconds")
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # ValueError: the address can't be parsed.
            return outcomes.AttemptOutcome(
                problem=": ".join(filter(None, (type(error).__name__, str(error))))
            )

    def _signed(self, message_id: str, body: bytes, sealed: list[str]) -> dict[str, str]:
        """Sign with every valid secret, so that receivers can change theirs one after another."""
        at = datetime.fromtimestamp(self._now() / 1000, UTC)
        return signing.sign([*map(self._open, sealed)], message_id, at, body)

    async def _post(
        self, message: outbox.Message, body: bytes, headers: dict[str, str]
    ) -> outcomes.AttemptOutcome:
        client = self._client(message.body.app_id, message.body.url)
        async with asyncio.timeout(TIMEOUT):
            reply = await client.post(message.body.url, headers, body)
        answer = (await reply.read(BODY_TIMEOUT))[: outcomes.LONGEST_ANSWER]
        wait = http_client.read_retry_after(reply.headers.get("retry-after"), self._now())
        return outcomes.AttemptOutcome(
            reply.status, answer, final=reply.status == GONE, retry_after=wait
        )

    def _client(self, app_id: str, url: str) -> post_client.PostClient | app_client.AppClient:
        """Return the way to the bot's own receiver for its own application, or to the outside."""
        is_own = app_id == self._embedded_app_id
        if (
            self._inside
            and is_own
            and webhook_addresses.endpoint(url).host == request_commands.INTERNAL_HOST
        ):
            return self._inside
        return self._outside
