"""Drafts as JSON in the database: written, parsed, and checked for consistency."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.forms import request_fields, typed_text
from bot.chat.model import drafts, payout
from bot.core import errors, stored_json
from bot.core.money import amounts

_FORMS = (
    *(drafts.NewDraft, drafts.LineDraft, drafts.EditDraft, drafts.CodesDraft),
    *(drafts.SettingsDraft, drafts.PayoutDraft, drafts.NoteDraft),
)
_DRAFTS = stored_json.PayloadKinds("form", **{draft.form: draft for draft in _FORMS})


def write_draft(draft: drafts.Draft) -> str:
    """Return a draft as JSON for `read_draft`."""
    return _DRAFTS.encode(replace(draft, touched_at=None))


def read_draft(text: str) -> drafts.Draft | None:
    """Return the draft that `write_draft` wrote; None if the text is anything else."""
    try:
        draft: drafts.Draft = _DRAFTS.decode(text)
    except errors.Unreadable:
        return None
    return draft if _is_sound(draft) else None


def _is_sound(draft: drafts.Draft) -> bool:
    """True if a draft's attributes are consistent."""
    steps = request_fields.STEPS[draft.form]
    if draft.step not in steps or not (draft.paused is None or _is_sound(draft.paused)):
        return False
    if isinstance(draft, drafts.TimedDraft) and draft.step_after_zone not in (None, *steps):
        return False
    if isinstance(draft, drafts.PayoutDraft):
        return _is_sound_payout(draft)
    return not isinstance(draft, drafts.RequestDraft) or _is_sound_request(draft)


def _is_sound_request(draft: drafts.RequestDraft) -> bool:
    """True if no answer is missing before the step, and the price is possible."""
    choice, currency = draft.choice, draft.currency or typed_text.FINEST
    needed: tuple[object, ...] = ()
    if isinstance(draft, drafts.NewDraft) and draft.step != "kind":
        is_early = draft.step in request_fields.PATH and draft.step != "review"
        rest = () if is_early else (draft.name, draft.amount, draft.currency)
        needed = (draft.kind, *rest)
    if None in needed or not {draft.currency, draft.instrument} <= {None, *amounts.currencies()}:
        return False
    try:
        for amount in (draft.amount, *(choice.amounts if choice else ())):
            if amount is not None:
                amounts.to_minor(amount, currency)
    except errors.MoneyError:
        return False
    return choice is None or (choice.is_sound and draft.amount == choice.first)


def _is_sound_payout(draft: drafts.PayoutDraft) -> bool:
    """True if all answers before the step are given, and fit the way of being paid."""
    if draft.way not in payout.WAYS:
        return False
    fields, step = payout.fields_of(draft.way, draft.answers), draft.step
    given = [answer.field for answer in draft.answers]
    if given != [name for name in fields if name in given]:
        return False
    if step in payout.PAYOUT_STEPS:
        return payout.PAYOUT_STEPS[step] in fields
    # Earlier versions did not ask for a BIC; the service refuses the account if it needs one.
    is_whole = {*fields} - {*given} <= {payout.BIC}
    return is_whole and (draft.found is not None or step != payout.FOUND)
