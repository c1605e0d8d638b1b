"""Delivery of updates to the bot's webhook: in order, one at a time, again until a 2xx.

Source: core.telegram.org/bots/api#setwebhook.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from bot.sandbox.world.updates import Updates
from bot.sandbox.world.waiting import Bell

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the header's name
TIMEOUT_SECONDS = 30.0
FIRST_WAIT = 3600.0


@dataclass(slots=True)
class Webhook:
    """Where updates go and how the last deliveries went; `url` is empty for polling."""

    updates: Updates
    bell: Bell
    now: Callable[[], float]
    backoff: Sequence[float]
    url: str = ""
    secret: str = ""
    max_connections: int = 40
    last_error: tuple[int, str] | None = None
    _task: asyncio.Task[None] | None = field(default=None, repr=False)

    def set(self, url: str, secret: str, max_connections: int) -> None:
        """Deliver to `url` from now on; an empty one stops."""
        self.stop()
        self.url, self.secret, self.max_connections = url, secret, max_connections
        self.last_error = None
        if url:
            self._task = asyncio.get_running_loop().create_task(self._deliver_all())

    def stop(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None

    async def close(self) -> None:
        """Stop and wait for the current delivery to end."""
        task = self._task
        self.stop()
        if task:
            with suppress(asyncio.CancelledError):
                await task

    def json(self) -> dict[str, Any]:
        """Return the WebhookInfo object."""
        info: dict[str, Any] = {
            "url": self.url,
            "has_custom_certificate": False,
            "pending_update_count": len(self.updates.pending),
        }
        if self.url:
            info["max_connections"] = self.max_connections
        if self.last_error:
            info["last_error_date"], info["last_error_message"] = self.last_error
        if self.updates.allowed:
            info["allowed_updates"] = sorted(self.updates.allowed)
        return info

    async def _deliver_all(self) -> None:
        headers = {SECRET_HEADER: self.secret} if self.secret else {}
        async with httpx.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS) as client:
            while not self.bell.closed:
                await self.bell.until(lambda: self.updates.pending, FIRST_WAIT)
                if self.updates.pending:
                    await self._deliver_first(client)

    async def _deliver_first(self, client: httpx.AsyncClient) -> None:
        update = self.updates.pending[0]
        attempt = 0
        while problem := await self._post(client, update):
            self.last_error = int(self.now()), problem
            self.bell.ring()
            await self.bell.pause(self.backoff[min(attempt, len(self.backoff) - 1)])
            attempt += 1
            if self.bell.closed:
                return
        self.updates.confirm(update["update_id"] + 1)
        self.bell.ring()

    async def _post(self, client: httpx.AsyncClient, update: dict[str, Any]) -> str:
        """Send an update; return "" or the error, as getWebhookInfo shows it."""
        try:
            response = await client.post(self.url, json=update)
        except httpx.TimeoutException:
            return "Read timeout expired"
        except httpx.HTTPError:
            return "Connection failed"
        if response.is_success:
            return ""
        return f"Wrong response from the webhook: {response.status_code} {response.reason_phrase}"
