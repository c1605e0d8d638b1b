"""Changes of a request: pausing, resuming and deleting it at the service, and the rules of edits.

After a lost answer, the request is fetched from the server, so that the seller learns the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.chat.forms import flow, form, request_fields
from bot.chat.jobs import client
from bot.chat.model import jobs, remote_request, request_spec
from bot.chat.store import link_rows
from bot.core import errors

PAUSE_HORIZON = 24 * 3600 * 1000
"""Milliseconds; an unexpected end nearer than this means a pause, by any server's clock."""

CLOCK_TOLERANCE = 60_000
"""Milliseconds by which the server's end may differ from the requested end."""

STATES: dict[type[jobs.ChangeJob], str] = {
    jobs.PauseRequest: link_rows.STOPPED,
    jobs.ResumeRequest: link_rows.LIVE,
    jobs.DeleteRequest: link_rows.DELETED,
}
"""A link's state after each change."""


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The result of a call; a None means unknown or unchanged."""

    answer: remote_request.RemoteRequest | None = None
    state: str | None = None
    """The link's new state."""
    text: str | None = None
    """The text key of a note to add."""


async def check_request(
    client: client.Client, link: link_rows.PaymentLink, now: int
) -> ChangeResult:
    """Fetch a request; if it can be paid at the server, it is no longer paused here.

    Raises NotFound, Refused and PeerError.
    """
    answer = await client.get(link.request_id or "")
    is_resumed = link.state == link_rows.STOPPED and not is_over(answer, link, now)
    return ChangeResult(answer, link_rows.LIVE if is_resumed else None)


async def change_request(
    client: client.Client, link: link_rows.PaymentLink, job: jobs.ChangeJob, now: int
) -> ChangeResult:
    """Pause, resume or delete a request, and fetch it afterwards.

    Raises NotFound, Refused, NotReached and Throttled if nothing changed, and PeerError if the
    outcome is unknown.
    """
    request_id, state = link.request_id or "", STATES[type(job)]
    try:
        await _send(client, link, job, now)
    except (errors.NotReached, errors.Throttled):
        raise
    except errors.PeerError as error:
        return await _find_out(client, link, job, now, error)
    if state == link_rows.DELETED:
        return ChangeResult(state=state)
    answer = await fetch_request(client, request_id)
    if answer is None:  # the known answer, with the change that the server confirmed
        answer = link.answer
        if answer is not None and isinstance(job, jobs.ResumeRequest):
            ends_at = end_after(link.spec, now)
            answer = replace(answer, expires_at=ends_at, is_enabled=True)
    return ChangeResult(answer, state)


async def _send(
    client: client.Client, link: link_rows.PaymentLink, job: jobs.ChangeJob, now: int
) -> None:
    request_id = link.request_id or ""
    match job:
        case jobs.PauseRequest():
            await client.pause(request_id)
        case jobs.ResumeRequest():
            ends_at = end_after(link.spec, now)
            seconds = None if ends_at is None else request_spec.seconds_until(ends_at, now)
            await client.resume(request_id, seconds)
        case jobs.DeleteRequest():
            await client.delete(request_id)


def end_after(spec: request_spec.RequestSpec, now: int) -> int | None:
    """Return the end (epoch ms) of a resumed request; None if the end has passed."""
    return spec.ends_at if spec.ends_at is not None and spec.ends_at > now else None


async def _find_out(
    client: client.Client,
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
    if not is_deleted and is_over(answer, link, now) == isinstance(job, jobs.PauseRequest):
        return ChangeResult(answer, STATES[type(job)])
    return ChangeResult(answer, text="service-unchanged")


async def fetch_request(
    client: client.Client, request_id: str
) -> remote_request.RemoteRequest | None:
    """Fetch a request after a change; return None if the server fails. Raises NotFound."""
    try:
        return await client.get(request_id)
    except errors.NotFound:
        raise
    except (errors.PeerError, errors.Refused):
        return None


def is_over(answer: remote_request.RemoteRequest, link: link_rows.PaymentLink, now: int) -> bool:
    """True if a request has ended, or if it ends so soon that it must have been paused."""
    ends = answer.expires_at
    if ends is not None:
        known = link.answer.expires_at if link.answer and link.state == link_rows.LIVE else None
        asked = link.spec.ends_at  # by our clock; the known end is by the server's
        is_asked = ends == known or (asked is not None and abs(ends - asked) <= CLOCK_TOLERANCE)
        if ends <= now + (0 if is_asked else PAUSE_HORIZON):
            return True
    has_begun = answer.enabled_at is None or answer.enabled_at <= now
    return has_begun and not (answer.is_enabled or answer.lacks_account)


# Edits: an edit's job, its effect on a spec, and the evidence that the server made it.


def job_of(change: flow.Change, reply_to: jobs.ReplyTo) -> jobs.EditRequest | jobs.RemoveUnits:
    """Build the job that makes a change at the service."""
    if request_fields.EDITS[change.field] is request_fields.UNITS:
        return jobs.RemoveUnits(change.link_id, reply_to, number_of(change))
    return jobs.EditRequest(change.link_id, reply_to, change.field, change.value)


def change_of(job: jobs.EditRequest | jobs.RemoveUnits) -> flow.Change:
    """Build the change that a job makes."""
    if isinstance(job, jobs.RemoveUnits):
        return flow.Change(job.link_id, request_fields.UNITS.name, job.number)
    return flow.Change(job.link_id, job.field, job.value)


def number_of(change: flow.Change) -> int:
    """Return the value of a numeric field: a time in epoch ms, or units."""
    return change.value if isinstance(change.value, int) else 0


def text_of(change: flow.Change) -> str | None:
    """Return the value of a text field."""
    return change.value if isinstance(change.value, str) else None


def apply_edit(spec: request_spec.RequestSpec, change: flow.Change) -> request_spec.RequestSpec:
    """Apply an edit to a spec; removed units are subtracted from its units."""
    field = request_fields.EDITS[change.field]
    value: Any = change.value
    if field.edit and field.edit.apply:
        value = field.edit.apply(field_value(spec, change.field), value)
    return replace(spec, **{field.attribute: value})


def removal_problem(link: link_rows.PaymentLink, change: flow.Change) -> str | None:
    """Return a text key if units can't be removed; None if they can.

    A drop must keep at least one unit; its seller can pause or delete it instead.
    """
    left = units_left(link)
    if left is not None and number_of(change) > left:
        return "units-too-many"
    return "units-all" if number_of(change) >= (link.spec.units or 0) else None


def units_left(link: link_rows.PaymentLink) -> int | None:
    """Return a drop's units left, as sent by its server if possible; None if it isn't a drop."""
    known_left = link.answer.remaining_units if link.answer else None
    return link.left if known_left is None else known_left


def request_for_form(link: link_rows.PaymentLink, field: str) -> form.ExistingRequest:
    """Return the request for a field's edit form, with the units and codes left."""
    spec = link.spec
    if request_fields.EDITS[field] in (request_fields.UNITS, request_fields.GOODS):
        spec = replace(spec, units=units_left(link) or spec.units)
    codes = link.answer.codes if link.answer else None
    if codes is not None and spec.goods is not None and spec.goods.kind == request_spec.CODES:
        left = replace(spec.goods, count=codes.left or None, first=None, last=None)
        spec = replace(spec, goods=left)
    return form.ExistingRequest(link.id, spec, link.poster_text)


def copy_spec(spec: request_spec.RequestSpec, now: int) -> request_spec.RequestSpec:
    """Return the spec of a duplicate at `now` (epoch ms), without times that have passed.

    Codes and files aren't copied, because they belong to one request.
    """
    starts_at = spec.starts_at if spec.starts_at is not None and spec.starts_at > now else None
    goods = spec.goods if spec.goods is not None and spec.goods.kind == request_spec.TEXT else None
    return replace(spec, starts_at=starts_at, ends_at=end_after(spec, now), goods=goods)


def field_value(spec: request_spec.RequestSpec, field: str) -> Any:
    """Return the value of a field that can be edited."""
    return getattr(spec, request_fields.EDITS[field].attribute)


def assume_edit(
    answer: remote_request.RemoteRequest, change: flow.Change
) -> remote_request.RemoteRequest:
    """Return the known answer with the edit that the server confirmed."""
    if request_fields.EDITS[change.field] is request_fields.ENDS:
        ends_at = None if change.value is None else number_of(change)
        return replace(answer, expires_at=ends_at, is_enabled=True)
    if (
        request_fields.EDITS[change.field] is request_fields.UNITS
        and answer.remaining_units is not None
    ):
        left = max(0, answer.remaining_units - number_of(change))
        return answer.with_left(left, answer.reserved_units)
    return answer


def is_edit_made(
    change: flow.Change,
    body: Mapping[str, Any],
    answer: remote_request.RemoteRequest,
    sent: Mapping[str, Any],
) -> bool:
    """True if a request has the values of an edit's `body`; `sent` is the unparsed answer."""
    if request_fields.EDITS[change.field] is not request_fields.ENDS:
        return _has(sent, body)
    if change.value is None or answer.expires_at is None:
        return change.value is answer.expires_at
    return abs(answer.expires_at - number_of(change)) <= CLOCK_TOLERANCE


def _has(sent: object, wanted: object) -> bool:
    """True if `sent` has all wanted values; a cleared value may be missing, null or empty.

    The webhook isn't compared, because every edit of `notifications` contains it.
    """
    if isinstance(wanted, dict):
        known = sent if isinstance(sent, dict) else {}
        return all(
            _has(known.get(name), value) for name, value in wanted.items() if name != "webhook"
        )
    return (sent or None) == wanted


def count_units(answer: remote_request.RemoteRequest, recorded: int) -> jobs.UnitCounts:
    """Count a drop's units in its server's answer, when `recorded` units were paid for."""
    left = answer.remaining_units
    unsold = None if left is None else left + answer.reserved_units
    return jobs.UnitCounts(answer.total_units, unsold, answer.paid_count, recorded)
