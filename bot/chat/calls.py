"""The calls that the chat makes of the service, out of their queue.

A request is written down as a listing before it is created: `creating` says how it
is then made once, `changing` how it is stopped, resumed and deleted. Here stands
when a call is made again, and what the seller hears of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from bot.chat import conversation, history, store
from bot.chat.cards import card
from bot.chat.changing import STATES, change, look
from bot.chat.creating import (
    SETTLING,
    TIDYING,
    Attempt,
    Progress,
    problem_of,
    request_body,
    tidy,
)
from bot.chat.handlers import changed, said
from bot.chat.queues import AGAIN
from bot.chat.replies import Reply, escaped
from bot.chat.standing import card_of
from bot.core import lanes, outbox
from bot.core.errors import (
    BadAnswer,
    InvalidBody,
    MethodNotAllowed,
    NotFound,
    NotReached,
    PeerError,
    Refused,
    Throttled,
    Unauthorized,
    Unreachable,
    wait_asked_for,
)
from bot.core.texts import t

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.chat.answers import Answer
    from bot.chat.changing import Outcome
    from bot.chat.client import Client
    from bot.chat.queues import Queues
    from bot.chat.store import Listing
    from bot.core.db import Database, Transaction
    from bot.core.outbox import Message

log = structlog.get_logger()
T = TypeVar("T")

LONGEST = 45.0
"""Seconds for one call with all that it asks the server; less than its lease."""

BACKOFF = (1_000, 3_000, 10_000, 30_000, 60_000)
"""Milliseconds until a create is tried again, the last for as long as `PATIENCE` lasts."""

PATIENCE = 20 * 3600 * 1000
"""Milliseconds after which a create is given up; the service knows its key for 24 hours."""

LONGEST_RETRY_AFTER = 3600 * 1000
"""Milliseconds that the service may ask us to wait; a seller waits at the other end."""


class Calls:
    """Performs calls; `receiver` is the address below which listings' webhooks arrive.

    `settling` is 0 for a server that is known to take an Idempotency-Key.
    """

    def __init__(
        self,
        db: Database,
        client: Client,
        queues: Queues,
        now: Callable[[], int],
        *,
        receiver: str,
        instrument: str | None = None,
        settling: int = SETTLING,
    ) -> None:
        self._db = db
        self._client = client
        self._queues = queues
        self._receiver = receiver
        self._now = now
        self._instrument = instrument
        self._settling = settling

    async def perform(self, message: Message) -> None:
        """Make one call and settle what follows from its outcome; raises StorageError."""
        listing = await self._db.read(lambda tx: store.listing(tx, message.body["listing"]))
        if listing is None:
            await self._settle(message, _nothing)
            return
        match message.body["call"]:
            case "create":
                await self._create(message, listing)
            case "tidy":
                await self._tidy(message, listing)
            case _ if listing.state == store.DELETED:
                await self._settle(message, self._absent)
            case call:
                await self._change(message, listing, call)

    async def _create(self, message: Message, listing: Listing) -> None:
        now = self._now()
        progress = Progress.of(message, now)
        paid = await self._db.read(lambda tx: store.paid_requests(tx, listing.id))
        attempt = Attempt(self._client, listing, progress, paid)
        settled = progress.unsettled(now, self._settling) == 0
        body = request_body(listing, self._receiver, self._instrument)
        try:
            made = await _in_time(attempt.run(body, settled=settled))
        except (PeerError, Refused) as error:
            _log(message, error)
            progress = attempt.progress_after(error, self._now())
            end: Callable[..., None] = self._postponed
            if attempt.is_final(error):
                end = self._refused
            await self._settle(message, end, progress, error)
        else:
            if made is None:
                await self._settle(message, self._postponed, progress, None)
            else:
                await self._settle(message, self._made, made, attempt)

    async def _tidy(self, message: Message, listing: Listing) -> None:
        paid = await self._db.read(lambda tx: store.paid_requests(tx, listing.id))
        try:
            await _in_time(tidy(self._client, listing, paid))
        except (PeerError, Refused) as error:
            _log(message, error)
            end = self._tidy_again if isinstance(error, PeerError) else _nothing
            await self._settle(message, end)
        else:
            await self._settle(message, _nothing)

    async def _change(self, message: Message, listing: Listing, call: str) -> None:
        now, client = self._now(), self._client
        asking = (
            change(client, listing, call, now) if call in STATES else look(client, listing, now)
        )
        try:
            outcome = await _in_time(asking)
        except (PeerError, Refused) as error:
            _log(message, error)
            await self._settle(message, self._failed, error)
        else:
            await self._settle(message, self._changed, outcome)

    async def _settle(self, message: Message, follow: Callable[..., None], *known: object) -> None:
        """End the call and do what follows from what is known, unless it is another's by now."""

        def work(tx: Transaction) -> None:
            if outbox.done(tx, self._queues.calls, message, self._now()):
                follow(tx, message, *known)

        await self._db.insist(work)

    def _made(self, tx: Transaction, message: Message, made: Answer, attempt: Attempt) -> None:
        listing_id = message.body["listing"]
        store.set_answer(tx, listing_id, made)
        store.set_state(tx, listing_id, store.LIVE)
        history.made(tx, _listing(tx, message), made.id, self._now())
        if attempt.leaves_more and self._settling:
            self._tidy_later(tx, message)
        self._show(tx, message)

    def _refused(
        self, tx: Transaction, message: Message, progress: Progress, error: Refused
    ) -> None:
        """End a create that is of no use again; its form is asked anew where that may help."""
        listing = _listing(tx, message)
        store.set_state(tx, listing.id, store.FAILED)
        if progress.lost:
            self._tidy_later(tx, message)
        if isinstance(error, InvalidBody):
            self._reopen(tx, message, listing, error)
        elif isinstance(error, Unauthorized):
            self._tell(tx, message, "service-locked", name=escaped(listing.wish.name))
        else:
            self._tell(tx, message, "service-refused", words=escaped(error.message))

    def _reopen(self, tx: Transaction, message: Message, listing: Listing, error: Refused) -> None:
        """Go back to the step of the form that a refusal is about."""
        language = message.body["language"]
        problem = problem_of(error)
        seller = store.seller(tx, listing.seller_id, language, self._now())
        current = store.draft(tx, listing.chat_id, listing.seller_id)
        outcome = conversation.reopen(
            listing.wish, store.short_id(6), problem.field, problem.message, seller, current=current
        )
        store.save_draft(tx, listing.chat_id, listing.seller_id, outcome.draft, self._now())
        for reply in outcome.replies:
            self._put(tx, message, said(reply, language))

    def _postponed(
        self, tx: Transaction, message: Message, progress: Progress, error: Exception | None
    ) -> None:
        """Try again later; the seller hears once of each kind of trouble, and of the end."""
        now, listing = self._now(), _listing(tx, message)
        if now - progress.since > PATIENCE:
            store.set_state(tx, listing.id, store.FAILED)
            self._tell(tx, message, "service-given-up", name=escaped(listing.wish.name))
            if progress.lost:
                self._tidy_later(tx, message)
            return
        words = _trouble(error)
        if words not in progress.told and not (error is None and progress.told):
            self._tell(tx, message, words, name=escaped(listing.wish.name))
            progress = replace(progress, told=(*progress.told, words))
        wait = _wait(progress.tries, error)
        left = progress.unsettled(now, self._settling)
        self._again(tx, message, progress, min(wait, left) if left and error is None else wait)

    def _tidy_later(self, tx: Transaction, message: Message) -> None:
        """Look once more for what the server made late."""
        fresh = {"call": "tidy", "progress": Progress(self._now()).to_json()}
        self._put_again(tx, message.body | fresh, TIDYING)

    def _tidy_again(self, tx: Transaction, message: Message) -> None:
        progress = Progress.of(message, self._now())
        if self._now() - progress.since <= PATIENCE:
            self._again(tx, message, progress, _wait(progress.tries, None))

    def _again(self, tx: Transaction, message: Message, progress: Progress, wait: int) -> None:
        told = replace(progress, tries=progress.tries + 1).to_json()
        self._put_again(tx, message.body | {"progress": told}, wait)

    def _put_again(self, tx: Transaction, body: dict[str, Any], wait: int) -> None:
        """Put a call behind those that people wait for."""
        now, lane = self._now(), f"{AGAIN}{body['listing']}"
        calls = self._queues.calls
        outbox.put(tx, calls, lane, body, now, priority=lanes.NOTICE, due_at=now + wait)

    def _changed(self, tx: Transaction, message: Message, outcome: Outcome) -> None:
        listing = _listing(tx, message)
        if outcome.answer is not None:
            store.set_answer(tx, listing.id, outcome.answer)
        if outcome.state is not None:
            store.set_state(tx, listing.id, outcome.state)
        self._show(tx, message)
        if outcome.words is not None:
            self._tell(tx, message, outcome.words, name=escaped(listing.wish.name))

    def _failed(self, tx: Transaction, message: Message, error: Exception) -> None:
        """Say that a call was not made, or that nobody can say; nothing is claimed."""
        name = escaped(_listing(tx, message).wish.name)
        call = message.body["call"]
        if isinstance(error, NotFound):
            store.set_state(tx, message.body["listing"], store.DELETED)
            self._tell(tx, message, "service-gone", name=name)
        elif isinstance(error, Unauthorized):
            self._tell(tx, message, "service-closed")
        elif isinstance(error, Refused):
            self._tell(tx, message, "service-refused", words=escaped(error.message))
        elif call == "card":
            self._tell(tx, message, "service-stale", name=name)
            self._show(tx, message)
        elif call == "refresh":
            self._tell(tx, message, "service-no-news", name=name)
        elif isinstance(error, NotReached | Throttled):
            self._tell(tx, message, "service-not-done")
        else:
            self._tell(tx, message, "service-silent")

    def _absent(self, tx: Transaction, message: Message) -> None:
        """Answer a press on what was deleted since."""
        if message.body["call"] == "delete-yes":
            self._show(tx, message)
        else:
            name = escaped(_listing(tx, message).wish.name)
            self._tell(tx, message, "service-gone", name=name)

    def _show(self, tx: Transaction, message: Message) -> None:
        """Show the listing as it is now: its card anew where that was asked for, else in place."""
        listing, language = _listing(tx, message), message.body["language"]
        if listing.state == store.DELETED:
            words = t(language, "listing-deleted", name=escaped(listing.wish.name))
            self._put(tx, message, _in_place(message, Reply(words)))
            return
        shown = card(card_of(listing, self._now()), language)
        anew = message.body["call"] in {"create", "card"}
        self._put(tx, message, said(shown, language) if anew else _in_place(message, shown))

    def _tell(self, tx: Transaction, message: Message, key: str, **values: object) -> None:
        language = message.body["language"]
        self._put(tx, message, said(Reply(t(language, key, **values)), language))

    def _put(self, tx: Transaction, message: Message, body: dict[str, Any]) -> None:
        outbox.put(tx, self._queues.messages, str(message.body["chat"]), body, self._now())


def _nothing(_tx: Transaction, _message: Message) -> None:
    """Follow up on a call that needs nothing more."""


async def _in_time(asking: Awaitable[T]) -> T:
    """Bound a call as a whole: a server that drips bytes is never late by itself."""
    try:
        async with asyncio.timeout(LONGEST):
            return await asking
    except TimeoutError:
        raise Unreachable(f"no answer in {LONGEST:.0f} seconds") from None


def _listing(tx: Transaction, message: Message) -> Listing:
    return store.known_listing(tx, message.body["listing"])


def _in_place(message: Message, reply: Reply) -> dict[str, Any]:
    place = message.body.get("place") or {"message_id": None, "picture": False}
    language = message.body["language"]
    return changed(reply, place["message_id"], language, picture=place["picture"])


def _trouble(error: Exception | None) -> str:
    """Give the key of what the seller hears of a create that waits."""
    match error:
        case None:
            return "service-unsure"
        case Throttled():
            return "service-busy"
        case BadAnswer() | Refused():
            return "service-odd"
        case _:
            return "service-waiting"


def _wait(tries: int, error: Exception | None) -> int:
    """Give the milliseconds until the next try, after so many."""
    asked = 0 if error is None else wait_asked_for(error) * 1000
    return max(BACKOFF[min(tries, len(BACKOFF) - 1)], int(min(asked, LONGEST_RETRY_AFTER)))


def _log(message: Message, error: Exception) -> None:
    """Tell the operator; what only they can mend is an error and says how."""
    call = message.body["call"]
    told = {
        "call": call, "listing": message.body["listing"],
        "error": type(error).__name__, "reason": str(error),
    }  # fmt: skip
    if isinstance(error, Unauthorized):
        log.error("service call failed", mend="check APP_ID and APP_SECRET", **told)
    elif isinstance(error, BadAnswer | MethodNotAllowed) or (
        call == "create" and isinstance(error, NotFound)
    ):
        log.error("service call failed", mend="check PAYMENTS_URL", **told)
    else:
        log.warning("service call failed", **told)
