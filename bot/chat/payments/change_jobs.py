"""The jobs of a card's buttons: pause, resume, delete, update and edit a request, and add codes.

After a lost answer, the request is fetched from the server, so that the seller learns the outcome.
The link changes only after the server has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from bot.chat.cards import alerts, menus, request_card
from bot.chat.forms import form, request_fields
from bot.chat.model import jobs, queues, remote_request, request_spec
from bot.chat.payments import job_context, request_bodies, request_changes
from bot.chat.payments.client import Client
from bot.chat.payments.job_context import Context, Outcome
from bot.chat.store import link_rows, seller_rows
from bot.core import errors
from bot.core.database import database
from bot.core.ops import audit
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
        match job:
            case jobs.PauseRequest():
                await client.pause(request_id)
            case jobs.ResumeRequest():
                ends_at = request_changes.end_after(link.spec, now)
                seconds = None if ends_at is None else request_spec.seconds_until(ends_at, now)
                await client.resume(request_id, seconds)
            case jobs.DeleteRequest():
                await client.delete(request_id)
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


# Edits of a field. They can safely be sent twice; a removal of units can't.


EditJob: TypeAlias = jobs.EditRequest | jobs.RemoveUnits

GOODS_ATTEMPTS = 6
"""Attempts at an edit of goods, because no answer shows whether such an edit was made."""

NO_OTHER_VALUE = (errors.NotFound, errors.Unauthorized, errors.NotLimited)
"""Refusals of an edit that don't depend on the value."""


async def _queue_behind_goods_edit(context: Context, message: outbox.Message) -> bool:
    """Queue a job about goods behind an older edit of goods that is being retried, if any.

    Return False if the job can be performed now.
    """
    if message.lane.startswith(queues.BACKGROUND):  # it is repeated
        return False
    return await context.queue_behind(message, _goods_lane(message.body.link_id))


async def edit(context: Context, message: outbox.Message, link: link_rows.PaymentLink) -> None:
    """Send an edit; after a lost answer, find out whether the edit was made."""
    is_goods = request_fields.EDITS[message.body.field] is request_fields.GOODS
    if is_goods and await _queue_behind_goods_edit(context, message):
        return
    try:
        answer = await job_context.in_time(_send_edit(context, message, link))
    except (errors.NotReached, errors.Throttled):
        raise
    except errors.PeerError as error:
        job_context.log_failure(message.body, error)
        if not is_goods:
            await _find_out_edited(context, message, link, error)
            return
        if message.attempts >= GOODS_ATTEMPTS:
            raise
        # Later edits of goods and added codes wait for this edit, so that the newest goods win. So
        # the delay is never longer than a minute, whatever the service asks.
        job: jobs.EditRequest = message.body
        delay, lane = job_context.RETRIES.delay_or_last(message.attempts), _goods_lane(job.link_id)
        follow = None if job.is_notified else Outcome.send_text
        noted = replace(job, is_notified=True)
        await context.retry(message, noted, delay, follow, "goods-service-down", lane=lane)
    else:
        await context.finish(message, _store_edit, answer)


async def _send_edit(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink
) -> remote_request.RemoteRequest | None:
    """Send an edit; return the request afterwards, if known."""
    change, request_id = request_changes.change_of(message.body), link.request_id or ""
    body = request_bodies.edit_body(change, link, context.server.addresses, context.now())
    sent = await context.server.client.keyed(message.id).edit(request_id, body)
    answer = await context.server.client.get_if_possible(request_id) or sent
    if answer is None and link.answer is not None:
        return request_changes.assume_edit(link.answer, change)
    return answer


async def _find_out_edited(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink, error: errors.PeerError
) -> None:
    """Fetch a request to find out whether an edit was made; raise `error` if that fails."""
    change = request_changes.change_of(message.body)
    body = request_bodies.edit_body(change, link, context.server.addresses, context.now())
    try:
        answer, sent = await context.server.client.get_with_fields(link.request_id or "")
    except errors.NotFound:
        raise
    except (errors.PeerError, errors.Refused):
        raise error from None
    is_made = request_changes.is_edit_made(change, body, answer, sent)
    await context.finish(message, _store_edit if is_made else _keep_unedited, answer)


def _store_edit(outcome: Outcome[EditJob], answer: remote_request.RemoteRequest | None) -> None:
    """Store a successful edit, and confirm it."""
    link, now = outcome.link, outcome.now
    change = request_changes.change_of(outcome.job)
    field = request_fields.EDITS[change.field]
    spec = request_changes.apply_edit(link.spec, change)
    link_rows.set_spec(outcome.tx, link.id, spec)
    if field is request_fields.PICTURE:
        if spec.image is not None:
            seller_rows.keep_image(outcome.tx, spec.image, link.seller_id)
        if link.spec.image not in (None, spec.image):
            seller_rows.release_image(outcome.tx, link.spec.image)
    is_end = field is request_fields.ENDS
    if is_end and request_changes.end_after(spec, now) == spec.ends_at:
        link_rows.set_state(outcome.tx, link.id, link_rows.LIVE)
    is_goods = field is request_fields.GOODS
    outcome.save_answer(answer, brings_goods=is_goods)
    values = [request_changes.field_value(each, change.field) for each in (link.spec, spec)]
    if is_goods:  # only their kind is recorded
        values = [goods and goods.kind for goods in values]
    details = {"name": link.spec.name, change.field: values}
    actor, subject = audit.seller(link.seller_id), link.request_id or link.id
    audit.record(outcome.tx, actor, "request.edited", subject, now, details)
    outcome.refresh()
    seller = seller_rows.ensure_seller(outcome.tx, link.seller_id, outcome.language, now)
    shown = request_card.card_of(outcome.link, now)
    outcome.send(menus.saved_reply(shown, change, seller, now))
    if field is request_fields.UNITS:  # the last units of the drop may have been removed
        alerts.announce_ended_drop(outcome, link.id)


def _keep_unedited(
    outcome: Outcome[EditJob],
    answer: remote_request.RemoteRequest | None,
    text: str = "edit-unchanged",
) -> None:
    """Store the answer after an edit without effect, and queue the text about it."""
    outcome.save_answer(answer)
    outcome.refresh()
    left = answer.remaining_units if answer else None
    outcome.send_text(text, left=left or 0)


def edit_failed(outcome: Outcome[EditJob], error: Exception) -> None:
    """Queue the text about a failed edit; ask for another value if that may help."""
    if isinstance(error, errors.BuyersWait):
        outcome.send_text("goods-awaited")
    else:
        outcome.send_failure(error)
    if isinstance(error, errors.Refused) and not isinstance(error, NO_OTHER_VALUE):
        field = request_changes.change_of(outcome.job).field
        present = request_changes.request_for_form(outcome.link, field)
        outcome.ask(partial(form.edit_form, present=present, field=field))


def _goods_lane(link_id: str) -> str:
    """Return the lane of retried edits of goods, and of the jobs that wait for them."""
    return f"{queues.BACKGROUND}{link_id}:goods"


# The removal of units from a drop, which must not be made twice.
#
# The embedded service removes units only once for the job's Idempotency-Key, so a call with a lost
# answer is repeated. On external servers, the units are counted before the call, so that after a
# lost answer another count shows whether they are gone. If the result is unclear, the units are
# counted again later, because the server may still be working, and webhooks may still be on their
# way.


REMOVAL_PATIENCE = 3600 * 1000
"""Milliseconds until the outcome of a removal with a lost answer counts as unknown."""

KEYS_KEPT = 23 * 3600 * 1000
"""Milliseconds for which the embedded service certainly keeps a job's keys; it deletes them after a
day."""

NOTIFY_AT = 2
"""Number of the check after which the seller is notified of a delay; the first check follows at
once."""


async def remove(context: Context, message: outbox.Message, link: link_rows.PaymentLink) -> None:
    """Perform the next step of a removal: count, remove, or find out the outcome."""
    job: jobs.RemoveUnits = message.body
    may_be_sent = job.lost_at is not None or message.uncertain
    has_key = not context.server.settling and context.now() - message.created_at < KEYS_KEPT
    if job.before is None:
        await _count_before(context, message, link)
    elif has_key or not may_be_sent:
        await _send_removal(context, message, link)
    else:
        await _find_out_removed(context, message, link, job.before)


async def _count_before(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink
) -> None:
    job: jobs.RemoveUnits = message.body
    answer = await job_context.in_time(context.server.client.get(link.request_id or ""))

    def count(tx: database.Transaction) -> tuple[jobs.UnitCounts, str | None]:
        counted = replace(link_rows.get_link(tx, link.id), answer=answer)
        problem = request_changes.removal_problem(counted, request_changes.change_of(job))
        if request_changes.is_removal_uncertain(tx, context.queues, link.id):
            problem = "units-doubted"
        return _count(answer, counted), problem

    before, problem = await context.db.read(count)
    if problem is None:
        counted = replace(job, before=before)
        await context.retry(message, counted, None, Outcome.save_answer, answer)
    else:
        await context.finish(message, _keep_unedited, answer, problem)


async def _send_removal(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink
) -> None:
    try:
        answer = await job_context.in_time(_send_edit(context, message, link))
    except (errors.NotReached, errors.Throttled):
        raise
    except errors.PeerError as error:
        job_context.log_failure(message.body, error)
        await _count_later(context, message, None)
    else:
        await context.finish(message, _store_edit, answer)


async def _find_out_removed(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink, before: jobs.UnitCounts
) -> None:
    """Count again: if units are gone without a payment, they have been removed."""
    job: jobs.RemoveUnits = message.body
    try:
        answer = await job_context.in_time(context.server.client.get(link.request_id or ""))
    except errors.PeerError as error:
        job_context.log_failure(job, error)
        await _count_later(context, message, None)
        return
    later = _count(answer, link)
    removed = before.removed_until(later)
    now = context.now()
    is_settled = job.lost_at is not None and now - job.lost_at >= request_bodies.SETTLING
    if removed == job.number and (later.paid is not None or is_settled):
        await context.finish(message, _store_edit, answer)
    elif removed == 0 and is_settled:
        await context.finish(message, _keep_unedited, answer)
    else:
        await _count_later(context, message, answer)


async def _count_later(
    context: Context, message: outbox.Message, answer: remote_request.RemoteRequest | None
) -> None:
    """Count again later; the seller gets one text about the delay, and a text at the end."""
    job: jobs.RemoveUnits = message.body
    now = context.now()
    lost_at = now if job.lost_at is None else min(job.lost_at, now)
    if now - lost_at > REMOVAL_PATIENCE:
        await context.finish(message, _keep_unedited, answer, "units-unknown")
        return
    unsettled = replace(job, lost_at=lost_at, checks=job.checks + 1)
    follow = Outcome.send_text if unsettled.checks == NOTIFY_AT else None
    delay = job_context.RETRIES.delay(unsettled.checks) or 0
    await context.retry(message, unsettled, delay, follow, "units-doubted")


def _count(answer: remote_request.RemoteRequest, link: link_rows.PaymentLink) -> jobs.UnitCounts:
    several = (link.spec.max_quantity or 1) > 1
    counted = request_changes.count_units(answer, link.units_sold)
    return replace(counted, payments=link.paid_count, several=several)


# Codes for the buyers of a request. The service accepts each code only once, so the job can be
# retried until the service answers.


CODES_TRIED_FOR = 24 * 3600 * 1000
"""Milliseconds for which the job is retried; then the seller has to send the codes again."""

CODES_AT_ONCE = 150
"""Codes in one call: the service accepts 1 MiB, and a character can take 12 bytes of JSON."""


async def add_codes(context: Context, message: outbox.Message, link: link_rows.PaymentLink) -> None:
    """Add codes to a request, and tell the seller how many buyers still wait."""
    if await _queue_behind_goods_edit(context, message):
        return
    counts, new, answer = await job_context.in_time(_send_codes(context, message, link))
    if message.attempts > 1 or message.uncertain:  # an earlier attempt may have added some of them
        new = None
    await context.finish(message, _codes_added, counts, new, answer)


def codes_refused(outcome: Outcome[jobs.AddCodes], error: errors.Refused) -> None:
    """Answer codes that the service refused."""
    if isinstance(error, errors.NoCodes):
        outcome.send_text("toast-no-codes")
    else:
        outcome.send_failure(error)


async def _send_codes(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink
) -> tuple[answers.AddedCodesAnswer, int | None, remote_request.RemoteRequest | None]:
    """Return the service's counts, the number of new codes, and the request if known."""
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
    return counts, new, answer


def _codes_added(
    outcome: Outcome[jobs.AddCodes],
    counts: answers.AddedCodesAnswer,
    new: int | None,
    answer: remote_request.RemoteRequest | None,
) -> None:
    outcome.save_answer(answer, brings_goods=True)
    before = outcome.link.answer
    if answer is None and before is not None:
        codes = request_spec.CodeCounts(counts.total, counts.assigned, counts.waiting)
        link_rows.set_answer(outcome.tx, outcome.job.link_id, replace(before, codes=codes))
    outcome.refresh()
    outcome.send(request_card.added_reply(outcome.link, counts.waiting, new, outcome.language))
