"""The conversation: handles updates, each in a transaction, and searches a seller's requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import structlog

from bot.chat.cards import request_card
from bot.chat.conversation import actions, events, form_effects, getting_paid, sharing
from bot.chat.conversation.event_context import EventContext
from bot.chat.forms import goods_form
from bot.chat.model import drafts, payloads, queues, replies
from bot.chat.store import link_rows, sealed_updates, seller_rows
from bot.core import errors
from bot.core.database import database, vault
from bot.core.outbox import bulk_changes, lanes, outbox, queries
from bot.core.text import translations

log = structlog.get_logger()

ERASED = "{}"
"""The stored body of an update whose secret or goods were erased."""

NEAR_ALBUM = 20
"""Number of updates near an album's first update that may belong to the album. An album has up to
ten messages, and Telegram numbers updates in order. If the bot was down for hours, thousands of
updates may wait in a chat."""


class Chat:
    """Handles updates; `allowed` are the people who may create requests, empty for everyone.

    `paid_at` is the service that pays sellers; the vault seals their secrets.
    """

    def __init__(
        self,
        db: database.Database,
        queues: queues.Queues,
        now: Callable[[], int],
        vault: vault.Vault,
        *,
        bot_name: Callable[[], str],
        allowed: frozenset[int] = frozenset(),
        operator_contact: str | None = None,
        paid_at: drafts.PayoutService = drafts.TEST_MONEY,
    ) -> None:
        self._db = db
        self._queues = queues
        self._vault = vault
        self._bot_name = bot_name
        self._now = now
        self._allowed = allowed
        self._operator_contact = operator_contact
        self._paid_at = paid_at

    async def handle(self, message: outbox.Message) -> None:
        """Handle one stored update.

        An unreadable update becomes a dead letter at once, without an apology, because its request
        is unknown.
        """
        try:
            event = self._read(message.body)
            await self._db.transaction(lambda tx: self._take(tx, message, event))
        except errors.Unreadable as error:
            note = f"can't be read: {error}"
            log.warning("update set aside", id=message.id, reason=note)
            await self._db.transaction(lambda tx: self._dead_letter(tx, message, note))

    def _read(self, stored: Mapping[str, Any]) -> events.Event | None:
        """Parse a stored update. Raises Unreadable."""
        return events.read(sealed_updates.unseal(stored, self._vault), self._bot_name())

    def on_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Apologize for an update that became a dead letter, and answer its callback query."""
        self._note_dead_letter(tx, message)
        chat_id = int(message.lane)
        if chat_id > 0:  # a group's topic is unknown here
            # A private chat has the same id as the person.
            language = seller_rows.language_of(tx, chat_id) or translations.choose(None)
            apology = replies.Reply(translations.t(language, "update-failed"))
            self._put(tx, chat_id, payloads.new_message(apology, language))

    def receive_photo(
        self, tx: database.Transaction, message: outbox.Message, photo: bytes | str
    ) -> None:
        """Resume the form that waits for a photo; `photo` is its data, or why there is none."""
        context = self._download_context(tx, message)
        if context is not None:
            form_effects.receive_photo(context, message.body, photo)

    def receive_file(
        self, tx: database.Transaction, message: outbox.Message, found: goods_form.Fetched
    ) -> None:
        """Resume the form that waits for a file, which was fetched or could not be fetched."""
        context = self._download_context(tx, message)
        if context is not None:
            result = goods_form.receive(context.draft, message.body.draft_id, found, context.seller)
            form_effects.apply_result(context, result)

    def _download_context(
        self, tx: database.Transaction, message: outbox.Message
    ) -> EventContext | None:
        """Return the context of a download's seller; None if the seller is no longer known."""
        wanted, chat_id = message.body, int(message.lane)
        seller = seller_rows.find_seller(tx, wanted.seller_id)
        if seller is None:
            return None
        person = events.Person(wanted.seller_id, chat_id, private=True, tag=None)
        return self._context_of(tx, person, seller)

    async def search(
        self, seller_id: int, text: str, limit: int, start: int
    ) -> list[request_card.Card]:
        """Return cards of the seller's requests that can be shared and match `text`, newest first.

        At most `limit` cards after the first `start`.
        """
        now = self._now()

        def find(tx: database.Transaction) -> list[request_card.Card]:
            seller = seller_rows.find_seller(tx, seller_id)
            found = link_rows.search_links(tx, seller_id, text, limit, start, only_live=True)
            return [request_card.public_card_of(tx, one, seller, now) for one in found]

        return await self._db.read(find)

    def _take(
        self, tx: database.Transaction, message: outbox.Message, event: events.Event | None
    ) -> None:
        """Handle an update, unless another worker has taken it meanwhile."""
        if not outbox.done(tx, self._queues.updates, message, self._now()):
            return
        tx.count("telegram_updates_handled", "done")
        match event:
            case events.MessageEvent() | events.PressEvent() if not event.person.private:
                self._refuse_in_group(tx, event)
                if _must_be_erased(event, None):
                    bulk_changes.rewrite(tx, message.id, ERASED, None)
            case events.MessageEvent():
                self._take_message(tx, message, event)
            case events.PressEvent():
                actions.handle_press(self._event_context(tx, event.person, event), event)
            case events.PostedEvent():
                sharing.handle_posted(tx, self._queues, event, self._now())
            case events.BlockEvent():
                why = None if event.open else "the bot was blocked"
                lanes.pause(tx, self._queues.messages, str(event.person.chat_id), why)

    def _take_message(
        self, tx: database.Transaction, message: outbox.Message, event: events.MessageEvent
    ) -> None:
        """Handle a message; erase its stored body if it has a secret or goods.

        A secret is also deleted from the chat.
        """
        context = self._event_context(tx, event.person)
        if event.album_id is not None:
            counted = self._counted_of_album(tx, message, event)
            if counted is None:
                bulk_changes.rewrite(tx, message.id, ERASED, None)
                return
            event = counted
        actions.handle_message(context, event)
        asked, message_id = _form_answered(event, context.draft), event.message_id
        if message_id is not None and getting_paid.is_secret(asked, event.text):
            context.put(payloads.SecretRemoval(message_id))
        if _must_be_erased(event, context.draft):
            bulk_changes.rewrite(tx, message.id, ERASED, None)

    def _counted_of_album(
        self, tx: database.Transaction, message: outbox.Message, event: events.MessageEvent
    ) -> events.MessageEvent | None:
        """Return the message that represents an album; None if the album was answered already.

        The first message with text represents the album; without any text, the first message does.
        The other messages are stored by now, because the first message waits for them
        (chat/telegram/intake.py), but they are handled later, in any order. Text that arrives much
        later still counts.
        """
        seller_id, album_id = event.person.id, event.album_id
        answered = seller_rows.answered_album(tx, seller_id)
        if answered == f"{album_id}+" or (answered == album_id and not event.has_words):
            return None
        found = [event]
        updates = self._queues.updates
        for other in queries.waiting_near(tx, updates, message, most=NEAR_ALBUM):
            try:
                read_as = self._read(other)
            except errors.Unreadable:
                continue
            if isinstance(read_as, events.MessageEvent) and read_as.album_id == album_id:
                found.append(read_as)
        counted = min(found, key=lambda one: (not one.has_words, one.message_id or 0))
        words = "+" if counted.has_words else ""
        seller_rows.change(tx, seller_id, album=f"{album_id}{words}")
        return counted

    def _event_context(
        self,
        tx: database.Transaction,
        person: events.Person,
        press: events.PressEvent | None = None,
    ) -> EventContext:
        language = translations.choose(person.tag or seller_rows.language_of(tx, person.id))
        lanes.resume(tx, self._queues.messages, str(person.chat_id))
        seller = seller_rows.ensure_seller(tx, person.id, language, self._now())
        return self._context_of(tx, person, seller, press)

    def _context_of(
        self,
        tx: database.Transaction,
        person: events.Person,
        seller: drafts.Seller,
        press: events.PressEvent | None = None,
    ) -> EventContext:
        draft = seller_rows.find_draft(tx, person.chat_id, person.id)
        hints = getting_paid.hints_for(tx, person, draft, press)
        seller = seller_rows.at_service(tx, seller, person.id, self._paid_at)
        return EventContext(
            tx, self._queues, person, replace(seller, hints=hints), draft, self._now(),
            vault=self._vault,
            bot_name=self._bot_name(),
            may_create=not self._allowed or person.id in self._allowed,
            operator_contact=self._operator_contact,
            press=press,
        )  # fmt: skip

    def _refuse_in_group(
        self, tx: database.Transaction, event: events.MessageEvent | events.PressEvent
    ) -> None:
        """If a group addresses the bot, reply in the same topic that it works only in private."""
        language = translations.choose(event.person.tag)
        words = translations.t(language, "only-in-private", bot=self._bot_name())
        if isinstance(event, events.PressEvent):
            self._answer(tx, event.query_id, event.person.chat_id, words)
        elif not event.is_forwarded and event.command in actions.COMMANDS:
            reply = payloads.TextMessage(words, language, topic_id=event.topic_id)
            self._put(tx, event.person.chat_id, reply)

    def _dead_letter(self, tx: database.Transaction, message: outbox.Message, why: str) -> None:
        if outbox.dead_letter(tx, self._queues.updates, message, self._now(), why):
            self._note_dead_letter(tx, message)

    def _note_dead_letter(self, tx: database.Transaction, message: outbox.Message) -> None:
        """Answer an update's callback query; erase an update with a secret or goods."""
        tx.count("telegram_updates_handled", "set_aside")
        query = message.body.get("callback_query")
        if isinstance(query, dict) and "id" in query:
            self._answer(tx, str(query["id"]), message.lane, None)
        chat_id = int(message.lane)
        draft = seller_rows.find_draft(tx, chat_id, chat_id)
        try:
            event = self._read(message.body)
        except errors.Unreadable:
            event = None
        if _must_be_erased(event, draft) or getting_paid.is_secret(draft, str(message.body)):
            bulk_changes.rewrite(tx, message.id, ERASED, None)

    def _put(
        self, tx: database.Transaction, chat_id: int, payload: payloads.MessagePayload
    ) -> None:
        outbox.put(tx, self._queues.messages, str(chat_id), payload, self._now())

    def _answer(
        self, tx: database.Transaction, query_id: str, chat: object, words: str | None
    ) -> None:
        answer = payloads.CallbackAnswer(query_id, words)
        outbox.put(tx, self._queues.answers, str(chat), answer, self._now())


def _must_be_erased(event: events.Event | None, draft: drafts.Draft | None) -> bool:
    """True if an update has a secret, goods or a receipt's address; `draft` is the current form."""
    if not isinstance(event, events.MessageEvent):
        return False
    asked = _form_answered(event, draft)
    is_goods = asked is not None and goods_form.takes_goods(asked)
    return is_goods or sharing.is_receipt_link(event) or getting_paid.is_secret(asked, event.text)


def _form_answered(event: events.MessageEvent, draft: drafts.Draft | None) -> drafts.Draft | None:
    return draft if event.command is None else None
