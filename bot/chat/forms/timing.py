"""Times: the seller's zone, moments that were offered, quiet hours and the summary."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.fields.registry import field_at
from bot.chat.forms.button_rows import clock, hours
from bot.chat.forms.field_answers import take_value
from bot.chat.forms.flow import (
    ask_after_zone,
    ask_again,
    ask_step,
    end_short_form,
    go_on,
    save_setting,
)
from bot.chat.forms.outcome import Outcome, Setting
from bot.chat.forms.prompts import ask_zone, prompt
from bot.chat.messages.problem import Problem
from bot.chat.messages.reply import escaped
from bot.chat.times import epochs, local_time, moments, zones
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.messages.reply import Action
    from bot.chat.model.draft import Draft
    from bot.chat.model.seller import Seller

VERBS = frozenset({"zone", "moment", "hours", "minute", "off"})
_DAY = 24 * 60  # minutes
_HOURS = re.compile(r"([0-9]{1,4})-([0-9]{1,4})", re.ASCII)
_MINUTE = re.compile(r"[0-9]{1,4}", re.ASCII)
_MOMENT = re.compile(r"[1-9][0-9]{0,13}", re.ASCII)


def take_text(draft: Draft, text: str, seller: Seller, now: int) -> Outcome:
    """Take a text as quiet hours, as the time of the summary, or else as a zone."""
    if draft.step == "quiet":
        return _take_quiet(draft, local_time.read_hours(text), seller)
    if draft.step == "summary":
        return _take_summary(draft, local_time.read_clock(text), seller)
    zone = zones.read_zone(text)
    if isinstance(zone, Problem):
        return ask_again(draft, zone, seller)
    if isinstance(zone, tuple):
        return Outcome(draft, (ask_zone(draft, seller, zone),))
    return _take_zone(draft, zone, seller, now)


def take_press(draft: Draft, action: Action, seller: Seller, now: int) -> Outcome | None:
    """Take an offered time or zone; return None where the button's words make no sense."""
    verb, *words = action
    if verb == "zone" and len(words) == 1:
        is_known = zones.is_zone(words[0])
        return _take_zone(draft, words[0], seller, now) if is_known else None
    if verb == "moment" and len(words) == 2:  # noqa: PLR2004 - which field, and when
        return _moment_pressed(draft, (words[0], words[1]), seller, now)
    if len(words) != 1 or draft.form != "settings":
        return None
    return _hours_pressed(draft, verb, words[0], seller)


def _hours_pressed(draft: Draft, verb: str, word: str, seller: Seller) -> Outcome | None:
    if verb == "off":
        return _off_pressed(draft, word, seller)
    if seller.zone is None:
        return ask_after_zone(draft, "quiet" if verb == "hours" else "summary", seller)
    if verb == "hours":
        found = _HOURS.fullmatch(word)
        quiet = (int(found[1]), int(found[2])) if found else (0, 0)
        return _take_quiet(draft, quiet, seller) if _are_hours(quiet) else None
    minute = int(word) if _MINUTE.fullmatch(word) else _DAY
    return _take_summary(draft, minute, seller) if minute < _DAY else None


def _take_zone(draft: Draft, name: str, seller: Seller, now: int) -> Outcome:
    """Save the zone, and go on with the step that waited for it."""
    seller, setting = replace(seller, zone=name), Setting("zone", name)
    shown = escaped(zones.shown_zone(name, now, seller.language))
    saved = t(seller.language, "zone-saved", zone=shown)
    if draft.step_after_zone is not None:
        outcome = ask_step(
            replace(draft, step_after_zone=None), draft.step_after_zone, seller, saved
        )
    elif draft.form == "settings":
        outcome = end_short_form(draft, seller, saved)
    else:  # an old button: the present question stands
        outcome = Outcome(draft, (prompt(draft, seller, saved),))
    return replace(outcome, setting=setting)


def _moment_pressed(
    draft: Draft, words: tuple[str, str], seller: Seller, now: int
) -> Outcome | None:
    step, written = words
    field = field_at(draft.form, step)
    if field is None or not field.is_moment or seller.zone is None:
        return None
    if not _MOMENT.fullmatch(written) or (draft.form == "edit" and draft.step != step):
        return None
    if draft.form == "new" and (draft.amount is None or draft.currency is None):
        return go_on(draft, seller)
    draft, at = replace(draft, step=step), int(written)
    if at <= now:
        return refuse_past(draft, at, seller, now)
    within = at <= now + epochs.MAX_AHEAD
    return take_value(draft, field, at, seller, now) if within else None


def refuse_past(draft: Draft, at: int, seller: Seller, now: int) -> Outcome:
    """Ask again for the time of the draft's step, since `at` (epoch ms) has passed."""
    zone = seller.zone or zones.UTC_ZONE
    return ask_again(draft, moments.Past("problem-moment-past", {}, at, now, zone), seller)


def _are_hours(quiet: tuple[int, int]) -> bool:
    return all(0 <= minute < _DAY for minute in quiet) and quiet[0] != quiet[1]


def _take_quiet(draft: Draft, quiet: tuple[int, int] | Problem, seller: Seller) -> Outcome:
    if isinstance(quiet, Problem):
        return ask_again(draft, quiet, seller)
    saved = t(seller.language, "quiet-saved", hours=hours(quiet))
    return save_setting(draft, Setting("quiet", quiet), seller, saved)


def _take_summary(draft: Draft, minute: int | Problem, seller: Seller) -> Outcome:
    if isinstance(minute, Problem):
        return ask_again(draft, minute, seller)
    saved = t(seller.language, "summary-saved", time=clock(minute))
    return save_setting(draft, Setting("summary", minute), seller, saved)


def _off_pressed(draft: Draft, step: str, seller: Seller) -> Outcome | None:
    if step not in ("quiet", "summary"):
        return None
    text = t(seller.language, "quiet-off" if step == "quiet" else "summary-off")
    return save_setting(draft, Setting(step, None), seller, text)
