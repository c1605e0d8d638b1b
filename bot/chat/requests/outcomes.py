"""Where a call of the service ends: settled once, with what its seller then sees and hears.

A call's message names the listing, the chat and its language, and the `place` of the button that
was pressed, if one was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.cards.card_text import seller_card
from bot.chat.cards.request_card import card_of
from bot.chat.messages.payloads import new_message, replacement
from bot.chat.messages.queues import AGAIN
from bot.chat.messages.reply import Reply, escaped
from bot.chat.store import listings, posts, seller_images, sellers
from bot.chat.store.listings import DELETED
from bot.core.errors import NotFound, NotReached, Refused, Throttled, Unauthorized
from bot.core.outbox import lanes, outbox
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.forms.outcome import Outcome
    from bot.chat.messages.payloads import MessagePayload
    from bot.chat.messages.queues import Queues
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message

ANEW = frozenset(["create", "card"])
"""Calls whose card is a new message; the others change the one that is there."""

_REFUSAL = 500  # UTF-16 units of another server's words


class Desk:
    """Settles calls, each in one transaction, at `now` (epoch ms)."""

    def __init__(self, db: Database, queues: Queues, now: Callable[[], int]) -> None:
        self.db = db
        self.queues = queues
        self.now = now

    async def settle(self, message: Message, follow: Callable[..., None], *known: object) -> None:
        """End the call and do what follows from what is known, unless it is another's by now."""

        def work(tx: Transaction) -> None:
            if outbox.done(tx, self.queues.calls, message, self.now()):
                follow(tx, message, *known)

        await self.db.transaction_until_stored(work)

    def again(self, tx: Transaction, body: dict[str, Any], wait: int) -> None:
        """Put a call behind those that people wait for, to be made in `wait` ms."""
        now, lane = self.now(), f"{AGAIN}{body['listing']}"
        calls = self.queues.calls
        outbox.put(tx, calls, lane, body, now, priority=lanes.NOTICE, due_at=now + wait)

    def go_on(self, tx: Transaction, message: Message, more: dict[str, Any]) -> None:
        """Put the next part of a call in its place, before all that is asked of its listing."""
        key, body = f"{message.id}-1", message.body | more
        calls, priority = self.queues.calls, message.priority
        outbox.put(tx, calls, message.lane, body, self.now(), key=key, priority=priority)

    def refresh(self, tx: Transaction, listing_id: str) -> None:
        """Let every message that shows a listing show how it stands now."""
        posts.refresh(tx, self.queues, listing_id, self.now())

    def gone(self, tx: Transaction, message: Message) -> None:
        """Note that a request is no more at its server, and say so."""
        listing = listing_of(tx, message)
        delete(tx, listing)
        self.refresh(tx, listing.id)
        self.tell(tx, message, "service-gone", name=escaped(listing.wish.name))

    def show(self, tx: Transaction, message: Message) -> None:
        """Show the listing as it is now: its card anew where that was asked for, else in place."""
        listing, language = listing_of(tx, message), message.body["language"]
        if listing.state == DELETED:
            words = t(language, "listing-deleted", name=escaped(listing.wish.name))
            on_card = _place(message)["picture"]
            reply = Reply(words, picture=listing.id if on_card else None)
            self.put(tx, message, _in_place(message, reply))
            return
        shown = seller_card(card_of(listing, self.now()), language)
        anew = message.body["call"] in ANEW
        self.put(tx, message, new_message(shown, language) if anew else _in_place(message, shown))

    def tell(self, tx: Transaction, message: Message, key: str, **values: object) -> None:
        """Say something to whoever asked."""
        self.say(tx, message, Reply(t(message.body["language"], key, **values)))

    def refused(self, tx: Transaction, message: Message, error: Refused) -> None:
        """Say that the service won't, in its own words."""
        self.tell(tx, message, "service-refused", words=escaped(error.message, _REFUSAL))

    def failed(self, tx: Transaction, message: Message, error: Exception) -> None:
        """Say that a call was not made, or that nobody can say; nothing is claimed."""
        match error:
            case NotFound():
                self.gone(tx, message)
            case Unauthorized():
                self.tell(tx, message, "service-closed")
            case Refused():
                self.refused(tx, message, error)
            case NotReached() | Throttled():
                self.tell(tx, message, "service-not-done")
            case _:
                self.tell(tx, message, "service-silent")

    def say(self, tx: Transaction, message: Message, reply: Reply) -> None:
        """Say what is in words already."""
        self.put(tx, message, new_message(reply, message.body["language"]))

    def put(self, tx: Transaction, message: Message, payload: MessagePayload) -> None:
        """Put a message for the chat that the call came from."""
        outbox.put(tx, self.queues.messages, str(message.body["chat"]), payload, self.now())

    def ask(self, tx: Transaction, message: Message, outcome: Outcome) -> None:
        """Go on with the form that a refusal opens anew."""
        listing = listing_of(tx, message)
        sellers.save_draft(tx, listing.chat_id, listing.seller_id, outcome.draft, self.now())
        for reply in outcome.replies:
            self.say(tx, message, reply)


def listing_of(tx: Transaction, message: Message) -> Listing:
    """Give the listing that a call is about."""
    return listings.get_listing(tx, message.body["listing"])


def delete(tx: Transaction, listing: Listing) -> None:
    """Note that a request is no more, and that its picture is needed by others at most."""
    listings.set_state(tx, listing.id, DELETED)
    if listing.wish.image is not None:
        seller_images.release_image(tx, listing.wish.image)


def nothing(_tx: Transaction, _message: Message) -> None:
    """Follow up on a call that needs nothing more."""


def _place(message: Message) -> dict[str, Any]:
    """Give where a button was pressed, and whether that has a picture."""
    return message.body.get("place") or {"message_id": None, "picture": False}


def _in_place(message: Message, reply: Reply) -> MessagePayload:
    place = _place(message)
    language = message.body["language"]
    return replacement(reply, language, place["message_id"], is_picture=place["picture"])
