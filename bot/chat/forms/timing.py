"""Times: the seller's zone, moments that were offered, quiet hours and the summary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.fields.registry import field_at
from bot.chat.forms import flow
from bot.chat.forms.button_rows import clock, hours, zone_rows
from bot.chat.forms.outcome import Outcome, Press, Setting
from bot.chat.forms.prompts import ask_which, prompt
from bot.chat.messages.reply import Problem, escaped
from bot.chat.times import local_time, moments, zones
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.messages.reply import Action
    from bot.chat.model.draft import Draft, Seller

_DAY = 24 * 60  # minutes


def take_text(draft: Draft, text: str, seller: Seller, now: int) -> Outcome:
    """Take a text as quiet hours, as the time of the summary, or else as a zone."""
    if draft.step == "quiet":
        return _take_time(draft, local_time.read_hours(text), seller)
    if draft.step == "summary":
        return _take_time(draft, local_time.read_clock(text), seller)
    zone = zones.read_zone(text)
    if isinstance(zone, Problem):
        return flow.ask_again(draft, zone, seller)
    if isinstance(zone, tuple):
        choices = zone_rows(draft, seller, zone)
        return Outcome(draft, (ask_which(draft, seller, "ask-which-zone", choices),))
    return _take_zone(draft, zone, seller, now)


def _zone_pressed(draft: Draft, words: Action, seller: Seller, now: int) -> Outcome | None:
    return _take_zone(draft, words[0], seller, now) if zones.is_zone(words[0]) else None


def _take_zone(draft: Draft, name: str, seller: Seller, now: int) -> Outcome:
    """Save the zone, and go on with the step that waited for it."""
    seller, setting = replace(seller, zone=name), Setting("zone", name)
    shown = escaped(zones.shown_zone(name, now, seller.language))
    saved = t(seller.language, "zone-saved", zone=shown)
    if draft.step_after_zone is not None:
        outcome = flow.ask_step(
            replace(draft, step_after_zone=None), draft.step_after_zone, seller, saved
        )
    elif draft.form == "settings":
        outcome = flow.end_short_form(draft, seller, saved)
    else:  # an old button: the present question stands
        outcome = Outcome(draft, (prompt(draft, seller, saved),))
    return replace(outcome, setting=setting)


def _moment_pressed(draft: Draft, words: Action, seller: Seller, now: int) -> Outcome | None:
    """Take a moment that was offered for a field, in epoch ms."""
    step, at = words[0], int(words[1])
    field = field_at(draft.form, step)
    if field is None or not field.is_moment or seller.zone is None:
        return None
    if draft.form == "edit" and draft.step != step:
        return None
    if draft.form == "new" and (draft.amount is None or draft.currency is None):
        return flow.go_on(draft, seller)
    draft = replace(draft, step=step)
    if at <= now:
        return refuse_past(draft, at, seller, now)
    return flow.take_value(draft, field, at, seller, now) if at <= now + moments.MAX_AHEAD else None


def refuse_past(draft: Draft, at: int, seller: Seller, now: int) -> Outcome:
    """Ask again for the time of the draft's step, since `at` (epoch ms) has passed."""
    zone = seller.zone or zones.UTC_ZONE
    return flow.ask_again(draft, moments.Past("problem-moment-past", {}, at, now, zone), seller)


def _take_time(draft: Draft, time: tuple[int, int] | int | Problem, seller: Seller) -> Outcome:
    """Save the minute of the day of the summary, or the two of the quiet hours."""
    if isinstance(time, Problem):
        return flow.ask_again(draft, time, seller)
    if isinstance(time, int):
        saved = t(seller.language, "summary-saved", time=clock(time))
        return flow.save_setting(draft, Setting("summary", time), seller, saved)
    saved = t(seller.language, "quiet-saved", hours=hours(time))
    return flow.save_setting(draft, Setting("quiet", time), seller, saved)


def _hours_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    if seller.zone is None:
        return flow.ask_after_zone(draft, "quiet", seller)
    start, end = map(int, words[0].split("-"))
    is_sound = max(start, end) < _DAY and start != end
    return _take_time(draft, (start, end), seller) if is_sound else None


def _minute_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    if seller.zone is None:
        return flow.ask_after_zone(draft, "summary", seller)
    minute = int(words[0])
    return _take_time(draft, minute, seller) if minute < _DAY else None


def _off_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    name = words[0]
    if name not in ("quiet", "summary"):
        return None
    text = t(seller.language, "quiet-off" if name == "quiet" else "summary-off")
    return flow.save_setting(draft, Setting(name, None), seller, text)


VERBS: dict[str, Press] = {
    "zone": _zone_pressed,
    "moment": _moment_pressed,
    "hours": _hours_pressed,
    "minute": _minute_pressed,
    "off": _off_pressed,
}
