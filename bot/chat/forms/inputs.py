"""The handling of texts and buttons in the open form: texts by step, buttons by verb."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from bot.chat.forms import (
    field_texts,
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
from bot.interface import fields

NOTE_STEPS = {payment.SENT: "sent", payment.PAID_BACK: "paidback"}
"""The step of a note's form for each mark."""


def take_text(draft: drafts.Draft, text: str, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Take a text as the answer to the draft's step; `now` in epoch ms."""
    match draft:
        case drafts.PayoutDraft():
            return seller_forms.take_payout_text(draft, text, seller)
        case drafts.CodesDraft():
            return goods_form.add_codes(draft, goods_form.read_codes(text), seller)
        case drafts.NoteDraft():
            note = typed_text.read_line(text, draft.step, fields.MAX_NOTE)
            if isinstance(note, replies.Problem):
                return flow.ask_again(draft, note, seller)
            return _end_note(draft, seller, "claims-note-saved", note)
        case drafts.SettingsDraft():
            return seller_forms.take_setting(draft, text, seller, now)
        case drafts.RequestDraft(step="amount"):
            return _amount_typed(draft, text, seller)
        case drafts.RequestDraft(step="currency"):
            return _currency_typed(draft, text, seller)
        case drafts.RequestDraft(step="destination"):
            return seller_forms.take_destination(draft, text, seller)
        case drafts.RequestDraft(step=request_fields.GOODS.name):
            return goods_form.take_text(draft, text, seller)
        case drafts.RequestDraft(step="review" | "options" | request_fields.FILE_STEP):
            return flow.ask_again(draft, replies.Problem("problem-press"), seller)
        case drafts.RequestDraft():
            field = request_fields.field_of(draft)
            if field is not None and (seller.zone is not None or not field.is_moment):
                return flow.take_typed(draft, field, text, seller, now)
    return seller_forms.take_zone(draft, text, seller, now)


def take_press(
    draft: drafts.Draft | None, action: replies.Action, seller: drafts.Seller, now: int
) -> flow.FormResult:
    """Handle a button of the open form; a button of another form gets a toast."""
    owner = draft  # the form that the button belongs to: the open form or a paused form
    while owner is not None and action[:2] != ("draft", owner.id):
        owner = owner.paused
    if owner is None:
        return flow.FormResult(draft, toast=seller.text("toast-finished"))
    verb, *words = action[2:] or ("",)
    handle = VERBS[owner.form].get(verb) if replies.is_known(action) else None
    owner = replace(owner, must_resume=False)
    result = handle(flow.Press(owner, tuple(words), seller, now)) if handle else None
    return result or flow.FormResult(draft, toast=seller.text("toast-unknown"))


def cancel(draft: drafts.Draft | None, seller: drafts.Seller) -> flow.FormResult:
    """End the open form, and repeat the question of the interrupted form."""
    if isinstance(draft, drafts.NoteDraft):
        return _end_note(draft, seller, f"mark-stays-{_mark(draft)}")
    key, paused = "nothing-to-cancel", None
    if draft is not None:
        key = "cancelled" if draft.form in ("new", "line") else "cancelled-edit"
        paused = draft.paused
    reply = replies.Reply(seller.text(key), questions.menu(seller.language))
    return flow.reply_and_resume(paused, seller, reply)


# Prices.


def _amount_typed(draft: drafts.RequestDraft, text: str, seller: drafts.Seller) -> flow.FormResult:
    usual, may_choose = draft.currency or seller.currency, seller.paid_at.is_embedded
    price = shares_and_amounts.read_amounts(text, usual, may_choose=may_choose)
    return take_price(draft, price, seller)


def take_price(
    draft: drafts.RequestDraft,
    price: typed_text.Price | typed_text.AmbiguousAmount | replies.Problem,
    seller: drafts.Seller,
) -> flow.FormResult:
    """Set a price, or ask again if it is ambiguous or refused.

    If the goal is in another currency, remove the goal and notify the seller. Warn the seller if no
    account takes the currency.
    """
    if not isinstance(price, typed_text.Price):
        if draft.kind is not None:  # otherwise the form asks for the kind first
            draft = replace(draft, step="amount")
        if isinstance(price, replies.Problem):
            return flow.ask_again(draft, price, seller)
        return flow.FormResult(draft, (questions.ask_which_amount(draft, seller, price),))
    instrument = None if draft.instrument == price.currency else draft.instrument
    priced = replace(
        draft, amount=price.amount, currency=price.currency, choice=price.choice,
        instrument=instrument,
    )  # fmt: skip
    if draft.goal is None or draft.currency == price.currency:
        result = flow.accept(priced, request_fields.AMOUNT, seller)
    else:
        note = seller.text("goal-removed", currency=draft.currency or "")
        result = flow.go_on(request_fields.GOAL.clear(priced), seller, note)
    warning = field_texts.unpaid_currency(price.currency, seller)
    if warning is None or (result.draft is not None and result.draft.step == "review"):
        return result  # the review has the warning
    return flow.with_note(result, warning)


def _currency_typed(
    draft: drafts.RequestDraft, text: str, seller: drafts.Seller
) -> flow.FormResult:
    """Take a currency code, or an amount with its currency: some sellers type both again."""
    if any(char.isdecimal() for char in text):
        return _amount_typed(draft, text, seller)
    code = typed_text.read_code(text)
    if isinstance(code, replies.Problem):
        return flow.ask_again(draft, code, seller)
    return _take_currency(draft, code, seller)


def _take_currency(draft: drafts.RequestDraft, code: str, seller: drafts.Seller) -> flow.FormResult:
    """Set the currency; ask for the amount again if the currency does not allow it."""
    if draft.amount is None:
        return flow.go_on(replace(draft, currency=code), seller)
    for amount in draft.choice.amounts if draft.choice else (draft.amount,):
        price = typed_text.check_price(amount, code)
        if isinstance(price, replies.Problem):
            open_again = replace(draft, amount=None, choice=None, currency=code, goal=None)
            return take_price(open_again, price, seller)
    return take_price(draft, typed_text.Price(draft.amount, code, draft.choice), seller)


def _amount_pressed(press: flow.Press[drafts.RequestDraft]) -> flow.FormResult | None:
    """Set the chosen meaning of an ambiguous amount: a number, and the currency if it was typed."""
    draft, seller, (number, *named) = press.draft, press.seller, press.words
    if not amounts.currencies().issuperset(named):
        return None
    currency = named[0] if named else draft.currency or seller.currency
    return take_price(draft, typed_text.check_price(Decimal(number), currency), seller)


def _choose_pressed(press: flow.Press[drafts.RequestDraft]) -> flow.FormResult | None:
    """Set the price to the usual choice of amounts; ask for the currency if it is unknown."""
    draft, seller = press.draft, press.seller
    if draft.kind is None or not seller.paid_at.is_embedded:
        return None
    code = press.words[0] if press.words else draft.currency or seller.currency
    if code is None:
        return flow.ask_step(draft, "currency", seller)
    if code not in amounts.currencies():
        return None
    choice = shares_and_amounts.usual_choice(code)
    return take_price(draft, typed_text.Price(choice.first, code, choice), seller)


def _currency_pressed(press: flow.Press[drafts.RequestDraft]) -> flow.FormResult | None:
    code = press.words[0]
    return _take_currency(press.draft, code, press.seller) if code in amounts.currencies() else None


def _instrument_pressed(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    draft, code = press.draft, press.words[0]
    if code not in amounts.currencies() or draft.currency is None:
        return None
    value = None if code == draft.currency else code
    return flow.take_value(draft, request_fields.INSTRUMENT, value, press.seller)


def _goal_pressed(press: flow.Press[drafts.RequestDraft]) -> flow.FormResult | None:
    """Set the chosen meaning of an ambiguous goal, unless the currency has changed meanwhile."""
    draft, (number, code) = press.draft, press.words
    if draft.step != request_fields.GOAL.name or code != draft.currency:
        return None
    price = typed_text.check_price(Decimal(number), code)
    if isinstance(price, replies.Problem):
        return None
    minor = amounts.to_minor(price.amount, code)
    return flow.take_value(draft, request_fields.GOAL, minor, press.seller)


# Other answers.


def _kind_pressed(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    kind = press.words[0]
    draft = replace(press.draft, kind=kind)
    for field in (request_fields.UNITS, *request_fields.MENU):
        draft = draft if kind in field.kinds else field.clear(draft)
    return flow.go_on(draft, press.seller)


def _back_pressed(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    is_step = press.words[0] in request_fields.STEPS["new"]
    return flow.go_back(press.draft, press.words[0], press.seller) if is_step else None


def _leave_pressed(
    press: flow.Press[drafts.EditDraft | drafts.SettingsDraft],
) -> flow.FormResult | None:
    """Go back to the paused form, or to the menu from which the form was opened."""
    draft = press.draft
    if press.words[0] not in request_fields.STEPS[draft.form]:
        return None
    if draft.paused:
        return flow.resume(draft.paused, press.seller)
    if isinstance(draft, drafts.EditDraft):
        return flow.FormResult(None, then=("edit", draft.link_id))
    is_profile = draft.step in drafts.PROFILE_STEPS
    return flow.FormResult(None, then=("profile" if is_profile else "settings",))


# The review and the options of a new request.


def _create_pressed(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    """Create the request, if it is still the same as in the review with this button.

    A start in the past is dropped. If the end is in the past, ask for it again.
    """
    draft, seller, now = press.draft, press.seller, press.now
    if flow.blocking_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    if draft.photos_due:
        return flow.FormResult(draft, toast=seller.text("toast-photo-coming"))
    if draft.step != "review" or press.words != (questions.fingerprint(draft, seller),):
        review = flow.ask_step(replace(draft, in_menu=False), "review", seller)
        return replace(review, toast=seller.text("toast-changed"))
    if draft.ends_at is not None and draft.ends_at <= now:
        late = replace(draft, step=request_fields.ENDS.name)
        return seller_forms.refuse_past(late, draft.ends_at, seller, now)
    starts_at = draft.starts_at if (draft.starts_at or 0) > now else None
    return flow.finish(replace(draft, starts_at=starts_at), seller)


def _options_pressed(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    if flow.unanswered_step(press.draft, press.seller) is not None:
        return flow.go_on(press.draft, press.seller)
    return flow.ask_step(replace(press.draft, in_menu=True), "options", press.seller)


def _open_pressed(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    draft, seller = press.draft, press.seller
    field = request_fields.BY_NAME.get(press.words[0])
    if field not in request_fields.MENU or field is None or not field.is_offered(draft, seller):
        return None
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    return flow.ask_after_zone(replace(draft, in_menu=True), field.name, seller)


def _ask_pressed(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    draft, seller, (asked, wanted) = press.draft, press.seller, press.words
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    kept = {*draft.payer_fields, asked} if wanted == "on" else {*draft.payer_fields} - {asked}
    chosen = tuple(each for each in request_spec.PAYER_FIELDS if each in kept)
    return flow.ask_step(replace(draft, payer_fields=chosen), request_fields.ASKS.name, seller)


def _clear_option(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    field = request_fields.BY_NAME.get(press.words[0])
    if field is None or not field.is_optional or field not in request_fields.MENU:
        return None
    return flow.go_on(replace(field.clear(press.draft), readings=()), press.seller)


def _clear_edited(press: flow.Press[drafts.EditDraft]) -> flow.FormResult | None:
    draft, field = press.draft, request_fields.field_of(press.draft)
    if field is None or not field.is_optional or press.words != (draft.step,):
        return None
    return flow.take_value(draft, field, None, press.seller)


# The note on a marked payment.


def mark_form(
    mark: str, payment: str, draft_id: str, seller: drafts.Seller, current: drafts.Draft | None
) -> flow.FormResult:
    """Ask for a note on a payment, given its key; an open form of a new request is paused."""
    step, paused = NOTE_STEPS[mark], flow.new_form_under_way(current)
    draft = drafts.NoteDraft(id=draft_id, step=step, payment=payment, paused=paused)
    return flow.ask_step(draft, step, seller)


def end_with_mark(
    draft: drafts.Draft | None, payment: str, mark: str, seller: drafts.Seller
) -> flow.FormResult | None:
    """End the form that asks for a note, if it concerns this mark of this payment."""
    is_note = isinstance(draft, drafts.NoteDraft) and draft.payment == payment
    if draft is None or not is_note or draft.step != NOTE_STEPS[mark]:
        return None
    return flow.resume(draft.paused, seller)


def _end_note(
    draft: drafts.NoteDraft, seller: drafts.Seller, key: str, note: str | None = None
) -> flow.FormResult:
    """End the form of a note with the text `key`; without a note, only the mark is sent."""
    result = flow.reply_and_resume(draft.paused, seller, replies.Reply(seller.text(key)))
    return replace(result, note=flow.MarkNote(draft.payment, _mark(draft), note))


def _mark(draft: drafts.NoteDraft) -> str:
    return next(mark for mark, step in NOTE_STEPS.items() if step == draft.step)


_OF_EVERY_FORM: dict[str, flow.PressHandler] = {
    "continue": lambda press: flow.ask_step(press.draft, press.draft.step, press.seller),
    "cancel": lambda press: cancel(press.draft, press.seller),
}
_PRICE: dict[str, flow.PressHandler] = {
    "amount": _amount_pressed,
    "currency": _currency_pressed,
    "choose": _choose_pressed,
}
_VALUES: dict[str, flow.PressHandler] = {
    "goal": _goal_pressed,
    "goods": goods_form.press_goods,
    "moment": seller_forms.press_moment,
    "zone": seller_forms.press_zone,
}

VERBS: dict[str, dict[str, flow.PressHandler]] = {
    "new": _OF_EVERY_FORM
    | _PRICE
    | _VALUES
    | {
        "kind": _kind_pressed,
        "keep": lambda press: flow.go_on(press.draft, press.seller),
        "back": _back_pressed,
        "create": _create_pressed,
        "restart": lambda press: flow.start_new(press.draft.id, press.seller, press.draft.paused),
        "options": _options_pressed,
        "open": _open_pressed,
        "done": lambda press: flow.go_on(replace(press.draft, in_menu=False), press.seller),
        "clear": _clear_option,
        "instrument": _instrument_pressed,
        "ask": _ask_pressed,
        "later": seller_forms.press_later,
        request_fields.FILE_STEP: goods_form.press_file,
    },
    "line": _OF_EVERY_FORM | _PRICE,
    "edit": _OF_EVERY_FORM | _VALUES | {"clear": _clear_edited, "back": _leave_pressed},
    "codes": _OF_EVERY_FORM,
    "payback": _OF_EVERY_FORM
    | {"clear": lambda press: _end_note(press.draft, press.seller, "claims-note-skipped")},
    "settings": _OF_EVERY_FORM | seller_forms.SETTINGS_VERBS | {"back": _leave_pressed},
    "payout": _OF_EVERY_FORM | seller_forms.PAYOUT_VERBS,
}
"""The buttons of each form, by the form's name."""
