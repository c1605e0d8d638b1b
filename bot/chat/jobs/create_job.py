"""The jobs that create a request (`create`) and delete accidental copies of it.

The ordinary way: `_order` reads what to create, `_run` calls the server, `_made` stores its answer.
The rest is for creates that the server refuses, and for those whose answer is lost: the request is
then searched for before it is created again, and its copies are deleted later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bot.chat.forms.form import reopen
from bot.chat.jobs import (
    audit_trail,
    create_attempt,
    dialects,
    job_context,
    request_bodies,
    seller_jobs,
)
from bot.chat.jobs.job_context import Context
from bot.chat.model import jobs, remote_request, replies
from bot.chat.store import link_rows, payment_rows, seller_rows
from bot.core import errors
from bot.core.database import database
from bot.core.money import amounts
from bot.core.outbox import outbox
from bot.core.text import translations

PATIENCE = 20 * 3600 * 1000
"""Milliseconds until a create is given up; the service knows its key for 24 hours."""

COPIES_DELAY = 300_000
"""Milliseconds until the list is searched for late copies from a lost create."""


async def create(context: Context, message: outbox.Message, link: link_rows.PaymentLink) -> None:
    """Create a request, or find the one that an earlier attempt made."""
    now = context.now()
    progress: jobs.CreateProgress = message.body.progress.corrected(now)
    if message.uncertain:  # an interrupted attempt may have sent its create
        progress = progress.after_loss(now)
    order = await context.db.read(lambda tx: _order(context, tx, link))
    attempt = create_attempt.Attempt(context.server.client, order, progress)
    try:
        made = await job_context.in_time(_run(context, attempt, message, link, progress))
    except create_attempt.NoDialect as error:
        job_context.log_failure(message.body, error)
        await context.finish(message, _fail_dialects, progress, attempt)
    except (create_attempt.OtherPrice, errors.PeerError, errors.Refused) as error:
        job_context.log_failure(message.body, error)
        progress = attempt.progress_after(error, context.now())
        if attempt.is_misspelled(error):
            job = replace(message.body, progress=progress)
            await context.retry(message, job, 0)
        elif attempt.is_final(error):
            await context.finish(message, _refuse, progress, error)
        else:
            await _postpone(context, message, progress, error)
    else:
        if made is None:
            await _postpone(context, message, progress, None)
        else:
            await context.finish(message, _made, made, attempt)


def _order(
    context: Context, tx: database.Transaction, link: link_rows.PaymentLink
) -> create_attempt.Order:
    """Return what to create, with the dialects that the server may know."""
    instrument = dialects.instrument_of(link.spec, context.server.instrument)
    if context.server.url is None:
        tried: tuple[dialects.Dialect, ...] = dialects.DIALECTS[:1]
    else:
        known = dialects.known_dialect(tx, context.server.url)
        tried = dialects.dialects_to_try(known, link.spec, instrument)
    paid = payment_rows.paid_request_ids(tx, link.id)
    state = seller_rows.profile_state(tx, link.seller_id)
    seller = request_bodies.seller_of_create(state.profile, context.server.addresses)
    if seller and not seller_jobs.knows_seller(context, tx):
        seller = None
    return create_attempt.Order(link, instrument, tried, paid, seller, state.version)


async def _run(
    context: Context,
    attempt: create_attempt.Attempt,
    message: outbox.Message,
    link: link_rows.PaymentLink,
    progress: jobs.CreateProgress,
) -> remote_request.RemoteRequest | None:
    """Find the request or create it; return None while the server may still be working."""
    now, server = context.now(), context.server

    def write(dialect: dialects.Dialect) -> Mapping[str, Any]:
        return request_bodies.request_body(link, server.addresses, server.instrument, now, dialect)

    await attempt.delete_doomed()
    if message.attempts > 1 or progress.lost_at is not None:
        if found := await attempt.find():
            return found
        if progress.unsettled(now, server.settling):
            return None
    return await attempt.create(write)


def _made(
    context: Context,
    tx: database.Transaction,
    job: jobs.CreateRequest,
    made: remote_request.RemoteRequest,
    attempt: create_attempt.Attempt,
) -> None:
    link_rows.set_answer(tx, job.link_id, made)
    link_rows.set_state(tx, job.link_id, link_rows.LIVE)
    link = link_rows.get_link(tx, job.link_id)
    audit_trail.record_made(tx, link, made.id, context.now())
    context.refresh(tx, link.id)
    if attempt.leaves_more and context.server.settling:
        _delete_copies_later(context, tx, job)
    context.show(tx, job)
    seller_jobs.after_create(context, tx, job, link, attempt)
    if attempt.is_unchecked(made):
        if dialects.mark_price_warning(tx, context.server.url or "", link.seller_id):
            context.send_text(tx, job, "service-price-unchecked")
    else:
        _remember_dialect(context, tx, link, attempt.dialect_used)


def _remember_dialect(
    context: Context,
    tx: database.Transaction,
    link: link_rows.PaymentLink,
    used: dialects.Dialect | None,
) -> None:
    """Store the successful dialect if the price and the payment have different currencies."""
    server = context.server
    is_denominated = link.spec.currency != dialects.instrument_of(link.spec, server.instrument)
    if server.url is None or used is None or not is_denominated:
        return
    name = None if used is dialects.DIALECTS[0] else used.name
    if dialects.known_dialect(tx, server.url) != name:
        dialects.remember_dialect(tx, server.url, name)


def _fail_dialects(
    context: Context,
    tx: database.Transaction,
    job: jobs.CreateRequest,
    progress: jobs.CreateProgress,
    attempt: create_attempt.Attempt,
) -> None:
    """End a create that failed in every dialect; notify the seller of the first failure."""
    failure = progress.failure
    if failure is not None and failure.price is None:
        problem = errors.FieldProblem(failure.field, failure.message)
        _refuse(context, tx, job, progress, errors.InvalidBody(failure.message, [problem]))
        return
    spec = _fail(context, tx, job, progress).spec
    price = amounts.format_money(spec.amount, spec.currency, job.reply_to.language)
    context.send_text(
        tx, job, "service-other-price",
        charged=replies.escaped(failure.price if failure and failure.price else ""),
        price=replies.escaped(price),
        left="yes" if attempt.is_other_price_left else "no",
    )  # fmt: skip


def _refuse(
    context: Context,
    tx: database.Transaction,
    job: jobs.CreateRequest,
    progress: jobs.CreateProgress,
    error: errors.Refused,
) -> None:
    """End a refused create; open its form again if that may help."""
    link = _fail(context, tx, job, progress)
    if isinstance(error, errors.InvalidBody | errors.EmailUnavailable):
        _reopen(context, tx, job, link, error)
    elif isinstance(error, errors.Unauthorized):
        context.send_text(tx, job, "service-locked")
    else:
        context.send_refusal(tx, job, error)


def _fail(
    context: Context,
    tx: database.Transaction,
    job: jobs.CreateRequest,
    progress: jobs.CreateProgress,
) -> link_rows.PaymentLink:
    link_rows.set_state(tx, job.link_id, link_rows.FAILED)
    if progress.lost:
        _delete_copies_later(context, tx, job)
    return link_rows.get_link(tx, job.link_id)


def _reopen(
    context: Context,
    tx: database.Transaction,
    job: jobs.CreateRequest,
    link: link_rows.PaymentLink,
    error: errors.Refused,
) -> None:
    """Open the form at the step of the refused field."""
    problem = create_attempt.refused_field(error)
    words = problem.message
    if isinstance(error, errors.EmailUnavailable):
        words = translations.t(job.reply_to.language, "email-unavailable")
    form = partial(reopen, link.spec, field=problem.field, message=words)
    context.ask(tx, job, link, form)


async def _postpone(
    context: Context,
    message: outbox.Message,
    progress: jobs.CreateProgress,
    error: Exception | None,
) -> None:
    """Retry later; the seller gets one text for each kind of failure, and a text at the end."""
    now = context.now()
    if now - message.created_at > PATIENCE:
        await context.finish(message, _end_unknown, progress)
        return
    asked = errors.requested_wait(error) if error else 0
    delay = job_context.RETRIES.delay(message.attempts, asked) or 0
    unsettled = progress.unsettled(now, context.server.settling)
    if unsettled and error is None:
        delay = min(delay, unsettled)
    text = job_context.delay_text(error)
    is_known = text in progress.sent_texts or (error is None and progress.sent_texts)
    if not is_known:
        progress = replace(progress, sent_texts=(*progress.sent_texts, text))
    job = replace(message.body, progress=progress)
    follow = None if is_known else Context.send_text
    await context.retry(message, job, delay, follow, text)


def _end_unknown(
    context: Context,
    tx: database.Transaction,
    job: jobs.CreateRequest,
    progress: jobs.CreateProgress,
) -> None:
    """End a create whose outcome may never be known."""
    _fail(context, tx, job, progress)
    context.send_text(tx, job, "service-given-up")


def give_up(context: Context, tx: database.Transaction, job: jobs.CreateRequest) -> None:
    """End a create that became a dead letter; it may have been sent."""
    _end_unknown(context, tx, job, job.progress.after_loss(context.now()))


def _delete_copies_later(
    context: Context, tx: database.Transaction, job: jobs.CreateRequest
) -> None:
    context.add_later(tx, jobs.DeleteAccidentalCopies(job.link_id), COPIES_DELAY)


async def delete_copies(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink
) -> None:
    """Delete the requests that lost creates made late; retry while the server fails."""
    paid = await context.db.read(lambda tx: payment_rows.paid_request_ids(tx, link.id))
    call = create_attempt.delete_accidental_copies(context.server.client, link, paid)
    await job_context.in_time(call)
    await context.finish(message)
