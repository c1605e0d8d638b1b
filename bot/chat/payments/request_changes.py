"""Rules of changes: an edit's job, its effect on a spec, and the evidence that it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.chat.forms import flow, form, request_fields
from bot.chat.model import jobs, queues, remote_request, request_spec
from bot.chat.store import link_rows
from bot.core.database import database
from bot.core.outbox import queries

CLOCK_TOLERANCE = 60_000
"""Milliseconds by which the server's end may differ from the requested end."""

STATES: dict[type[jobs.ChangeJob], str] = {
    jobs.PauseRequest: link_rows.STOPPED,
    jobs.ResumeRequest: link_rows.LIVE,
    jobs.DeleteRequest: link_rows.DELETED,
}
"""A link's state after each change."""

AUDITED: dict[type[jobs.ChangeJob], str] = {
    jobs.PauseRequest: "request.stop-asked",
    jobs.ResumeRequest: "request.resume-asked",
    jobs.DeleteRequest: "request.delete-asked",
}
"""The action in the audit log for each change."""


def end_after(spec: request_spec.RequestSpec, now: int) -> int | None:
    """Return the end (epoch ms) of a resumed request; None if the end has passed."""
    return spec.ends_at if spec.ends_at is not None and spec.ends_at > now else None


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
    value: Any = field.empty if change.value is None else change.value
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
    return sent == wanted or (wanted is None and not sent)


def count_units(answer: remote_request.RemoteRequest, recorded: int) -> jobs.UnitCounts:
    """Count a drop's units in its server's answer, when `recorded` units were paid for."""
    left = answer.remaining_units
    unsold = None if left is None else left + answer.reserved_units
    return jobs.UnitCounts(answer.total_units, unsold, answer.paid_count, recorded)


def is_removal_uncertain(tx: database.Transaction, chat: queues.Queues, link_id: str) -> bool:
    """True if a removal of units is queued again because its outcome is unknown."""
    waiting = queries.unsettled_of_lane(tx, chat.jobs, f"{queues.BACKGROUND}{link_id}")
    return any(isinstance(job, jobs.RemoveUnits) for job in waiting)
