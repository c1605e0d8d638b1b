"""The handling of texts and buttons in the open form: texts by step, buttons by verb."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from bot.chat.forms import (
    flow,
    goods_form,
    questions,
    request_fields,
    seller_forms,
    shares_and_amounts,
    typed_text,
)
from bot.chat.model import drafts, payment, replies, request_spec
from bot.core.money import amounts
from bot.core.text import translations
from bot.interface import fields

NOTE_FORM = "payback"
"""The form that asks the seller for a note on a marked payment."""

NOTE_STEPS = {payment.SENT: "sent", payment.PAID_BACK: "paidback"}
"""The step of the note's form for each mark."""


def take_text(draft: drafts.Draft, text: str, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Take a text as the answer to the draft's step; `now` in epoch ms."""
    if draft.form == "payout":
        return seller_forms.take_payout_text(draft, text, seller)
    if draft.step in _ANSWERS:
        return _ANSWERS[draft.step](draft, text, seller)
    if draft.step in drafts.PROFILE_STEPS:
        return seller_forms.take_profile_text(draft, text, seller)
    field = request_fields.field_at(draft.form, draft.step)
    if field is None or (field.is_moment and seller.zone is None):
        return seller_forms.take_time(draft, text, seller, now)
    return flow.take_typed(draft, field, text, seller, now)


def take_press(
    draft: drafts.Draft | None, action: replies.Action, seller: drafts.Seller, now: int
) -> flow.FormResult:
    """Handle a button of the open form; a button of another form gets a toast."""
    owner = _owner(draft, action)
    if owner is None:
        return flow.FormResult(draft, toast=translations.t(seller.language, "toast-finished"))
    owner = replace(owner, must_resume=False)
    verb, *words = action[2:] or ("",)
    press = VERBS[owner.form].get(verb) if replies.is_known(action) else None
    result = press(owner, tuple(words), seller, now) if press else None
    return result or flow.FormResult(draft, toast=translations.t(seller.language, "toast-unknown"))


def _owner(draft: drafts.Draft | None, action: replies.Action) -> drafts.Draft | None:
    """Return the form that a button belongs to: the open form or a paused form."""
    if action[:1] != ("draft",) or draft is None:
        return None
    return draft if action[1:2] == (draft.id,) else _owner(draft.paused, action)


def cancel(draft: drafts.Draft | None, seller: drafts.Seller) -> flow.FormResult:
    """End the open form, and repeat the question of the interrupted form."""
    key = "nothing-to-cancel"
    if draft is not None and draft.form == NOTE_FORM:
        return _end_note(draft, seller, f"mark-stays-{_mark(draft)}")
    if draft is not None:
        key = "cancelled" if draft.form in ("new", "line") else "cancelled-edit"
    reply = replies.Reply(translations.t(seller.language, key), questions.menu(seller.language))
    return flow.reply_and_resume(draft and draft.paused, seller, reply)


# Texts.


def _press_please(draft: drafts.Draft, _text: str, seller: drafts.Seller) -> flow.FormResult:
    return flow.ask_again(draft, replies.Problem("problem-press"), seller)


def _amount_typed(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    usual, may_choose = draft.currency or seller.currency, seller.paid_at.is_embedded
    price = shares_and_amounts.read_amounts(text, usual, may_choose=may_choose)
    return take_price(draft, price, seller)


def take_price(
    draft: drafts.Draft,
    price: typed_text.Price | typed_text.AmbiguousAmount | replies.Problem,
    seller: drafts.Seller,
) -> flow.FormResult:
    """Set a price, or ask again if it is ambiguous or refused."""
    if isinstance(price, typed_text.Price):
        return _take_price(draft, price, seller)
    if draft.kind is not None:  # otherwise the form asks for the kind first
        draft = replace(draft, step="amount")
    if isinstance(price, replies.Problem):
        return flow.ask_again(draft, price, seller)
    return flow.FormResult(draft, (questions.ask_which_amount(draft, seller, price),))


def _take_price(
    draft: drafts.Draft, price: typed_text.Price, seller: drafts.Seller
) -> flow.FormResult:
    """Set a price; if a goal is in another currency, remove the goal and notify the seller."""
    instrument = None if draft.instrument == price.currency else draft.instrument
    priced = replace(
        draft, amount=price.amount, currency=price.currency, choice=price.choice,
        instrument=instrument,
    )  # fmt: skip
    if draft.goal is None or draft.currency == price.currency:
        result = flow.accept(priced, request_fields.AMOUNT, seller)
    else:
        note = translations.t(seller.language, "goal-removed", currency=draft.currency or "")
        result = flow.go_on(request_fields.GOAL.clear(priced), seller, note)
    return seller_forms.with_warning(result, price.currency, seller)


def _currency_typed(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    """Take a currency code, or an amount with its currency: some sellers type both again."""
    if any(char.isdecimal() for char in text):
        return _amount_typed(draft, text, seller)
    code = typed_text.read_code(text)
    if isinstance(code, replies.Problem):
        return flow.ask_again(draft, code, seller)
    return _take_currency(draft, code, seller)


def _take_currency(draft: drafts.Draft, code: str, seller: drafts.Seller) -> flow.FormResult:
    """Set the currency; ask for the amount again if the currency does not allow it."""
    if draft.amount is None:
        return flow.go_on(replace(draft, currency=code), seller)
    amounts = draft.choice.amounts if draft.choice else (draft.amount,)
    for amount in amounts:
        price = typed_text.check_price(amount, code)
        if isinstance(price, replies.Problem):
            open_again = replace(
                request_fields.GOAL.clear(draft), amount=None, choice=None, currency=code
            )
            return take_price(open_again, price, seller)
    return take_price(draft, typed_text.Price(draft.amount, code, draft.choice), seller)


def _destination_typed(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    if seller.paid_at.rails:
        return _press_please(draft, text, seller)
    destination = typed_text.read_destination(text, seller.paid_at)
    if isinstance(destination, replies.Problem):
        return flow.ask_again(draft, destination, seller)
    return flow.save_destination(draft, destination, seller)


def _note_typed(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    note = typed_text.read_line(text, draft.step, fields.MAX_NOTE)
    if isinstance(note, replies.Problem):
        return flow.ask_again(draft, note, seller)
    return _end_note(draft, seller, "claims-note-saved", note)


def _end_note(
    draft: drafts.Draft, seller: drafts.Seller, key: str, note: str | None = None
) -> flow.FormResult:
    """End the form of a note with the text `key`; without a note, only the mark is sent."""
    reply = replies.Reply(translations.t(seller.language, key))
    result = flow.reply_and_resume(draft.paused, seller, reply)
    return replace(result, note=flow.MarkNote(draft.payment or "", _mark(draft), note))


def _mark(draft: drafts.Draft) -> str:
    return next(mark for mark, step in NOTE_STEPS.items() if step == draft.step)


_ANSWERS: dict[str, Callable[[drafts.Draft, str, drafts.Seller], flow.FormResult]] = {
    "amount": _amount_typed,
    "currency": _currency_typed,
    "destination": _destination_typed,
    "review": _press_please,
    "options": _press_please,
    request_fields.FILE_STEP: _press_please,
    request_fields.GOODS.name: goods_form.take_text,
    goods_form.CODES_FORM: goods_form.take_codes,
    **dict.fromkeys(NOTE_STEPS.values(), _note_typed),
}
"""The handlers of texts at steps that ask for no field, or for a field with its own rules."""


# Buttons.


def _create_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, now: int
) -> flow.FormResult | None:
    """Create the request, if it is still the same as in the review with this button.

    A start in the past is dropped. If the end is in the past, ask for it again.
    """
    if flow.blocking_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    if draft.photos_due:
        return flow.FormResult(draft, toast=translations.t(seller.language, "toast-photo-coming"))
    if draft.step != "review" or words != (questions.fingerprint(draft, seller),):
        review = flow.ask_step(replace(draft, in_menu=False), "review", seller)
        return replace(review, toast=translations.t(seller.language, "toast-changed"))
    if draft.ends_at is not None and draft.ends_at <= now:
        return seller_forms.refuse_past(
            replace(draft, step=request_fields.ENDS.name), draft.ends_at, seller, now
        )
    starts_at = draft.starts_at if (draft.starts_at or 0) > now else None
    return flow.finish(replace(draft, starts_at=starts_at), seller)


def _options_pressed(
    draft: drafts.Draft, _words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    return flow.ask_step(replace(draft, in_menu=True), "options", seller)


def _open_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    field = request_fields.BY_NAME.get(words[0])
    if field not in request_fields.MENU or field is None or not field.is_offered(draft, seller):
        return None
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    return flow.ask_after_zone(replace(draft, in_menu=True), field.name, seller)


def _clear_option(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    field = request_fields.field_at(draft.form, words[0])
    if field is None or not field.is_optional or field not in request_fields.MENU:
        return None
    return flow.go_on(replace(field.clear(draft), readings=()), seller)


def _clear_edited(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    field = request_fields.field_at(draft.form, words[0])
    if field is None or not field.is_optional or words != (draft.step,):
        return None
    return flow.take_value(draft, field, None, seller)


def _skip_note(
    draft: drafts.Draft, _words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult:
    return _end_note(draft, seller, "claims-note-skipped")


def _instrument_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if words[0] not in amounts.currencies() or draft.currency is None:
        return None
    code = None if words[0] == draft.currency else words[0]
    return flow.take_value(draft, request_fields.INSTRUMENT, code, seller)


def _ask_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Add or remove one thing that payers are asked for."""
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    asked, wanted = words
    kept = {*draft.payer_fields, asked} if wanted == "on" else {*draft.payer_fields} - {asked}
    chosen = tuple(each for each in request_spec.PAYER_FIELDS if each in kept)
    return flow.ask_step(request_fields.ASKS.set(draft, chosen), request_fields.ASKS.name, seller)


def _kind_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    draft = replace(draft, kind=words[0])
    for field in (request_fields.UNITS, *request_fields.MENU):
        draft = draft if words[0] in field.kinds else field.clear(draft)
    return flow.go_on(draft, seller)


def _back_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    is_step = words[0] in request_fields.STEPS[draft.form]
    return flow.go_back(draft, words[0], seller) if is_step else None


def _amount_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Set the chosen meaning of an ambiguous amount: a number, and the currency if it was typed."""
    number, *named = words
    if not amounts.currencies().issuperset(named):
        return None
    currency = named[0] if named else draft.currency or seller.currency
    return take_price(draft, typed_text.check_price(Decimal(number), currency), seller)


def _choose_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Set the price to the usual choice of amounts; ask for the currency if it is unknown."""
    if draft.kind is None or not seller.paid_at.is_embedded:
        return None
    code = words[0] if words else draft.currency or seller.currency
    if code is None:
        return flow.ask_step(draft, "currency", seller)
    if code not in amounts.currencies():
        return None
    choice = shares_and_amounts.usual_choice(code)
    return take_price(draft, typed_text.Price(choice.first, code, choice), seller)


def _goal_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Set the chosen meaning of an ambiguous goal, unless the currency has changed meanwhile."""
    number, code = words
    if draft.step != request_fields.GOAL.name:
        return None
    if code != draft.currency or code not in amounts.currencies():
        return None
    price = typed_text.check_price(Decimal(number), code)
    if isinstance(price, replies.Problem):
        return None
    return flow.take_value(draft, request_fields.GOAL, amounts.to_minor(price.amount, code), seller)


def _currency_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    return _take_currency(draft, words[0], seller) if words[0] in amounts.currencies() else None


_OF_EVERY_FORM: dict[str, flow.Press] = {
    "continue": lambda draft, _words, seller, _now: flow.FormResult(
        draft, (questions.prompt(draft, seller),)
    ),
    "cancel": lambda draft, _words, seller, _now: cancel(draft, seller),
}
_PRICE: dict[str, flow.Press] = {
    "amount": _amount_pressed,
    "currency": _currency_pressed,
    "choose": _choose_pressed,
}
_VALUES: dict[str, flow.Press] = {
    "goal": _goal_pressed,
    "goods": goods_form.press_goods,
    "moment": seller_forms.press_moment,
    "zone": seller_forms.press_zone,
    "back": _back_pressed,
}

VERBS: dict[str, dict[str, flow.Press]] = {
    "new": _OF_EVERY_FORM
    | _PRICE
    | _VALUES
    | {
        "kind": _kind_pressed,
        "keep": lambda draft, _words, seller, _now: flow.go_on(draft, seller),
        "create": _create_pressed,
        "restart": lambda draft, _words, seller, _now: flow.start_new(
            draft.id, seller, draft.paused
        ),
        "options": _options_pressed,
        "open": _open_pressed,
        "done": lambda draft, _words, seller, _now: flow.go_on(
            replace(draft, in_menu=False), seller
        ),
        "clear": _clear_option,
        "instrument": _instrument_pressed,
        "ask": _ask_pressed,
        "later": seller_forms.press_later,
        request_fields.FILE_STEP: goods_form.press_file,
    },
    "line": _OF_EVERY_FORM | _PRICE,
    "edit": _OF_EVERY_FORM | _VALUES | {"clear": _clear_edited},
    "codes": _OF_EVERY_FORM,
    NOTE_FORM: _OF_EVERY_FORM | {"clear": _skip_note},
    "settings": _OF_EVERY_FORM | seller_forms.SETTINGS_VERBS | {"back": _back_pressed},
    "payout": _OF_EVERY_FORM | seller_forms.PAYOUT_VERBS,
}
"""The buttons of each form."""
