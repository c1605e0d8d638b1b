"""Drafts as JSON in the database: written, parsed, and checked for consistency."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.chat.forms import request_fields, typed_text
from bot.chat.model import drafts, payout
from bot.core import errors, stored_json
from bot.core.money import amounts

_IDS = {
    "id": re.compile(r"[a-z0-9]{6}"),
    "link_id": re.compile(r"[a-z0-9]{10}"),
    "payment": re.compile(r"[a-z0-9]{10}:[0-9]{1,14}:[0-9a-f]{8}"),
}


def write_draft(draft: drafts.Draft) -> str:
    """Return a draft as JSON for `read_draft`."""
    return stored_json.write(drafts.Draft, replace(draft, touched_at=None))


def read_draft(text: str) -> drafts.Draft | None:
    """Return the draft that `write_draft` wrote; None if the text is anything else."""
    try:
        draft = stored_json.read(drafts.Draft, text)
    except errors.Unreadable:
        return None
    return draft if _is_sound(draft) else None


def _is_sound(draft: drafts.Draft) -> bool:
    """True if a draft's attributes are consistent."""
    form, step, steps = draft.form, draft.step, request_fields.STEPS.get(draft.form, ())
    given = {name: getattr(draft, name) for name in _IDS if getattr(draft, name) is not None}
    return (
        all(_IDS[name].fullmatch(value) for name, value in given.items())
        and step in steps
        and draft.step_after_zone in (None, *steps)
        and {draft.currency, draft.instrument} <= {None, *amounts.currencies()}
        and _is_sound_price(draft)
        and ("link_id" in given) == (form in ("edit", "codes"))
        and ("payment" in given) == (form == "payback")
        and all(getattr(draft, name) is not None for name in _needed_before(form, step))
        and (draft.way in payout.WAYS if form == "payout" else draft.way is None)
        and (form != "payout" or _is_sound_payout(draft))
        and (draft.paused is None or (draft.paused.form == "new" and _is_sound(draft.paused)))
    )


def _is_sound_price(draft: drafts.Draft) -> bool:
    """True if the amounts are possible, and the price equals the first amount of the choice."""
    choice, currency = draft.choice, draft.currency or typed_text.FINEST
    named = [draft.amount, *(choice.amounts if choice else ())]
    try:
        for amount in named:
            if amount is not None:
                amounts.to_minor(amount, currency)
    except errors.MoneyError:
        return False
    return choice is None or (choice.is_sound and draft.amount == choice.first)


def _is_sound_payout(draft: drafts.Draft) -> bool:
    """True if the attributes of a payout account's draft are consistent."""
    fields, step = payout.fields_of(draft.way or "", draft.answers), draft.step
    given = [answer.field for answer in draft.answers]
    # Earlier versions did not ask for a BIC; the service refuses the account if it needs one.
    is_whole = step in payout.PAYOUT_STEPS or {*fields} - {*given} <= {payout.BIC}
    is_asked = step not in payout.PAYOUT_STEPS or payout.PAYOUT_STEPS[step] in fields
    is_found = draft.found is not None or step != payout.FOUND
    return given == [name for name in fields if name in given] and all(
        (is_whole, is_asked, is_found)
    )


def _needed_before(form: str, step: str) -> tuple[str, ...]:
    """Return the draft's attributes that must be set before a step is reached."""
    if form == "line":
        return ("kind", "name")
    if form != "new" or step == "kind":
        return ()
    is_early = step in request_fields.PATH and step != "review"
    return ("kind",) if is_early else ("kind", "name", "amount", "currency")
