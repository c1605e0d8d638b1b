"""Edits of a request at the service: made once, told as they were made.

An edit made twice is made once, but for units that are taken out. Those are counted
before, so that a lost answer leaves a way to see whether they are gone; what can't be
seen at once is looked at again, for the server may still be at work and payments on
their way to us. Only what the server did changes what the listing says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat import conversation, edits, history, store, telling, waiting
from bot.chat.changing import end_after, seen
from bot.chat.creating import SETTLING
from bot.chat.desk import listing_of
from bot.chat.menus import saved
from bot.chat.replies import escaped
from bot.chat.standing import card_of
from bot.chat.store import images
from bot.chat.troubles import in_time, note, wait
from bot.core.errors import (
    NotFound,
    NotLimited,
    NotReached,
    PeerError,
    Refused,
    Throttled,
    Unauthorized,
)

if TYPE_CHECKING:
    from bot.chat.answers import Answer
    from bot.chat.client import Client
    from bot.chat.conversation import Wish
    from bot.chat.desk import Desk
    from bot.chat.edits import Addresses
    from bot.chat.store import Listing
    from bot.core.db import Transaction
    from bot.core.outbox import Message

DOUBT = 3600 * 1000
"""Milliseconds after which nobody will find out any more whether units were taken out."""

IN_VAIN = (NotFound, Unauthorized, NotLimited)
"""Refusals of an edit after which nothing can be answered that helps."""


class Editing:
    """Performs the calls `edit`; `addresses` are ours, as the server is told them."""

    def __init__(self, desk: Desk, client: Client, addresses: Addresses) -> None:
        self._desk = desk
        self._client = client
        self._addresses = addresses

    async def perform(self, message: Message, listing: Listing) -> None:
        """Make one edit, or see what became of it, and settle what follows."""
        try:
            if edits.change_of(message.body).field == "units":
                await self._take_out(message, listing)
            else:
                await self._edit(message, listing)
        except (PeerError, Refused) as error:
            note(message, error)
            await self._desk.settle(message, self._failed, error)

    async def _edit(self, message: Message, listing: Listing) -> None:
        """Make an edit that does no harm when it is made twice."""
        try:
            answer = await in_time(self._sent(message, listing))
        except (NotReached, Throttled):
            raise
        except PeerError as error:
            note(message, error)
            await self._ask(message, listing, error)
        else:
            await self._desk.settle(message, self._made, answer)

    async def _sent(self, message: Message, listing: Listing) -> Answer | None:
        """Send an edit; the request as it then is, as far as anybody tells."""
        change, request_id = edits.change_of(message.body), listing.request_id or ""
        body = edits.body_of(change, listing, self._addresses, self._desk.now())
        told = await self._client.edit(request_id, body)
        answer = await seen(self._client, request_id) or told
        if answer is None and listing.answer is not None:
            return edits.assumed(listing.answer, change)
        return answer

    async def _ask(self, message: Message, listing: Listing, error: PeerError) -> None:
        """See whether an edit was made of which no answer came; raise `error` if nobody can say."""
        change = edits.change_of(message.body)
        body = edits.body_of(change, listing, self._addresses, self._desk.now())
        try:
            answer, told = await self._client.whole(listing.request_id or "")
        except NotFound:
            raise
        except (PeerError, Refused):
            raise error from None
        is_made = edits.is_made(change, body, answer, told)
        await self._desk.settle(message, self._made if is_made else self._unchanged, answer)

    async def _take_out(self, message: Message, listing: Listing) -> None:
        """Take units out: counted first, then taken, and in doubt counted again."""
        body = message.body
        if "before" not in body:
            answer = await in_time(self._client.get(listing.request_id or ""))
            await self._desk.settle(message, self._counted, answer)
        elif "lost_at" in body or message.uncertain or message.attempts > 1:
            await self._compare(message, listing)
        else:
            try:
                known = await in_time(self._sent(message, listing))
            except (NotReached, Throttled):
                raise
            except PeerError as error:
                note(message, error)
                await self._desk.settle(message, self._doubted, None)
            else:
                await self._desk.settle(message, self._made, known)

    async def _compare(self, message: Message, listing: Listing) -> None:
        """See whether units are gone that were to be taken out, or look again later."""
        try:
            answer = await in_time(self._client.get(listing.request_id or ""))
        except PeerError as error:
            note(message, error)
            await self._desk.settle(message, self._doubted, None)
            return
        now, wanted = self._desk.now(), edits.number(edits.change_of(message.body))
        later = edits.Stock.of(answer, listing.paid_count)
        gone = edits.Stock(**message.body["before"]).taken_out(later)
        settled = now - message.body.get("lost_at", now) >= SETTLING
        if gone == wanted and (later.is_exact or settled):
            await self._desk.settle(message, self._made, answer)
        elif gone == 0 and settled:
            await self._desk.settle(message, self._unchanged, answer)
        else:
            await self._desk.settle(message, self._doubted, answer)

    def _counted(self, tx: Transaction, message: Message, answer: Answer) -> None:
        """Go on to take units out; what is there now is what doubts are settled by."""
        store.set_answer(tx, message.body["listing"], answer)
        listing = listing_of(tx, message)
        problem = edits.problem_of(listing, edits.change_of(message.body))
        if waiting.is_doubted(tx, self._desk.queues, listing.id):
            problem = "units-doubted"
        if problem is None:
            before = edits.Stock.of(answer, listing.paid_count)
            self._desk.go_on(tx, message, {"before": before.to_json()})
            return
        self._desk.refresh(tx, listing.id)
        left, name = answer.remaining_units or 0, escaped(listing.wish.name)
        self._desk.tell(tx, message, problem, name=name, left=left)

    def _made(self, tx: Transaction, message: Message, answer: Answer | None) -> None:
        """Keep what is another now, and say so."""
        listing, now = listing_of(tx, message), self._desk.now()
        change = edits.change_of(message.body)
        wish = edits.wished(listing.wish, change)
        store.set_wish(tx, listing.id, wish)
        if change.field == "picture":
            _keep_picture(tx, listing, wish)
        if change.field == "end" and end_after(wish, now) == wish.ends_at:
            store.set_state(tx, listing.id, store.LIVE)
        if answer is not None:
            store.set_answer(tx, listing.id, answer)
        values = edits.known(listing.wish, change.field), edits.known(wish, change.field)
        history.edited(tx, listing, change.field, values, now)
        self._desk.refresh(tx, listing.id)
        seller = store.seller(tx, listing.seller_id, message.body["language"], now)
        shown = card_of(listing_of(tx, message), now)
        self._desk.say(tx, message, saved(shown, change, seller, now))
        if change.field == "units":  # the last that was left may be among them
            telling.settle(tx, self._desk.queues, listing.id, now)

    def _unchanged(self, tx: Transaction, message: Message, answer: Answer) -> None:
        """Say that an edit whose answer was lost was not made, when that was asked."""
        listing = listing_of(tx, message)
        store.set_answer(tx, listing.id, answer)
        self._desk.refresh(tx, listing.id)
        self._desk.tell(tx, message, "edit-unchanged", name=escaped(listing.wish.name))

    def _doubted(self, tx: Transaction, message: Message, answer: Answer | None) -> None:
        """Look again later; the seller hears once that it takes a while, and of the end."""
        now, body, listing = self._desk.now(), message.body, listing_of(tx, message)
        name, tries = escaped(listing.wish.name), body.get("tries", 0)
        lost_at = min(body.get("lost_at", now), now)
        if now - lost_at > DOUBT:
            if answer is not None:
                store.set_answer(tx, listing.id, answer)
            self._desk.refresh(tx, listing.id)
            self._desk.tell(tx, message, "units-unknown", name=name)
            return
        if tries == 1:
            self._desk.tell(tx, message, "units-doubted", name=name)
        doubt: dict[str, Any] = {"lost_at": lost_at, "tries": tries + 1}
        self._desk.again(tx, body | doubt, wait(tries, None))

    def _failed(self, tx: Transaction, message: Message, error: Exception) -> None:
        """Say why an edit was not made; what another value may mend is asked anew."""
        self._desk.failed(tx, message, error)
        if isinstance(error, Refused) and not isinstance(error, IN_VAIN):
            self._reopen(tx, message, listing_of(tx, message))

    def _reopen(self, tx: Transaction, message: Message, listing: Listing) -> None:
        """Ask anew for the value that was refused."""
        seller = store.seller(tx, listing.seller_id, message.body["language"], self._desk.now())
        current = store.draft(tx, listing.chat_id, listing.seller_id)
        field = edits.change_of(message.body).field
        outcome = conversation.edit_form(
            store.short_id(6),
            edits.asked_about(listing, field),
            field,
            seller,
            current=current,
        )
        self._desk.ask(tx, message, outcome)


def _keep_picture(tx: Transaction, listing: Listing, wish: Wish) -> None:
    """Keep the picture that a request has from now on; nobody needs the one it had."""
    if wish.image is not None:
        images.keep_image(tx, wish.image, listing.seller_id)
    if listing.wish.image not in (None, wish.image):
        images.let_go(tx, listing.wish.image)
