"""The job that confirms or rejects a claim at the service; both calls are safe to repeat.

So it is tried until the service answers, for a day. A claim that was decided elsewhere meanwhile is
shown as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.cards import claim_posts
from bot.chat.cards.claim_text import claim_reply
from bot.chat.requests.job_failures import RETRIES, in_time, log_failure
from bot.chat.store import claims
from bot.chat.store.claims import CLOSED, CONFIRMED, REJECTED, UNDERPAID
from bot.core.errors import NotFound, PeerError, Refused, Unauthorized, WrongState, requested_wait

if TYPE_CHECKING:
    from bot.chat.messages.jobs import DecideClaim
    from bot.chat.provider.client import Client
    from bot.chat.requests.job_outcomes import Outcomes
    from bot.chat.store.claims import Claim
    from bot.core.database.database import Transaction
    from bot.core.outbox.outbox import Message

TRIED_FOR = 24 * 3600 * 1000
"""Milliseconds for which the service is asked; then the seller has to press again."""

SETTLED = ("paid", "late", "oversold")
"""States of a checkout whose money is recorded."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A claim's state after its job, and the key of a text where that is not what was asked for.

    `has_lapsed`: the service holds no unit for it any more.
    """

    state: str
    text: str | None = None
    has_lapsed: bool = False


class ClaimHandler:
    """Performs DecideClaim."""

    def __init__(self, outcomes: Outcomes, client: Client) -> None:
        self._outcomes = outcomes
        self._client = client

    async def decide(self, message: Message) -> None:
        """Confirm or reject a claim, unless its payment was recorded meanwhile."""
        job: DecideClaim = message.body
        claim = await self._outcomes.db.read(lambda tx: claims.find_claim(tx, job.claim_id))
        if claim is None or not claim.is_under_way():
            await self._outcomes.finish(message)
            return
        try:
            decision = await in_time(self._ask(self._client.keyed(message.id), job, claim))
        except PeerError as error:
            log_failure(job, error)
            await self._retry(message, job, error)
        except Refused as error:
            log_failure(job, error)
            key = "service-closed" if isinstance(error, Unauthorized) else "claims-refused"
            await self._outcomes.finish(message, self._conclude, Decision(job.before, key))
        else:
            await self._outcomes.finish(message, self._conclude, decision)

    def give_up(self, tx: Transaction, job: DecideClaim) -> None:
        """Return the decision to the seller after a job that was set aside."""
        self._conclude(tx, job, Decision(job.before, "claims-given-up"))

    async def _ask(self, client: Client, job: DecideClaim, claim: Claim) -> Decision:
        """Ask the service; raises PeerError and Refused."""
        try:
            if job.confirms:
                await client.confirm_checkout(claim.checkout_id)
                return Decision(CONFIRMED)
            await client.reject_checkout(claim.checkout_id)
            return Decision(REJECTED)
        except WrongState:
            return decided_elsewhere(job, await client.checkout_state(claim.checkout_id))
        except NotFound:
            return Decision(CLOSED, "claims-no-checkout")

    async def _retry(self, message: Message, job: DecideClaim, error: PeerError) -> None:
        if self._outcomes.now() - job.asked_at >= TRIED_FOR:
            await self._outcomes.finish(message, self.give_up)
            return
        delay = RETRIES.delay_or_last(message.attempts, requested_wait(error))
        text = None if job.is_told else "claims-service-down"
        await self._outcomes.retry(message, replace(job, is_told=True), delay, text)

    def _conclude(self, tx: Transaction, job: DecideClaim, decision: Decision) -> None:
        """Store what became of a claim and show it; one whose payment is recorded has its alert.

        An underpaid one that was not confirmed has its alert too, with the button still there.
        """
        claim, now = claims.find_claim(tx, job.claim_id), self._outcomes.now()
        if claim is None or not claim.is_under_way():
            return
        claims.change_state(tx, claim, decision.state, claim.answered_in)
        if decision.has_lapsed:
            claims.lapse(tx, claim.id, now)
        if decision.state != UNDERPAID:
            claim_posts.show(tx, self._outcomes.queues, claim.id, now)
        if decision.text is not None:
            self._outcomes.send_text(tx, job, decision.text)
        elif decision.state == REJECTED and job.reply_to.message_id is None:
            listing, seller = claim_posts.known(tx, claim)
            self._outcomes.send(
                tx, job, claim_reply(replace(claim, state=REJECTED), listing, seller, now)
            )


def decided_elsewhere(job: DecideClaim, state: str) -> Decision:
    """Return what becomes of a claim whose checkout's state refused the call."""
    if state in SETTLED:
        return Decision(CONFIRMED, None if job.confirms else "claims-settled-already")
    if job.confirms:
        return Decision(job.before, "claims-refused")
    if state == REJECTED:
        return Decision(REJECTED)
    return Decision(job.before, "claims-lapsed-already", has_lapsed=True)
