"""The jobs of a card's buttons: pause, resume, delete, update; and the job that adds codes.

After a lost answer, the request is fetched from the server, so that the seller learns the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.chat.cards import request_card
from bot.chat.model import jobs, remote_request, request_spec
from bot.chat.payments import edit_job, job_context, request_changes
from bot.chat.payments.client import Client
from bot.chat.payments.job_context import Context, Outcome
from bot.chat.store import link_rows
from bot.core import errors
from bot.core.outbox import outbox
from bot.interface import answers

PAUSE_HORIZON = 24 * 3600 * 1000
"""Milliseconds; an unexpected end nearer than this means a pause, by any server's clock."""


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The result of a call; a None means unknown or unchanged."""

    answer: remote_request.RemoteRequest | None = None
    state: str | None = None
    """The link's new state."""
    text: str | None = None
    """The text key of a note to add."""


async def change(context: Context, message: outbox.Message, link: link_rows.PaymentLink) -> None:
    """Perform the job of a button, and show the card afterwards."""
    job, now, client = message.body, context.now(), context.server.client.keyed(message.id)
    is_change = isinstance(job, jobs.ChangeJob)
    call = _change(client, link, job, now) if is_change else _fetch(client, link, now)
    await context.finish(message, _show, await job_context.in_time(call))


async def check(context: Context, message: outbox.Message, link: link_rows.PaymentLink) -> None:
    """Fetch a request to update its link and posts; nobody is notified of a failure."""
    call = _fetch(context.server.client, link, context.now())
    try:
        result = await job_context.in_time(call)
    except errors.NotFound:
        result = ChangeResult(state=link_rows.DELETED)
    await context.finish(message, _store, result)


def fail(outcome: Outcome[jobs.SellerJob], error: Exception) -> None:
    """Queue the text about a failed call; a requested card shows its last known state."""
    job = outcome.job
    if isinstance(error, errors.Refused) or not isinstance(job, jobs.SendCard | jobs.RefreshCard):
        outcome.send_failure(error)
    elif isinstance(job, jobs.SendCard):
        outcome.send_text("service-stale")
        outcome.show()
    else:
        outcome.send_text("service-no-news")


def give_up(outcome: Outcome[jobs.SellerJob]) -> None:
    """Notify the seller of a job that became a dead letter: its outcome is unknown."""
    fail(outcome, errors.Unreachable("no attempt came to an end"))


def answer_deleted(outcome: Outcome[jobs.SellerJob]) -> None:
    """Answer a button of a request that has been deleted meanwhile."""
    if isinstance(outcome.job, jobs.DeleteRequest):
        outcome.show()
    else:
        outcome.send_text("service-gone")


def _show(outcome: Outcome[jobs.CardJob], result: ChangeResult) -> None:
    _store(outcome, result)
    if isinstance(outcome.job, jobs.ResumeRequest) and result.state == link_rows.LIVE:
        spec = outcome.link.spec
        ends_at = request_changes.end_after(spec, outcome.now)
        link_rows.set_spec(outcome.tx, outcome.job.link_id, replace(spec, ends_at=ends_at))
    outcome.show()
    if result.text is not None:
        outcome.send_text(result.text)


def _store(outcome: Outcome[jobs.CardJob | jobs.CheckRequest], result: ChangeResult) -> None:
    """Store the result of a call, and queue the refresh of the link's posts."""
    outcome.save_answer(result.answer)
    if result.state == link_rows.DELETED:
        outcome.mark_deleted()
    elif result.state is not None:
        link_rows.set_state(outcome.tx, outcome.job.link_id, result.state)
    outcome.refresh()


async def _fetch(client: Client, link: link_rows.PaymentLink, now: int) -> ChangeResult:
    """Fetch a request; if it can be paid at the server, it is no longer paused here.

    Raises NotFound, Refused and PeerError.
    """
    answer = await client.get(link.request_id or "")
    is_resumed = link.state == link_rows.STOPPED and not _is_over(answer, link, now)
    return ChangeResult(answer, link_rows.LIVE if is_resumed else None)


async def _change(
    client: Client, link: link_rows.PaymentLink, job: jobs.ChangeJob, now: int
) -> ChangeResult:
    """Pause, resume or delete a request, and fetch it afterwards.

    Raises NotFound, Refused, NotReached and Throttled if nothing changed, and PeerError if the
    outcome is unknown.
    """
    request_id, state = link.request_id or "", request_changes.STATES[type(job)]
    try:
        await _send(client, link, job, now)
    except (errors.NotReached, errors.Throttled):
        raise
    except errors.PeerError as error:
        return await _find_out(client, link, job, now, error)
    if state == link_rows.DELETED:
        return ChangeResult(state=state)
    answer = await client.get_if_possible(request_id)
    if answer is None:  # the known answer, with the change that the server confirmed
        answer = link.answer
        if answer is not None and isinstance(job, jobs.ResumeRequest):
            ends_at = request_changes.end_after(link.spec, now)
            answer = replace(answer, expires_at=ends_at, is_enabled=True)
    return ChangeResult(answer, state)


async def _send(client: Client, link: link_rows.PaymentLink, job: jobs.ChangeJob, now: int) -> None:
    request_id = link.request_id or ""
    match job:
        case jobs.PauseRequest():
            await client.pause(request_id)
        case jobs.ResumeRequest():
            ends_at = request_changes.end_after(link.spec, now)
            seconds = None if ends_at is None else request_spec.seconds_until(ends_at, now)
            await client.resume(request_id, seconds)
        case jobs.DeleteRequest():
            await client.delete(request_id)


async def _find_out(
    client: Client,
    link: link_rows.PaymentLink,
    job: jobs.ChangeJob,
    now: int,
    error: errors.PeerError,
) -> ChangeResult:
    """Fetch a request to find out whether a change was made; raise `error` if that fails."""
    is_deleted = isinstance(job, jobs.DeleteRequest)
    try:
        answer = await client.get(link.request_id or "")
    except errors.NotFound:
        if not is_deleted:
            raise
        return ChangeResult(state=link_rows.DELETED)
    except (errors.PeerError, errors.Refused):
        raise error from None
    if not is_deleted and _is_over(answer, link, now) == isinstance(job, jobs.PauseRequest):
        return ChangeResult(answer, request_changes.STATES[type(job)])
    return ChangeResult(answer, text="service-unchanged")


def _is_over(answer: remote_request.RemoteRequest, link: link_rows.PaymentLink, now: int) -> bool:
    """True if a request has ended, or if it ends so soon that it must have been paused."""
    ends = answer.expires_at
    if ends is not None:
        known = link.answer.expires_at if link.answer and link.state == link_rows.LIVE else None
        asked = link.spec.ends_at  # by our clock; the known end is by the server's
        is_asked = ends == known or (
            asked is not None and abs(ends - asked) <= request_changes.CLOCK_TOLERANCE
        )
        if ends <= now + (0 if is_asked else PAUSE_HORIZON):
            return True
    has_begun = answer.enabled_at is None or answer.enabled_at <= now
    return has_begun and not (answer.is_enabled or answer.lacks_account)


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


async def add_codes(context: Context, message: outbox.Message, link: link_rows.PaymentLink) -> None:
    """Add codes to a request, and tell the seller how many buyers still wait."""
    if await edit_job.queue_behind_goods_edit(context, message):
        return
    is_exact = message.attempts == 1 and not message.uncertain
    added = await job_context.in_time(_send_codes(context, message, link, is_exact=is_exact))
    await context.finish(message, _codes_added, added)


def codes_refused(outcome: Outcome[jobs.AddCodes], error: errors.Refused) -> None:
    """Answer codes that the service refused."""
    if isinstance(error, errors.NoCodes):
        outcome.send_text("toast-no-codes")
    else:
        outcome.send_failure(error)


async def _send_codes(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink, *, is_exact: bool
) -> Added:
    job: jobs.AddCodes = message.body
    client = context.server.client.keyed(message.id)
    request_id, new, counts = link.request_id or "", 0, None
    for start in range(0, len(job.codes), CODES_AT_ONCE):
        codes = job.codes[start : start + CODES_AT_ONCE]
        counts = await client.add_codes(request_id, codes)
        new += counts.added
    if counts is None:
        raise ValueError("there are no codes to add")
    try:
        answer = await client.get_if_possible(request_id)
    except errors.NotFound:  # the request was deleted while buyers waited
        answer = None
    return Added(counts, new, answer, is_exact)


def _codes_added(outcome: Outcome[jobs.AddCodes], added: Added) -> None:
    outcome.save_answer(added.answer, brings_goods=True)
    before, counts = outcome.link.answer, added.counts
    if added.answer is None and before is not None:
        codes = request_spec.CodeCounts(counts.total, counts.assigned, counts.waiting)
        link_rows.set_answer(outcome.tx, outcome.job.link_id, replace(before, codes=codes))
    outcome.refresh()
    new = added.new if added.is_exact else None
    outcome.send(request_card.added_reply(outcome.link, counts.waiting, new, outcome.language))
