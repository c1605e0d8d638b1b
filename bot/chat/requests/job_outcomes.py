"""Outcomes of jobs: each job is settled once, with what its seller then gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bot.chat.cards.card_text import seller_card
from bot.chat.cards.request_card import card_of
from bot.chat.messages.jobs import CreateRequest, SendCard
from bot.chat.messages.payloads import new_message, replacement
from bot.chat.messages.queues import BACKGROUND
from bot.chat.messages.reply import Reply, escaped
from bot.chat.model.answers import served_unit
from bot.chat.receipts.notices import notify_waiting
from bot.chat.store import listings, payouts, posts, seller_images, sellers
from bot.chat.store.listings import DELETED
from bot.core.errors import NotFound, NotReached, Refused, Throttled, Unauthorized
from bot.core.outbox import outbox, queries
from bot.core.outbox.outbox import State
from bot.core.outbox.queue_policy import NOTICE
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.forms.outcome import Outcome
    from bot.chat.messages.jobs import (
        CardJob,
        ConnectAccount,
        Job,
        RemoveAccount,
        ReplyTo,
        SellerJob,
    )
    from bot.chat.messages.payloads import MessagePayload
    from bot.chat.messages.queues import Queues
    from bot.chat.model.answers import Answer
    from bot.chat.model.draft import PayoutService
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message

LONGEST_REFUSAL = 500
"""UTF-16 units of a server's refusal."""

Follow: TypeAlias = "Callable[..., None]"
"""Writes what follows from a job's outcome; called with the transaction, the job, and more."""


class Outcomes:
    """Settles jobs, each in one transaction; `now` in epoch ms. `paid_at` pays the sellers."""

    def __init__(
        self, db: Database, queues: Queues, now: Callable[[], int], paid_at: PayoutService
    ) -> None:
        self.db = db
        self.queues = queues
        self.now = now
        self._paid_at = paid_at

    async def finish(self, message: Message, follow: Follow | None = None, *values: object) -> None:
        """Finish a job with what follows, unless another worker has it by now."""

        def work(tx: Transaction) -> None:
            if outbox.done(tx, self.queues.jobs, message, self.now()) and follow:
                follow(tx, message.body, *values)

        await self.db.transaction_until_stored(work)

    async def retry(
        self,
        message: Message,
        job: Job,
        delay: int,
        text: str | None = None,
        *,
        lane: str | None = None,
    ) -> None:
        """Retry as `job` after `delay` ms, in the background: button presses don't wait for it.

        `lane` is another one than that of the listing's other retries; `text` is the key of a text
        to the seller.
        """
        state = State(job, lane or f"{BACKGROUND}{job.listing_id}", NOTICE)
        follow = self.send_text if text else None
        await self._retry(message, state, self.now() + delay, follow, text)

    async def queue_behind(self, message: Message, lane: str) -> bool:
        """Queue a job behind the older ones of another lane; return False if there are none."""
        queue, now = self.queues.jobs, self.now()

        def work(tx: Transaction) -> bool:
            if not queries.unsettled_of_lane(tx, queue, lane):
                return False
            if outbox.done(tx, queue, message, now):
                body, doubt = message.body, message.uncertain
                outbox.put(tx, queue, lane, body, now, priority=NOTICE, uncertain=doubt)
            return True

        return await self.db.transaction_until_stored(work)

    async def proceed(self, message: Message, job: Job, follow: Follow, *values: object) -> None:
        """Perform the next step `job` at once, before all that is queued for its listing."""
        await self._retry(message, State(job), self.now(), follow, *values)

    async def _retry(
        self, message: Message, state: State, due_at: int, follow: Follow | None, *values: object
    ) -> None:
        queue, note = self.queues.jobs, "its outcome is open"

        def work(tx: Transaction) -> None:
            if outbox.retry(tx, queue, message, due_at, note, state=state) and follow:
                follow(tx, state.body, *values)

        await self.db.transaction_until_stored(work)

    def add_later(self, tx: Transaction, job: Job, delay: int) -> None:
        """Queue a job in the background, due in `delay` ms."""
        now, lane = self.now(), f"{BACKGROUND}{job.listing_id}"
        outbox.put(tx, self.queues.jobs, lane, job, now, priority=NOTICE, due_at=now + delay)

    def save_answer(
        self, tx: Transaction, listing_id: str, answer: Answer | None, *, brings_goods: bool = False
    ) -> None:
        """Store the service's answer about a request, None for an unknown one.

        Buyers who waited for a code hear of more codes, wherever these came from, of what took
        their place, and of what a job `brings`.
        """
        before = listings.get_listing(tx, listing_id)
        if brings_goods or (answer is not None and answer.serves_more(before.answer)):
            request_id, served = before.request_id or "", served_unit(answer)
            notify_waiting(tx, self.queues, request_id, served, self.now())
        if answer is not None:
            listings.set_answer(tx, listing_id, answer)

    def refresh(self, tx: Transaction, listing_id: str) -> None:
        """Queue the refresh of all posts of a listing."""
        posts.refresh(tx, self.queues, listing_id, self.now())

    def show(self, tx: Transaction, job: CreateRequest | CardJob) -> None:
        """Send the listing's card as a new message, or show it in place."""
        listing, reply_to = listings.get_listing(tx, job.listing_id), job.reply_to
        is_picture = reply_to.is_picture
        is_card = is_picture or posts.is_card(tx, reply_to.chat_id, reply_to.message_id)
        if listing.state == DELETED:
            text = t(reply_to.language, "listing-deleted", name=escaped(listing.wish.name))
            reply = Reply(text, picture=listing.id if is_card else None)
        else:
            reply = seller_card(card_of(listing, self.now()), reply_to.language)
            if isinstance(job, CreateRequest | SendCard):
                self.send(tx, job, reply)
                return
        payload = replacement(
            reply, reply_to.language, reply_to.message_id, is_picture=is_picture, is_card=is_card
        )
        self._put(tx, reply_to, payload)

    def answer(self, tx: Transaction, job: ConnectAccount | RemoveAccount, reply: Reply) -> None:
        """Show a reply in place of the message whose button was pressed, or in a new message."""
        reply_to = job.reply_to
        payload = replacement(
            reply, reply_to.language, reply_to.message_id, is_picture=reply_to.is_picture
        )
        self._put(tx, reply_to, payload)

    def send(self, tx: Transaction, job: SellerJob, reply: Reply) -> None:
        """Queue a message to the chat that the job came from."""
        self._put(tx, job.reply_to, new_message(reply, job.reply_to.language))

    def send_text(self, tx: Transaction, job: SellerJob, key: str, **values: object) -> None:
        """Queue a text to the chat that the job came from; `name` is the request's."""
        name = escaped(listings.get_listing(tx, job.listing_id).wish.name)
        self.send(tx, job, Reply(t(job.reply_to.language, key, name=name, **values)))

    def send_refusal(self, tx: Transaction, job: SellerJob, error: Refused) -> None:
        """Queue the service's refusal in its own words."""
        words = escaped(error.message, LONGEST_REFUSAL)
        self.send_text(tx, job, "service-refused", words=words)

    def send_failure(self, tx: Transaction, job: SellerJob, error: Exception) -> None:
        """Queue the text about a call that failed or whose outcome is not known."""
        match error:
            case NotFound():
                mark_deleted(tx, listings.get_listing(tx, job.listing_id))
                self.refresh(tx, job.listing_id)
                self.send_text(tx, job, "service-gone")
            case Unauthorized():
                self.send_text(tx, job, "service-closed")
            case Refused():
                self.send_refusal(tx, job, error)
            case NotReached() | Throttled():
                self.send_text(tx, job, "service-not-done")
            case _:
                self.send_text(tx, job, "service-silent")

    def ask(
        self, tx: Transaction, job: SellerJob, listing: Listing, form: Callable[..., Outcome]
    ) -> None:
        """Open the form that a refusal needs, and queue its questions."""
        seller = sellers.ensure_seller(tx, listing.seller_id, job.reply_to.language, self.now())
        seller = payouts.at_service(tx, seller, listing.seller_id, self._paid_at)
        current = sellers.find_draft(tx, listing.chat_id, listing.seller_id)
        outcome = form(draft_id=listings.short_id(6), seller=seller, current=current)
        sellers.save_draft(tx, listing.chat_id, listing.seller_id, outcome.draft, self.now())
        for reply in outcome.replies:
            self.send(tx, job, reply)

    def _put(self, tx: Transaction, reply_to: ReplyTo, payload: MessagePayload) -> None:
        chat = str(reply_to.chat_id)
        outbox.put(tx, self.queues.messages, chat, payload, self.now())


def mark_deleted(tx: Transaction, listing: Listing) -> None:
    """Mark a request as deleted, and release its picture."""
    listings.set_state(tx, listing.id, DELETED)
    if listing.wish.image is not None:
        seller_images.release_image(tx, listing.wish.image)
