"""The calls that the chat makes of the service, out of their queue.

A request is written down as a listing before it is created: `creating` says how it
is then made once, `changing` how it is stopped, resumed and deleted, `editing` how it
is edited. Here stands when a call is made again, and what the seller hears of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.forms.existing import reopen
from bot.chat.messages.reply import escaped
from bot.chat.provider.dialects import DIALECTS, Dialect, dialects_to_try, instrument_of
from bot.chat.requests import audit_trail
from bot.chat.requests.change import STATES, Outcome, change, end_after, look
from bot.chat.requests.create import (
    SETTLING,
    TIDYING,
    Attempt,
    NoDialect,
    Order,
    OtherPrice,
    problem_of,
    tidy,
)
from bot.chat.requests.create_body import request_body
from bot.chat.requests.create_progress import Progress
from bot.chat.requests.edit import Editing
from bot.chat.requests.edit_rules import Addresses
from bot.chat.requests.outcomes import Desk, delete, listing_of, nothing
from bot.chat.requests.retry import in_time, note, trouble, wait
from bot.chat.store import listings, received_payments, sellers
from bot.chat.store import server_dialects as stored_dialects
from bot.chat.store.listings import DELETED, FAILED, LIVE
from bot.chat.store.server_dialects import mark_price_warning, remember_dialect
from bot.core.errors import (
    EmailUnavailable,
    FieldProblem,
    InvalidBody,
    NotFound,
    PeerError,
    Refused,
    Unauthorized,
    Unreachable,
)
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bot.chat.messages.queues import Queues
    from bot.chat.model.answers import Answer
    from bot.chat.provider.client import Client
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Database, Transaction
    from bot.core.outbox.outbox import Message

PATIENCE = 20 * 3600 * 1000
"""Milliseconds after which a create is given up; the service knows its key for 24 hours."""

UNASKED = ("tidy", "look")
"""Calls that nobody asked for, so nobody hears of them."""


class Calls:
    """Performs calls.

    `receiver` is the address below which listings' webhooks arrive, `images` the one below which
    sellers' pictures are. `settling` is 0 for a server that is known to take an Idempotency-Key.
    `server` is the address of another server, whose dialect is found out; None for our own.
    """

    def __init__(
        self,
        db: Database,
        client: Client,
        queues: Queues,
        now: Callable[[], int],
        *,
        receiver: str,
        images: str,
        instrument: str | None = None,
        settling: int = SETTLING,
        server: str | None = None,
    ) -> None:
        self._db = db
        self._client = client
        self._desk = Desk(db, queues, now)
        self._addresses = Addresses(receiver, images)
        self._editing = Editing(self._desk, client, self._addresses)
        self._now = now
        self._instrument = instrument
        self._settling = settling
        self._server = server

    async def perform(self, message: Message) -> None:
        """Make one call and settle what follows from its outcome; raises StorageError."""
        listing = await self._db.read(lambda tx: listings.find_listing(tx, message.body["listing"]))
        if listing is None:
            await self._desk.settle(message, nothing)
            return
        match message.body["call"]:
            case "create":
                await self._create(message, listing)
            case "tidy":
                await self._tidy(message, listing)
            case _ if listing.state == DELETED:
                await self._desk.settle(message, self._absent)
            case "edit":
                await self._editing.perform(message, listing)
            case "look":
                await self._look(message, listing)
            case call:
                await self._change(message, listing, call)

    def buried(self, tx: Transaction, message: Message) -> None:
        """Notify whoever waits for a call that was set aside: its outcome is not known."""
        listing, call = listings.find_listing(tx, message.body["listing"]), message.body["call"]
        if listing is None or call in UNASKED:
            return
        if call != "create":
            self._failed(tx, message, Unreachable("no attempt came to an end"))
            return
        listings.set_state(tx, listing.id, FAILED)
        self._desk.tell(tx, message, "service-given-up", name=escaped(listing.wish.name))
        self._tidy_later(tx, message)

    async def _create(self, message: Message, listing: Listing) -> None:
        now = self._now()
        progress = Progress.of(message, now)
        order = await self._db.read(lambda tx: self._order(tx, listing))
        attempt = Attempt(self._client, order, progress)
        settled = progress.unsettled(now, self._settling) == 0

        def write(dialect: Dialect) -> Mapping[str, Any]:
            return request_body(listing, self._addresses, self._instrument, now, dialect)

        try:
            made = await in_time(attempt.run(write, settled=settled))
        except NoDialect as error:
            note(message, error)
            await self._desk.settle(message, self._misunderstood, progress, attempt)
        except (OtherPrice, PeerError, Refused) as error:
            note(message, error)
            progress = attempt.progress_after(error, self._now())
            end: Callable[..., None] = self._postponed
            if attempt.is_misspelled(error):
                end = self._respelled
            elif attempt.is_final(error):
                end = self._refused
            await self._desk.settle(message, end, progress, error)
        else:
            if made is None:
                await self._desk.settle(message, self._postponed, progress, None)
            else:
                await self._desk.settle(message, self._made, made, attempt)

    def _order(self, tx: Transaction, listing: Listing) -> Order:
        """Return what is to be made, in the dialects that its server may speak."""
        instrument = instrument_of(listing.wish, self._instrument)
        if self._server is None:
            dialects: tuple[Dialect, ...] = DIALECTS[:1]
        else:
            known = stored_dialects.known_dialect(tx, self._server)
            dialects = dialects_to_try(known, listing.wish, instrument)
        return Order(
            listing, instrument, dialects, received_payments.paid_request_ids(tx, listing.id)
        )

    async def _tidy(self, message: Message, listing: Listing) -> None:
        paid = await self._db.read(lambda tx: received_payments.paid_request_ids(tx, listing.id))
        try:
            await in_time(tidy(self._client, listing, paid))
        except (PeerError, Refused) as error:
            note(message, error)
            end = self._tidy_again if isinstance(error, PeerError) else nothing
            await self._desk.settle(message, end)
        else:
            await self._desk.settle(message, nothing)

    async def _look(self, message: Message, listing: Listing) -> None:
        """See how a request stands, for its cards: nobody asked, so nobody is told."""
        try:
            outcome = await in_time(look(self._client, listing, self._now()))
        except NotFound:
            await self._desk.settle(message, self._seen, Outcome(state=DELETED))
        except (PeerError, Refused) as error:
            note(message, error)
            await self._desk.settle(message, nothing)
        else:
            await self._desk.settle(message, self._seen, outcome)

    async def _change(self, message: Message, listing: Listing, call: str) -> None:
        now, client = self._now(), self._client
        asking = (
            change(client, listing, call, now) if call in STATES else look(client, listing, now)
        )
        try:
            outcome = await in_time(asking)
        except (PeerError, Refused) as error:
            note(message, error)
            await self._desk.settle(message, self._failed, error)
        else:
            await self._desk.settle(message, self._changed, outcome)

    def _made(self, tx: Transaction, message: Message, made: Answer, attempt: Attempt) -> None:
        listing_id = message.body["listing"]
        listings.set_answer(tx, listing_id, made)
        listings.set_state(tx, listing_id, LIVE)
        audit_trail.record_made(tx, listing_of(tx, message), made.id, self._now())
        self._desk.refresh(tx, listing_id)
        if attempt.leaves_more and self._settling:
            self._tidy_later(tx, message)
        self._desk.show(tx, message)
        self._learn(tx, message, made, attempt)

    def _learn(self, tx: Transaction, message: Message, made: Answer, attempt: Attempt) -> None:
        """Remember how the server is understood; the seller hears once that it tells no prices."""
        listing = listing_of(tx, message)
        if attempt.is_unchecked(made):
            if mark_price_warning(tx, self._server or "", listing.seller_id):
                self._desk.tell(tx, message, "service-price-untold")
        elif self._server is not None and attempt.spoken is not None:
            is_first = attempt.spoken is DIALECTS[0]
            name = None if is_first else attempt.spoken.name
            is_denominated = listing.wish.currency != instrument_of(listing.wish, self._instrument)
            if is_denominated and stored_dialects.known_dialect(tx, self._server) != name:
                remember_dialect(tx, self._server, name)

    def _respelled(
        self, tx: Transaction, message: Message, progress: Progress, _error: Exception
    ) -> None:
        """Go on at once with the next dialect; what the last one made is deleted first."""
        self._again(tx, message, progress, 0)

    def _misunderstood(
        self, tx: Transaction, message: Message, progress: Progress, attempt: Attempt
    ) -> None:
        """End a create that every dialect failed; the first one's failure is what is said."""
        listing, failure = listing_of(tx, message), progress.failure
        if failure is not None and failure.price is None:
            field, words = failure.refusal
            error = InvalidBody(words, [FieldProblem(field, words)])
            self._refused(tx, message, progress, error)
            return
        listings.set_state(tx, listing.id, FAILED)
        if progress.lost:
            self._tidy_later(tx, message)
        self._desk.tell(
            tx, message, "service-other-price",
            name=escaped(listing.wish.name),
            told=escaped(failure.price if failure else ""),
            price=escaped(_price(listing, message.body["language"])),
            left="yes" if attempt.is_left else "no",
        )  # fmt: skip

    def _refused(
        self, tx: Transaction, message: Message, progress: Progress, error: Refused
    ) -> None:
        """End a create that is of no use again; its form is asked anew where that may help."""
        listing = listing_of(tx, message)
        listings.set_state(tx, listing.id, FAILED)
        if progress.lost:
            self._tidy_later(tx, message)
        if isinstance(error, InvalidBody | EmailUnavailable):
            self._reopen(tx, message, listing, error)
        elif isinstance(error, Unauthorized):
            self._desk.tell(tx, message, "service-locked", name=escaped(listing.wish.name))
        else:
            self._desk.refused(tx, message, error)

    def _reopen(self, tx: Transaction, message: Message, listing: Listing, error: Refused) -> None:
        """Go back to the step of the form that a refusal is about."""
        language = message.body["language"]
        problem = problem_of(error)
        words = problem.message
        if isinstance(error, EmailUnavailable):
            words = t(language, "email-unavailable")
        seller = sellers.ensure_seller(tx, listing.seller_id, language, self._now())
        current = sellers.find_draft(tx, listing.chat_id, listing.seller_id)
        outcome = reopen(
            listing.wish, listings.short_id(6), problem.field, words, seller, current=current
        )
        self._desk.ask(tx, message, outcome)

    def _postponed(
        self, tx: Transaction, message: Message, progress: Progress, error: Exception | None
    ) -> None:
        """Try again later; the seller hears once of each kind of trouble, and of the end."""
        now, listing = self._now(), listing_of(tx, message)
        if now - progress.since > PATIENCE:
            listings.set_state(tx, listing.id, FAILED)
            self._desk.tell(tx, message, "service-given-up", name=escaped(listing.wish.name))
            if progress.lost:
                self._tidy_later(tx, message)
            return
        words = trouble(error)
        if words not in progress.told and not (error is None and progress.told):
            self._desk.tell(tx, message, words, name=escaped(listing.wish.name))
            progress = replace(progress, told=(*progress.told, words))
        pause = wait(progress.tries, error)
        left = progress.unsettled(now, self._settling)
        self._again(tx, message, progress, min(pause, left) if left and error is None else pause)

    def _tidy_later(self, tx: Transaction, message: Message) -> None:
        """Look once more for what the server made late."""
        fresh = {"call": "tidy", "progress": Progress(self._now()).to_json()}
        self._desk.again(tx, message.body | fresh, TIDYING)

    def _tidy_again(self, tx: Transaction, message: Message) -> None:
        progress = Progress.of(message, self._now())
        if self._now() - progress.since <= PATIENCE:
            self._again(tx, message, progress, wait(progress.tries, None))

    def _again(self, tx: Transaction, message: Message, progress: Progress, pause: int) -> None:
        told = replace(progress, tries=progress.tries + 1).to_json()
        self._desk.again(tx, message.body | {"progress": told}, pause)

    def _seen(self, tx: Transaction, message: Message, outcome: Outcome) -> None:
        """Keep what is known after a call, and let the listing's messages show it."""
        listing_id = message.body["listing"]
        if outcome.answer is not None:
            listings.set_answer(tx, listing_id, outcome.answer)
        if outcome.state == DELETED:
            delete(tx, listing_of(tx, message))
        elif outcome.state is not None:
            listings.set_state(tx, listing_id, outcome.state)
        self._desk.refresh(tx, listing_id)

    def _changed(self, tx: Transaction, message: Message, outcome: Outcome) -> None:
        listing = listing_of(tx, message)
        self._seen(tx, message, outcome)
        if message.body["call"] == "resume" and outcome.state == LIVE:
            ends_at = end_after(listing.wish, self._now())
            listings.set_wish(tx, listing.id, replace(listing.wish, ends_at=ends_at))
        self._desk.show(tx, message)
        if outcome.words is not None:
            self._desk.tell(tx, message, outcome.words, name=escaped(listing.wish.name))

    def _failed(self, tx: Transaction, message: Message, error: Exception) -> None:
        """Say that a call was not made; where it only asked, what was known before is shown."""
        name = escaped(listing_of(tx, message).wish.name)
        call = message.body["call"]
        if isinstance(error, Refused) or call not in ("card", "refresh"):
            self._desk.failed(tx, message, error)
        elif call == "card":
            self._desk.tell(tx, message, "service-stale", name=name)
            self._desk.show(tx, message)
        else:
            self._desk.tell(tx, message, "service-no-news", name=name)

    def _absent(self, tx: Transaction, message: Message) -> None:
        """Answer a press on what was deleted since."""
        if message.body["call"] == "delete-yes":
            self._desk.show(tx, message)
        else:
            name = escaped(listing_of(tx, message).wish.name)
            self._desk.tell(tx, message, "service-gone", name=name)


def _price(listing: Listing, language: str) -> str:
    """Write what the seller wished for."""
    return format_money(listing.wish.amount, listing.wish.currency, language)
