"""How a form goes on: to its first open question, and from there to a finished wish."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.fields.field import Typed
from bot.chat.fields.offers import goals
from bot.chat.fields.receiver_shares import minor_of, shares_of
from bot.chat.fields.registry import (
    BY_NAME,
    FILE_STEP,
    GOODS,
    PATH,
    RECEIVERS,
    STEPS,
    field_at,
)
from bot.chat.fields.typed_text import AmbiguousAmount
from bot.chat.forms.bot_texts import menu, settings
from bot.chat.forms.button_rows import moment_rows
from bot.chat.forms.outcome import Change, Outcome, Setting
from bot.chat.forms.prompts import ask_which, path, prompt, resume_prompt
from bot.chat.messages.reply import Problem, Reply, escaped
from bot.chat.model.amount_choice import in_minor
from bot.chat.model.draft import Draft, Seller
from bot.chat.model.goods import MAX_FILE
from bot.chat.model.profile import PROFILE_STEPS
from bot.chat.model.wish import Wish, options_of
from bot.chat.times.moments import Choice
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.fields.field import Field
    from bot.chat.messages.reply import Action
    from bot.chat.model.attachment import Enclosure

_TIMED_SETTINGS = ("quiet", "summary")


def start_new(
    draft_id: str, seller: Seller, paused: Draft | None = None, sent: Enclosure | None = None
) -> Outcome:
    """Begin a new request at its first question, in place of any form under way."""
    asks = not seller.has_destination
    first = Draft(draft_id, "new", "kind", asks_destination=asks, paused=paused)
    return enclose(first, sent, seller, lambda draft: go_on(draft, seller))


def enclose(
    draft: Draft, sent: Enclosure | None, seller: Seller, go: Callable[[Draft], Outcome]
) -> Outcome:
    """Take what came with words for a new request, then `go` on with these.

    A photo is fetched. Whether buyers get a file is asked once all else is answered. What has no
    use is named.
    """
    if sent is None:
        return go(draft)
    may_deliver = GOODS.is_offered(draft, seller)
    if sent.photo is not None and (sent.is_photo or not may_deliver):
        outcome = go(replace(draft, photos_due=draft.photos_due + 1))
        return replace(outcome, photo=sent.photo)
    if sent.file is None:
        note = t(seller.language, "file-unused")
    elif not may_deliver:
        note = t(seller.language, "file-unused-service")
    elif sent.file.size is not None and sent.file.size > MAX_FILE:
        note = t(seller.language, "problem-goods-too-large")
    else:
        return go(replace(draft, file=sent.file))
    return with_note(go(draft), note)


def with_note(outcome: Outcome, note: str) -> Outcome:
    """Put a note before the first reply of an outcome."""
    first, *others = outcome.replies or (Reply(""),)
    text = "\n\n".join(filter(None, (note, first.text)))
    return replace(outcome, replies=(replace(first, text=text), *others))


def ask_step(draft: Draft, step: str, seller: Seller, note: str | None = None) -> Outcome:
    """Ask the question of a step, below a note on the last answer."""
    draft = replace(draft, step=step)
    return Outcome(draft, (prompt(draft, seller, note),))


def ask_again(draft: Draft, problem: Problem, seller: Seller) -> Outcome:
    """Ask the same question below the problem of its answer."""
    return ask_step(draft, draft.step, seller, problem.text(seller.language))


def go_on(draft: Draft, seller: Seller, note: str | None = None) -> Outcome:
    """Ask the first open question.

    Without one, return to the options or the review, or finish a one-line form.
    """
    step = blocking_step(draft, seller)
    if step is not None:
        return ask_step(draft, step, seller, note)
    if draft.form == "new":
        return ask_step(draft, "options" if draft.in_menu else "review", seller, note)
    return finish(draft, seller)


def take_typed(draft: Draft, field: Field, text: str, seller: Seller, now: int) -> Outcome:
    """Take a text as the answer to the field's question; `now` in epoch ms."""
    found = field.read(Typed(text, draft, seller, now))
    if isinstance(found, Choice):
        choices = moment_rows(draft, seller, found.moments)
        return Outcome(draft, (ask_which(draft, seller, "ask-which-moment", choices),))
    if isinstance(found, AmbiguousAmount):
        readings = goals(draft, seller, found.choices)
        return Outcome(draft, (ask_which(draft, seller, "ask-which-amount", readings),))
    if not isinstance(found, Problem):
        return take_value(draft, field, found, seller, now)
    if blocking_step(draft, seller) == draft.step:
        draft = field.clear(draft)  # the value that keeps the question open
    return ask_again(draft, found, seller)


def take_value(
    draft: Draft, field: Field, value: str | int | None, seller: Seller, now: int | None = None
) -> Outcome:
    """Set a field in a new request, or end an edit with its change; None clears it."""
    problem = field.check(draft, value) if field.check and value is not None else None
    if problem is not None:
        return ask_again(draft, problem, seller)
    if draft.form == "edit":
        change = Change(draft.listing or "", draft.step, value)
        return replace(resume(draft.paused, seller), change=change)
    return accept(field.set(draft, value), field, seller, now)


def accept(draft: Draft, field: Field, seller: Seller, now: int | None = None) -> Outcome:
    """Ask the next question, below the answer where the options follow or where it is a time."""
    if not (draft.in_menu or field.is_moment) or blocking_step(draft, seller) == field.name:
        return go_on(draft, seller)
    line = field.line(draft, seller, now)
    if line is None and field.unset_text:
        line = t(seller.language, field.unset_text)
    return go_on(draft, seller, line and t(seller.language, "understood", line=line))


def go_back(draft: Draft, step: str, seller: Seller) -> Outcome:
    """Ask the question before `step`, or an open one that comes before that."""
    if draft.form in ("edit", "settings"):
        then: Action = ("edit", draft.listing or "")
        if draft.form == "settings":
            then = ("profile",) if draft.step in PROFILE_STEPS else ("settings",)
        return resume(draft.paused, seller) if draft.paused else Outcome(None, then=then)
    if step in ("options", FILE_STEP):
        draft = replace(draft, in_menu=False)
        if blocking_step(draft, seller) is None:
            return ask_step(draft, "review", seller)
        step = "review"  # all answered questions come before it
    first_open = unanswered_step(draft, seller)
    if draft.in_menu or step not in PATH:
        return ask_step(replace(draft, in_menu=first_open is None), first_open or "options", seller)
    order = STEPS[draft.form].index
    earlier = [other for other in path(draft, seller) if order(other) < order(step)]
    target = earlier[-1] if earlier else STEPS[draft.form][0]
    if first_open is not None and order(first_open) < order(target):
        target = first_open
    return ask_step(draft, target, seller)


def unanswered_step(draft: Draft, seller: Seller) -> str | None:
    """Return the first step without a required answer."""
    steps = (step for step in STEPS[draft.form] if step in BY_NAME)
    found = next((step for step in steps if BY_NAME[step].is_open(draft, seller)), None)
    return FILE_STEP if found is None and draft.file is not None else found


def blocking_step(draft: Draft, seller: Seller) -> str | None:
    """Return the step that has to come before the review: an open question, or unequal shares."""
    step = unanswered_step(draft, seller)
    if step is None and isinstance(shares_of(draft), Problem):
        return RECEIVERS.name
    return step


def finish(draft: Draft, seller: Seller) -> Outcome:
    """End the form with its wish, and offer to continue the form that it interrupted."""
    paused = draft.paused
    replies = () if paused is None else (resume_prompt(paused, seller),)
    toast = t(seller.language, "toast-creating")
    return Outcome(paused, replies, toast=toast, wish=_wish(draft, seller))


def _wish(draft: Draft, seller: Seller) -> Wish:
    kind, name, currency, shares = draft.kind, draft.name, draft.currency, shares_of(draft)
    destination, units = seller.destination, draft.units
    if kind is None or name is None or currency is None or destination is None:
        raise ValueError("a question is still open")
    if draft.amount is None or isinstance(shares, Problem):
        raise ValueError("the price is still open")
    choice = in_minor(draft.choice, currency)
    return Wish(
        kind, name, draft.description, minor_of(draft), currency, units, destination, shares,
        choice, **options_of(draft),
    )  # fmt: skip


def save_destination(draft: Draft, destination: str, seller: Seller) -> Outcome:
    """Save the destination of the seller's money, and go on."""
    seller, setting = replace(seller, destination=destination), Setting("destination", destination)
    if draft.form == "settings":
        saved = t(seller.language, "destination-saved", destination=escaped(destination))
        return save_setting(draft, setting, seller, saved)
    return replace(go_on(draft, seller), setting=setting)


def save_setting(draft: Draft, setting: Setting, seller: Seller, saved: str) -> Outcome:
    """Save a setting and end its form with the text `saved`."""
    return replace(end_short_form(draft, seller, saved), setting=setting)


def end_short_form(draft: Draft, seller: Seller, text: str) -> Outcome:
    """End a short form with a text, above the buttons of the settings if it began there."""
    rows = settings(seller).rows if draft.form == "settings" else menu(seller.language)
    return reply_and_resume(draft.paused, seller, Reply(text, rows))


def reply_and_resume(paused: Draft | None, seller: Seller, reply: Reply) -> Outcome:
    """Reply, and ask again the question of the form that was interrupted, if one was."""
    first = replace(reply, rows=()) if paused else reply
    return resume(paused, seller, first)


def resume(paused: Draft | None, seller: Seller, *first: Reply) -> Outcome:
    """Ask again the question of the form that was interrupted, if one was, after other replies."""
    return Outcome(paused, (*first, prompt(paused, seller)) if paused else first)


def new_form_under_way(current: Draft | None) -> Draft | None:
    """Return the new form under way, be it below a shorter form; None without one."""
    return current if current is None or current.form == "new" else current.paused


def ask_after_zone(draft: Draft, step: str, seller: Seller, note: str | None = None) -> Outcome:
    """Ask the question of a step out of order; a time is asked for once the zone is known."""
    field = field_at(draft.form, step)
    is_timed = field.is_moment if field else step in _TIMED_SETTINGS
    if is_timed and seller.zone is None:
        return ask_step(replace(draft, step_after_zone=step), "zone", seller, note)
    return ask_step(replace(draft, step_after_zone=None), step, seller, note)
