"""The context of an event: its transaction, its person, and the ways to answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.cards.request_card import card_of, raised_of
from bot.chat.messages.jobs import ReplyTo
from bot.chat.messages.payloads import CallbackAnswer, replacement
from bot.chat.store import listings, posts
from bot.chat.store.listings import DELETED
from bot.chat.store.takings import takings as takings_of
from bot.core.outbox import outbox
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.cards.request_card import Card
    from bot.chat.dialogue.events import Person, PressEvent
    from bot.chat.messages.jobs import SellerJob
    from bot.chat.messages.payloads import MessagePayload
    from bot.chat.messages.queues import Queues
    from bot.chat.messages.reply import Reply
    from bot.chat.model.draft import Draft, Seller
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction
    from bot.core.database.vault import Vault


@dataclass(frozen=True, slots=True)
class EventContext:
    """An event with its transaction and the person who caused it.

    `vault` seals secrets. `may_create` is False for people whom ALLOWED_SELLERS leaves out. A reply
    takes the place of the message of `press`, if there is one.
    """

    tx: Transaction
    queues: Queues
    person: Person
    seller: Seller
    draft: Draft | None
    now: int
    vault: Vault
    bot_name: str = ""
    may_create: bool = True
    operator_contact: str | None = None
    press: PressEvent | None = None

    def reply(self, reply: Reply) -> None:
        """Reply in place of the message whose button was pressed, or in a new message."""
        message_id = self.press.message_id if self.press else None
        is_picture = self.press.picture if self.press else False
        is_card = reply.picture is not None and self.is_card(self.press)
        self.put(
            replacement(
                reply, self.seller.language, message_id, is_picture=is_picture, is_card=is_card
            )
        )

    def is_card(self, press: PressEvent | None) -> bool:
        """Return whether the message whose button was pressed is a card, with a picture or not."""
        if press is None:
            return False
        return press.picture or posts.is_card(self.tx, self.person.chat_id, press.message_id)

    def put(self, payload: MessagePayload, subject: str | None = None) -> None:
        """Queue a message for this chat."""
        chat = str(self.person.chat_id)
        outbox.put(self.tx, self.queues.messages, chat, payload, self.now, subject=subject)

    def answer_press(self, press: PressEvent, toast: str | None) -> None:
        """Answer the callback query, with a text or without."""
        answer = CallbackAnswer(press.query_id, toast)
        chat = str(press.person.chat_id)
        outbox.put(self.tx, self.queues.answers, chat, answer, self.now)

    def add_job(self, job: SellerJob) -> None:
        """Queue a job at the payment service."""
        outbox.put(self.tx, self.queues.jobs, job.listing_id, job, self.now)

    def reply_to(self, press: PressEvent | None = None) -> ReplyTo:
        """Return where a job's outcome goes: to this chat, in place of `press` if given."""
        chat, language = self.person.chat_id, self.seller.language
        if press is None:
            return ReplyTo(chat, language)
        return ReplyTo(chat, language, press.message_id, press.picture)

    def text(self, key: str, **values: object) -> str:
        """Return a text in the language of this person."""
        return t(self.seller.language, key, **values)

    def without_press(self) -> EventContext:
        """Return a context whose replies are new messages."""
        return replace(self, press=None)


def own_listing(
    context: EventContext, listing_id: str, *, or_deleted: bool = False
) -> Listing | str:
    """Return a listing if this person may manage it, else a text with the reason.

    Every action on a listing checks this right.
    """
    listing = listings.find_listing(context.tx, listing_id)
    if listing is None or listing.seller_id != context.person.id:
        return context.text("listing-gone")
    if listing.state == DELETED and not or_deleted:
        return context.text("listing-gone")
    if listing.answer is None:
        return context.text("listing-not-ready")
    return listing


def own_card(context: EventContext, listing: Listing) -> Card:
    """Return a request's card as its seller sees it."""
    takings = takings_of(context.tx, listing.id)
    zone, raised = context.seller.zone, raised_of(context.tx, listing)
    return card_of(listing, context.now, takings=takings, zone=zone, raised=raised)
