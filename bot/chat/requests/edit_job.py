"""The job that edits a field of a request; making it twice does no harm.

Only what the server did changes the listing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bot.chat.alerts import delivery
from bot.chat.cards.menus import saved_reply
from bot.chat.cards.request_card import card_of
from bot.chat.fields.registry import EDITS, ENDS, GOODS, PICTURE, UNITS
from bot.chat.forms.form import edit_form
from bot.chat.messages.jobs import AddCodes, EditRequest
from bot.chat.messages.queues import BACKGROUND
from bot.chat.requests import audit_trail, edit_rules
from bot.chat.requests.change import end_after, fetch
from bot.chat.requests.job_failures import RETRIES, in_time, log_failure
from bot.chat.requests.request_bodies import edit_body
from bot.chat.store import listings, seller_images, sellers
from bot.chat.store.listings import LIVE
from bot.core.errors import (
    BuyersWait,
    NotFound,
    NotLimited,
    NotReached,
    PeerError,
    Refused,
    Throttled,
    Unauthorized,
)

if TYPE_CHECKING:
    from bot.chat.messages.jobs import Job, RemoveUnits
    from bot.chat.model.answers import Answer
    from bot.chat.model.wish import Wish
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.chat.requests.request_bodies import PaymentServer
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message

GOODS_ATTEMPTS = 6
"""Attempts at an edit of what buyers get: no answer shows if it was made, repeating it is safe."""

NO_OTHER_VALUE = (NotFound, Unauthorized, NotLimited)
"""Refusals of an edit that no other value helps against."""


class EditHandler:
    """Performs EditRequest, and what it shares with RemoveUnits."""

    def __init__(self, outcomes: Outcomes, server: PaymentServer) -> None:
        self._outcomes = outcomes
        self._server = server

    async def goes_behind(self, message: Message) -> bool:
        """Queue a job about goods behind an older edit of them that is repeated; False without."""
        job: Job = message.body
        is_edit = isinstance(job, EditRequest) and EDITS[job.field] is GOODS
        is_repeated = message.lane.startswith(BACKGROUND)
        if is_repeated or not (is_edit or isinstance(job, AddCodes)):
            return False
        return await self._outcomes.queue_behind(message, _goods_lane(job.listing_id))

    async def edit(self, message: Message, listing: Listing) -> None:
        """Send an edit; after a lost answer, find out whether it was made."""
        job = message.body
        try:
            try:
                answer = await in_time(self.send(message, listing))
            except (NotReached, Throttled):
                raise
            except PeerError as error:
                log_failure(job, error)
                if not await self._repeats(message, error):
                    await self._find_out(message, listing, error)
            else:
                await self._outcomes.finish(message, self.store, answer)
        except (PeerError, Refused) as error:
            log_failure(job, error)
            await self._outcomes.finish(message, self.fail, error)

    async def send(self, message: Message, listing: Listing) -> Answer | None:
        """Send an edit; return the request afterwards, as far as it is known."""
        change, request_id = edit_rules.change_of(message.body), listing.request_id or ""
        body = edit_body(change, listing, self._server.addresses, self._outcomes.now())
        sent = await self._server.client.keyed(message.id).edit(request_id, body)
        answer = await fetch(self._server.client, request_id) or sent
        if answer is None and listing.answer is not None:
            return edit_rules.assume_edit(listing.answer, change)
        return answer

    async def _repeats(self, message: Message, error: PeerError) -> bool:
        """Retry an edit of what buyers get; return False for other edits.

        Later edits of that and codes to add wait for it, so that the newest goods win; hence never
        for longer than a minute, whatever the service asks. Raises `error` after the last attempt.
        """
        job: EditRequest = message.body
        if EDITS[job.field] is not GOODS:
            return False
        if message.attempts >= GOODS_ATTEMPTS:
            raise error
        delay = RETRIES.delay_or_last(message.attempts)
        text = None if job.is_told else "goods-service-down"
        lane = _goods_lane(job.listing_id)
        await self._outcomes.retry(message, replace(job, is_told=True), delay, text, lane=lane)
        return True

    async def _find_out(self, message: Message, listing: Listing, error: PeerError) -> None:
        """Fetch a request to find out whether an edit was made; raise `error` if that fails."""
        change = edit_rules.change_of(message.body)
        body = edit_body(change, listing, self._server.addresses, self._outcomes.now())
        try:
            answer, sent = await self._server.client.get_with_fields(listing.request_id or "")
        except NotFound:
            raise
        except (PeerError, Refused):
            raise error from None
        is_made = edit_rules.is_edit_made(change, body, answer, sent)
        await self._outcomes.finish(message, self.store if is_made else self.keep, answer)

    def store(self, tx: Transaction, job: EditRequest | RemoveUnits, answer: Answer | None) -> None:
        """Store an edit that was made, and confirm it."""
        listing, now = listings.get_listing(tx, job.listing_id), self._outcomes.now()
        change = edit_rules.change_of(job)
        wish = edit_rules.apply_edit(listing.wish, change)
        listings.set_wish(tx, listing.id, wish)
        if EDITS[change.field] is PICTURE:
            _replace_picture(tx, listing, wish)
        if EDITS[change.field] is ENDS and end_after(wish, now) == wish.ends_at:
            listings.set_state(tx, listing.id, LIVE)
        is_goods = EDITS[change.field] is GOODS
        self._outcomes.save_answer(tx, listing.id, answer, brings_goods=is_goods)
        values = (
            edit_rules.field_value(listing.wish, change.field),
            edit_rules.field_value(wish, change.field),
        )
        audit_trail.record_edit(tx, listing, change.field, values, now)
        self._outcomes.refresh(tx, listing.id)
        seller = sellers.ensure_seller(tx, listing.seller_id, job.reply_to.language, now)
        shown = card_of(listings.get_listing(tx, listing.id), now)
        self._outcomes.send(tx, job, saved_reply(shown, change, seller, now))
        if EDITS[change.field] is UNITS:  # the last units of the drop may have been removed
            delivery.announce_ended_drop(tx, self._outcomes.queues, listing.id, now)

    def keep(
        self,
        tx: Transaction,
        job: EditRequest | RemoveUnits,
        answer: Answer | None,
        text: str = "edit-unchanged",
    ) -> None:
        """Store the answer about an edit that was not made, and queue the text about it."""
        self._outcomes.save_answer(tx, job.listing_id, answer)
        self._outcomes.refresh(tx, job.listing_id)
        left = answer.remaining_units if answer else None
        self._outcomes.send_text(tx, job, text, left=left or 0)

    def fail(self, tx: Transaction, job: EditRequest | RemoveUnits, error: Exception) -> None:
        """Queue the text about a failed edit; ask for another value if one may help."""
        if isinstance(error, BuyersWait):
            self._outcomes.send_text(tx, job, "goods-awaited")
        else:
            self._outcomes.send_failure(tx, job, error)
        if isinstance(error, Refused) and not isinstance(error, NO_OTHER_VALUE):
            self._reopen(tx, job, listings.get_listing(tx, job.listing_id))

    def _reopen(self, tx: Transaction, job: EditRequest | RemoveUnits, listing: Listing) -> None:
        field = edit_rules.change_of(job).field
        present = edit_rules.request_for_form(listing, field)
        self._outcomes.ask(tx, job, listing, partial(edit_form, present=present, field=field))


def _goods_lane(listing_id: str) -> str:
    """Return the lane of edits of goods that are repeated, and of what waits for them."""
    return f"{BACKGROUND}{listing_id}:goods"


def _replace_picture(tx: Transaction, listing: Listing, wish: Wish) -> None:
    if wish.image is not None:
        seller_images.keep_image(tx, wish.image, listing.seller_id)
    if listing.wish.image not in (None, wish.image):
        seller_images.release_image(tx, listing.wish.image)
