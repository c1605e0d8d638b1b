"""Edits of a request at the service: made once, told as they were made.

An edit made twice is made once, but for units that are taken out. Those are counted
before, so that a lost answer leaves a way to see whether they are gone; what can't be
seen at once is looked at again, for the server may still be at work and payments on
their way to us. Only what the server did changes what the listing says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.alerts import delivery
from bot.chat.cards.menus import saved_reply
from bot.chat.cards.request_card import card_of
from bot.chat.fields.registry import EDITS, ENDS, PICTURE, UNITS
from bot.chat.forms.existing import edit_form
from bot.chat.messages.reply import escaped
from bot.chat.requests import audit_trail, edit_rules
from bot.chat.requests.change import end_after, seen
from bot.chat.requests.create import SETTLING
from bot.chat.requests.create_body import edit_body
from bot.chat.requests.outcomes import listing_of
from bot.chat.requests.retry import in_time, note, wait
from bot.chat.store import listings, pending, seller_images, sellers
from bot.chat.store.listings import LIVE
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
    from bot.chat.model.answers import Answer
    from bot.chat.model.wish import Wish
    from bot.chat.provider.client import Client
    from bot.chat.requests.edit_rules import Addresses
    from bot.chat.requests.outcomes import Desk
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message

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
            if EDITS[edit_rules.change_of(message.body).field] is UNITS:
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
        change, request_id = edit_rules.change_of(message.body), listing.request_id or ""
        body = edit_body(change, listing, self._addresses, self._desk.now())
        told = await self._client.edit(request_id, body)
        answer = await seen(self._client, request_id) or told
        if answer is None and listing.answer is not None:
            return edit_rules.assumed(listing.answer, change)
        return answer

    async def _ask(self, message: Message, listing: Listing, error: PeerError) -> None:
        """See whether an edit was made of which no answer came; raise `error` if nobody can say."""
        change = edit_rules.change_of(message.body)
        body = edit_body(change, listing, self._addresses, self._desk.now())
        try:
            answer, told = await self._client.get_with_fields(listing.request_id or "")
        except NotFound:
            raise
        except (PeerError, Refused):
            raise error from None
        is_made = edit_rules.is_made(change, body, answer, told)
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
        now, wanted = self._desk.now(), edit_rules.number(edit_rules.change_of(message.body))
        later = edit_rules.Stock.of(answer, listing.paid_count)
        gone = edit_rules.Stock(**message.body["before"]).taken_out(later)
        settled = now - message.body.get("lost_at", now) >= SETTLING
        if gone == wanted and (later.is_exact or settled):
            await self._desk.settle(message, self._made, answer)
        elif gone == 0 and settled:
            await self._desk.settle(message, self._unchanged, answer)
        else:
            await self._desk.settle(message, self._doubted, answer)

    def _counted(self, tx: Transaction, message: Message, answer: Answer) -> None:
        """Go on to take units out; what is there now is what doubts are settled by."""
        listings.set_answer(tx, message.body["listing"], answer)
        listing = listing_of(tx, message)
        problem = edit_rules.problem_of(listing, edit_rules.change_of(message.body))
        if pending.is_removal_uncertain(tx, self._desk.queues, listing.id):
            problem = "units-doubted"
        if problem is None:
            before = edit_rules.Stock.of(answer, listing.paid_count)
            self._desk.go_on(tx, message, {"before": before.to_json()})
            return
        self._desk.refresh(tx, listing.id)
        left, name = answer.remaining_units or 0, escaped(listing.wish.name)
        self._desk.tell(tx, message, problem, name=name, left=left)

    def _made(self, tx: Transaction, message: Message, answer: Answer | None) -> None:
        """Keep what is another now, and say so."""
        listing, now = listing_of(tx, message), self._desk.now()
        change = edit_rules.change_of(message.body)
        wish = edit_rules.wished(listing.wish, change)
        listings.set_wish(tx, listing.id, wish)
        if EDITS[change.field] is PICTURE:
            _keep_picture(tx, listing, wish)
        if EDITS[change.field] is ENDS and end_after(wish, now) == wish.ends_at:
            listings.set_state(tx, listing.id, LIVE)
        if answer is not None:
            listings.set_answer(tx, listing.id, answer)
        values = edit_rules.known(listing.wish, change.field), edit_rules.known(wish, change.field)
        audit_trail.record_edit(tx, listing, change.field, values, now)
        self._desk.refresh(tx, listing.id)
        seller = sellers.ensure_seller(tx, listing.seller_id, message.body["language"], now)
        shown = card_of(listing_of(tx, message), now)
        self._desk.say(tx, message, saved_reply(shown, change, seller, now))
        if EDITS[change.field] is UNITS:  # the last that was left may be among them
            delivery.announce_ended_drop(tx, self._desk.queues, listing.id, now)

    def _unchanged(self, tx: Transaction, message: Message, answer: Answer) -> None:
        """Say that an edit whose answer was lost was not made, when that was asked."""
        listing = listing_of(tx, message)
        listings.set_answer(tx, listing.id, answer)
        self._desk.refresh(tx, listing.id)
        self._desk.tell(tx, message, "edit-unchanged", name=escaped(listing.wish.name))

    def _doubted(self, tx: Transaction, message: Message, answer: Answer | None) -> None:
        """Look again later; the seller hears once that it takes a while, and of the end."""
        now, body, listing = self._desk.now(), message.body, listing_of(tx, message)
        name, tries = escaped(listing.wish.name), body.get("tries", 0)
        lost_at = min(body.get("lost_at", now), now)
        if now - lost_at > DOUBT:
            if answer is not None:
                listings.set_answer(tx, listing.id, answer)
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
        seller = sellers.ensure_seller(
            tx, listing.seller_id, message.body["language"], self._desk.now()
        )
        current = sellers.find_draft(tx, listing.chat_id, listing.seller_id)
        field = edit_rules.change_of(message.body).field
        outcome = edit_form(
            listings.short_id(6),
            edit_rules.asked_about(listing, field),
            field,
            seller,
            current=current,
        )
        self._desk.ask(tx, message, outcome)


def _keep_picture(tx: Transaction, listing: Listing, wish: Wish) -> None:
    """Keep the picture that a request has from now on; nobody needs the one it had."""
    if wish.image is not None:
        seller_images.keep_image(tx, wish.image, listing.seller_id)
    if listing.wish.image not in (None, wish.image):
        seller_images.release_image(tx, listing.wish.image)
