"""The jobs that edit a field of a request, or remove units from a drop.

The link changes only after the server has changed. An edit can safely be sent twice; a removal
can't.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TypeAlias

from bot.chat.cards import alerts, menus, request_card
from bot.chat.forms import form, request_fields
from bot.chat.model import jobs, queues, remote_request
from bot.chat.payments import job_context, request_bodies, request_changes
from bot.chat.payments.job_context import Context, Outcome
from bot.chat.store import link_rows, seller_rows
from bot.core import errors
from bot.core.ops import audit
from bot.core.outbox import outbox

EditJob: TypeAlias = jobs.EditRequest | jobs.RemoveUnits

GOODS_ATTEMPTS = 6
"""Attempts at an edit of goods, because no answer shows whether such an edit was made."""

NO_OTHER_VALUE = (errors.NotFound, errors.Unauthorized, errors.NotLimited)
"""Refusals of an edit that don't depend on the value."""


async def queue_behind_goods_edit(context: Context, message: outbox.Message) -> bool:
    """Queue a job about goods behind an older edit of goods that is being retried, if any.

    Return False if the job can be performed now.
    """
    if message.lane.startswith(queues.BACKGROUND):  # it is repeated
        return False
    return await context.queue_behind(message, _goods_lane(message.body.link_id))


async def edit(context: Context, message: outbox.Message, link: link_rows.PaymentLink) -> None:
    """Send an edit; after a lost answer, find out whether the edit was made."""
    is_goods = request_fields.EDITS[message.body.field] is request_fields.GOODS
    if is_goods and await queue_behind_goods_edit(context, message):
        return
    try:
        answer = await job_context.in_time(send(context, message, link))
    except (errors.NotReached, errors.Throttled):
        raise
    except errors.PeerError as error:
        job_context.log_failure(message.body, error)
        if not await _retry_goods(context, message, error):
            await _find_out(context, message, link, error)
    else:
        await context.finish(message, store, answer)


async def send(
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


async def _retry_goods(context: Context, message: outbox.Message, error: errors.PeerError) -> bool:
    """Retry an edit of goods; return False for other edits.

    Later edits of goods and added codes wait for this edit, so that the newest goods win. So
    the delay is never longer than a minute, whatever the service asks. Raises `error` after the
    last attempt.
    """
    job: jobs.EditRequest = message.body
    if request_fields.EDITS[job.field] is not request_fields.GOODS:
        return False
    if message.attempts >= GOODS_ATTEMPTS:
        raise error
    delay = job_context.RETRIES.delay_or_last(message.attempts)
    follow = None if job.is_notified else Outcome.send_text
    lane = _goods_lane(job.link_id)
    told = replace(job, is_notified=True)
    await context.retry(message, told, delay, follow, "goods-service-down", lane=lane)
    return True


async def _find_out(
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
    await context.finish(message, store if is_made else keep, answer)


def store(
    outcome: Outcome[EditJob],
    answer: remote_request.RemoteRequest | None,
) -> None:
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
        alerts.announce_ended_drop(outcome.tx, outcome.queues, link.id, now)


def keep(
    outcome: Outcome[EditJob],
    answer: remote_request.RemoteRequest | None,
    text: str = "edit-unchanged",
) -> None:
    """Store the answer after an edit without effect, and queue the text about it."""
    outcome.save_answer(answer)
    outcome.refresh()
    left = answer.remaining_units if answer else None
    outcome.send_text(text, left=left or 0)


def fail(outcome: Outcome[EditJob], error: Exception) -> None:
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
    before, problem = await context.db.read(lambda tx: _counted(Outcome(context, tx, job), answer))
    if problem is None:
        counted = replace(job, before=before)
        await context.proceed(message, counted, Outcome.save_answer, answer)
    else:
        await context.finish(message, keep, answer, problem)


def _counted(
    outcome: Outcome[jobs.RemoveUnits], answer: remote_request.RemoteRequest
) -> tuple[jobs.UnitCounts, str | None]:
    """Return the units in a new answer, and a text key if they can't be removed."""
    link = replace(outcome.link, answer=answer)
    problem = request_changes.removal_problem(link, request_changes.change_of(outcome.job))
    if request_changes.is_removal_uncertain(outcome.tx, outcome.queues, link.id):
        problem = "units-doubted"
    return _count(answer, link), problem


async def _send_removal(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink
) -> None:
    try:
        answer = await job_context.in_time(send(context, message, link))
    except (errors.NotReached, errors.Throttled):
        raise
    except errors.PeerError as error:
        job_context.log_failure(message.body, error)
        await _count_later(context, message, None)
    else:
        await context.finish(message, store, answer)


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
        await context.finish(message, store, answer)
    elif removed == 0 and is_settled:
        await context.finish(message, keep, answer)
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
        await context.finish(message, keep, answer, "units-unknown")
        return
    unsettled = replace(job, lost_at=lost_at, checks=job.checks + 1)
    follow = Outcome.send_text if unsettled.checks == NOTIFY_AT else None
    delay = job_context.RETRIES.delay(unsettled.checks) or 0
    await context.retry(message, unsettled, delay, follow, "units-doubted")


def _count(answer: remote_request.RemoteRequest, link: link_rows.PaymentLink) -> jobs.UnitCounts:
    several = (link.spec.max_quantity or 1) > 1
    counted = request_changes.count_units(answer, link.units_sold)
    return replace(counted, payments=link.paid_count, several=several)
