"""What the chat does with what a person did: one event, one transaction.

The event's "done" mark, the draft, the calls to be made of the service and the
messages to be sent commit together, so a crash leaves nothing half done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import structlog

from bot.chat import conversation, history, shelf, store
from bot.chat.cards import Card, delete_question, list_page
from bot.chat.conversation import Pressed, Said
from bot.chat.handlers import Moved, Spoke, Tapped, answered, changed, read, said
from bot.chat.ledger import Ledger
from bot.chat.replies import Reply
from bot.core import lanes, outbox
from bot.core.errors import StorageError, Unreadable
from bot.core.texts import choose, t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.conversation import Draft, Outcome, Seller
    from bot.chat.handlers import Event, Person
    from bot.chat.queues import Queues
    from bot.chat.store import Listing
    from bot.core.db import Database, Transaction
    from bot.core.outbox import Message

log = structlog.get_logger()

TRIES = 3
"""How often an update may fail before it is set aside."""

CRASHES = 10
"""Tries after which an update is set aside that lets no try end: it may be what ends us."""

PAGE = 8
"""Requests on one page of the list."""

KINDS = ("donation", "oneoff", "drop")
FROM_INLINE = "new"
"""What `/start` brings from the button above inline results: a form is wanted at once."""

CALLS = ("card", "refresh", "stop", "resume", "delete-yes")
"""Button words that need the service; the rest is answered from what we know."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One event being dealt with inside its transaction."""

    tx: Transaction
    person: Person
    seller: Seller
    draft: Draft | None
    now: int
    tapped: Tapped | None = None


class Chat:
    """The chat's use cases; `allowed` names who may create, empty for everyone."""

    def __init__(
        self,
        db: Database,
        queues: Queues,
        now: Callable[[], int],
        *,
        bot_name: Callable[[], str],
        allowed: frozenset[int] = frozenset(),
    ) -> None:
        self._db = db
        self._queues = queues
        self._bot_name = bot_name
        self._now = now
        self._allowed = allowed

    async def take(self, message: Message) -> None:
        """Deal with one stored update; one that keeps failing is set aside with an apology.

        One that can't be read at all is set aside at once: nobody knows what was asked.
        """
        if message.attempts > CRASHES:
            log.error("update set aside", id=message.id, reason="no try came to an end")
            await self._db.transaction(lambda tx: self._set_aside(tx, message, "never ended"))
            return
        try:
            event = read(message.body, self._bot_name())
            await self._db.transaction(lambda tx: self._take(tx, message, event))
        except StorageError:
            raise  # no fault of the update
        except Unreadable as error:
            note = f"can't be read: {error}"
            log.warning("update set aside", id=message.id, reason=note)
            await self._db.transaction(lambda tx: self._bury(tx, message, note))
        except Exception:
            if message.attempts < TRIES:
                raise
            log.exception("update set aside", id=message.id)
            await self._db.transaction(
                lambda tx: self._set_aside(tx, message, "failed three times")
            )

    async def record_payment(
        self, listing: Listing, payment: store.Payment, left: int | None
    ) -> bool:
        """Record a payment and put its alert; False where it was recorded before.

        `left` is what remains of a drop as the webhook told it, None where it didn't.
        """
        return await self._db.transaction(lambda tx: self._record(tx, listing.id, payment, left))

    async def record_missing(self, listing_id: str, known: int, missing: int) -> int:
        """Record payments of which only the units that are gone tell; how many.

        None are, unless as many as `known` have been told until now. When their webhooks come
        after all, they are told as possibly repeated and counted once.
        """
        return await self._db.transaction(
            lambda tx: self._ledger(tx).miss(listing_id, known, missing)
        )

    async def search(self, seller_id: int, text: str, limit: int, start: int) -> list[Card]:
        """Give the cards of the seller's requests that can be shared and fit `text`.

        Up to `limit`, newest first, after the first `start`.
        """
        now = self._now()
        found = await self._db.read(lambda tx: shelf.search(tx, seller_id, text, limit, start))
        return [card_of(listing, now) for listing in found]

    def _record(
        self, tx: Transaction, listing_id: str, payment: store.Payment, left: int | None
    ) -> bool:
        fresh = self._ledger(tx).record(listing_id, payment, left)
        if fresh:
            tx.count("payments_told", "found" if payment.found else "webhook")
        return fresh

    def _ledger(self, tx: Transaction) -> Ledger:
        return Ledger(tx, self._queues, self._now())

    def _take(self, tx: Transaction, message: Message, event: Event | None) -> None:
        match event:
            case Spoke() | Tapped() if not event.person.private:
                self._public(tx, event)
            case Spoke():
                self._spoken(self._turn(tx, event.person), event)
            case Tapped():
                self._pressed(self._turn(tx, event.person, event), event)
            case Moved():
                why = None if event.open else "the bot was blocked"
                lanes.pause(tx, self._queues.messages, str(event.person.chat_id), why)
        outbox.done(tx, self._queues.updates, message, self._now())
        tx.count("telegram_updates_handled", "done")

    def _turn(self, tx: Transaction, person: Person, tapped: Tapped | None = None) -> Turn:
        now = self._now()
        language = choose(person.tag or store.language_of(tx, person.id))
        lanes.resume(tx, self._queues.messages, str(person.chat_id))
        seller = store.seller(tx, person.id, language, now)
        return Turn(tx, person, seller, store.draft(tx, person.chat_id, person.id), now, tapped)

    def _public(self, tx: Transaction, event: Spoke | Tapped) -> None:
        """In a group: requests are made in private, so say where, if spoken to."""
        language = choose(event.person.tag)
        words = t(language, "only-in-private", bot=self._bot_name())
        if isinstance(event, Tapped):
            self._answer(tx, event, words)
        elif event.command in {name for name, _ in conversation.commands(language)}:
            self._put(tx, event.person.chat_id, said(Reply(words), language))

    def _spoken(self, turn: Turn, event: Spoke) -> None:
        if event.command is None:
            self._follow(turn, conversation.advance(turn.draft, Said(event.text), turn.seller))
        elif event.command in ("new", *KINDS) and not self._may_create(turn):
            self._say(turn, Reply(t(turn.seller.language, "not-allowed")))
        elif event.command in KINDS:
            form = conversation.one_line(
                event.command, event.text, store.short_id(6), turn.seller, turn.draft
            )
            self._follow(turn, form)
        else:
            self._page(turn, event.command)
            if (event.command, event.text) == ("start", FROM_INLINE) and self._may_create(turn):
                self._page(turn, "new")

    def _pressed(self, turn: Turn, tapped: Tapped) -> None:
        action = tapped.action or ("",)
        word = action[0]
        toast = None
        if word == "draft":
            outcome = conversation.advance(turn.draft, Pressed(action), turn.seller)
            self._follow(turn, outcome)
            toast = outcome.toast
        elif word in CALLS or word == "delete":
            toast = self._touch(turn, tapped, word, action[-1])
        elif word == "new" and not self._may_create(turn):
            toast = t(turn.seller.language, "not-allowed")
        elif word == "list":
            self._say(turn, self._list(turn, int(action[-1]) if action[-1].isdecimal() else 0))
        elif action == ("settings", "destination"):
            form = conversation.change_destination(store.short_id(6), turn.seller, turn.draft)
            self._follow(turn, form)
        elif word in {"new", "help", "settings"}:
            self._page(turn, word, anew=True)
        else:
            toast = t(turn.seller.language, "button-unknown")
        self._answer(turn.tx, tapped, toast)

    def _page(self, turn: Turn, command: str, *, anew: bool = False) -> None:
        """Answer a command that asks for one page; an unknown one is told what there is."""
        language = turn.seller.language
        turn = replace(turn, tapped=None) if anew else turn
        match command:
            case "new":
                form = conversation.new_form(turn.draft, store.short_id(6), turn.seller)
                self._follow(turn, form)
            case "cancel":
                self._follow(turn, conversation.cancel(turn.draft, turn.seller))
            case "start":
                first = store.greet(turn.tx, turn.person.id, turn.now)
                self._say(turn, conversation.start_reply(turn.seller, new=first))
            case "list":
                self._say(turn, self._list(turn, 0))
            case "settings":
                self._say(turn, conversation.settings(turn.seller))
            case "help":
                self._say(turn, conversation.help_reply(language))
            case "privacy":
                self._say(turn, conversation.privacy_reply(language))
            case "paysupport":
                self._say(turn, conversation.paysupport_reply(language))
            case _:
                self._say(turn, Reply(t(language, "command-unknown")))

    def _follow(self, turn: Turn, outcome: Outcome) -> None:
        """Carry out what the conversation decided."""
        person = turn.person
        if outcome.wish is not None and not self._may_create(turn):
            self._say(turn, Reply(t(turn.seller.language, "not-allowed")))
            return
        store.save_draft(turn.tx, person.chat_id, person.id, outcome.draft, turn.now)
        if outcome.destination is not None:
            store.save_destination(turn.tx, person.id, outcome.destination)
            was = turn.seller.destination
            history.paid_to(turn.tx, person.id, was, outcome.destination, turn.now)
        place = turn
        for reply in outcome.replies:
            self._say(place, reply)
            place = replace(turn, tapped=None)
        if outcome.wish is not None:
            store.save_currency(turn.tx, person.id, outcome.wish.currency)
            listing = store.add_listing(turn.tx, person.chat_id, person.id, outcome.wish, turn.now)
            history.wished(turn.tx, person.id, listing, outcome.wish, turn.now)
            self._call(turn, {"call": "create", "listing": listing})

    def _touch(self, turn: Turn, tapped: Tapped, word: str, listing_id: str) -> str | None:
        """Do something with one request, if it is this person's; the words of the answer."""
        language = turn.seller.language
        listing = store.listing(turn.tx, listing_id)
        if listing is None or listing.seller_id != turn.person.id or listing.state == store.DELETED:
            return t(language, "listing-gone")
        if listing.answer is None:
            return t(language, "listing-not-ready")
        if word == "delete":
            question = delete_question(card_of(listing, turn.now), language)
            self._say(turn, question)
            return None
        place = {"message_id": tapped.message_id, "picture": tapped.picture}
        history.asked(turn.tx, listing, word, turn.now)
        self._call(turn, {"call": word, "listing": listing_id, "place": place})
        return None

    def _list(self, turn: Turn, page: int) -> Reply:
        pages = max(1, -(-shelf.count(turn.tx, turn.person.id) // PAGE))
        page = min(page, pages - 1)
        found = shelf.page(turn.tx, turn.person.id, PAGE, page * PAGE)
        shown = [card_of(item, turn.now) for item in found]
        pending = store.pending_names(turn.tx, turn.person.id)
        return list_page(shown, page, pages, turn.seller.language, pending=pending)

    def _set_aside(self, tx: Transaction, message: Message, why: str) -> None:
        self._bury(tx, message, why)
        chat_id = int(message.lane)
        if chat_id:
            language = store.language_of(tx, chat_id) or choose(None)  # in private they are one
            self._put(tx, chat_id, said(Reply(t(language, "update-failed")), language))

    def _bury(self, tx: Transaction, message: Message, why: str) -> None:
        """Set an update aside; a press is answered all the same, or its button would spin on."""
        outbox.bury(tx, self._queues.updates, message, self._now(), why)
        tx.count("telegram_updates_handled", "set_aside")
        query = message.body.get("callback_query")
        if isinstance(query, dict) and "id" in query:
            body = answered(str(query["id"]), None)
            outbox.put(tx, self._queues.answers, message.lane, body, self._now())

    def _may_create(self, turn: Turn) -> bool:
        return not self._allowed or turn.person.id in self._allowed

    def _say(self, turn: Turn, reply: Reply) -> None:
        language = turn.seller.language
        message_id = turn.tapped.message_id if turn.tapped else None
        picture = turn.tapped.picture if turn.tapped else False
        body = changed(reply, message_id, language, picture=picture)
        self._put(turn.tx, turn.person.chat_id, body)

    def _put(
        self, tx: Transaction, chat_id: int, body: dict[str, Any], priority: int = lanes.REPLY
    ) -> None:
        outbox.put(tx, self._queues.messages, str(chat_id), body, self._now(), priority=priority)

    def _answer(self, tx: Transaction, tapped: Tapped, toast: str | None) -> None:
        body = answered(tapped.query_id, toast)
        outbox.put(tx, self._queues.answers, str(tapped.person.chat_id), body, self._now())

    def _call(self, turn: Turn, body: dict[str, Any]) -> None:
        asked = {**body, "chat": turn.person.chat_id, "language": turn.seller.language}
        outbox.put(turn.tx, self._queues.calls, body["listing"], asked, turn.now)


def card_of(listing: Listing, now: int) -> Card:
    """Give a listing as its seller sees it at `now` (epoch ms)."""
    wish, answer = listing.wish, listing.answer
    return Card(
        listing_id=listing.id,
        kind=wish.kind,
        name=wish.name,
        description=wish.description,
        amount=wish.amount,
        currency=wish.currency,
        total_units=wish.units,
        remaining_units=listing.left if answer is None or answer.remaining_units is None
        else answer.remaining_units,
        paid_count=listing.paid_count,
        status=status_of(listing, now),
        url=answer.url if answer else "",
        reserved_units=answer.reserved_units if answer else 0,
    )  # fmt: skip


def status_of(listing: Listing, now: int) -> str:
    """Say in one word how a listing stands at `now` (epoch ms)."""
    answer = listing.answer
    if listing.wish.kind == "oneoff" and listing.paid_count:
        return "completed"
    if answer and answer.remaining_units == answer.reserved_units == 0:
        return "soldOut"
    if listing.state == store.STOPPED:
        return "stopped"
    if answer and answer.expires_at is not None and answer.expires_at <= now:
        return "expired"
    if answer and answer.enabled_at is not None and answer.enabled_at > now:
        return "scheduled"
    return "active"
