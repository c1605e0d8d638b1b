"""What jobs work with, and how each is settled once, with the messages to its seller."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import structlog

from bot.chat.cards import card_text, receipts, request_card
from bot.chat.forms import flow
from bot.chat.jobs import create_attempt, request_bodies
from bot.chat.model import jobs, payloads, payout, queues, remote_request, replies
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
    line = log.bind(
        job=type(job).__name__, **of,
        error=type(error).__name__, reason=str(error),
    )  # fmt: skip
    if fix := _fix(job, error):
        line.error("service call failed", fix=fix)
    else:
        line.warning("service call failed")


def _fix(job: AnyJob, error: Exception) -> str | None:
    if isinstance(error, errors.Unauthorized):
        return "check APP_ID and APP_SECRET"
    if isinstance(error, create_attempt.NoDialect):
        return "check INSTRUMENT_CURRENCY"
    is_elsewhere = isinstance(error, errors.NotFound) and isinstance(job, jobs.CreateRequest)
    is_elsewhere = is_elsewhere or isinstance(error, errors.BadAnswer | errors.MethodNotAllowed)
    return "check PAYMENTS_URL" if is_elsewhere else None


def background_lane(job: jobs.Job | jobs.AccountJob) -> str:
    """Return the lane of jobs that nobody waits for; jobs that ask a wallet have other lanes."""
    if isinstance(job, jobs.Job):
        return f"{queues.BACKGROUND}{job.link_id}"
    group = queues.WALLETS if job.asks_wallet else queues.BACKGROUND
    return f"{group}{payout.owner_ref(job.seller_id)}"


LONGEST_REFUSAL = 500
"""UTF-16 units shown of a server's refusal."""

Follow: TypeAlias = Callable[..., None]
"""Stores the consequences of a job's outcome. It takes the context, the transaction, the job, and
other values."""


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
                follow(self, tx, message.body, *values)

        await self.db.transaction_until_stored(work)

    async def retry(
        self,
        message: outbox.Message,
        job: AnyJob,
        delay: int,
        follow: Follow | None = None,
        *values: object,
        lane: str | None = None,
    ) -> None:
        """Retry as `job` after `delay` ms, in the background, so that button presses don't wait.

        `lane` is used instead of the background's; receipts have their own lanes already.
        """
        if lane is None and not isinstance(job, jobs.KeepReceipt):
            lane = background_lane(job)
        state = outbox.NextAttempt(job, lane, queue_policy.NOTICE)
        await self._retry(message, state, self.now() + delay, follow, *values)

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

    async def proceed(
        self, message: outbox.Message, job: jobs.Job, follow: Follow, *values: object
    ) -> None:
        """Perform the next step `job` at once, before all other queued jobs of its link."""
        await self._retry(message, outbox.NextAttempt(job), self.now(), follow, *values)

    async def _retry(
        self,
        message: outbox.Message,
        state: outbox.NextAttempt,
        due_at: int,
        follow: Follow | None,
        *values: object,
    ) -> None:
        queue, note = self.queues.jobs, "its outcome is open"

        def work(tx: database.Transaction) -> None:
            if outbox.retry(tx, queue, message, due_at, note, following=state) and follow:
                follow(self, tx, state.body, *values)

        await self.db.transaction_until_stored(work)

    def add_later(
        self, tx: database.Transaction, job: jobs.Job | jobs.AccountJob, delay: int
    ) -> None:
        """Queue a job in the background, due in `delay` ms."""
        now, lane = self.now(), background_lane(job)
        outbox.put(
            tx, self.queues.jobs, lane, job, now, priority=queue_policy.NOTICE, due_at=now + delay
        )

    def save_answer(
        self,
        tx: database.Transaction,
        link_id: str,
        answer: remote_request.RemoteRequest | None,
        *,
        brings_goods: bool = False,
    ) -> None:
        """Store the service's answer about a request; None if it is unknown.

        Buyers who wait for a code are notified if anybody added codes or replaced them with other
        goods, or if the job `brings_goods`.
        """
        before = link_rows.get_link(tx, link_id)
        if brings_goods or (answer is not None and answer.serves_more(before.answer)):
            request_id, served = before.request_id or "", remote_request.served_unit(answer)
            receipts.notify_waiting(tx, self.queues, request_id, served, self.now())
        if answer is not None:
            link_rows.set_answer(tx, link_id, answer)

    def refresh(self, tx: database.Transaction, link_id: str) -> None:
        """Queue the refresh of all posts of a link."""
        post_rows.refresh(tx, self.queues, link_id, self.now())

    def show(self, tx: database.Transaction, job: jobs.CreateRequest | jobs.CardJob) -> None:
        """Send the link's card as a new message, or show it in the existing message."""
        link, reply_to = link_rows.get_link(tx, job.link_id), job.reply_to
        is_picture = reply_to.is_picture
        is_card = is_picture or post_rows.is_card(tx, reply_to.chat_id, reply_to.message_id)
        if link.state == link_rows.DELETED:
            text = translations.t(
                reply_to.language, "listing-deleted", name=replies.escaped(link.spec.name)
            )
            reply = replies.Reply(text, picture=link.id if is_card else None)
        else:
            # Of a card with a picture only the picture, the link's id, is queued: the sender
            # renders the card again as it stands then.
            reply = card_text.seller_card(request_card.card_of(link, self.now()), reply_to.language)
            if isinstance(job, jobs.CreateRequest | jobs.SendCard):
                self.send(tx, job, reply)
                return
        payload = payloads.replacement(
            reply, reply_to.language, reply_to.message_id, is_picture=is_picture, is_card=is_card
        )
        self._put(tx, reply_to, payload)

    def answer(
        self,
        tx: database.Transaction,
        job: jobs.ConnectAccount | jobs.RemoveAccount,
        reply: replies.Reply,
    ) -> None:
        """Show a reply in the message whose button was pressed, or in a new message."""
        reply_to = job.reply_to
        payload = payloads.replacement(
            reply, reply_to.language, reply_to.message_id, is_picture=reply_to.is_picture
        )
        self._put(tx, reply_to, payload)

    def send(self, tx: database.Transaction, job: jobs.SellerJob, reply: replies.Reply) -> None:
        """Queue a message to the chat that the job came from."""
        self._put(tx, job.reply_to, payloads.new_message(reply, job.reply_to.language))

    def send_text(
        self, tx: database.Transaction, job: jobs.SellerJob, key: str, **values: object
    ) -> None:
        """Queue a text to the chat that the job came from; `name` is the request's."""
        name = replies.escaped(link_rows.get_link(tx, job.link_id).spec.name)
        self.send(
            tx, job, replies.Reply(translations.t(job.reply_to.language, key, name=name, **values))
        )

    def send_refusal(
        self, tx: database.Transaction, job: jobs.SellerJob, error: errors.Refused
    ) -> None:
        """Queue the service's refusal in its own words."""
        words = replies.escaped(error.message, LONGEST_REFUSAL)
        self.send_text(tx, job, "service-refused", words=words)

    def send_failure(self, tx: database.Transaction, job: jobs.SellerJob, error: Exception) -> None:
        """Queue the text about a call that failed or whose outcome is unknown."""
        match error:
            case errors.NotFound():
                mark_deleted(tx, link_rows.get_link(tx, job.link_id))
                self.refresh(tx, job.link_id)
                self.send_text(tx, job, "service-gone")
            case errors.Unauthorized():
                self.send_text(tx, job, "service-closed")
            case errors.Refused():
                self.send_refusal(tx, job, error)
            case errors.NotReached() | errors.Throttled():
                self.send_text(tx, job, "service-not-done")
            case _:
                self.send_text(tx, job, "service-silent")

    def ask(
        self,
        tx: database.Transaction,
        job: jobs.SellerJob,
        link: link_rows.PaymentLink,
        form: Callable[..., flow.FormResult],
    ) -> None:
        """Open the form that a refusal needs, and queue its questions."""
        seller = seller_rows.ensure_seller(tx, link.seller_id, job.reply_to.language, self.now())
        seller = seller_rows.at_service(tx, seller, link.seller_id, self.server.payout_service)
        current = seller_rows.find_draft(tx, link.chat_id, link.seller_id)
        result = form(draft_id=link_rows.short_id(6), seller=seller, current=current)
        seller_rows.save_draft(tx, link.chat_id, link.seller_id, result.draft, self.now())
        for reply in result.replies:
            self.send(tx, job, reply)

    def _put(
        self, tx: database.Transaction, reply_to: jobs.ReplyTo, payload: payloads.MessagePayload
    ) -> None:
        chat = str(reply_to.chat_id)
        outbox.put(tx, self.queues.messages, chat, payload, self.now())


def mark_deleted(tx: database.Transaction, link: link_rows.PaymentLink) -> None:
    """Mark a request as deleted, and release its picture."""
    link_rows.set_state(tx, link.id, link_rows.DELETED)
    if link.spec.image is not None:
        seller_rows.release_image(tx, link.spec.image)
