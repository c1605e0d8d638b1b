"""Rules of edits: which job an edit is, what it makes of a wish, and whether the server made it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.chat.fields.registry import EDITS, ENDS, GOODS, UNITS
from bot.chat.forms.form import ExistingRequest
from bot.chat.forms.outcome import Change
from bot.chat.messages.jobs import EditRequest, RemoveUnits, UnitCounts
from bot.chat.model.goods import CODES, TEXT
from bot.chat.requests.change import CLOCK_TOLERANCE, end_after

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.messages.jobs import ReplyTo
    from bot.chat.model.answers import Answer
    from bot.chat.model.wish import Wish
    from bot.chat.store.listings import Listing


def job_of(change: Change, reply_to: ReplyTo) -> EditRequest | RemoveUnits:
    """Build the job that makes a change at the service."""
    if EDITS[change.field] is UNITS:
        return RemoveUnits(change.listing_id, reply_to, number_of(change))
    return EditRequest(change.listing_id, reply_to, change.field, change.value)


def change_of(job: EditRequest | RemoveUnits) -> Change:
    """Build the change that a job makes."""
    if isinstance(job, RemoveUnits):
        return Change(job.listing_id, UNITS.name, job.number)
    return Change(job.listing_id, job.field, job.value)


def number_of(change: Change) -> int:
    """Return the value of a field that is a number: a time in epoch ms, or units."""
    return change.value if isinstance(change.value, int) else 0


def text_of(change: Change) -> str | None:
    """Return the value of a field that is a text."""
    return change.value if isinstance(change.value, str) else None


def apply_edit(wish: Wish, change: Change) -> Wish:
    """Apply an edit to a wish; units that are removed are subtracted from its units."""
    field = EDITS[change.field]
    value: Any = change.value
    if field.edit and field.edit.apply:
        value = field.edit.apply(field_value(wish, change.field), value)
    return replace(wish, **{field.attribute: value})


def removal_problem(listing: Listing, change: Change) -> str | None:
    """Return the key of why these units can't be removed, None if they can.

    A drop without units is none: a seller can stop or delete it instead.
    """
    left = units_left(listing)
    if left is not None and number_of(change) > left:
        return "units-too-many"
    return "units-all" if number_of(change) >= (listing.wish.units or 0) else None


def units_left(listing: Listing) -> int | None:
    """Return the units left of a drop, by its server if it sends them; None for other kinds."""
    known_left = listing.answer.remaining_units if listing.answer else None
    return listing.left if known_left is None else known_left


def request_for_form(listing: Listing, field: str) -> ExistingRequest:
    """Build the facts that a field's edit form shows: the units left, and the codes left."""
    wish = listing.wish
    if EDITS[field] in (UNITS, GOODS):
        wish = replace(wish, units=units_left(listing) or wish.units)
    codes = listing.answer.codes if listing.answer else None
    if codes is not None and wish.goods is not None and wish.goods.kind == CODES:
        left = replace(wish.goods, count=codes.left or None, first=None, last=None)
        wish = replace(wish, goods=left)
    return ExistingRequest(listing.id, wish, listing.poster_text)


def copy_wish(wish: Wish, now: int) -> Wish:
    """Return the wish of a duplicate at `now` (epoch ms): without times that have passed.

    Codes are for the buyers of one request alone, and a file is kept for one.
    """
    starts_at = wish.starts_at if wish.starts_at is not None and wish.starts_at > now else None
    goods = wish.goods if wish.goods is not None and wish.goods.kind == TEXT else None
    return replace(wish, starts_at=starts_at, ends_at=end_after(wish, now), goods=goods)


def field_value(wish: Wish, field: str) -> Any:
    """Return the value of a field that can be edited."""
    return getattr(wish, EDITS[field].attribute)


def assume_edit(answer: Answer, change: Change) -> Answer:
    """Return the known answer with the edit that the server confirmed."""
    if EDITS[change.field] is ENDS:
        ends_at = None if change.value is None else number_of(change)
        return replace(answer, expires_at=ends_at, is_enabled=True)
    if EDITS[change.field] is UNITS and answer.remaining_units is not None:
        left = max(0, answer.remaining_units - number_of(change))
        return answer.with_left(left, answer.reserved_units)
    return answer


def is_edit_made(
    change: Change, body: Mapping[str, Any], answer: Answer, sent: Mapping[str, Any]
) -> bool:
    """Check whether a request has what an edit's `body` sets; `sent` is its answer unparsed."""
    if EDITS[change.field] is not ENDS:
        return _has(sent, body)
    if change.value is None or answer.expires_at is None:
        return change.value is answer.expires_at
    return abs(answer.expires_at - number_of(change)) <= CLOCK_TOLERANCE


def _has(sent: object, wanted: object) -> bool:
    """Check that all wanted values are there; a cleared one is left out, null or empty.

    The webhook is not compared: it is sent along with every edit of `notifications`.
    """
    if isinstance(wanted, dict):
        known = sent if isinstance(sent, dict) else {}
        return all(
            _has(known.get(name), value) for name, value in wanted.items() if name != "webhook"
        )
    return (sent or None) == wanted


def count_units(answer: Answer, recorded: int) -> UnitCounts:
    """Count a drop's units by its server's answer; `recorded` pieces were paid for then."""
    left = answer.remaining_units
    unsold = None if left is None else left + answer.reserved_units
    return UnitCounts(answer.total_units, unsold, answer.paid_count, recorded)
