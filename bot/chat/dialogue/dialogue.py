"""The dialogue: handles updates, one in a transaction, and searches a seller's requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from bot.chat.cards.request_card import card_of, raised_of
from bot.chat.dialogue import bought, form_effects, getting_paid
from bot.chat.dialogue.button_presses import handle_press
from bot.chat.dialogue.commands import handle_message
from bot.chat.dialogue.event_context import EventContext
from bot.chat.dialogue.events import (
    BlockEvent,
    MessageEvent,
    Person,
    PostedEvent,
    PressEvent,
    read,
)
from bot.chat.dialogue.seller_profile import hints_for
from bot.chat.dialogue.sharing import handle_posted
from bot.chat.forms import goods_form
from bot.chat.forms.bot_texts import commands
from bot.chat.messages.payloads import CallbackAnswer, new_message
from bot.chat.messages.reply import Reply
from bot.chat.model.draft import TEST_MONEY
from bot.chat.model.profile import NO_PROFILE
from bot.chat.store import payouts, queries, sellers
from bot.core.errors import Unreadable
from bot.core.outbox import bulk_changes, lanes, outbox
from bot.core.outbox.queries import waiting_near
from bot.core.text.translations import choose, t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.cards.request_card import Card
    from bot.chat.dialogue.events import Event
    from bot.chat.forms.goods_form import Fetched
    from bot.chat.messages.payloads import MessagePayload
    from bot.chat.messages.queues import Queues
    from bot.chat.model.draft import Draft, PayoutService, Seller
    from bot.core.database.database import Database, Transaction
    from bot.core.database.vault import Vault
    from bot.core.outbox.outbox import Message

log = structlog.get_logger()

ERASED = "{}"
"""What is kept of an update with a secret, or with goods."""

NEAR_ALBUM = 20
"""Updates around one of an album among which the others are: an album has ten, and Telegram numbers
updates in order. After hours without the bot thousands may wait in a chat."""


class Chat:
    """Handles updates; `allowed` are the people who may create requests, empty for everyone.

    `paid_at` is the service that pays them, `vault` seals their secrets.
    """

    def __init__(
        self,
        db: Database,
        queues: Queues,
        now: Callable[[], int],
        vault: Vault,
        *,
        bot_name: Callable[[], str],
        allowed: frozenset[int] = frozenset(),
        operator_contact: str | None = None,
        paid_at: PayoutService = TEST_MONEY,
    ) -> None:
        self._db = db
        self._queues = queues
        self._vault = vault
        self._bot_name = bot_name
        self._now = now
        self._allowed = allowed
        self._operator_contact = operator_contact
        self._paid_at = paid_at

    async def handle(self, message: Message) -> None:
        """Handle one stored update.

        An update that can't be read is a dead letter at once, without an apology: what was asked
        is unknown.
        """
        try:
            event = read(message.body, self._bot_name())
            await self._db.transaction(lambda tx: self._take(tx, message, event))
        except Unreadable as error:
            note = f"can't be read: {error}"
            log.warning("update set aside", id=message.id, reason=note)
            await self._db.transaction(lambda tx: self._bury(tx, message, note))

    def buried(self, tx: Transaction, message: Message) -> None:
        """Send an apology for an update that is a dead letter, and answer its callback query."""
        self._note_buried(tx, message)
        chat_id = int(message.lane)
        if chat_id:
            # The id of a private chat is the id of the person.
            language = sellers.language_of(tx, chat_id) or choose(None)
            self._put(tx, chat_id, new_message(Reply(t(language, "update-failed")), language))

    def receive_photo(self, tx: Transaction, message: Message, photo: bytes | str) -> None:
        """Resume the form of a downloaded photo; `photo` is its data, or why there is none."""
        context = self._context_of(tx, message)
        if context is not None:
            form_effects.receive_photo(context, message.body, photo)

    def receive_file(self, tx: Transaction, message: Message, found: Fetched) -> None:
        """Resume the form of a file that was fetched, or could not be."""
        context = self._context_of(tx, message)
        if context is not None:
            outcome = goods_form.receive(
                context.draft, message.body.draft_id, found, context.seller
            )
            form_effects.apply_outcome(context, outcome)

    def _context_of(self, tx: Transaction, message: Message) -> EventContext | None:
        """Return the context of a download's seller; None for one who is not known any more."""
        wanted, chat_id = message.body, int(message.lane)
        seller = sellers.find_seller(tx, wanted.seller_id)
        if seller is None:
            return None
        person = Person(wanted.seller_id, chat_id, private=True, tag=None)
        draft = sellers.find_draft(tx, chat_id, wanted.seller_id)
        hints, now = hints_for(tx, person, draft, None), self._now()
        seller = replace(self._paid(tx, seller, wanted.seller_id), hints=hints)
        return EventContext(
            tx, self._queues, person, seller, draft, now, self._vault,
            may_create=self._may_create(person),
        )  # fmt: skip

    def _may_create(self, person: Person) -> bool:
        return not self._allowed or person.id in self._allowed

    async def search(self, seller_id: int, text: str, limit: int, start: int) -> list[Card]:
        """Return cards of the seller's requests that can be shared and match `text`.

        They are the newest first, at most `limit` after the first `start`.
        """
        now = self._now()

        def look(tx: Transaction) -> list[Card]:
            seller = sellers.find_seller(tx, seller_id)
            zone, profile = (seller.zone, seller.profile) if seller else (None, NO_PROFILE)
            found = queries.search_listings(tx, seller_id, text, limit, start)
            return [
                card_of(one, now, zone=zone, profile=profile, raised=raised_of(tx, one))
                for one in found
            ]

        return await self._db.read(look)

    def _take(self, tx: Transaction, message: Message, event: Event | None) -> None:
        """Handle an update, unless another worker has it by now."""
        if not outbox.done(tx, self._queues.updates, message, self._now()):
            return
        tx.count("telegram_updates_handled", "done")
        match event:
            case MessageEvent() | PressEvent() if not event.person.private:
                self._public(tx, event)
                if _keeps_nothing(event, None):
                    bulk_changes.rewrite(tx, message.id, ERASED, None)
            case MessageEvent():
                self._take_message(tx, message, event)
            case PressEvent():
                handle_press(self._turn(tx, event.person, event), event)
            case PostedEvent():
                handle_posted(tx, self._queues, event, self._now())
            case BlockEvent():
                why = None if event.open else "the bot was blocked"
                lanes.pause(tx, self._queues.messages, str(event.person.chat_id), why)

    def _take_message(self, tx: Transaction, message: Message, event: MessageEvent) -> None:
        """Handle a message; of one with a secret or with goods nothing is kept here.

        The secret is deleted from the chat too.
        """
        context = self._turn(tx, event.person)
        if event.album_id is not None:
            counted = self._of_album(tx, message, event)
            if counted is None:
                bulk_changes.rewrite(tx, message.id, ERASED, None)
                return
            event = counted
        handle_message(context, event)
        if getting_paid.is_secret(_answered(event, context.draft), event.text):
            getting_paid.delete_secret(context, event)
        if _keeps_nothing(event, context.draft):
            bulk_changes.rewrite(tx, message.id, ERASED, None)

    def _of_album(
        self, tx: Transaction, message: Message, event: MessageEvent
    ) -> MessageEvent | None:
        """Return the message that counts of an album; None where the album was answered already.

        It is the first one with words, else the first one. The album's other messages are stored by
        now, since its first one waits for them (chat/telegram/intake.py); they come here later, in
        any order. Words that come much later still count.
        """
        seller_id, album_id = event.person.id, event.album_id
        answered = sellers.answered_album(tx, seller_id)
        if answered == f"{album_id}+" or (answered == album_id and not event.has_words):
            return None
        found = [event]
        updates = self._queues.updates
        for other in waiting_near(tx, updates, message, most=NEAR_ALBUM):
            try:
                read_as = read(other, self._bot_name())
            except Unreadable:
                continue
            if isinstance(read_as, MessageEvent) and read_as.album_id == album_id:
                found.append(read_as)
        counted = min(found, key=lambda one: (not one.has_words, one.message_id or 0))
        words = "+" if counted.has_words else ""
        sellers.save_answered_album(tx, seller_id, f"{album_id}{words}")
        return counted

    def _turn(
        self, tx: Transaction, person: Person, press: PressEvent | None = None
    ) -> EventContext:
        now = self._now()
        language = choose(person.tag or sellers.language_of(tx, person.id))
        lanes.resume(tx, self._queues.messages, str(person.chat_id))
        draft = sellers.find_draft(tx, person.chat_id, person.id)
        hints = hints_for(tx, person, draft, press)
        seller = sellers.ensure_seller(tx, person.id, language, now)
        return EventContext(
            tx, self._queues, person, replace(self._paid(tx, seller, person.id), hints=hints),
            draft=draft,
            now=now,
            vault=self._vault,
            bot_name=self._bot_name(),
            may_create=self._may_create(person),
            operator_contact=self._operator_contact,
            press=press,
        )  # fmt: skip

    def _paid(self, tx: Transaction, seller: Seller, seller_id: int) -> Seller:
        """Return a seller with where their money goes."""
        return payouts.at_service(tx, seller, seller_id, self._paid_at)

    def _public(self, tx: Transaction, event: MessageEvent | PressEvent) -> None:
        """Reply in a group, if the bot is addressed, that requests are made in private."""
        language = choose(event.person.tag)
        words = t(language, "only-in-private", bot=self._bot_name())
        if isinstance(event, PressEvent):
            self._answer(tx, event.query_id, event.person.chat_id, words)
        elif event.command in {name for name, _ in commands(language)}:
            self._put(tx, event.person.chat_id, new_message(Reply(words), language))

    def _bury(self, tx: Transaction, message: Message, why: str) -> None:
        if outbox.bury(tx, self._queues.updates, message, self._now(), why):
            self._note_buried(tx, message)

    def _erase_secret(self, tx: Transaction, message: Message) -> None:
        """Keep nothing of an update with a secret or with goods that could not be handled."""
        chat_id = int(message.lane)
        draft = sellers.find_draft(tx, chat_id, chat_id)
        try:
            event = read(message.body, self._bot_name())
        except Unreadable:
            event = None
        if _keeps_nothing(event, draft) or getting_paid.is_secret(draft, str(message.body)):
            bulk_changes.rewrite(tx, message.id, ERASED, None)

    def _note_buried(self, tx: Transaction, message: Message) -> None:
        tx.count("telegram_updates_handled", "set_aside")
        query = message.body.get("callback_query")
        if isinstance(query, dict) and "id" in query:
            self._answer(tx, str(query["id"]), message.lane, None)
        self._erase_secret(tx, message)

    def _put(self, tx: Transaction, chat_id: int, payload: MessagePayload) -> None:
        outbox.put(tx, self._queues.messages, str(chat_id), payload, self._now())

    def _answer(self, tx: Transaction, query_id: str, chat: object, words: str | None) -> None:
        answer = CallbackAnswer(query_id, words)
        outbox.put(tx, self._queues.answers, str(chat), answer, self._now())


def _keeps_nothing(event: Event | None, draft: Draft | None) -> bool:
    """Return whether an update has a secret, goods or a receipt's address; `draft` is the form."""
    if not isinstance(event, MessageEvent):
        return False
    asked = _answered(event, draft)
    is_goods = asked is not None and goods_form.takes_goods(asked)
    return is_goods or bought.is_link(event) or getting_paid.is_secret(asked, event.text)


def _answered(event: MessageEvent, draft: Draft | None) -> Draft | None:
    """Return the form that a message may answer: a command answers none."""
    return draft if event.command is None else None
