"""Drafts as JSON in the database: written, parsed, and checked for consistency."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

from bot.chat.forms import request_fields, typed_text
from bot.chat.model import drafts, payout, request_spec, stored_json

_MAX_DEPTH = 3
"""Nested drafts: the settings interrupt a refused request, which interrupted a new request."""


def write_draft(draft: drafts.Draft) -> str:
    """Return a draft as JSON for `read_draft`."""
    return json.dumps(asdict(replace(draft, touched_at=None)), default="{:f}".format)


def read_draft(text: str) -> drafts.Draft | None:
    """Return the draft that `write_draft` wrote; None if the text is anything else."""
    return _draft_of(stored_json.parsed(text))


def _draft_of(found: object, depth: int = _MAX_DEPTH) -> drafts.Draft | None:
    if not depth or not stored_json.fits(found, _SHAPE) or not _is_sound(found):
        return None
    paused = None if found["paused"] is None else _draft_of(found["paused"], depth - 1)
    if found["paused"] is not None and (paused is None or paused.form != "new"):
        return None
    account = None
    if found["found"] is not None:
        currencies = tuple(found["found"]["currencies"])
        account = payout.PayoutAccount(**{**found["found"], "currencies": currencies})
    return drafts.Draft(
        **{
            **found,
            "amount": None if found["amount"] is None else Decimal(found["amount"]),
            "choice": _choice_of(found),
            "paused": paused,
            "receivers": tuple(drafts.Portion(**portion) for portion in found["receivers"]),
            "payer_fields": tuple(found["payer_fields"]),
            "goods": request_spec.Goods.of(found["goods"]),
            "readings": request_spec.goods_of(found["readings"]),
            "answers": tuple(payout.PayoutAnswer(**answer) for answer in found["answers"]),
            "found": account,
            "file": None if found["file"] is None else drafts.Attachment(**found["file"]),
        }
    )


def _choice_of(found: Mapping[str, Any]) -> request_spec.AmountChoice[Decimal] | None:
    return request_spec.read_draft_choice(found["choice"], found["currency"] or typed_text.FINEST)


def _is_sound(found: Mapping[str, Any]) -> bool:
    """True if a draft's attributes are consistent."""
    form, step, amount = found["form"], found["step"], found["amount"]
    return (
        step in request_fields.STEPS[form]
        and found["step_after_zone"] in (None, *request_fields.STEPS[form])
        and (
            amount is None or stored_json.is_amount(amount, found["currency"] or typed_text.FINEST)
        )
        and (found["choice"] is None or _is_sound_choice(found))
        and (found["link_id"] is not None) == (form in ("edit", "codes"))
        and (found["payment"] is not None) == (form == "payback")
        and all(found[name] is not None for name in _needed_before(form, step))
        and (found["way"] in payout.WAYS) == (form == "payout")
        and (form != "payout" or _is_sound_payout(found))
    )


def _is_sound_choice(found: Mapping[str, Any]) -> bool:
    """True if the price equals the first amount of the choice."""
    choice = _choice_of(found)
    return choice is not None and found["amount"] == f"{choice.first:f}"


def _is_sound_payout(found: Mapping[str, Any]) -> bool:
    """True if the attributes of a payout account's draft are consistent."""
    fields, step = payout.WAYS[found["way"]], found["step"]
    given = [answer["field"] for answer in found["answers"]]
    is_whole = step in payout.PAYOUT_STEPS or given == [*fields]
    is_asked = step not in payout.PAYOUT_STEPS or payout.PAYOUT_STEPS[step] in fields
    is_found = found["found"] is not None or step != payout.FOUND
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


def _matches(pattern: str) -> Callable[[object], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


def _or_none(check: Callable[[Any], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


_ACCOUNT = stored_json.shape_of(payout.PayoutAccount, currencies=stored_json.list_of_texts)
_FILE = stored_json.shape_of(
    drafts.Attachment, size=lambda value: value is None or stored_json.is_whole(value)
)
_SHAPE = stored_json.shape_of(
    drafts.Draft,
    id=_matches(r"[a-z0-9]{6}"),
    form=lambda value: value in (*request_fields.STEPS,),
    kind=lambda value: value in (None, *request_spec.KINDS),
    amount=lambda _found: True,  # checked with the currency
    choice=lambda _found: True,  # checked with the amount
    currency=_or_none(stored_json.is_currency),
    instrument=_or_none(stored_json.is_currency),
    paused=lambda _found: True,
    receivers=stored_json.list_of(
        stored_json.shape_of(drafts.Portion, measure=request_spec.is_measure)
    ),
    payer_fields=stored_json.some_of(request_spec.PAYER_FIELDS),
    goods=request_spec.are_goods,
    readings=request_spec.are_all_goods,
    way=_or_none(lambda value: value in payout.WAYS),
    answers=stored_json.list_of(stored_json.shape_of(payout.PayoutAnswer)),
    found=_or_none(lambda value: stored_json.fits(value, _ACCOUNT)),
    file=_or_none(lambda value: stored_json.fits(value, _FILE)),
    photos_due=lambda value: value == 0 or stored_json.is_whole(value),
    link_id=_or_none(_matches(r"[a-z0-9]{10}")),
    payment=_or_none(_matches(r"[a-z0-9]{10}:[0-9]{1,14}:[0-9a-f]{8}")),
)
