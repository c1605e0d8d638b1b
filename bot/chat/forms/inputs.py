"""Texts and presses of the form under way, by step and by verb."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from bot.chat.forms import (
    bot_texts,
    flow,
    goods_form,
    questions,
    registry,
    seller_forms,
    shares_and_amounts,
    typed_text,
)
from bot.chat.model import drafts, local_time, moments, replies, request_spec, zones
from bot.core.money import amounts
from bot.core.text import translations

# Times: the seller's zone, moments that were offered, quiet hours and the summary.


_DAY = 24 * 60  # minutes


def take_time(draft: drafts.Draft, text: str, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Take a text as quiet hours, as the time of the summary, or else as a zone."""
    if draft.step == "quiet":
        return _take_time(draft, local_time.read_hours(text), seller)
    if draft.step == "summary":
        return _take_time(draft, local_time.read_clock(text), seller)
    zone = zones.read_zone(text)
    if isinstance(zone, replies.Problem):
        return flow.ask_again(draft, zone, seller)
    if isinstance(zone, tuple):
        choices = questions.zone_rows(draft, seller, zone)
        return flow.FormResult(
            draft, (questions.ask_which(draft, seller, "ask-which-zone", choices),)
        )
    return _take_zone(draft, zone, seller, now)


def _zone_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, now: int
) -> flow.FormResult | None:
    return _take_zone(draft, words[0], seller, now) if zones.is_zone(words[0]) else None


def _take_zone(draft: drafts.Draft, name: str, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Save the zone, and go on with the step that waited for it."""
    seller, setting = replace(seller, zone=name), flow.Setting("zone", name)
    shown = replies.escaped(zones.shown_zone(name, now, seller.language))
    saved = translations.t(seller.language, "zone-saved", zone=shown)
    if draft.step_after_zone is not None:
        outcome = flow.ask_step(
            replace(draft, step_after_zone=None), draft.step_after_zone, seller, saved
        )
    elif draft.form == "settings":
        outcome = flow.end_short_form(draft, seller, saved)
    else:  # an old button: the present question stands
        outcome = flow.FormResult(draft, (questions.prompt(draft, seller, saved),))
    return replace(outcome, setting=setting)


def _moment_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, now: int
) -> flow.FormResult | None:
    """Take a moment that was offered for a field, in epoch ms."""
    step, at = words[0], int(words[1])
    field = registry.field_at(draft.form, step)
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


def refuse_past(draft: drafts.Draft, at: int, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Ask again for the time of the draft's step, since `at` (epoch ms) has passed."""
    zone = seller.zone or zones.UTC_ZONE
    return flow.ask_again(draft, moments.Past("problem-moment-past", {}, at, now, zone), seller)


def _take_time(
    draft: drafts.Draft, time: tuple[int, int] | int | replies.Problem, seller: drafts.Seller
) -> flow.FormResult:
    """Save the minute of the day of the summary, or the two of the quiet hours."""
    if isinstance(time, replies.Problem):
        return flow.ask_again(draft, time, seller)
    if isinstance(time, int):
        saved = translations.t(seller.language, "summary-saved", time=questions.clock(time))
        return flow.save_setting(draft, flow.Setting("summary", time), seller, saved)
    saved = translations.t(seller.language, "quiet-saved", hours=questions.hours(time))
    return flow.save_setting(draft, flow.Setting("quiet", time), seller, saved)


def _hours_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if seller.zone is None:
        return flow.ask_after_zone(draft, "quiet", seller)
    start, end = map(int, words[0].split("-"))
    is_sound = max(start, end) < _DAY and start != end
    return _take_time(draft, (start, end), seller) if is_sound else None


def _minute_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if seller.zone is None:
        return flow.ask_after_zone(draft, "summary", seller)
    minute = int(words[0])
    return _take_time(draft, minute, seller) if minute < _DAY else None


def _off_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    name = words[0]
    if name not in ("quiet", "summary"):
        return None
    text = translations.t(seller.language, "quiet-off" if name == "quiet" else "summary-off")
    return flow.save_setting(draft, flow.Setting(name, None), seller, text)


TIME_VERBS: dict[str, flow.Press] = {
    "zone": _zone_pressed,
    "moment": _moment_pressed,
    "hours": _hours_pressed,
    "minute": _minute_pressed,
    "off": _off_pressed,
}


_FORM_VERBS = {
    "new": frozenset(
        [
            *("kind", "keep", "back", "amount", "currency", "choose", "goal"),
            *("create", "continue", "restart", "cancel"),
            *("options", "open", "clear", "done", "instrument", "ask", "moment", "zone"),
            *("later", "goods", registry.FILE_STEP),
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


def take_text(draft: drafts.Draft, text: str, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Take a text as the answer to the draft's step; `now` in epoch ms."""
    if draft.form == "payout":
        return seller_forms.take_payout_text(draft, text, seller)
    if draft.step in _ANSWERS:
        return _ANSWERS[draft.step](draft, text, seller)
    if draft.step in drafts.PROFILE_STEPS:
        return seller_forms.take_profile_text(draft, text, seller)
    field = registry.field_at(draft.form, draft.step)
    if field is None or (field.is_moment and seller.zone is None):
        return take_time(draft, text, seller, now)
    return flow.take_typed(draft, field, text, seller, now)


def take_press(
    draft: drafts.Draft | None, action: replies.Action, seller: drafts.Seller, now: int
) -> flow.FormResult:
    """Perform a button of the form under way; a button of another form is answered by a toast."""
    owner = _owner(draft, action)
    if owner is None:
        return flow.FormResult(draft, toast=translations.t(seller.language, "toast-finished"))
    owner = replace(owner, must_resume=False)
    verb, *words = action[2:] or ("",)
    is_offered = verb in _FORM_VERBS[owner.form] and replies.is_known(action)
    outcome = _VERBS[verb](owner, tuple(words), seller, now) if is_offered else None
    return outcome or flow.FormResult(draft, toast=translations.t(seller.language, "toast-unknown"))


def _owner(draft: drafts.Draft | None, action: replies.Action) -> drafts.Draft | None:
    """Return the form that a button belongs to: the one under way, or one that it paused."""
    if action[:1] != ("draft",) or draft is None:
        return None
    return draft if action[1:2] == (draft.id,) else _owner(draft.paused, action)


def cancel(draft: drafts.Draft | None, seller: drafts.Seller) -> flow.FormResult:
    """End the form under way if there is one, and ask again the one that it interrupted."""
    key = "nothing-to-cancel"
    if draft is not None and draft.form == flow.FORM:
        return flow.cancel_note(draft, seller)
    if draft is not None:
        key = "cancelled" if draft.form in ("new", "line") else "cancelled-edit"
    reply = replies.Reply(translations.t(seller.language, key), bot_texts.menu(seller.language))
    return flow.reply_and_resume(draft and draft.paused, seller, reply)


def _press_please(draft: drafts.Draft, _text: str, seller: drafts.Seller) -> flow.FormResult:
    return flow.ask_again(draft, replies.Problem("problem-press"), seller)


def _amount_typed(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    usual, may_choose = draft.currency or seller.currency, seller.paid_at.is_embedded
    return take_price(
        draft, shares_and_amounts.read_amounts(text, usual, may_choose=may_choose), seller
    )


def take_price(
    draft: drafts.Draft,
    price: typed_text.Price | typed_text.AmbiguousAmount | replies.Problem,
    seller: drafts.Seller,
) -> flow.FormResult:
    """Set a price, or ask again where it is ambiguous or refused."""
    if isinstance(price, typed_text.Price):
        return _take_price(draft, price, seller)
    if draft.kind is not None:  # otherwise it is asked for first
        draft = replace(draft, step="amount")
    if isinstance(price, replies.Problem):
        return flow.ask_again(draft, price, seller)
    return flow.FormResult(draft, (questions.ask_which_amount(draft, seller, price),))


def _take_price(
    draft: drafts.Draft, price: typed_text.Price, seller: drafts.Seller
) -> flow.FormResult:
    """Set a price; a goal in another currency is removed, and its seller notified."""
    instrument = None if draft.instrument == price.currency else draft.instrument
    priced = replace(
        draft, amount=price.amount, currency=price.currency, choice=price.choice,
        instrument=instrument,
    )  # fmt: skip
    if draft.goal is None or draft.currency == price.currency:
        outcome = flow.accept(priced, registry.AMOUNT, seller)
    else:
        note = translations.t(seller.language, "goal-removed", currency=draft.currency or "")
        outcome = flow.go_on(registry.GOAL.clear(priced), seller, note)
    return seller_forms.with_warning(outcome, price.currency, seller)


def _currency_typed(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    """Take a code, or an amount with its currency, since some sellers type both again."""
    if any(char.isdecimal() for char in text):
        return _amount_typed(draft, text, seller)
    code = typed_text.read_code(text)
    if isinstance(code, replies.Problem):
        return flow.ask_again(draft, code, seller)
    return _take_currency(draft, code, seller)


def _take_currency(draft: drafts.Draft, code: str, seller: drafts.Seller) -> flow.FormResult:
    """Set the currency; ask again for an amount that the currency does not allow."""
    if draft.amount is None:
        return flow.go_on(replace(draft, currency=code), seller)
    amounts = draft.choice.amounts if draft.choice else (draft.amount,)
    for amount in amounts:
        price = typed_text.check_price(amount, code)
        if isinstance(price, replies.Problem):
            open_again = replace(
                registry.GOAL.clear(draft), amount=None, choice=None, currency=code
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


_ANSWERS: dict[str, Callable[[drafts.Draft, str, drafts.Seller], flow.FormResult]] = {
    "amount": _amount_typed,
    "currency": _currency_typed,
    "destination": _destination_typed,
    "review": _press_please,
    "options": _press_please,
    registry.FILE_STEP: _press_please,
    registry.GOODS.name: goods_form.take_text,
    goods_form.STEP: goods_form.take_codes,
    **dict.fromkeys(flow.MARKS, flow.take_note),
}


def _create_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, now: int
) -> flow.FormResult | None:
    """Create the request that the review with this button showed, and no other.

    A start in the past is dropped; an end in the past is asked for again.
    """
    if flow.blocking_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    if draft.photos_due:
        return flow.FormResult(draft, toast=translations.t(seller.language, "toast-photo-coming"))
    if draft.step != "review" or words != (questions.fingerprint(draft, seller),):
        review = flow.ask_step(replace(draft, in_menu=False), "review", seller)
        return replace(review, toast=translations.t(seller.language, "toast-changed"))
    if draft.ends_at is not None and draft.ends_at <= now:
        return refuse_past(replace(draft, step=registry.ENDS.name), draft.ends_at, seller, now)
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
    field = registry.BY_NAME.get(words[0])
    if field not in registry.MENU or field is None or not field.is_offered(draft, seller):
        return None
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    return flow.ask_after_zone(replace(draft, in_menu=True), field.name, seller)


def _clear_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if draft.form == "settings":
        return seller_forms.clear_profile_value(draft, words, seller)
    if draft.form == flow.FORM:
        return flow.skip_note(draft, seller)
    field = registry.field_at(draft.form, words[0])
    if field is None or not field.is_optional:
        return None
    if draft.form == "edit":
        return flow.take_value(draft, field, None, seller) if words == (draft.step,) else None
    cleared = replace(field.clear(draft), readings=())
    return flow.go_on(cleared, seller) if field in registry.MENU else None


def _instrument_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if words[0] not in amounts.currencies() or draft.currency is None:
        return None
    code = None if words[0] == draft.currency else words[0]
    return flow.take_value(draft, registry.INSTRUMENT, code, seller)


def _ask_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Ask payers for one thing more, or no longer."""
    if flow.unanswered_step(draft, seller) is not None:
        return flow.go_on(draft, seller)
    asked, wanted = words
    kept = {*draft.payer_fields, asked} if wanted == "on" else {*draft.payer_fields} - {asked}
    fields = tuple(each for each in request_spec.PAYER_FIELDS if each in kept)
    return flow.ask_step(registry.ASKS.set(draft, fields), registry.ASKS.name, seller)


def _kind_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    draft = replace(draft, kind=words[0])
    for field in (registry.UNITS, *registry.MENU):
        draft = draft if words[0] in field.kinds else field.clear(draft)
    return flow.go_on(draft, seller)


def _keep_pressed(
    draft: drafts.Draft, _words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if draft.form == "payout":
        return seller_forms.keep_account(draft, seller)
    return flow.go_on(draft, seller)


def _back_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if draft.form == "payout":
        return seller_forms.go_back(draft, seller)
    return flow.go_back(draft, words[0], seller) if words[0] in registry.STEPS[draft.form] else None


def _amount_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Take one reading of an ambiguous amount: a number and, where one was named, a currency."""
    number, *named = words
    if not amounts.currencies().issuperset(named):
        return None
    currency = named[0] if named else draft.currency or seller.currency
    return take_price(draft, typed_text.check_price(Decimal(number), currency), seller)


def _choose_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Set the price to the usual choice in a currency, which is asked for where none is known."""
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
    """Take one reading of an ambiguous goal, while it is asked for and in the same currency."""
    number, code = words
    if (
        draft.step != registry.GOAL.name
        or code != draft.currency
        or code not in amounts.currencies()
    ):
        return None
    price = typed_text.check_price(Decimal(number), code)
    if isinstance(price, replies.Problem):
        return None
    return flow.take_value(draft, registry.GOAL, amounts.to_minor(price.amount, code), seller)


def _currency_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    return _take_currency(draft, words[0], seller) if words[0] in amounts.currencies() else None


_VERBS: dict[str, flow.Press] = {
    "kind": _kind_pressed,
    "keep": _keep_pressed,
    "back": _back_pressed,
    "amount": _amount_pressed,
    "currency": _currency_pressed,
    "choose": _choose_pressed,
    "goal": _goal_pressed,
    "continue": lambda draft, _words, seller, _now: flow.FormResult(
        draft, (questions.prompt(draft, seller),)
    ),
    "restart": lambda draft, _words, seller, _now: flow.start_new(draft.id, seller, draft.paused),
    "cancel": lambda draft, _words, seller, _now: cancel(draft, seller),
    "create": _create_pressed,
    "options": _options_pressed,
    "open": _open_pressed,
    "done": lambda draft, _words, seller, _now: flow.go_on(replace(draft, in_menu=False), seller),
    "clear": _clear_pressed,
    "instrument": _instrument_pressed,
    "ask": _ask_pressed,
    **TIME_VERBS,
    **seller_forms.PROFILE_VERBS,
    **seller_forms.PAYOUT_VERBS,
    **goods_form.VERBS,
}
