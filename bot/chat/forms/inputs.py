"""Texts and presses of the form under way, by step and by verb."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.chat.fields import typed_text
from bot.chat.fields.choice_text import read_amounts, usual_choice
from bot.chat.fields.registry import (
    AMOUNT,
    ASKS,
    BY_NAME,
    ENDS,
    FILE_STEP,
    GOAL,
    GOODS,
    INSTRUMENT,
    MENU,
    STEPS,
    UNITS,
    field_at,
)
from bot.chat.fields.typed_text import AmbiguousAmount, Price
from bot.chat.forms import flow, goods_form, mark_form, payout_form, profile_form, timing
from bot.chat.forms.bot_texts import menu
from bot.chat.forms.button_rows import fingerprint
from bot.chat.forms.outcome import Outcome, Press
from bot.chat.forms.prompts import ask_which_amount, prompt
from bot.chat.messages.buttons import is_known
from bot.chat.messages.reply import Action, Problem, Reply
from bot.chat.model.profile import PROFILE_STEPS
from bot.chat.model.wish import PAYER_FIELDS
from bot.core.money.amounts import currencies, to_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.model.draft import Draft, Seller

_FORM_VERBS = {
    "new": frozenset(
        [
            *("kind", "keep", "back", "amount", "currency", "choose", "goal"),
            *("create", "continue", "restart", "cancel"),
            *("options", "open", "clear", "done", "instrument", "ask", "moment", "zone"),
            *("later", "goods", FILE_STEP),
        ]
    ),
    "line": frozenset(["amount", "currency", "choose", "continue", "cancel"]),
    "settings": frozenset(
        [
            *("zone", "hours", "minute", "off", "back", "continue", "cancel"),
            *("clear", "offer", "accent", "telegram-photo"),
        ]
    ),
    "payback": frozenset(["clear", "continue", "cancel"]),
    "codes": frozenset(["continue", "cancel"]),
    "payout": frozenset(["back", "keep", "skip", "land", "save", "change", "continue", "cancel"]),
    "edit": frozenset(["zone", "moment", "goal", "goods", "clear", "back", "continue", "cancel"]),
}


def take_text(draft: Draft, text: str, seller: Seller, now: int) -> Outcome:
    """Take a text as the answer to the draft's step; `now` in epoch ms."""
    if draft.form == "payout":
        return payout_form.take_text(draft, text, seller)
    if draft.step in _ANSWERS:
        return _ANSWERS[draft.step](draft, text, seller)
    if draft.step in PROFILE_STEPS:
        return profile_form.take_text(draft, text, seller)
    field = field_at(draft.form, draft.step)
    if field is None or (field.is_moment and seller.zone is None):
        return timing.take_text(draft, text, seller, now)
    return flow.take_typed(draft, field, text, seller, now)


def take_press(draft: Draft | None, action: Action, seller: Seller, now: int) -> Outcome:
    """Perform a button of the form under way; a button of another form is answered by a toast."""
    owner = _owner(draft, action)
    if owner is None:
        return Outcome(draft, toast=t(seller.language, "toast-finished"))
    owner = replace(owner, must_resume=False)
    verb, *words = action[2:] or ("",)
    is_offered = verb in _FORM_VERBS[owner.form] and is_known(action)
    outcome = _VERBS[verb](owner, tuple(words), seller, now) if is_offered else None
    return outcome or Outcome(draft, toast=t(seller.language, "toast-unknown"))


def _owner(draft: Draft | None, action: Action) -> Draft | None:
    """Return the form that a button belongs to: the one under way, or one that it paused."""
    if action[:1] != ("draft",) or draft is None:
        return None
    return draft if action[1:2] == (draft.id,) else _owner(draft.paused, action)


def cancel(draft: Draft | None, seller: Seller) -> Outcome:
    """End the form under way if there is one, and ask again the one that it interrupted."""
    key = "nothing-to-cancel"
    if draft is not None and draft.form == mark_form.FORM:
        return mark_form.cancel(draft, seller)
    if draft is not None:
        key = "cancelled" if draft.form in ("new", "line") else "cancelled-edit"
    reply = Reply(t(seller.language, key), menu(seller.language))
    return flow.reply_and_resume(draft and draft.paused, seller, reply)


def _press_please(draft: Draft, _text: str, seller: Seller) -> Outcome:
    return flow.ask_again(draft, Problem("problem-press"), seller)


def _amount_typed(draft: Draft, text: str, seller: Seller) -> Outcome:
    usual, may_choose = draft.currency or seller.currency, seller.paid_at.is_embedded
    return take_price(draft, read_amounts(text, usual, may_choose=may_choose), seller)


def take_price(draft: Draft, price: Price | AmbiguousAmount | Problem, seller: Seller) -> Outcome:
    """Set a price, or ask again where it is ambiguous or refused."""
    if isinstance(price, Price):
        return _take_price(draft, price, seller)
    if draft.kind is not None:  # otherwise it is asked for first
        draft = replace(draft, step="amount")
    if isinstance(price, Problem):
        return flow.ask_again(draft, price, seller)
    return Outcome(draft, (ask_which_amount(draft, seller, price),))


def _take_price(draft: Draft, price: Price, seller: Seller) -> Outcome:
    """Set a price; a goal in another currency is removed, and its seller notified."""
    instrument = None if draft.instrument == price.currency else draft.instrument
    priced = replace(
        draft, amount=price.amount, currency=price.currency, choice=price.choice,
        instrument=instrument,
    )  # fmt: skip
    if draft.goal is None or draft.currency == price.currency:
        outcome = flow.accept(priced, AMOUNT, seller)
    else:
        note = t(seller.language, "goal-removed", currency=draft.currency or "")
        outcome = flow.go_on(GOAL.clear(priced), seller, note)
    return payout_form.with_warning(outcome, price.currency, seller)


def _currency_typed(draft: Draft, text: str, seller: Seller) -> Outcome:
    """Take a code, or an amount with its currency, since some sellers type both again."""
    if any(char.isdecimal() for char in text):
        return _amount_typed(draft, text, seller)
    code = typed_text.read_code(text)
    if isinstance(code, Problem):
        return flow.ask_again(draft, code, seller)
    return _take_currency(draft, code, seller)


def _take_currency(draft: Draft, code: str, seller: Seller) -> Outcome:
    """Set the currency; ask again for an amount that the currency does not allow."""
    if draft.amount is None:
        return flow.go_on(replace(draft, currency=code), seller)
    amounts = draft.choice.amounts if draft.choice else (draft.amount,)
    for amount in amounts:
        price = typed_text.check_price(amount, code)
        if isinstance(price, Problem):
            open_again = replace(GOAL.clear(draft), amount=None, choice=None, currency=code)
            return take_price(open_again, price, seller)
    return take_price(draft, Price(draft.amount, code, draft.choice), seller)


def _destination_typed(draft: Draft, text: str, seller: Seller) -> Outcome:
    if seller.paid_at.rails:
        return _press_please(draft, text, seller)
    destination = typed_text.read_destination(text, seller.paid_at)
    if isinstance(destination, Problem):
        return flow.ask_again(draft, destination, seller)
    return flow.save_destination(draft, destination, seller)


_ANSWERS: dict[str, Callable[[Draft, str, Seller], Outcome]] = {
    "amount": _amount_typed,
    "currency": _currency_typed,
    "destination": _destination_typed,
    "review": _press_please,
    "options": _press_please,
    FILE_STEP: _press_please,
    GOODS.name: goods_form.take_text,
    goods_form.STEP: goods_form.take_codes,
    **dict.fromkeys(mark_form.MARKS, mark_form.take_note),
}


def _create_pressed(draft: Draft, words: Action, seller: Seller, now: int) -> Outcome | None:
    """Create the request that the review with this button showed, and no other.

    A start in the past is dropped; an end in the past is asked for again.
    """
    if flow.blocking_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    if draft.photos_due:
        return Outcome(draft, toast=t(seller.language, "toast-photo-coming"))
    if draft.step != "review" or words != (fingerprint(draft, seller),):
        review = flow.ask_step(replace(draft, in_menu=False), "review", seller)
        return replace(review, toast=t(seller.language, "toast-changed"))
    if draft.ends_at is not None and draft.ends_at <= now:
        return timing.refuse_past(replace(draft, step=ENDS.name), draft.ends_at, seller, now)
    starts_at = draft.starts_at if (draft.starts_at or 0) > now else None
    return flow.finish(replace(draft, starts_at=starts_at), seller)


def _options_pressed(draft: Draft, _words: Action, seller: Seller, _now: int) -> Outcome | None:
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    return flow.ask_step(replace(draft, in_menu=True), "options", seller)


def _open_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    field = BY_NAME.get(words[0])
    if field not in MENU or field is None or not field.is_offered(draft, seller):
        return None
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    return flow.ask_after_zone(replace(draft, in_menu=True), field.name, seller)


def _clear_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    if draft.form == "settings":
        return profile_form.clear(draft, words, seller)
    if draft.form == mark_form.FORM:
        return mark_form.skip(draft, seller)
    field = field_at(draft.form, words[0])
    if field is None or not field.is_optional:
        return None
    if draft.form == "edit":
        return flow.take_value(draft, field, None, seller) if words == (draft.step,) else None
    cleared = replace(field.clear(draft), readings=())
    return flow.go_on(cleared, seller) if field in MENU else None


def _instrument_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    if words[0] not in currencies() or draft.currency is None:
        return None
    code = None if words[0] == draft.currency else words[0]
    return flow.take_value(draft, INSTRUMENT, code, seller)


def _ask_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Ask payers for one thing more, or no longer."""
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    asked, wanted = words
    kept = {*draft.payer_fields, asked} if wanted == "on" else {*draft.payer_fields} - {asked}
    fields = tuple(each for each in PAYER_FIELDS if each in kept)
    return flow.ask_step(ASKS.set(draft, fields), ASKS.name, seller)


def _kind_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    draft = replace(draft, kind=words[0])
    for field in (UNITS, *MENU):
        draft = draft if words[0] in field.kinds else field.clear(draft)
    return flow.go_on(draft, seller)


def _keep_pressed(draft: Draft, _words: Action, seller: Seller, _now: int) -> Outcome | None:
    if draft.form == "payout":
        return payout_form.keep(draft, seller)
    return flow.go_on(draft, seller)


def _back_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    if draft.form == "payout":
        return payout_form.go_back(draft, seller)
    return flow.go_back(draft, words[0], seller) if words[0] in STEPS[draft.form] else None


def _amount_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Take one reading of an ambiguous amount: a number and, where one was named, a currency."""
    number, *named = words
    if not currencies().issuperset(named):
        return None
    currency = named[0] if named else draft.currency or seller.currency
    return take_price(draft, typed_text.check_price(Decimal(number), currency), seller)


def _choose_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Set the price to the usual choice in a currency, which is asked for where none is known."""
    if draft.kind is None or not seller.paid_at.is_embedded:
        return None
    code = words[0] if words else draft.currency or seller.currency
    if code is None:
        return flow.ask_step(draft, "currency", seller)
    if code not in currencies():
        return None
    choice = usual_choice(code)
    return take_price(draft, Price(choice.first, code, choice), seller)


def _goal_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Take one reading of an ambiguous goal, while it is asked for and in the same currency."""
    number, code = words
    if draft.step != GOAL.name or code != draft.currency or code not in currencies():
        return None
    price = typed_text.check_price(Decimal(number), code)
    if isinstance(price, Problem):
        return None
    return flow.take_value(draft, GOAL, to_minor(price.amount, code), seller)


def _currency_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    return _take_currency(draft, words[0], seller) if words[0] in currencies() else None


_VERBS: dict[str, Press] = {
    "kind": _kind_pressed,
    "keep": _keep_pressed,
    "back": _back_pressed,
    "amount": _amount_pressed,
    "currency": _currency_pressed,
    "choose": _choose_pressed,
    "goal": _goal_pressed,
    "continue": lambda draft, _words, seller, _now: Outcome(draft, (prompt(draft, seller),)),
    "restart": lambda draft, _words, seller, _now: flow.start_new(draft.id, seller, draft.paused),
    "cancel": lambda draft, _words, seller, _now: cancel(draft, seller),
    "create": _create_pressed,
    "options": _options_pressed,
    "open": _open_pressed,
    "done": lambda draft, _words, seller, _now: flow.go_on(replace(draft, in_menu=False), seller),
    "clear": _clear_pressed,
    "instrument": _instrument_pressed,
    "ask": _ask_pressed,
    **timing.VERBS,
    **profile_form.VERBS,
    **payout_form.VERBS,
    **goods_form.VERBS,
}
