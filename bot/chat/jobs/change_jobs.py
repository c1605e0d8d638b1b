"""The jobs of a card's buttons: pause, resume, delete, update; and the job that adds codes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.chat.cards import request_card
from bot.chat.jobs import client, job_outcomes, request_changes
from bot.chat.model import jobs, remote_request, request_spec
from bot.chat.store import link_rows
from bot.core import errors
from bot.core.database import database
from bot.core.outbox import outbox
from bot.interface import answers


class ChangeHandler:
    """Performs the jobs of a card's buttons, and CheckRequest."""

    def __init__(self, outcomes: job_outcomes.Outcomes, client: client.Client) -> None:
        self._outcomes = outcomes
        self._client = client

    async def change(self, message: outbox.Message, link: link_rows.PaymentLink) -> None:
        """Perform the job of a button, and show the card afterwards."""
        job, now, client = message.body, self._outcomes.now(), self._client.keyed(message.id)
        is_change = isinstance(job, jobs.ChangeJob)
        call = (
            request_changes.change_request(client, link, job, now)
            if is_change
            else request_changes.check_request(client, link, now)
        )
        try:
            result = await job_outcomes.in_time(call)
        except (errors.PeerError, errors.Refused) as error:
            job_outcomes.log_failure(job, error)
            await self._outcomes.finish(message, self.fail, error)
        else:
            await self._outcomes.finish(message, self._show, result)

    async def check(self, message: outbox.Message, link: link_rows.PaymentLink) -> None:
        """Fetch a request to update its link and posts; nobody is notified of a failure."""
        try:
            result = await job_outcomes.in_time(
                request_changes.check_request(self._client, link, self._outcomes.now())
            )
        except errors.NotFound:
            result = request_changes.ChangeResult(state=link_rows.DELETED)
        except (errors.PeerError, errors.Refused) as error:
            job_outcomes.log_failure(message.body, error)
            await self._outcomes.finish(message)
            return
        await self._outcomes.finish(message, self._store, result)

    def fail(self, tx: database.Transaction, job: jobs.SellerJob, error: Exception) -> None:
        """Queue the text about a failed call; a requested card shows its last known state."""
        if isinstance(error, errors.Refused) or not isinstance(
            job, jobs.SendCard | jobs.RefreshCard
        ):
            self._outcomes.send_failure(tx, job, error)
        elif isinstance(job, jobs.SendCard):
            self._outcomes.send_text(tx, job, "service-stale")
            self._outcomes.show(tx, job)
        else:
            self._outcomes.send_text(tx, job, "service-no-news")

    def answer_deleted(self, tx: database.Transaction, job: jobs.SellerJob) -> None:
        """Answer a button of a request that has been deleted meanwhile."""
        if isinstance(job, jobs.DeleteRequest):
            self._outcomes.show(tx, job)
        else:
            self._outcomes.send_text(tx, job, "service-gone")

    def _show(
        self, tx: database.Transaction, job: jobs.CardJob, result: request_changes.ChangeResult
    ) -> None:
        self._store(tx, job, result)
        if isinstance(job, jobs.ResumeRequest) and result.state == link_rows.LIVE:
            spec = link_rows.get_link(tx, job.link_id).spec
            ends_at = request_changes.end_after(spec, self._outcomes.now())
            link_rows.set_spec(tx, job.link_id, replace(spec, ends_at=ends_at))
        self._outcomes.show(tx, job)
        if result.text is not None:
            self._outcomes.send_text(tx, job, result.text)

    def _store(
        self,
        tx: database.Transaction,
        job: jobs.CardJob | jobs.CheckRequest,
        result: request_changes.ChangeResult,
    ) -> None:
        """Store the result of a call, and queue the refresh of the link's posts."""
        self._outcomes.save_answer(tx, job.link_id, result.answer)
        if result.state == link_rows.DELETED:
            job_outcomes.mark_deleted(tx, link_rows.get_link(tx, job.link_id))
        elif result.state is not None:
            link_rows.set_state(tx, job.link_id, result.state)
        self._outcomes.refresh(tx, job.link_id)


# Codes for the buyers of a request. The service accepts each code only once, so the job can be
# retried until the service answers.


CODES_TRIED_FOR = 24 * 3600 * 1000
"""Milliseconds for which the job is retried; then the seller has to send the codes again."""

CODES_AT_ONCE = 150
"""Codes in one call: the service accepts 1 MiB, and a character can take 12 bytes of JSON."""


@dataclass(frozen=True, slots=True)
class Added:
    """The service's state after the calls."""

    counts: answers.AddedCodesAnswer
    new: int
    """Number of new codes."""
    answer: remote_request.RemoteRequest | None
    """The request; None if unknown."""
    is_exact: bool
    """False if an earlier attempt may have added some of the codes."""


class CodesHandler:
    """Performs AddCodes."""

    def __init__(self, outcomes: job_outcomes.Outcomes, client: client.Client) -> None:
        self._outcomes = outcomes
        self._client = client

    async def add(self, message: outbox.Message, link: link_rows.PaymentLink) -> None:
        """Add codes to a request, and tell the seller how many buyers still wait."""
        job: jobs.AddCodes = message.body
        is_exact = message.attempts == 1 and not message.uncertain
        try:
            added = await job_outcomes.in_time(self._send(message, link, is_exact=is_exact))
        except errors.PeerError as error:
            job_outcomes.log_failure(job, error)
            await self._retry(message, job, error)
        except errors.NoCodes:
            await self._outcomes.finish(message, self._outcomes.send_text, "toast-no-codes")
        except errors.Refused as error:
            job_outcomes.log_failure(job, error)
            await self._outcomes.finish(message, self._outcomes.send_failure, error)
        else:
            await self._outcomes.finish(message, self._conclude, added)

    def give_up(self, tx: database.Transaction, job: jobs.AddCodes) -> None:
        """Ask for the codes again after the job became a dead letter."""
        self._outcomes.send_text(tx, job, "codes-given-up")

    async def _send(
        self, message: outbox.Message, link: link_rows.PaymentLink, *, is_exact: bool
    ) -> Added:
        job: jobs.AddCodes = message.body
        client = self._client.keyed(message.id)
        request_id, new, counts = link.request_id or "", 0, None
        for start in range(0, len(job.codes), CODES_AT_ONCE):
            codes = job.codes[start : start + CODES_AT_ONCE]
            counts = await client.add_codes(request_id, codes)
            new += counts.added
        if counts is None:
            raise ValueError("there are no codes to add")
        try:
            answer = await request_changes.fetch_request(client, request_id)
        except errors.NotFound:  # the request was deleted while buyers waited
            answer = None
        return Added(counts, new, answer, is_exact)

    async def _retry(
        self, message: outbox.Message, job: jobs.AddCodes, error: errors.PeerError
    ) -> None:
        if self._outcomes.now() - job.asked_at >= CODES_TRIED_FOR:
            await self._outcomes.finish(message, self.give_up)
            return
        delay = job_outcomes.RETRIES.delay_or_last(message.attempts, errors.requested_wait(error))
        text = None if job.is_notified else "codes-service-down"
        await self._outcomes.retry(message, replace(job, is_notified=True), delay, text)

    def _conclude(self, tx: database.Transaction, job: jobs.AddCodes, added: Added) -> None:
        self._outcomes.save_answer(tx, job.link_id, added.answer, brings_goods=True)
        before = link_rows.get_link(tx, job.link_id).answer
        if added.answer is None and before is not None:
            total = added.counts
            codes = request_spec.CodeCounts(total.total, total.assigned, total.waiting)
            counted = replace(before, codes=codes)
            link_rows.set_answer(tx, job.link_id, counted)
        self._outcomes.refresh(tx, job.link_id)
        link = link_rows.get_link(tx, job.link_id)
        new = added.new if added.is_exact else None
        self._outcomes.send(
            tx,
            job,
            request_card.added_reply(link, added.counts.waiting, new, job.reply_to.language),
        )
