"""The chat in tests: real parts on a real database, and a Telegram world."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.chat.cards import alert_text, claim_cards
from bot.chat.cards.claim_cards import claim_reply
from bot.chat.cards.views import view_of
from bot.chat.conversation.conversation import Chat
from bot.chat.model.drafts import PayoutService
from bot.chat.model.jobs import AccountJob, Job
from bot.chat.model.payloads import (
    Alert,
    CallbackAnswer,
    CardMessage,
    ClaimAlert,
    ClaimDigest,
    MessagePayload,
    Refresh,
    TextMessage,
)
from bot.chat.model.queues import SENT_AT_ONCE, Queues, Step, make_queues
from bot.chat.model.remote_request import RemoteRequest
from bot.chat.model.request_spec import RequestSpec
from bot.chat.payments.recording import PaymentRecorder
from bot.chat.store import claim_rows, link_rows, seller_rows
from bot.chat.store.link_rows import CREATING, LIVE, PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.chat.store.post_rows import OWN, VISITED, refresh
from bot.chat.telegram.intake import Intake
from bot.chat.telegram.transport import make_bot
from bot.core.database.database import Database, Row, Transaction
from bot.core.database.vault import Vault
from bot.core.net.rates import Rate
from bot.core.outbox.queue_policy import Queue
from bot.sandbox.world import people
from bot.sandbox.world.errors import NO_LIMITS, Limits
from bot.sandbox.world.model import CallbackQuery, Draft, Json
from bot.sandbox.world.world import TOKEN, World
from tests.support.outbox_queue import bodies, handle_all
from tests.support.sandbox_server import serving
from tests.support.service_harness import Clock

if TYPE_CHECKING:
    from telegram import Bot


BOT_ID = 42
VAULT = Vault("a key for tests")
BOT_NAME = "PaymentRequestBot"
REQUEST_ID = "0123456789abcdef01234567"
URL = f"https://pay.example.org/pay/{REQUEST_ID}"
COFFEE = RequestSpec("donation", "Coffee", None, 500, "USD", None, "$anna")
STICKERS = RequestSpec("drop", "Stickers", "A pack", 250, "USD", 3, "$anna")
DROP = replace(STICKERS, units=5)
PAINTING = RequestSpec("oneoff", "Painting", None, 12_000, "EUR", None, "$anna")


def service_answer(**given: Any) -> RemoteRequest:
    """Build the service's answer about a request that is enabled and has no end."""
    fields: dict[str, Any] = {
        "id": REQUEST_ID, "url": URL, "is_enabled": True, "total_units": None,
        "remaining_units": None, "enabled_at": None, "expires_at": None, "link_id": None,
    }  # fmt: skip
    return RemoteRequest(**(fields | given))


class ChatHarness:
    """Updates of people in `world` in, rows of the outbox out."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        *,
        queues: Queues | None = None,
        allowed: frozenset[int] = frozenset(),
        operator_contact: str | None = None,
        rails: tuple[str, ...] = (),
    ) -> None:
        self.db = db
        self.clock = clock
        self.queues = queues or make_queues(None, None, None, gather=alert_text.join_alerts)
        self.world = World(limits=NO_LIMITS, now=lambda: clock() / 1000)
        self.dialogue = Chat(
            db, self.queues, clock, VAULT,
            bot_name=lambda: BOT_NAME, allowed=allowed, operator_contact=operator_contact,
            paid_at=PayoutService(rails=rails),
        )  # fmt: skip
        self.recorder = PaymentRecorder(self.queues, clock)
        self.asked: list[Json] = []
        self.intake = Intake(db, self.queues.updates, BOT_ID, clock, VAULT, self.asked.append)

    def step(self, tx: Transaction) -> Step:
        return Step(tx, self.queues, self.clock())

    def refresh(self, link_id: str, tx: Transaction) -> None:
        refresh(self.step(tx), link_id)

    async def record(self, link: PaymentLink, payment: Payment, left: int | None) -> bool:
        """Record a payment as the receiver does."""
        return await self.db.transaction(
            lambda tx: self.recorder.record(tx, link.id, payment, left)
        )

    async def record_missing(self, link_id: str, known: int, missing: int) -> int:
        """Record payments of which only the units are known, as the reconciler does."""
        return await self.db.transaction(
            lambda tx: self.recorder.record_missing(tx, link_id, known, missing)
        )

    def add_person(self, name: str = "Sam", **given: Any) -> people.Person:
        return people.join(self.world, name, started=True, **given)

    async def store(self) -> list[Json]:
        """Store what people did, as the poller does; the raw updates."""
        pending = [*self.world.updates.pending]
        self.world.updates.pending.clear()
        await self.intake.take(pending)
        return pending

    async def take(self) -> None:
        """Store what people did and handle all that may be handled now."""
        await self.store()
        await handle_all(self.db, self.queues.updates, self.dialogue.handle, self.clock)

    async def says(self, person: people.Person, text: str) -> None:
        person.send(text)
        await self.take()

    async def presses(self, person: people.Person, data: str) -> CallbackQuery:
        """Press a button that a message of the bot has or had."""
        shown = self.world.post(person.chat, self.world.bot, Draft({"text": "shown"}, None))
        query = person.press_old(shown, data)
        await self.take()
        return query

    @property
    def said(self) -> list[Any]:
        """Return the queued messages in order of putting, without refreshes."""
        found = bodies(self.db, self.queues.messages)
        return [body for body in found if not isinstance(body, Refresh)]

    @property
    def refreshes(self) -> list[str]:
        """Return the ids of the posts to refresh, in order of putting."""
        found = bodies(self.db, self.queues.messages)
        return [body.post_id for body in found if isinstance(body, Refresh)]

    @property
    def texts(self) -> list[str]:
        return [text_of(self.db, body, self.clock()) for body in self.said]

    @property
    def worded(self) -> list[Any]:
        """Return the queued messages, payments in words."""
        return [
            alert_text.alert_message(body) if isinstance(body, Alert) else body
            for body in self.said
        ]

    @property
    def answers(self) -> list[CallbackAnswer]:
        """Return the queued callback answers."""
        return bodies(self.db, self.queues.answers)

    @property
    def jobs(self) -> list[Job | AccountJob]:
        """Return the queued jobs."""
        return bodies(self.db, self.queues.jobs)

    def clear_messages(self) -> None:
        """Forget what was said so far."""
        sql = "DELETE FROM outbox WHERE queue IN ('messages', 'answers', 'jobs')"
        self.db.run(lambda tx: tx.execute(sql))

    def rows(self, table: str) -> list[Row]:
        return self.db.run(lambda tx: tx.query(f"SELECT * FROM {table}"))

    def states(self, queue: Queue) -> list[str]:
        return [row["state"] for row in self.rows("outbox") if row["queue"] == queue.name]

    def add_link(
        self,
        person: people.Person,
        spec: RequestSpec = COFFEE,
        told: RemoteRequest | None = None,
        **given: Any,
    ) -> PaymentLink:
        """Add a request of the person; with the answer `told` it is live, else being created.

        The person has been asked for a profile, as every seller is after their first request.
        """

        def make(tx: Transaction) -> PaymentLink:
            seller_rows.ensure_seller(tx, person.id, "en", self.clock())
            seller_rows.mark_once(tx, person.id, "profile_offered", self.clock())
            made = link_rows.add_link(
                tx, given.get("chat_id", person.id), person.id, spec, self.clock()
            )
            if told is not None:
                link_rows.set_answer(tx, made, told)
            link_rows.set_state(tx, made, given.get("state", LIVE if told else CREATING))
            return get_link(tx, made)

        return self.db.run(make)

    def link(self, link_id: str) -> PaymentLink:
        return self.db.run(lambda tx: get_link(tx, link_id))


def text_of(db: Database, body: MessagePayload, now: int) -> str:
    """Return the text of a message that is sent at `now`."""
    match body:
        case Alert():
            return alert_text.alert_message(body).text
        case CardMessage():
            own, language = (VISITED, body.language) if body.is_public else (OWN, None)
            return db.run(
                lambda tx: view_of(tx, get_link(tx, body.link_id), own, now, language).reply.text
            )
        case ClaimAlert():
            return db.run(lambda tx: _claim_text(tx, body, now))
        case ClaimDigest():
            return db.run(lambda tx: claim_cards.digest_of(tx, body.link_id, now).text)
        case TextMessage():
            return body.text
    raise ValueError(body)


def _claim_text(tx: Transaction, body: ClaimAlert, now: int) -> str:
    claim = claim_rows.find_claim(tx, body.claim_id)
    assert claim is not None
    link, seller = claim_cards.link_and_seller(tx, claim.link_id)
    return claim_reply(claim, link, seller, now, is_reminder=body.is_reminder).text


def get_link(tx: Transaction, link_id: str) -> PaymentLink:
    link = link_rows.find_link(tx, link_id)
    assert link is not None
    return link


def limited_chat(db: Database, clock: Clock, rails: tuple[str, ...] = ()) -> ChatHarness:
    """Open a chat at Telegram's rates, with a sandbox that enforces the limits."""
    rates = Rate(30, 1), Rate(1, 1), Rate(20, 60)
    queues = make_queues(*rates, gather=alert_text.join_alerts)
    made = ChatHarness(db, clock, queues=queues, rails=rails)
    made.world.limiter.limits = Limits()
    return made


@asynccontextmanager
async def telegram_of(world: World) -> AsyncIterator[Bot]:
    """Serve a world and give python-telegram-bot's client for it, made as the product makes it."""
    async with serving(world) as server:
        bot = make_bot(str(server.http.base_url).rstrip("/"), TOKEN, SENT_AT_ONCE)
        async with bot:
            yield bot
