"""Inline queries, answered with a seller's own requests, which they can post in any chat.

Telegram sends a query for each typed letter and drops late answers. So queries wait in memory, and
queries that can't be answered soon are dropped: a person has at most one query in progress and the
newest query waiting, and at most forty people wait.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from telegram import (
    InlineKeyboardMarkup,
    InlineQueryResultArticle,
    InlineQueryResultsButton,
    InputTextMessageContent,
    LinkPreviewOptions,
)
from telegram.constants import ParseMode
from telegram.error import BadRequest, TelegramError

from bot.chat.cards import card_text, image_route, request_card, views
from bot.chat.conversation import actions, conversation, events, sharing
from bot.chat.model import replies
from bot.chat.telegram import intake, transport
from bot.core import errors
from bot.core.outbox import queue_policy
from bot.core.text import translations

if TYPE_CHECKING:
    from telegram import Bot


log = structlog.get_logger()

AT_ONCE = 4
"""Queries answered at the same time, each on its own connection."""

MAX_WAITING = 40
"""The most people with a waiting query; four connections answer that many within seconds."""

PAGE = 20
"""Results in one answer; Telegram accepts 50."""

OFFSET = re.compile(r"[0-9]{1,9}")
"""The format of our offsets; any other offset means the first page."""

PAY_PAGES = "/pay/"
"""The path of the embedded service's pay pages; their codes are under `/qr/`."""


class InlineResults:
    """Answers inline queries with the seller's requests.

    `public_url` is the address from which Telegram fetches the pictures of results.
    """

    def __init__(self, bot: Bot, chat: conversation.Chat, public_url: str) -> None:
        self._bot = bot
        self._chat = chat
        self._public_url = public_url

    async def answer(self, update: dict[str, Any]) -> None:
        """Answer one inline query; a failure is only logged."""
        try:
            event = events.read(update, "")  # a query's text doesn't name the bot
            if isinstance(event, events.SearchEvent):
                await self._answer(event)
        except (errors.StorageError, errors.Unreadable) as error:
            log.warning("inline query not answered", reason=str(error))
        except TelegramError as error:
            log.warning("inline query not answered", reason=transport.describe_error(error))

    async def _answer(self, event: events.SearchEvent) -> None:
        language = translations.choose(event.person.tag)
        start = int(event.offset) if OFFSET.fullmatch(event.offset) else 0
        cards = await self._chat.search(event.person.id, event.text, PAGE + 1, start)
        next_offset = str(start + PAGE) if len(cards) > PAGE else ""
        found_none = bool(event.text.strip()) and not cards and not start
        label = translations.t(language, "inline-none" if found_none else "inline-new")
        send = partial(
            self._bot.answer_inline_query,
            inline_query_id=event.query_id,
            cache_time=0,
            is_personal=True,
            next_offset=next_offset,
            button=InlineQueryResultsButton(label, start_parameter=actions.FROM_INLINE),
        )
        article = partial(self._article, language=language)
        try:
            await send(results=[article(card) for card in cards[:PAGE]])
        except BadRequest as error:
            if transport.classify(error, 1).kind not in {
                transport.FailureKind.REFUSED,
                transport.FailureKind.PICTURE,
            }:
                raise
            await send(results=[article(card, plain=True) for card in cards[:PAGE]])

    def _article(
        self, card: request_card.Card, language: str, *, plain: bool = False
    ) -> InlineQueryResultArticle:
        """Return a request as a result.

        A `plain` result is for a server that refuses button styles or can't fetch the picture.
        """
        article = card_text.inline_article(card, language)
        keyboard = replies.markup(article.rows)
        if plain:
            keyboard = replies.without_styles(keyboard) or keyboard
        return InlineQueryResultArticle(
            id=sharing.result_id(
                card.link_id, views.words_key(card_text.public_card(card, language))
            ),
            title=article.title,
            description=article.description,
            thumbnail_url=None if plain else self._thumbnail(card),
            input_message_content=InputTextMessageContent(
                article.text,
                parse_mode=ParseMode.HTML,
                link_preview_options=LinkPreviewOptions(is_disabled=True),
            ),
            reply_markup=InlineKeyboardMarkup.de_json(keyboard, None) if keyboard else None,
        )

    def _thumbnail(self, card: request_card.Card) -> str | None:
        """Return the address of the request's picture or QR code; None if it isn't public."""
        base = self._public_url
        if not replies.linkable(base):
            return None
        if card.image:
            return f"{base}{image_route.PATH}/{card.image}"
        if card.url.startswith(f"{base}{PAY_PAGES}"):
            return f"{base}/qr/{card.url.removeprefix(base + PAY_PAGES)}.png"
        return None


class InlineQueue:
    """Passes inline queries to `answer`, at most as often as `pace` allows."""

    def __init__(
        self,
        answer: Callable[[dict[str, Any]], Coroutine[Any, Any, None]],
        count: Callable[..., None],
        pace: queue_policy.Pace | None = None,
    ) -> None:
        self._answer = answer
        self._count = count
        self._pace = pace
        self._arrival = 0
        self._waiting: dict[str, dict[str, Any]] = {}
        self._in_progress: dict[str, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def take(self, update: dict[str, Any]) -> None:
        """Queue a query; it replaces the same person's waiting query."""
        person = intake.account_of(update)
        if person in self._waiting:
            self._count("telegram_updates_handled", "dropped")
        elif len(self._waiting) >= MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
            self._count("telegram_updates_handled", "dropped")
        self._waiting[person] = update
        self._start()

    async def close(self) -> None:
        """Drop waiting queries and cancel queries in progress."""
        self._waiting.clear()
        tasks = [*self._in_progress.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self) -> None:
        """Answer the queries that waited longest, of people without a query in progress."""
        while len(self._in_progress) < AT_ONCE:
            person = next((one for one in self._waiting if one not in self._in_progress), None)
            if person is None:
                return
            if wait := self._wait():
                loop = asyncio.get_running_loop()
                self._timer = self._timer or loop.call_later(wait / 1000, self._on_timer)
                return
            task = asyncio.create_task(self._handle(self._waiting.pop(person)))
            self._in_progress[person] = task
            task.add_done_callback(partial(self._on_answered, person))

    def _wait(self) -> int:
        """Return the milliseconds until the next query is allowed; 0 counts it as answered."""
        if self._pace is None:
            return 0
        now = int(asyncio.get_running_loop().time() * 1000)
        if (wait := self._pace.next_at(self._arrival) - now) > 0:
            return wait
        self._arrival = self._pace.advance(self._arrival, now)
        return 0

    def _on_timer(self) -> None:
        self._timer = None
        self._start()

    def _on_answered(self, person: str, _task: asyncio.Task[None]) -> None:
        del self._in_progress[person]
        self._start()

    async def _handle(self, update: dict[str, Any]) -> None:
        try:
            await self._answer(update)
        except Exception:
            log.exception("inline query not answered", id=update["update_id"])
