"""Answers to inline queries: a seller's own requests, to be posted in any chat.

A query is answered at once or not at all: Telegram drops a late answer, and the next letter typed
is a new query.
"""

from __future__ import annotations

import re
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
from telegram.error import TelegramError

from bot.chat.cards.card_text import inline_article, public_card
from bot.chat.cards.image_route import PATH as IMAGES
from bot.chat.cards.views import words_key
from bot.chat.dialogue.commands import FROM_INLINE
from bot.chat.dialogue.events import SearchEvent, read
from bot.chat.dialogue.sharing import result_id
from bot.chat.messages.buttons import linkable, markup
from bot.chat.telegram.failures import describe_error
from bot.core.errors import StorageError, Unreadable
from bot.core.text.translations import choose, t

if TYPE_CHECKING:
    from telegram import Bot

    from bot.chat.cards.request_card import Card
    from bot.chat.dialogue.dialogue import Chat

log = structlog.get_logger()

PAGE = 20
"""Results in one answer; Telegram accepts 50."""

OFFSET = re.compile(r"[0-9]{1,9}")
"""The form of the offsets that we return; any other offset means the first page."""

PAGES = "/pay/"
"""The path of the embedded service's pay pages; their codes are under `/qr/`."""


class InlineResults:
    """Answers inline queries with the seller's requests.

    `public_url` is the address from which Telegram fetches the pictures of results.
    """

    def __init__(self, bot: Bot, chat: Chat, public_url: str) -> None:
        self._bot = bot
        self._chat = chat
        self._public_url = public_url

    async def answer(self, update: dict[str, Any]) -> None:
        """Answer one inline query; a failure is only logged."""
        try:
            event = read(update, "")  # a query's text names no bot
            if isinstance(event, SearchEvent):
                await self._answer(event)
        except (StorageError, Unreadable) as error:
            log.warning("inline query not answered", reason=str(error))
        except TelegramError as error:
            log.warning("inline query not answered", reason=describe_error(error))

    async def _answer(self, event: SearchEvent) -> None:
        language = choose(event.person.tag)
        start = int(event.offset) if OFFSET.fullmatch(event.offset) else 0
        cards = await self._chat.search(event.person.id, event.text, PAGE + 1, start)
        next_offset = str(start + PAGE) if len(cards) > PAGE else ""
        found_none = bool(event.text.strip()) and not cards and not start
        label = t(language, "inline-none" if found_none else "inline-new")
        await self._bot.answer_inline_query(
            inline_query_id=event.query_id,
            results=[self._article(card, language) for card in cards[:PAGE]],
            cache_time=0,
            is_personal=True,
            next_offset=next_offset,
            button=InlineQueryResultsButton(label, start_parameter=FROM_INLINE),
        )

    def _article(self, card: Card, language: str) -> InlineQueryResultArticle:
        article = inline_article(card, language)
        keyboard = markup(article.rows)
        return InlineQueryResultArticle(
            id=result_id(card.listing_id, words_key(public_card(card, language))),
            title=article.title,
            description=article.description,
            thumbnail_url=self._thumbnail(card),
            input_message_content=InputTextMessageContent(
                article.text,
                parse_mode=ParseMode.HTML,
                link_preview_options=LinkPreviewOptions(is_disabled=True),
            ),
            reply_markup=InlineKeyboardMarkup.de_json(keyboard, None) if keyboard else None,
        )

    def _thumbnail(self, card: Card) -> str | None:
        """Return the address of the seller's picture or of its code; None if not public."""
        base = self._public_url
        if not linkable(base):
            return None
        if card.image:
            return f"{base}{IMAGES}/{card.image}"
        if card.url.startswith(f"{base}{PAGES}"):
            return f"{base}/qr/{card.url.removeprefix(base + PAGES)}.png"
        return None
