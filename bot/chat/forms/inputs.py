"""Texts and presses of the form under way, by step and by verb."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.chat.fields.registry import AMOUNT, UNITS, field_at
from bot.chat.fields.typed_text import (
    AmbiguousAmount,
    Price,
    check_price,
    read_code,
    read_destination,
    read_price,
)
from bot.chat.forms import field_answers, menu_presses, timing
from bot.chat.forms.bot_texts import menu
from bot.chat.forms.flow import (
    accept,
    ask_again,
    go_back,
    go_on,
    reply_and_resume,
    save_destination,
)
from bot.chat.forms.outcome import Outcome, Press
from bot.chat.forms.prompts import ask_which_amount, prompt
from bot.chat.forms.steps import STEPS
from bot.chat.messages.reply import Action, Problem, Reply
from bot.chat.model.draft import Draft
from bot.chat.model.wish import KINDS
from bot.core.money.amounts import currencies
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.model.draft import Seller

_DECIMAL = re.compile(r"[0-9]{1,16}(\.[0-9]{1,16})?", re.ASCII)
_FORM_VERBS = {
    "new": frozenset(
        [
            *("kind", "keep", "back", "amount", "currency"),
            *("create", "continue", "restart", "cancel"),
            *("options", "open", "clear", "done", "instrument", "ask", "moment", "zone"),
        ]
    ),
    "line": frozenset(["amount", "currency", "continue", "cancel"]),
    "settings": frozenset(["zone", "hours", "minute", "off", "back", "continue", "cancel"]),
    "edit": frozenset(["zone", "moment", "clear", "back", "continue", "cancel"]),
}


def take_text(draft: Draft, text: str, seller: Seller, now: int) -> Outcome:
    """Take a text as the answer to the draft's step; `now` in epoch ms."""
    if draft.step in _ANSWERS:
        return _ANSWERS[draft.step](draft, text, seller)
    field = field_at(draft.form, draft.step)
    if field is None or (field.is_moment and seller.zone is None):
        return timing.take_text(draft, text, seller, now)
    return field_answers.take_text(draft, field, text, seller, now)


def take_press(draft: Draft | None, action: Action, seller: Seller, now: int) -> Outcome:
    """Perform a button of the form under way; a button of another form is answered by a toast."""
    owner = _owner(draft, action)
    if owner is None:
        return Outcome(draft, toast=t(seller.language, "toast-finished"))
    owner = replace(owner, must_resume=False)
    verb, *words = action[2:] or ("",)
    is_known = verb in _FORM_VERBS[owner.form]
    outcome = _VERBS[verb](owner, tuple(words), seller, now) if is_known else None
    return outcome or Outcome(draft, toast=t(seller.language, "toast-unknown"))


def _owner(draft: Draft | None, action: Action) -> Draft | None:
    """Return the form that a button belongs to: the one under way, or one that it paused."""
    if action[:1] != ("draft",) or draft is None:
        return None
    return draft if action[1:2] == (draft.id,) else _owner(draft.paused, action)


def cancel_form(draft: Draft, seller: Seller) -> Outcome:
    """End the form, and ask again the one that it interrupted."""
    key = "cancelled-edit" if draft.form in ("edit", "settings") else "cancelled"
    return reply_and_resume(
        draft.paused, seller, Reply(t(seller.language, key), menu(seller.language))
    )


def _press_please(draft: Draft, _text: str, seller: Seller) -> Outcome:
    return ask_again(draft, Problem("problem-press"), seller)


def _amount_typed(draft: Draft, text: str, seller: Seller) -> Outcome:
    return take_price(draft, read_price(text, draft.currency or seller.currency), seller)


def take_price(draft: Draft, price: Price | AmbiguousAmount | Problem, seller: Seller) -> Outcome:
    """Set a price, or ask again where it is ambiguous or refused."""
    if isinstance(price, Price):
        instrument = None if draft.instrument == price.currency else draft.instrument
        priced = replace(draft, amount=price.amount, currency=price.currency, instrument=instrument)
        return accept(priced, AMOUNT, seller)
    draft = replace(draft, step="amount")
    if isinstance(price, Problem):
        return ask_again(draft, price, seller)
    return Outcome(draft, (ask_which_amount(draft, seller, price),))


def _currency_typed(draft: Draft, text: str, seller: Seller) -> Outcome:
    """Take a code, or an amount with its currency, since some sellers type both again."""
    if any(char.isdecimal() for char in text):
        return _amount_typed(draft, text, seller)
    code = read_code(text)
    if isinstance(code, Problem):
        return ask_again(draft, code, seller)
    return _take_currency(draft, code, seller)


def _take_currency(draft: Draft, code: str, seller: Seller) -> Outcome:
    """Set the currency; ask again for an amount that the currency does not allow."""
    draft = replace(draft, currency=code)
    if draft.amount is None:
        return go_on(draft, seller)
    price = check_price(draft.amount, code)
    if isinstance(price, Problem):
        draft = replace(draft, amount=None)
    return take_price(draft, price, seller)


def _destination_typed(draft: Draft, text: str, seller: Seller) -> Outcome:
    destination = read_destination(text)
    if isinstance(destination, Problem):
        return ask_again(draft, destination, seller)
    return save_destination(draft, destination, seller)


_ANSWERS: dict[str, Callable[[Draft, str, Seller], Outcome]] = {
    "amount": _amount_typed,
    "currency": _currency_typed,
    "destination": _destination_typed,
    "review": _press_please,
    "options": _press_please,
}


def _kind_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    if len(words) != 1 or words[0] not in KINDS:
        return None
    draft = replace(draft, kind=words[0])
    return go_on(draft if draft.kind in UNITS.kinds else UNITS.clear(draft), seller)


def _back_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    if len(words) != 1 or words[0] not in STEPS[draft.form]:
        return None
    return go_back(draft, words[0], seller)


def _amount_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Take one reading of an ambiguous amount: a number and, where one was named, a currency."""
    number, *named = words or ("",)
    if not _DECIMAL.fullmatch(number) or not currencies().issuperset(named):
        return None
    currency = named[0] if named else draft.currency or seller.currency
    return take_price(draft, check_price(Decimal(number), currency), seller)


def _currency_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    if len(words) != 1 or words[0] not in currencies():
        return None
    return _take_currency(draft, words[0], seller)


def _restart_pressed(draft: Draft, _words: Action, seller: Seller, _now: int) -> Outcome | None:
    asks = seller.destination is None
    fresh = Draft(draft.id, "new", "kind", asks_destination=asks, paused=draft.paused)
    return go_on(fresh, seller)


_VERBS: dict[str, Press] = {
    "kind": _kind_pressed,
    "keep": lambda draft, _words, seller, _now: go_on(draft, seller),
    "back": _back_pressed,
    "amount": _amount_pressed,
    "currency": _currency_pressed,
    "continue": lambda draft, _words, seller, _now: Outcome(draft, (prompt(draft, seller),)),
    "restart": _restart_pressed,
    "cancel": lambda draft, _words, seller, _now: cancel_form(draft, seller),
    **menu_presses.VERBS,
    **timing.VERBS,
}
