"""The connections to Telegram: the bot introduced at the start, and how it gets its updates."""

from __future__ import annotations

import asyncio
import itertools
from functools import partial
from typing import TYPE_CHECKING

import structlog
from telegram import Bot
from telegram.error import InvalidToken, TelegramError

from bot.chat.messages.queues import FILES_AT_ONCE, SENT_AT_ONCE
from bot.chat.telegram.failures import describe_error
from bot.chat.telegram.inline_queries import AT_ONCE as SEARCHES_AT_ONCE
from bot.chat.telegram.intake import KINDS, RETRIES
from bot.chat.telegram.photo_intake import AT_ONCE as PHOTOS_AT_ONCE
from bot.chat.telegram.transport import Transport
from bot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

log = structlog.get_logger()

CALLBACKS_AT_ONCE = 4
"""Callbacks answered at a time."""

OTHERS_AT_ONCE = CALLBACKS_AT_ONCE + PHOTOS_AT_ONCE + FILES_AT_ONCE + 2
"""Connections for everything but messages and inline queries, the profile and health checks
included: neither waits for the other."""


ANSWER_SECONDS = 3.0
"""For which a start waits for Telegram's first answer, which may refuse the token."""


class TelegramBots:
    """Clients of one bot, each with connections of its own.

    `problem` says why Telegram was not reached yet; None once it was. `asked` is set as soon
    as the first call has ended, or has taken so long that payers are served without its answer.
    """

    def __init__(self, root: str, token: str) -> None:
        self.messages = make_bot(root, token, SENT_AT_ONCE)
        self.others = make_bot(root, token, OTHERS_AT_ONCE)
        self.searches = make_bot(root, token, SEARCHES_AT_ONCE)
        self.problem: str | None = "not reached yet"
        self.asked = asyncio.Event()
        self._reached = asyncio.Event()
        self._chosen = asyncio.Event()
        self._chosen.set()

    async def reach(self) -> None:
        """Ask Telegram who we are, until it answers; wait for a choice of mode under way.

        Raises ConfigError if it refuses the token.
        """
        asyncio.get_running_loop().call_later(ANSWER_SECONDS, self.asked.set)
        await self._until_done(self._initialize)
        log.info("telegram reached", bot=self.messages.username)
        self._reached.set()
        await self._chosen.wait()
        self.problem = None

    async def choose_mode(self, url: str | None, secret: str) -> None:
        """Ask Telegram, once it was reached, to send updates to `url`; None for polling.

        Retry until it does. For the lead alone: the bot has one mode.
        """
        self._chosen.clear()
        try:
            await self._reached.wait()
            await self._until_done(partial(self._set_mode, url, secret))
        finally:
            self._chosen.set()
            self.problem = None if self._reached.is_set() else self.problem

    async def _until_done(self, step: Callable[[], Awaitable[None]]) -> None:
        for failed in itertools.count(1):
            try:
                await step()
            except TelegramError as error:
                self.problem = type(error).__name__
                self.asked.set()
                wait = RETRIES.delay_or_last(failed) / 1000
                log.warning("telegram not reached", reason=describe_error(error), again_in=wait)
                await asyncio.sleep(wait)
            else:
                return

    async def _initialize(self) -> None:
        try:
            await self.messages.initialize()
        except InvalidToken:
            raise ConfigError(["BOT_TOKEN: Telegram rejects it: copy it again"]) from None
        except (TypeError, ValueError, AttributeError):
            raise TelegramError("getMe's answer can't be read") from None

    async def _set_mode(self, url: str | None, secret: str) -> None:
        if url is not None:
            await self.messages.set_webhook(
                url=url,
                secret_token=secret,
                allowed_updates=list(KINDS),
                drop_pending_updates=False,
            )
            return
        try:
            await self.messages.delete_webhook(drop_pending_updates=False)
        except InvalidToken:
            log.warning("the bot api server has no deleteWebhook: polling all the same")

    async def check(self) -> None:
        """Ask Telegram whether it answers. Raises TelegramError."""
        await self.others.get_me()

    async def close(self) -> None:
        for bot in (self.messages, self.others, self.searches):
            await bot.request.shutdown()


def make_bot(root: str, token: str, connections: int) -> Bot:
    """Return a client with at most this number of connections, all its own."""
    request = Transport(root, connections)
    return Bot(
        token, base_url=f"{root}/bot", base_file_url=f"{root}/file/bot",
        request=request, get_updates_request=request,
    )  # fmt: skip
