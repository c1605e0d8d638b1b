"""The calls that the chat makes of the service, out of their queue.

A request is written down as a listing before it is created, and the listing's id
is its idempotency key and travels in its custom parameters: a call may be made
again after a crash or a lost answer, and still makes one request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from bot.chat import conversation, store
from bot.chat.cards import card
from bot.chat.handlers import changed, said
from bot.chat.replies import Reply, escaped
from bot.chat.usecases import card_of
from bot.core import money, outbox
from bot.core.errors import InvalidBody, NotFound, Overloaded, PeerError, Refused
from bot.core.texts import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.client import Answer, Client
    from bot.chat.queues import Queues
    from bot.chat.store import Listing
    from bot.core.db import Database, Transaction
    from bot.core.outbox import Message

log = structlog.get_logger()

BACKOFF = (1_000, 3_000, 10_000, 30_000, 60_000)
"""Milliseconds until a create is tried again, the last for as long as `PATIENCE` lasts."""

PATIENCE = 20 * 3600 * 1000
"""Milliseconds after which a create is given up; the service knows its key for 24 hours."""

LONGEST_RETRY_AFTER = 3600 * 1000
"""Milliseconds that the service may ask us to wait; a seller waits at the other end."""

EXPIRATION = {"donation": "never", "oneoff": "onPaymentCompleted", "drop": "limit"}
"""The interface's expirationType of each kind (section 1)."""


class Calls:
    """Performs calls; `receiver` is the address below which listings' webhooks arrive."""

    def __init__(
        self,
        db: Database,
        client: Client,
        queues: Queues,
        now: Callable[[], int],
        *,
        receiver: str,
        instrument: str | None = None,
    ) -> None:
        self._db = db
        self._client = client
        self._queues = queues
        self._receiver = receiver
        self._now = now
        self._instrument = instrument

    async def perform(self, message: Message) -> None:
        """Make one call and settle what follows from its outcome."""
        listing = await self._db.transaction(lambda tx: store.listing(tx, message.body["listing"]))
        if listing is None:
            await self._db.transaction(lambda tx: self._done(tx, message))
            return
        try:
            answer = await self._ask(message, listing)
        except (PeerError, Refused) as problem:
            error = problem  # the name of an except clause ends with it
            log.warning(
                "service call failed", call=message.body["call"], listing=listing.id,
                error=type(problem).__name__, reason=str(problem),
            )  # fmt: skip
            await self._db.transaction(lambda tx: self._failed(tx, message, listing, error))
        else:
            await self._db.transaction(lambda tx: self._succeeded(tx, message, answer))

    async def _ask(self, message: Message, listing: Listing) -> Answer | None:
        request_id = listing.request_id or ""
        match message.body["call"]:
            case "create":
                return await self._create(message, listing)
            case "stop":
                await self._client.stop(request_id)
            case "resume":
                await self._client.resume(request_id)
            case "delete-yes":
                await self._client.delete(request_id)
                return None
        return await self._client.get(request_id)

    async def _create(self, message: Message, listing: Listing) -> Answer:
        if message.attempts > 1 and (found := await self._client.find(listing.id)):
            return found
        return await self._client.create(self._body(listing), listing.id)

    def _body(self, listing: Listing) -> dict[str, Any]:
        """Give the body of create (interface, section 2.1)."""
        wish = listing.wish
        instrument = self._instrument or wish.currency
        amount = money.from_minor(wish.amount, wish.currency)
        body: dict[str, Any] = {
            "product": {"name": wish.name},
            "instrumentCurrencyCode": instrument,
            "receivers": [{"sendAmount": amount, "destination": wish.destination}],
            "notifications": {
                "webhook": {
                    "webhookUrl": f"{self._receiver}/{listing.token}",
                    "customParameters": {"listing": listing.id},
                }
            },
            "expirationType": EXPIRATION[wish.kind],
        }
        if wish.description:
            body["product"]["description"] = wish.description
        if instrument != wish.currency:
            body["denominationCurrencyCode"] = wish.currency
        if wish.units is not None:
            body["totalUnits"] = wish.units
        return body

    def _succeeded(self, tx: Transaction, message: Message, answer: Answer | None) -> None:
        call, listing_id = message.body["call"], message.body["listing"]
        if answer is not None:
            store.set_answer(tx, listing_id, answer)
        state = {
            "create": store.LIVE,
            "stop": store.STOPPED,
            "resume": store.LIVE,
            "delete-yes": store.DELETED,
        }.get(call)
        if state:
            store.set_state(tx, listing_id, state)
        listing = store.listing(tx, listing_id)
        if listing is not None:
            self._show(tx, message, listing)
        self._done(tx, message)

    def _show(self, tx: Transaction, message: Message, listing: Listing) -> None:
        language = message.body["language"]
        if listing.state == store.DELETED:
            words = t(language, "listing-deleted", name=escaped(listing.wish.name))
            self._put(tx, message, self._in_place(message, Reply(words)))
            return
        shown = card(card_of(listing, self._now()), language)
        anew = message.body["call"] in {"create", "card"}
        self._put(tx, message, said(shown, language) if anew else self._in_place(message, shown))

    def _in_place(self, message: Message, reply: Reply) -> dict[str, Any]:
        place = message.body.get("place") or {"message_id": None, "picture": False}
        language = message.body["language"]
        return changed(reply, place["message_id"], language, picture=place["picture"])

    def _failed(
        self, tx: Transaction, message: Message, listing: Listing, error: Exception
    ) -> None:
        if isinstance(error, NotFound) and message.body["call"] != "create":
            self._gone(tx, message, listing)
        elif isinstance(error, Refused):
            self._refused(tx, message, listing, error)
        elif message.body["call"] == "create":
            self._postponed(tx, message, listing, error)
        else:
            self._silent(tx, message, listing)

    def _gone(self, tx: Transaction, message: Message, listing: Listing) -> None:
        store.set_state(tx, listing.id, store.DELETED)
        self._tell(tx, message, "service-gone", name=escaped(listing.wish.name))
        self._done(tx, message)

    def _refused(self, tx: Transaction, message: Message, listing: Listing, error: Refused) -> None:
        """A refused create goes back to the step of its form that the refusal is about."""
        language = message.body["language"]
        if message.body["call"] == "create" and isinstance(error, InvalidBody):
            problem = error.info[0] if error.info else None
            field, words = (problem.field, problem.message) if problem else ("", error.message)
            seller = store.seller(tx, listing.seller_id, language, self._now())
            current = store.draft(tx, listing.chat_id, listing.seller_id)
            outcome = conversation.reopen(
                listing.wish, store.short_id(6), field, words, seller, current=current
            )
            store.save_draft(tx, listing.chat_id, listing.seller_id, outcome.draft, self._now())
            for reply in outcome.replies:
                self._put(tx, message, said(reply, language))
        else:
            self._tell(tx, message, "service-refused", message=escaped(error.message))
        if message.body["call"] == "create":
            store.set_state(tx, listing.id, store.FAILED)
        self._done(tx, message)

    def _postponed(
        self, tx: Transaction, message: Message, listing: Listing, error: Exception
    ) -> None:
        """Keep trying to create; the seller is told at the first failure and at the end."""
        now = self._now()
        if now - message.created_at > PATIENCE:
            store.set_state(tx, listing.id, store.FAILED)
            self._tell(tx, message, "service-given-up", name=escaped(listing.wish.name))
            self._done(tx, message)
            return
        if message.attempts == 1:
            self._tell(tx, message, "service-waiting", name=escaped(listing.wish.name))
        asked = error.retry_after or 0 if isinstance(error, Overloaded) else 0
        wait = BACKOFF[min(message.attempts, len(BACKOFF)) - 1]
        due_at = now + max(wait, int(min(asked * 1000, LONGEST_RETRY_AFTER)))
        outbox.retry(tx, self._queues.calls, message, due_at, "the service does not answer")

    def _silent(self, tx: Transaction, message: Message, listing: Listing) -> None:
        """Answer from what is known; a change that may not have been made is not claimed."""
        language = message.body["language"]
        if message.body["call"] == "card":
            self._tell(tx, message, "service-stale", name=escaped(listing.wish.name))
            self._put(tx, message, said(card(card_of(listing, self._now()), language), language))
        else:
            self._tell(tx, message, "service-silent")
        self._done(tx, message)

    def _tell(self, tx: Transaction, call: Message, key: str, **values: object) -> None:
        language = call.body["language"]
        self._put(tx, call, said(Reply(t(language, key, **values)), language))

    def _put(self, tx: Transaction, message: Message, body: dict[str, Any]) -> None:
        outbox.put(tx, self._queues.messages, str(message.body["chat"]), body, self._now())

    def _done(self, tx: Transaction, message: Message) -> None:
        outbox.done(tx, self._queues.calls, message, self._now())
