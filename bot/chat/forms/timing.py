"""Times: the seller's zone, when a request starts and ends, quiet hours and the summary."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.forms.button_rows import clock, hours
from bot.chat.forms.flow import at_step, done, go_on, opened, save_setting
from bot.chat.forms.outcome import Change, Outcome, Setting
from bot.chat.forms.prompts import ask_moment, ask_zone, prompt
from bot.chat.messages.problem import Problem
from bot.chat.messages.reply import escaped
from bot.chat.times import moments, zones
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.forms.draft import Draft
    from bot.chat.messages.reply import Action
    from bot.chat.model.seller import Seller

STEPS = frozenset({"zone", "starts", "ends", "end", "quiet", "summary"})
VERBS = frozenset({"zone", "moment", "hours", "minute", "off"})
_DAY = 24 * 60  # minutes
_HOURS = re.compile(r"([0-9]{1,4})-([0-9]{1,4})", re.ASCII)
_MINUTE = re.compile(r"[0-9]{1,4}", re.ASCII)
_MOMENT = re.compile(r"[1-9][0-9]{0,13}", re.ASCII)


def take_text(draft: Draft, text: str, seller: Seller, now: int) -> Outcome:
    """Read a time, a zone or hours; `now` in epoch ms."""
    if draft.step == "zone" or (seller.zone is None and draft.step not in ("quiet", "summary")):
        return _zone_said(draft, text, seller, now)
    if draft.step == "quiet":
        return _quiet_said(draft, text, seller)
    if draft.step == "summary":
        return _summary_said(draft, text, seller)
    return _moment_said(draft, text, seller, now)


def take_press(draft: Draft, action: Action, seller: Seller, now: int) -> Outcome | None:
    """Take one that was offered; None for a button that says nothing that can be done."""
    verb, *words = action
    if verb == "zone" and len(words) == 1:
        return _zone_pressed(draft, words[0], seller, now)
    if verb == "moment" and len(words) == 2:  # noqa: PLR2004 - which, and when
        return _moment_pressed(draft, (words[0], words[1]), seller, now)
    if len(words) != 1 or draft.form != "settings":
        return None
    return _hours_pressed(draft, verb, words[0], seller)


def _hours_pressed(draft: Draft, verb: str, word: str, seller: Seller) -> Outcome | None:
    if verb == "off":
        return _off_pressed(draft, word, seller)
    if seller.zone is None:
        return opened(draft, "quiet" if verb == "hours" else "summary", seller)
    if verb == "hours":
        found = _HOURS.fullmatch(word)
        return _take_quiet(draft, (int(found[1]), int(found[2])), seller) if found else None
    minute = int(word) if _MINUTE.fullmatch(word) else _DAY
    return _take_summary(draft, minute, seller)


def _wrong(draft: Draft, problem: Problem, seller: Seller) -> Outcome:
    return at_step(draft, draft.step, seller, problem.text(seller.language))


def _zone_said(draft: Draft, text: str, seller: Seller, now: int) -> Outcome:
    found = zones.read_zone(text)
    if isinstance(found, Problem):
        return _wrong(draft, found, seller)
    if isinstance(found, tuple):
        return Outcome(draft, (ask_zone(draft, seller, found),))
    return _take_zone(draft, found, seller, now)


def _zone_pressed(draft: Draft, name: str, seller: Seller, now: int) -> Outcome | None:
    return _take_zone(draft, name, seller, now) if zones.is_zone(name) else None


def _take_zone(draft: Draft, name: str, seller: Seller, now: int) -> Outcome:
    """Save the zone, and go on with what it was asked for."""
    seller, setting = replace(seller, zone=name), Setting("zone", name)
    shown = escaped(zones.shown_zone(name, now, seller.language))
    saved = t(seller.language, "zone-saved", zone=shown)
    if draft.wanted is not None:
        outcome = at_step(replace(draft, wanted=None), draft.wanted, seller, saved)
    elif draft.form == "settings":
        outcome = done(draft, seller, saved)
    else:  # an old button: what is asked now is asked again
        outcome = Outcome(draft, (prompt(draft, seller, saved),))
    return replace(outcome, setting=setting)


def _moment_said(draft: Draft, text: str, seller: Seller, now: int) -> Outcome:
    found = moments.read_moment(text, now, seller.zone or "", end=draft.step != "starts")
    if isinstance(found, Problem):
        return _wrong(draft, found, seller)
    if isinstance(found, moments.Choice):
        return Outcome(draft, (ask_moment(draft, seller, found.moments),))
    return _take_moment(draft, found, seller, now)


def _moment_pressed(
    draft: Draft, words: tuple[str, str], seller: Seller, now: int
) -> Outcome | None:
    step, written = words
    steps = ("end",) if draft.form == "edit" else ("starts", "ends")
    if step not in steps or not _MOMENT.fullmatch(written) or seller.zone is None:
        return None
    if draft.form == "edit" and draft.step != step:
        return None
    if draft.form == "new" and (draft.amount is None or draft.currency is None):
        return go_on(draft, seller)
    draft, at = replace(draft, step=step), int(written)
    if at <= now:
        return is_over(draft, at, seller, now)
    return _take_moment(draft, at, seller, now) if at <= now + moments.MAX_AHEAD else None


def is_over(draft: Draft, at: int, seller: Seller, now: int) -> Outcome:
    """Say that a time has passed, and ask for another where it belongs."""
    past = moments.Past("problem-moment-past", {}, at, now, seller.zone or zones.UNIVERSAL)
    step = draft.step if draft.step in STEPS else "ends"
    return at_step(draft, step, seller, past.text(seller.language))


def _take_moment(draft: Draft, at: int, seller: Seller, now: int) -> Outcome:
    """Set when it starts or ends, said in full; it can't end before it starts."""
    if draft.step == "starts" and draft.ends_at is not None and at >= draft.ends_at:
        return _wrong(draft, Problem("problem-starts-late"), seller)
    if draft.step != "starts" and draft.starts_at is not None and at <= draft.starts_at:
        return _wrong(draft, Problem("problem-ends-early"), seller)
    if draft.form == "edit":
        left = draft.paused
        replies = () if left is None else (prompt(left, seller),)
        return Outcome(left, replies, change=Change(draft.listing or "", draft.step, at))
    language = seller.language
    moment = escaped(moments.spelled(at, now, seller.zone or "", language))
    if draft.step == "starts":
        draft, line = replace(draft, starts_at=at), t(language, "review-starts", moment=moment)
    else:
        draft, line = replace(draft, ends_at=at), t(language, "review-ends", moment=moment)
    return go_on(draft, seller, t(language, "understood", line=line))


def _quiet_said(draft: Draft, text: str, seller: Seller) -> Outcome:
    found = moments.read_hours(text)
    if isinstance(found, Problem):
        return _wrong(draft, found, seller)
    return _take_quiet(draft, found, seller) or _wrong(draft, Problem("problem-hours"), seller)


def _take_quiet(draft: Draft, quiet: tuple[int, int], seller: Seller) -> Outcome | None:
    if not all(0 <= minute < _DAY for minute in quiet) or quiet[0] == quiet[1]:
        return None
    saved = t(seller.language, "quiet-saved", hours=hours(quiet))
    return save_setting(draft, Setting("quiet", quiet), seller, saved)


def _summary_said(draft: Draft, text: str, seller: Seller) -> Outcome:
    found = moments.read_clock(text)
    if isinstance(found, Problem):
        return _wrong(draft, found, seller)
    return _take_summary(draft, found, seller) or _wrong(draft, Problem("problem-clock"), seller)


def _take_summary(draft: Draft, minute: int, seller: Seller) -> Outcome | None:
    if not 0 <= minute < _DAY:
        return None
    saved = t(seller.language, "summary-saved", time=clock(minute))
    return save_setting(draft, Setting("summary", minute), seller, saved)


def _off_pressed(draft: Draft, step: str, seller: Seller) -> Outcome | None:
    if step not in ("quiet", "summary"):
        return None
    words = t(seller.language, "quiet-off" if step == "quiet" else "summary-off")
    return save_setting(draft, Setting(step, None), seller, words)
