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
from bot.chat.model import jobs, remote_request, replies
from bot.chat.payments import create_attempt, job_context, request_bodies, seller_jobs
from bot.chat.payments.job_context import Context, Outcome
from bot.chat.store import link_rows, payment_rows, seller_rows
from bot.core import errors
from bot.core.database import database
from bot.core.money import amounts
from bot.core.ops import audit
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
    instrument = create_attempt.instrument_of(link.spec, context.server.instrument)
    if context.server.url is None:
        tried: tuple[create_attempt.Dialect, ...] = create_attempt.DIALECTS[:1]
    else:
        known = create_attempt.known_dialect(tx, context.server.url)
        tried = create_attempt.dialects_to_try(known, link.spec, instrument)
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

    def write(dialect: create_attempt.Dialect) -> Mapping[str, Any]:
        return request_bodies.request_body(link, server.addresses, server.instrument, now, dialect)

    await attempt.delete_doomed()
    if message.attempts > 1 or progress.lost_at is not None:
        if found := await attempt.find():
            return found
        if progress.unsettled(now, server.settling):
            return None
    return await attempt.create(write)


def _made(
    outcome: Outcome[jobs.CreateRequest],
    made: remote_request.RemoteRequest,
    attempt: create_attempt.Attempt,
) -> None:
    tx, link_id, server = outcome.tx, outcome.job.link_id, outcome.context.server
    link_rows.set_answer(tx, link_id, made)
    link_rows.set_state(tx, link_id, link_rows.LIVE)
    link = outcome.link
    details = {"listing": link.id, "name": link.spec.name}
    audit.record(tx, audit.seller(link.seller_id), "request.made", made.id, outcome.now, details)
    outcome.refresh()
    if attempt.leaves_more and server.settling:
        _delete_copies_later(outcome)
    outcome.show()
    seller_jobs.after_create(outcome, link, attempt)
    if attempt.is_unchecked(made):
        if create_attempt.mark_price_warning(tx, server.url or "", link.seller_id):
            outcome.send_text("service-price-unchecked")
    elif server.url is not None and attempt.dialect_used is not None:
        create_attempt.remember_dialect(
            tx, server.url, attempt.dialect_used, link.spec, server.instrument
        )


def _fail_dialects(
    outcome: Outcome[jobs.CreateRequest],
    progress: jobs.CreateProgress,
    attempt: create_attempt.Attempt,
) -> None:
    """End a create that failed in every dialect; notify the seller of the first failure."""
    failure = progress.failure
    if failure is not None and failure.price is None:
        problem = errors.FieldProblem(failure.field, failure.message)
        _refuse(outcome, progress, errors.InvalidBody(failure.message, [problem]))
        return
    spec = _fail(outcome, progress).spec
    price = amounts.format_money(spec.amount, spec.currency, outcome.language)
    outcome.send_text(
        "service-other-price",
        charged=replies.escaped(failure.price if failure and failure.price else ""),
        price=replies.escaped(price),
        left="yes" if attempt.is_other_price_left else "no",
    )


def _refuse(
    outcome: Outcome[jobs.CreateRequest], progress: jobs.CreateProgress, error: errors.Refused
) -> None:
    """End a refused create; open its form again, at the refused field, if that may help."""
    link = _fail(outcome, progress)
    if isinstance(error, errors.InvalidBody | errors.EmailUnavailable):
        problem = create_attempt.refused_field(error)
        words = problem.message
        if isinstance(error, errors.EmailUnavailable):
            words = translations.t(outcome.language, "email-unavailable")
        outcome.ask(partial(reopen, link.spec, field=problem.field, message=words))
    elif isinstance(error, errors.Unauthorized):
        outcome.send_text("service-locked")
    else:
        outcome.send_refusal(error)


def _fail(
    outcome: Outcome[jobs.CreateRequest], progress: jobs.CreateProgress
) -> link_rows.PaymentLink:
    link_rows.set_state(outcome.tx, outcome.job.link_id, link_rows.FAILED)
    if progress.lost:
        _delete_copies_later(outcome)
    return outcome.link


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
    follow = None if is_known else Outcome.send_text
    await context.retry(message, job, delay, follow, text)


def _end_unknown(outcome: Outcome[jobs.CreateRequest], progress: jobs.CreateProgress) -> None:
    """End a create whose outcome may never be known."""
    _fail(outcome, progress)
    outcome.send_text("service-given-up")


def give_up(outcome: Outcome[jobs.CreateRequest]) -> None:
    """End a create that became a dead letter; it may have been sent."""
    _end_unknown(outcome, outcome.job.progress.after_loss(outcome.now))


def _delete_copies_later(outcome: Outcome[jobs.CreateRequest]) -> None:
    outcome.add_later(jobs.DeleteAccidentalCopies(outcome.job.link_id), COPIES_DELAY)


async def delete_copies(
    context: Context, message: outbox.Message, link: link_rows.PaymentLink
) -> None:
    """Delete the requests that lost creates made late; retry while the server fails."""
    paid = await context.db.read(lambda tx: payment_rows.paid_request_ids(tx, link.id))
    call = create_attempt.delete_accidental_copies(context.server.client, link, paid)
    await job_context.in_time(call)
    await context.finish(message)
