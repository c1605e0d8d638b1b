"""The calls that the chat makes of the service, out of their queue.

A request is written down as a listing before it is created: `creating` says how it
is then made once, `changing` how it is stopped, resumed and deleted, `editing` how it
is edited. Here stands when a call is made again, and what the seller hears of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat import conversation, history, store
from bot.chat.changing import STATES, Outcome, change, end_after, look
from bot.chat.creating import (
    SETTLING,
    TIDYING,
    Attempt,
    Progress,
    problem_of,
    request_body,
    tidy,
)
from bot.chat.desk import Desk, delete, listing_of, nothing
from bot.chat.editing import Editing
from bot.chat.edits import Addresses
from bot.chat.replies import escaped
from bot.chat.troubles import in_time, note, trouble, wait
from bot.core.errors import (
    EmailUnavailable,
    InvalidBody,
    NotFound,
    PeerError,
    Refused,
    Unauthorized,
)
from bot.core.texts import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.answers import Answer
    from bot.chat.client import Client
    from bot.chat.queues import Queues
    from bot.chat.store import Listing
    from bot.core.db import Database, Transaction
    from bot.core.outbox import Message

PATIENCE = 20 * 3600 * 1000
"""Milliseconds after which a create is given up; the service knows its key for 24 hours."""


class Calls:
    """Performs calls.

    `receiver` is the address below which listings' webhooks arrive, `images` the one below which
    sellers' pictures are. `settling` is 0 for a server that is known to take an Idempotency-Key.
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
    ) -> None:
        self._db = db
        self._client = client
        self._desk = Desk(db, queues, now)
        self._addresses = Addresses(receiver, images)
        self._editing = Editing(self._desk, client, self._addresses)
        self._now = now
        self._instrument = instrument
        self._settling = settling

    async def perform(self, message: Message) -> None:
        """Make one call and settle what follows from its outcome; raises StorageError."""
        listing = await self._db.read(lambda tx: store.listing(tx, message.body["listing"]))
        if listing is None:
            await self._desk.settle(message, nothing)
            return
        match message.body["call"]:
            case "create":
                await self._create(message, listing)
            case "tidy":
                await self._tidy(message, listing)
            case _ if listing.state == store.DELETED:
                await self._desk.settle(message, self._absent)
            case "edit":
                await self._editing.perform(message, listing)
            case "look":
                await self._look(message, listing)
            case call:
                await self._change(message, listing, call)

    async def _create(self, message: Message, listing: Listing) -> None:
        now = self._now()
        progress = Progress.of(message, now)
        paid = await self._db.read(lambda tx: store.paid_requests(tx, listing.id))
        attempt = Attempt(self._client, listing, progress, paid)
        settled = progress.unsettled(now, self._settling) == 0
        body = request_body(listing, self._addresses, self._instrument, now)
        try:
            made = await in_time(attempt.run(body, settled=settled))
        except (PeerError, Refused) as error:
            note(message, error)
            progress = attempt.progress_after(error, self._now())
            end: Callable[..., None] = self._postponed
            if attempt.is_final(error):
                end = self._refused
            await self._desk.settle(message, end, progress, error)
        else:
            if made is None:
                await self._desk.settle(message, self._postponed, progress, None)
            else:
                await self._desk.settle(message, self._made, made, attempt)

    async def _tidy(self, message: Message, listing: Listing) -> None:
        paid = await self._db.read(lambda tx: store.paid_requests(tx, listing.id))
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
            await self._desk.settle(message, self._seen, Outcome(state=store.DELETED))
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
        store.set_answer(tx, listing_id, made)
        store.set_state(tx, listing_id, store.LIVE)
        history.made(tx, listing_of(tx, message), made.id, self._now())
        self._desk.refresh(tx, listing_id)
        if attempt.leaves_more and self._settling:
            self._tidy_later(tx, message)
        self._desk.show(tx, message)

    def _refused(
        self, tx: Transaction, message: Message, progress: Progress, error: Refused
    ) -> None:
        """End a create that is of no use again; its form is asked anew where that may help."""
        listing = listing_of(tx, message)
        store.set_state(tx, listing.id, store.FAILED)
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
        seller = store.seller(tx, listing.seller_id, language, self._now())
        current = store.draft(tx, listing.chat_id, listing.seller_id)
        outcome = conversation.reopen(
            listing.wish, store.short_id(6), problem.field, words, seller, current=current
        )
        self._desk.ask(tx, message, outcome)

    def _postponed(
        self, tx: Transaction, message: Message, progress: Progress, error: Exception | None
    ) -> None:
        """Try again later; the seller hears once of each kind of trouble, and of the end."""
        now, listing = self._now(), listing_of(tx, message)
        if now - progress.since > PATIENCE:
            store.set_state(tx, listing.id, store.FAILED)
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
            store.set_answer(tx, listing_id, outcome.answer)
        if outcome.state == store.DELETED:
            delete(tx, listing_of(tx, message))
        elif outcome.state is not None:
            store.set_state(tx, listing_id, outcome.state)
        self._desk.refresh(tx, listing_id)

    def _changed(self, tx: Transaction, message: Message, outcome: Outcome) -> None:
        listing = listing_of(tx, message)
        self._seen(tx, message, outcome)
        if message.body["call"] == "resume" and outcome.state == store.LIVE:
            ends_at = end_after(listing.wish, self._now())
            store.set_wish(tx, listing.id, replace(listing.wish, ends_at=ends_at))
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
