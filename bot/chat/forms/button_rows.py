"""The buttons below each question."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from bot.chat.fields.offers import TICK, button, file_answers, in_rows
from bot.chat.fields.registry import FIELDS, FILE_STEP, MENU, PATH, STEPS, UNITS, field_at
from bot.chat.forms.sellers.payout_texts import payout_rows
from bot.chat.forms.sellers.profile_texts import profile_rows
from bot.chat.model.profile import PROFILE_STEPS
from bot.chat.times import display, zones
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bot.chat.messages.reply import Rows
    from bot.chat.model.draft import Draft, Seller

QUIET = ((22 * 60, 7 * 60), (20 * 60, 9 * 60))
"""Quiet hours offered, in minutes of the day."""

SUMMARY = (8 * 60, 20 * 60)
"""Times of the summary offered, in minutes of the day."""


def rows(draft: Draft, seller: Seller) -> Rows:
    """Return the buttons of the draft's step: answers, Keep or Remove, and the ways out."""
    field = field_at(draft.form, draft.step)
    offers = field.offers if field else _OFFERS.get(draft.step)
    own = offers(draft, seller) if offers else ()
    return (*own, *_kept(draft, seller), *_cleared(draft, seller), *ways_out(draft, seller))


def ways_out(draft: Draft, seller: Seller) -> Rows:
    """Return Back, unless this is the first question, and Cancel; a note is skipped instead."""
    if draft.form == "payback":
        return ((button(draft, t(seller.language, "button-skip"), "clear", draft.step),),)
    out = button(draft, t(seller.language, "button-cancel"), "cancel")
    if draft.form in ("line", "codes") or (draft.step == "kind" and not draft.in_menu):
        return ((out,),)
    return ((button(draft, t(seller.language, "button-back"), "back", draft.step), out),)


def zone_rows(draft: Draft, seller: Seller, names: Iterable[str]) -> Rows:
    """Return a button for each time zone."""
    labels = {name: zones.place_name(name, seller.language) for name in names}
    return in_rows((button(draft, label, "zone", name) for name, label in labels.items()), 2)


def moment_rows(draft: Draft, seller: Seller, times: Iterable[int]) -> Rows:
    """Return a button for each time (epoch ms) that the draft's step may mean."""
    zone = seller.zone or zones.UTC_ZONE
    labels = {at: display.button_label(at, zone, seller.language) for at in times}
    return tuple(
        (button(draft, label, "moment", draft.step, str(at)),) for at, label in labels.items()
    )


def clock(minute: int) -> str:
    """Format a minute of the day: `22:00`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def hours(quiet: tuple[int, int]) -> str:
    """Format quiet hours: 22:00 to 07:00, with a dash."""
    return f"{clock(quiet[0])}–{clock(quiet[1])}"  # noqa: RUF001 - as hours are written


def _quiet_rows(draft: Draft, seller: Seller) -> Rows:
    offers = (button(draft, hours(each), "hours", f"{each[0]}-{each[1]}") for each in QUIET)
    return (*in_rows(offers, 2), *_off(draft, seller, seller.quiet))


def _summary_rows(draft: Draft, seller: Seller) -> Rows:
    offers = (button(draft, clock(minute), "minute", str(minute)) for minute in SUMMARY)
    return (*in_rows(offers, 2), *_off(draft, seller, seller.summary))


def _off(draft: Draft, seller: Seller, value: object) -> Rows:
    if value is None:
        return ()
    return ((button(draft, t(seller.language, "button-off"), "off", draft.step),),)


def fingerprint(draft: Draft, seller: Seller) -> str:
    """Return a checksum of all that a review shows: an old Create button must not create more."""
    values = [getattr(draft, field.attribute) for field in FIELDS if field.attribute]
    shown = (seller.destination, seller.profile.name, draft.choice, values)
    return f"{zlib.crc32(repr(shown).encode()):08x}"


def _review_rows(draft: Draft, seller: Seller) -> Rows:
    create = button(
        draft, t(seller.language, "button-create"), "create", fingerprint(draft, seller)
    )
    return ((create,), (button(draft, t(seller.language, "button-options"), "options"),))


def _options_rows(draft: Draft, seller: Seller) -> Rows:
    """Return a row for each field that is set, with its value, then the others in pairs."""
    fields = [field for field in MENU if field.is_offered(draft, seller)]
    labels = {field.name: t(seller.language, f"option-{field.name}") for field in fields}
    values = {field.name: field.label(draft, seller) for field in fields}
    ticked = {
        name: TICK + t(seller.language, "option-set", option=labels[name], value=value)
        for name, value in values.items()
        if value
    }
    already = [(button(draft, label, "open", name),) for name, label in ticked.items()]
    fresh = (button(draft, labels[name], "open", name) for name in labels if name not in ticked)
    done = button(draft, t(seller.language, "button-done"), "done")
    return (*already, *in_rows(fresh, 2), (done,))


_OFFERS: dict[str, Callable[[Draft, Seller], Rows]] = {
    "zone": lambda draft, seller: zone_rows(draft, seller, zones.suggested_zones(seller.language)),
    "quiet": _quiet_rows,
    "summary": _summary_rows,
    "review": _review_rows,
    "options": _options_rows,
    FILE_STEP: file_answers,
    **dict.fromkeys(PROFILE_STEPS, profile_rows),
    **dict.fromkeys(STEPS["payout"], payout_rows),
}
"""The answers to steps that ask for no field."""


def _kept(draft: Draft, seller: Seller) -> Rows:
    """Return Keep, where Back led to a question that has an answer."""
    field = field_at(draft.form, draft.step)
    if draft.form != "new" or draft.step not in PATH or field is None:
        return ()
    value = field.label(draft, seller)
    if not value:
        return ()
    if field is UNITS:
        value = t(seller.language, "count", count=draft.units)
    return ((button(draft, t(seller.language, "button-keep", value=value), "keep"),),)


def _cleared(draft: Draft, seller: Seller) -> Rows:
    """Return Remove for an optional field that is set, Skip for one that a new request lacks."""
    field = field_at(draft.form, draft.step)
    if field is None or not field.is_optional:
        return ()
    is_set = field.line(draft, seller) is not None
    if draft.form == "edit" and not is_set:
        return ()
    label = t(seller.language, "button-remove" if is_set else "button-skip")
    return ((button(draft, label, "clear", draft.step),),)
