"""What jobs work with, and how each is settled once, with the messages to its seller."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import structlog

from bot.chat.cards import card_text, receipts, request_card
from bot.chat.forms import flow
from bot.chat.model import jobs, payloads, payout, queues, remote_request, replies
from bot.chat.payments import create_attempt, request_bodies
from bot.chat.store import link_rows, post_rows, seller_rows
from bot.core import errors
from bot.core.database import database, vault
from bot.core.outbox import outbox, queries, queue_policy
from bot.core.text import translations

log = structlog.get_logger()
T = TypeVar("T")

AnyJob: TypeAlias = jobs.Job | jobs.AccountJob | jobs.KeepReceipt

TIME_LIMIT = 45.0
"""Seconds for all calls of one attempt; less than its lease."""

RETRIES = queue_policy.RetryTable(
    (1_000, 3_000, 10_000, 30_000, 60_000), repeats=True, longest_asked=3600 * 1000
)
"""Delays between attempts. A wait that the service asks for is limited to an hour, because a seller
is waiting."""


async def in_time(call: Awaitable[T]) -> T:
    """Await a call for TIME_LIMIT, because reads don't time out if a server sends bytes slowly.

    Raises Unreachable.
    """
    try:
        async with asyncio.timeout(TIME_LIMIT):
            return await call
    except TimeoutError:
        raise errors.Unreachable(f"no answer in {TIME_LIMIT:.0f} seconds") from None


def delay_text(error: Exception | None) -> str:
    """Return the text key for a delayed create; `error` is None if the reason is unknown."""
    match error:
        case None:
            return "service-unsure"
        case errors.Throttled():
            return "service-busy"
        case errors.BadAnswer() | errors.Refused():
            return "service-odd"
        case _:
            return "service-waiting"


def log_failure(job: AnyJob, error: Exception) -> None:
    """Log a failed call; if only the operator can fix it, as an error with the fix."""
    of: dict[str, object] = {}
    if isinstance(job, jobs.Job):
        of = {"listing": job.link_id}
    elif isinstance(job, jobs.AccountJob):
        of = {"seller": job.seller_id}
    fix = None
    match error:
        case errors.Unauthorized():
            fix = "check APP_ID and APP_SECRET"
        case create_attempt.NoDialect():
            fix = "check INSTRUMENT_CURRENCY"
        case errors.BadAnswer() | errors.MethodNotAllowed():
            fix = "check PAYMENTS_URL"
        case errors.NotFound() if isinstance(job, jobs.CreateRequest):
            fix = "check PAYMENTS_URL"
    of |= {"error": type(error).__name__, "reason": str(error)}
    if fix:
        log.error("service call failed", job=type(job).__name__, **of, fix=fix)
    else:
        log.warning("service call failed", job=type(job).__name__, **of)


def background_lane(job: jobs.Job | jobs.AccountJob) -> str:
    """Return the lane of jobs that nobody waits for; jobs that ask a wallet have other lanes."""
    if isinstance(job, jobs.Job):
        return f"{queues.BACKGROUND}{job.link_id}"
    group = queues.WALLETS if job.asks_wallet else queues.BACKGROUND
    return f"{group}{payout.owner_ref(job.seller_id)}"


LONGEST_REFUSAL = 500
"""UTF-16 units shown of a server's refusal."""

Follow: TypeAlias = Callable[..., None]
"""Stores the consequences of a job's outcome. It takes the Outcome, and other values."""


@dataclass(frozen=True, slots=True)
class Context:
    """What jobs work with. Each job is settled in one transaction."""

    db: database.Database
    queues: queues.Queues
    now: Callable[[], int]
    """The clock, in epoch ms."""
    server: request_bodies.PaymentServer
    vault: vault.Vault
    """Decrypts secrets that sellers typed."""

    async def finish(
        self, message: outbox.Message, follow: Follow | None = None, *values: object
    ) -> None:
        """Finish a job and call `follow`, unless another worker has taken the job meanwhile."""

        def work(tx: database.Transaction) -> None:
            if outbox.done(tx, self.queues.jobs, message, self.now()) and follow:
                follow(Outcome(self, tx, self.now(), message.body), *values)

        await self.db.transaction_until_stored(work)

    async def retry(
        self,
        message: outbox.Message,
        job: AnyJob,
        delay: int | None,
        follow: Follow | None = None,
        *values: object,
        lane: str | None = None,
    ) -> None:
        """Retry as `job` after `delay` ms, in the background, so that button presses don't wait.

        With None it is retried at once, before all other queued jobs of its link. `lane` is used
        instead of the background's; receipts have their own lanes already.
        """
        queue, now, note = self.queues.jobs, self.now(), "its outcome is open"
        state, due_at = outbox.NextAttempt(job), now
        if delay is not None:
            if lane is None and not isinstance(job, jobs.KeepReceipt):
                lane = background_lane(job)
            state, due_at = outbox.NextAttempt(job, lane, queue_policy.NOTICE), now + delay

        def work(tx: database.Transaction) -> None:
            if outbox.retry(tx, queue, message, due_at, note, following=state) and follow:
                follow(Outcome(self, tx, self.now(), job), *values)

        await self.db.transaction_until_stored(work)

    async def queue_behind(self, message: outbox.Message, lane: str) -> bool:
        """Queue a job behind the older jobs of another lane; return False if there are none."""
        queue, now = self.queues.jobs, self.now()

        def work(tx: database.Transaction) -> bool:
            if not queries.unsettled_of_lane(tx, queue, lane):
                return False
            if outbox.done(tx, queue, message, now):
                body, uncertain = message.body, message.uncertain
                outbox.put(
                    tx, queue, lane, body, now, priority=queue_policy.NOTICE, uncertain=uncertain
                )
            return True

        return await self.db.transaction_until_stored(work)


J_co = TypeVar("J_co", bound=AnyJob, covariant=True)
JobWithReply: TypeAlias = (
    jobs.SellerJob | jobs.ConnectAccount | jobs.RemoveAccount | jobs.KeepReceipt
)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[J_co]):
    """A job whose outcome is stored: its transaction, and the messages that follow."""

    context: Context
    tx: database.Transaction
    now: int
    """Epoch ms."""
    job: J_co

    @property
    def language(self: Outcome[JobWithReply]) -> str:
        """Return the language of the person who gets the messages."""
        return self.job.reply_to.language

    @property
    def queues(self) -> queues.Queues:
        """Return the queues of the chat."""
        return self.context.queues

    @property
    def link(self: Outcome[jobs.Job]) -> link_rows.PaymentLink:
        """Return the link as it is stored now."""
        return link_rows.get_link(self.tx, self.job.link_id)

    def add_later(self, job: jobs.Job | jobs.AccountJob, delay: int) -> None:
        """Queue a job in the background, due in `delay` ms."""
        outbox.put(
            self.tx, self.queues.jobs, background_lane(job), job, self.now,
            priority=queue_policy.NOTICE, due_at=self.now + delay,
        )  # fmt: skip

    def save_answer(
        self: Outcome[jobs.Job],
        answer: remote_request.RemoteRequest | None,
        *,
        brings_goods: bool = False,
    ) -> None:
        """Store the service's answer about the request; None if it is unknown.

        Buyers who wait for a code are notified if anybody added codes or replaced them with other
        goods, or if the job `brings_goods`.
        """
        before = self.link
        if brings_goods or (answer is not None and answer.serves_more(before.answer)):
            request_id, served = before.request_id or "", remote_request.served_unit(answer)
            receipts.notify_waiting(self, request_id, served)
        if answer is not None:
            link_rows.set_answer(self.tx, before.id, answer)

    def refresh(self: Outcome[jobs.Job]) -> None:
        """Queue the refresh of all posts of the link."""
        post_rows.refresh(self, self.job.link_id)

    def mark_deleted(self: Outcome[jobs.Job]) -> None:
        """Mark the request as deleted, and release its picture."""
        link = self.link
        link_rows.set_state(self.tx, link.id, link_rows.DELETED)
        if link.spec.image is not None:
            seller_rows.release_image(self.tx, link.spec.image)

    def show(self: Outcome[jobs.SellerJob]) -> None:
        """Send the link's card as a new message, or show it in the existing message."""
        link, reply_to = self.link, self.job.reply_to
        is_picture = reply_to.is_picture
        is_card = is_picture or post_rows.is_card(self.tx, reply_to.chat_id, reply_to.message_id)
        if link.state == link_rows.DELETED:
            name = replies.escaped(link.spec.name)
            text = translations.t(reply_to.language, "listing-deleted", name=name)
            reply = replies.Reply(text, picture=link.id if is_card else None)
        else:
            # Of a card with a picture only the picture, the link's id, is queued: the sender
            # renders the card again as it stands then.
            reply = card_text.seller_card(request_card.card_of(link, self.now), reply_to.language)
            if isinstance(self.job, jobs.CreateRequest | jobs.SendCard):
                self.send(reply)
                return
        self.answer(reply, is_card=is_card)

    def answer(self: Outcome[JobWithReply], reply: replies.Reply, *, is_card: bool = False) -> None:
        """Show a reply in the message whose button was pressed, or in a new message."""
        to = self.job.reply_to
        self.put(
            payloads.replacement(
                reply, to.language, to.message_id, is_picture=to.is_picture, is_card=is_card
            )
        )

    def send(self: Outcome[JobWithReply], reply: replies.Reply) -> None:
        """Queue a message to the chat that the job came from."""
        self.put(payloads.new_message(reply, self.language))

    def put(self: Outcome[JobWithReply], payload: payloads.MessagePayload) -> None:
        """Queue a payload to the chat that the job came from."""
        lane = str(self.job.reply_to.chat_id)
        outbox.put(self.tx, self.queues.messages, lane, payload, self.now)

    def send_text(self: Outcome[jobs.SellerJob], key: str, **values: object) -> None:
        """Queue a text to the chat that the job came from; `name` is the request's."""
        name = replies.escaped(self.link.spec.name)
        self.send(replies.Reply(translations.t(self.language, key, name=name, **values)))

    def send_refusal(self: Outcome[jobs.SellerJob], error: errors.Refused) -> None:
        """Queue the service's refusal in its own words."""
        words = replies.escaped(error.message, LONGEST_REFUSAL)
        self.send_text("service-refused", words=words)

    def send_failure(self: Outcome[jobs.SellerJob], error: Exception) -> None:
        """Queue the text about a call that failed or whose outcome is unknown."""
        match error:
            case errors.NotFound():
                self.mark_deleted()
                self.refresh()
                self.send_text("service-gone")
            case errors.Unauthorized():
                self.send_text("service-closed")
            case errors.Refused():
                self.send_refusal(error)
            case errors.NotReached() | errors.Throttled():
                self.send_text("service-not-done")
            case _:
                self.send_text("service-silent")

    def ask(self: Outcome[jobs.SellerJob], form: Callable[..., flow.FormResult]) -> None:
        """Open the form that a refusal needs, and queue its questions."""
        tx, link = self.tx, self.link
        seller = seller_rows.ensure_seller(tx, link.seller_id, self.language, self.now)
        service = self.context.server.payout_service
        seller = seller_rows.at_service(tx, seller, link.seller_id, service)
        current = seller_rows.find_draft(tx, link.chat_id, link.seller_id)
        result = form(draft_id=link_rows.short_id(6), seller=seller, current=current)
        seller_rows.save_draft(tx, link.chat_id, link.seller_id, result.draft, self.now)
        for reply in result.replies:
            self.send(reply)
