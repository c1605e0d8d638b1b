"""The form of a payout account: its fields one by one, the service's check, and Save.

A secret is sealed before the draft is stored, so this form never sees it again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.fields.payout_fields import read_field
from bot.chat.fields.wording import unpaid_currency
from bot.chat.forms import flow
from bot.chat.forms.outcome import PROBE, SAVE, Outcome, Press, Setting
from bot.chat.forms.prompts import prompt
from bot.chat.forms.sellers.payout_texts import fingerprint, refusal_text, saved_reply
from bot.chat.messages.reply import Problem
from bot.chat.model.draft import Draft, Seller
from bot.chat.model.payout import (
    CHECKING,
    FOUND,
    OPTIONAL,
    PAYOUT_STEPS,
    SAVING,
    WAYS,
    PayoutAccount,
    PayoutAnswer,
    kind_of,
)
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.messages.reply import Action
    from bot.core.errors import FieldProblem


def payout_form(way: str, draft_id: str, seller: Seller, current: Draft | None = None) -> Outcome:
    """Ask for the first field of an account; a new request under way is paused."""
    paused = flow.new_form_under_way(current)
    draft = Draft(draft_id, "payout", _step(WAYS[way][0]), way=way, paused=paused)
    return flow.ask_step(draft, draft.step, seller)


def take_text(draft: Draft, text: str, seller: Seller) -> Outcome:
    """Take a text as the answer to the form's question."""
    if draft.step in (CHECKING, SAVING):
        return Outcome(draft, (prompt(draft, seller),))
    if draft.step == FOUND:
        return flow.ask_again(draft, Problem("problem-press"), seller)
    field = PAYOUT_STEPS[draft.step]
    found = read_field(draft.way or "", field, text)
    if isinstance(found, Problem):
        return flow.ask_again(draft, found, seller)
    return _answer(draft, field, found, seller)


def keep(draft: Draft, seller: Seller) -> Outcome | None:
    """Ask for the next field; this one keeps its answer."""
    field = PAYOUT_STEPS.get(draft.step)
    if field is None or field not in _given(draft):
        return None
    fields = WAYS[draft.way or ""]
    following = fields[fields.index(field) + 1 :]
    return _ask(draft, following[0], seller) if following else _check(draft, seller)


def go_back(draft: Draft, seller: Seller) -> Outcome:
    """Ask for the field before this one; before the first, show the accounts."""
    fields = WAYS[draft.way or ""]
    place = len(fields)
    if draft.step in PAYOUT_STEPS:
        place = fields.index(PAYOUT_STEPS[draft.step])
    if place:
        return _ask(draft, fields[place - 1], seller)
    return Outcome(draft.paused, then=("getpaid",))


def probed(draft: Draft, account: PayoutAccount, seller: Seller) -> Outcome:
    """Show what the service found out about an account, before it is saved."""
    return flow.ask_step(replace(draft, found=account), FOUND, seller)


SPENDING = ("spendingKey", "spendingConnection")
"""Codes of refused keys that could spend money."""


def refused(draft: Draft, problem: FieldProblem, seller: Seller) -> Outcome:
    """Ask again for the field that a refusal names, `details.iban`, with all others kept.

    A key that can spend is not kept to be sent again.
    """
    fields = WAYS[draft.way or ""]
    field = problem.field.rpartition(".")[2]
    if problem.code in SPENDING:
        draft = replace(draft, answers=tuple(one for one in draft.answers if one.field != field))
    note = refusal_text(problem, seller.language)
    return _ask(draft, field if field in fields else fields[-1], seller, note)


def interrupted(draft: Draft, note: str, seller: Seller) -> Outcome:
    """Return to the last thing that was asked, after a call of the service that came to nothing."""
    if draft.step == SAVING and draft.found:
        return flow.ask_step(draft, FOUND, seller, note)
    return _ask(draft, WAYS[draft.way or ""][-1], seller, note)


def saved(draft: Draft, account: PayoutAccount, seller: Seller) -> Outcome:
    """End the form with its account; `seller` has those from before and the new one's form goes on.

    A new request that waited for it is asked its next question.
    """
    told = saved_reply(account, seller.account_of(account.way), seller.language)
    others = [one for one in seller.accounts if one.way != account.way]
    seller = replace(seller, accounts=(*others, account))
    paused = draft.paused
    if paused is None:
        return Outcome(None, (told,))
    outcome = flow.go_on(paused, seller) if paused.step == "destination" else None
    outcome = outcome or Outcome(paused, (prompt(paused, seller),))
    return replace(outcome, replies=(replace(told, rows=()), *outcome.replies))


def with_warning(outcome: Outcome, currency: str | None, seller: Seller) -> Outcome:
    """Put the warning before what follows from a price that no account of the seller takes."""
    warning = unpaid_currency(currency, seller)
    if warning is None:
        return outcome
    if outcome.draft is not None and outcome.draft.step == "review":
        return outcome  # which has it
    return flow.with_note(outcome, warning)


def token(draft: Draft) -> str:
    """Return a checksum of an account's answers, by which late answers of the service are told."""
    return fingerprint((draft.way, draft.answers))


def _answer(draft: Draft, field: str, text: str, seller: Seller) -> Outcome:
    """Keep an answer, and ask for the next field without one; then the service checks them."""
    given = _given(draft) | {field: PayoutAnswer(field, text)}
    fields = WAYS[draft.way or ""]
    answers = tuple(given[name] for name in fields if name in given)
    draft = replace(draft, answers=answers, found=None)
    following = [name for name in fields if name not in given]
    return _ask(draft, following[0], seller) if following else _check(draft, seller)


def _check(draft: Draft, seller: Seller) -> Outcome:
    missing = [name for name in WAYS[draft.way or ""] if name not in _given(draft)]
    if missing:
        return _ask(draft, missing[0], seller)
    return replace(flow.ask_step(draft, CHECKING, seller), connect=PROBE)


def _ask(draft: Draft, field: str, seller: Seller, note: str | None = None) -> Outcome:
    return flow.ask_step(replace(draft, found=None), _step(field), seller, note)


def _given(draft: Draft) -> dict[str, PayoutAnswer]:
    return {answer.field: answer for answer in draft.answers}


def _step(field: str) -> str:
    return f"pay{field.lower()}"


def _save_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Save the account that the message with this button showed, and no other."""
    if draft.step != FOUND or draft.found is None:
        return None
    if words != (fingerprint(draft.answers),):
        shown = flow.ask_step(draft, FOUND, seller)
        return replace(shown, toast=t(seller.language, "toast-changed"))
    toast = t(seller.language, "payout-saving")
    return Outcome(replace(draft, step=SAVING), toast=toast, connect=SAVE)


def _change_pressed(draft: Draft, _words: Action, seller: Seller, _now: int) -> Outcome | None:
    return _ask(draft, WAYS[draft.way or ""][0], seller) if draft.step == FOUND else None


def _skip_pressed(draft: Draft, _words: Action, seller: Seller, _now: int) -> Outcome | None:
    field = PAYOUT_STEPS.get(draft.step)
    return _answer(draft, field, "", seller) if field in OPTIONAL and field else None


def _land_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    return take_text(draft, words[0], seller) if draft.step == _step("country") else None


def _later_pressed(draft: Draft, _words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Ask the next question of a request whose account is connected later."""
    if draft.step != "destination" or not seller.paid_at.rails:
        return None
    outcome = flow.go_on(draft, replace(seller, pays_later=True))
    return replace(outcome, setting=Setting("payoutlater", 1))


def is_offered(way: str, seller: Seller) -> bool:
    """Return whether the service takes accounts of a way."""
    return way in WAYS and kind_of(way) in seller.paid_at.rails


VERBS: dict[str, Press] = {
    "save": _save_pressed,
    "change": _change_pressed,
    "skip": _skip_pressed,
    "land": _land_pressed,
    "later": _later_pressed,
}
