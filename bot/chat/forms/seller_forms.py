"""The forms about sellers: payout accounts, profiles, time zones and hours."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.forms import field_texts, flow, questions, request_fields, seller_texts, typed_text
from bot.chat.model import drafts, local_time, moments, payout, replies, zones
from bot.core import brand, errors
from bot.core.text import translations

# The form of a payout account: the fields one by one, the service's check, and Save. A secret is
# sealed before the draft is stored, so the form never sees the secret again.


def payout_form(
    way: str, draft_id: str, seller: drafts.Seller, current: drafts.Draft | None = None
) -> flow.FormResult:
    """Ask for the first field of an account; an open form of a new request is paused."""
    paused = flow.new_form_under_way(current)
    draft = drafts.Draft(draft_id, "payout", _step(payout.WAYS[way][0]), way=way, paused=paused)
    return flow.ask_step(draft, draft.step, seller)


def take_payout_text(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    """Take a text as the answer to the form's question."""
    if draft.step in (payout.CHECKING, payout.SAVING):
        return flow.FormResult(draft, (questions.prompt(draft, seller),))
    if draft.step == payout.FOUND:
        return flow.ask_again(draft, replies.Problem("problem-press"), seller)
    field = payout.PAYOUT_STEPS[draft.step]
    found = typed_text.read_field(draft.way or "", field, text)
    if isinstance(found, replies.Problem):
        return flow.ask_again(draft, found, seller)
    return _answer(draft, field, found, seller)


def _keep_pressed(
    draft: drafts.Draft, _words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Keep this field's answer, and ask for the next field."""
    field = payout.PAYOUT_STEPS.get(draft.step)
    if field is None or field not in _given(draft):
        return None
    fields = _fields(draft)
    following = fields[fields.index(field) + 1 :]
    return _ask(draft, following[0], seller) if following else _check(draft, seller)


def _back_pressed(
    draft: drafts.Draft, _words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Ask for the previous field; from the first field, return to the accounts."""
    fields = _fields(draft)
    place = len(fields)
    if draft.step in payout.PAYOUT_STEPS:
        place = fields.index(payout.PAYOUT_STEPS[draft.step])
    if place:
        return _ask(draft, fields[place - 1], seller)
    return flow.FormResult(draft.paused, then=("getpaid",))


def account_probed(
    draft: drafts.Draft, account: payout.PayoutAccount, seller: drafts.Seller
) -> flow.FormResult:
    """Show the service's information about an account before it is saved."""
    return flow.ask_step(replace(draft, found=account), payout.FOUND, seller)


SPENDING = ("spendingKey", "spendingConnection")
"""Refusal codes for keys that could spend money."""


def account_refused(
    draft: drafts.Draft, problem: errors.FieldProblem, seller: drafts.Seller
) -> flow.FormResult:
    """Ask again for the refused field (such as `details.iban`); the other answers are kept.

    A key that could spend money is dropped.
    """
    fields = _fields(draft)
    field = problem.field.rpartition(".")[2]
    if problem.code in SPENDING:
        draft = replace(draft, answers=tuple(one for one in draft.answers if one.field != field))
    note = seller_texts.refusal_text(problem, seller.language)
    return _ask(draft, field if field in fields else fields[-1], seller, note)


def probe_interrupted(draft: drafts.Draft, note: str, seller: drafts.Seller) -> flow.FormResult:
    """Ask the last question again after a failed call of the service."""
    if draft.step == payout.SAVING and draft.found:
        return flow.ask_step(draft, payout.FOUND, seller, note)
    return _ask(draft, _fields(draft)[-1], seller, note)


def account_saved(
    draft: drafts.Draft, account: payout.PayoutAccount, seller: drafts.Seller
) -> flow.FormResult:
    """End the form with its account; `seller` still has the former accounts.

    If a new request waited for an account, its form continues.
    """
    saved = seller_texts.saved_reply(account, seller.account_of(account.way), seller.language)
    others = [one for one in seller.accounts if one.way != account.way]
    seller = replace(seller, accounts=(*others, account))
    paused = draft.paused
    if paused is None:
        return flow.FormResult(None, (saved,))
    result = flow.go_on(paused, seller) if paused.step == "destination" else None
    result = result or flow.FormResult(paused, (questions.prompt(paused, seller),))
    return replace(result, replies=(replace(saved, rows=()), *result.replies))


def with_warning(
    result: flow.FormResult, currency: str | None, seller: drafts.Seller
) -> flow.FormResult:
    """Add a warning to the result of a price if no account of the seller takes its currency."""
    warning = field_texts.unpaid_currency(currency, seller)
    if warning is None:
        return result
    if result.draft is not None and result.draft.step == "review":
        return result  # the review has the warning
    return flow.with_note(result, warning)


def connection_token(draft: drafts.Draft) -> str:
    """Return a checksum of the seller's answers, which reveals late answers of the service."""
    return seller_texts.fingerprint((draft.way, draft.answers))


def _answer(draft: drafts.Draft, field: str, text: str, seller: drafts.Seller) -> flow.FormResult:
    """Keep an answer, and ask for the next unanswered field, or check the account."""
    given = _given(draft) | {field: payout.PayoutAnswer(field, text)}
    if field == "iban":
        given.pop(payout.BIC, None)  # it named the bank of the former IBAN
    fields = payout.fields_of(draft.way or "", given.values())
    answers = tuple(given[name] for name in fields if name in given)
    draft = replace(draft, answers=answers, found=None)
    following = [name for name in fields if name not in given]
    return _ask(draft, following[0], seller) if following else _check(draft, seller)


def _check(draft: drafts.Draft, seller: drafts.Seller) -> flow.FormResult:
    missing = [name for name in _fields(draft) if name not in _given(draft)]
    if missing:
        return _ask(draft, missing[0], seller)
    return replace(flow.ask_step(draft, payout.CHECKING, seller), connect=flow.PROBE)


def _ask(
    draft: drafts.Draft, field: str, seller: drafts.Seller, note: str | None = None
) -> flow.FormResult:
    return flow.ask_step(replace(draft, found=None), _step(field), seller, note)


def _fields(draft: drafts.Draft) -> tuple[str, ...]:
    return payout.fields_of(draft.way or "", draft.answers)


def _given(draft: drafts.Draft) -> dict[str, payout.PayoutAnswer]:
    return {answer.field: answer for answer in draft.answers}


def _step(field: str) -> str:
    return f"pay{field.lower()}"


def _save_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Save the account, if it is still the account shown with this button."""
    if draft.step != payout.FOUND or draft.found is None:
        return None
    if words != (seller_texts.fingerprint(draft.answers),):
        shown = flow.ask_step(draft, payout.FOUND, seller)
        return replace(shown, toast=translations.t(seller.language, "toast-changed"))
    toast = translations.t(seller.language, "payout-saving")
    return flow.FormResult(replace(draft, step=payout.SAVING), toast=toast, connect=flow.SAVE)


def _change_pressed(
    draft: drafts.Draft, _words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if draft.step != payout.FOUND:
        return None
    return _ask(draft, _fields(draft)[0], seller)


def _skip_pressed(
    draft: drafts.Draft, _words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    field = payout.PAYOUT_STEPS.get(draft.step)
    if field is None or field not in payout.OPTIONAL:
        return None
    return _answer(draft, field, "", seller)


def _land_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    return take_payout_text(draft, words[0], seller) if draft.step == _step("country") else None


def press_later(
    draft: drafts.Draft, _words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Ask the request's next question: the account is connected later."""
    if draft.step != "destination" or not seller.paid_at.rails:
        return None
    result = flow.go_on(draft, replace(seller, pays_later=True))
    return replace(result, setting=flow.Setting("payoutlater", 1))


def is_offered(way: str, seller: drafts.Seller) -> bool:
    """True if the service takes this kind of account."""
    return way in payout.WAYS and payout.kind_of(way) in seller.paid_at.rails


PAYOUT_VERBS: dict[str, flow.Press] = {
    "back": _back_pressed,
    "keep": _keep_pressed,
    "save": _save_pressed,
    "change": _change_pressed,
    "skip": _skip_pressed,
    "land": _land_pressed,
}


# The seller's profile, a part of the settings.

PHOTO_STEP = "sellerimage"
"""The step that takes a photo."""

TELEGRAM_PHOTO = ""
"""The file_id that means the seller's profile photo at Telegram."""


def take_profile_text(draft: drafts.Draft, text: str, seller: drafts.Seller) -> flow.FormResult:
    """Take a text as the answer to a step of the profile."""
    if draft.step not in seller_texts.READERS:
        key = "problem-sellerimage" if draft.step == PHOTO_STEP else "problem-press"
        return flow.ask_again(draft, replies.Problem(key), seller)
    found = seller_texts.READERS[draft.step](text)
    if isinstance(found, replies.Problem):
        return flow.ask_again(draft, found, seller)
    return save_profile_value(draft, found, seller)


def save_profile_value(
    draft: drafts.Draft, value: str | None, seller: drafts.Seller
) -> flow.FormResult:
    """Save a part of the profile, and show the payers' new view; None removes the part."""
    profile = replace(seller.profile, **{drafts.PROFILE_STEPS[draft.step]: value})
    changed = replace(seller, profile=profile)
    note = translations.t(seller.language, "profile-removed" if value is None else "profile-saved")
    result = flow.reply_and_resume(draft.paused, changed, seller_texts.profile_page(changed, note))
    return replace(result, setting=flow.Setting(draft.step, value))


def _clear_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Remove a part of the profile; None if the button belongs to another step."""
    is_own = words == (draft.step,) and draft.step in drafts.PROFILE_STEPS
    return save_profile_value(draft, None, seller) if is_own else None


def _offer_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    """Save an offered value; ask again if the offer has changed."""
    values = {
        seller_texts.offer_key(value): value
        for value in seller_texts.offered_values(draft.step, seller)
    }
    value = values.get(words[0])
    if value is None:
        return flow.ask_step(draft, draft.step, seller)
    return save_profile_value(draft, value, seller)


def _accent_pressed(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    is_known = draft.step == "selleraccent" and words[0] in brand.COLOURS
    return save_profile_value(draft, words[0], seller) if is_known else None


def _photo_pressed(
    draft: drafts.Draft, _words: replies.Action, seller: drafts.Seller, _now: int
) -> flow.FormResult | None:
    if draft.step != PHOTO_STEP:
        return None
    toast = translations.t(seller.language, "toast-profile-photo")
    return flow.FormResult(draft, photo=TELEGRAM_PHOTO, toast=toast)


# Times: the zone, quiet hours and the summary; and times offered for a request.

_DAY = 24 * 60
"""Minutes of a day."""


def take_time(draft: drafts.Draft, text: str, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Take a text as quiet hours, as the summary's time, or (at any other step) as a zone."""
    if draft.step == "quiet":
        return _take_time(draft, local_time.read_hours(text), seller)
    if draft.step == "summary":
        return _take_time(draft, local_time.read_clock(text), seller)
    zone = zones.read_zone(text)
    if isinstance(zone, replies.Problem):
        return flow.ask_again(draft, zone, seller)
    if isinstance(zone, tuple):
        choices = questions.zone_rows(draft, seller, zone)
        question = questions.ask_which(draft, seller, "ask-which-zone", choices)
        return flow.FormResult(draft, (question,))
    return _take_zone(draft, zone, seller, now)


def press_zone(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, now: int
) -> flow.FormResult | None:
    return _take_zone(draft, words[0], seller, now) if zones.is_zone(words[0]) else None


def _take_zone(draft: drafts.Draft, name: str, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Save the zone, and ask the question that waited for the zone."""
    seller, setting = replace(seller, zone=name), flow.Setting("zone", name)
    shown = replies.escaped(zones.shown_zone(name, now, seller.language))
    saved = translations.t(seller.language, "zone-saved", zone=shown)
    if draft.step_after_zone is not None:
        result = flow.ask_step(
            replace(draft, step_after_zone=None), draft.step_after_zone, seller, saved
        )
    elif draft.form == "settings":
        result = flow.end_short_form(draft, seller, saved)
    else:  # an old button: the current question stays
        result = flow.FormResult(draft, (questions.prompt(draft, seller, saved),))
    return replace(result, setting=setting)


def press_moment(
    draft: drafts.Draft, words: replies.Action, seller: drafts.Seller, now: int
) -> flow.FormResult | None:
    """Set an offered time of a field, in epoch ms."""
    step, at = words[0], int(words[1])
    field = request_fields.field_at(draft.form, step)
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
    """Ask again for the time of the draft's step, because `at` (epoch ms) has passed."""
    zone = seller.zone or zones.UTC_ZONE
    return flow.ask_again(draft, moments.Past("problem-moment-past", {}, at, now, zone), seller)


def _take_time(
    draft: drafts.Draft, time: tuple[int, int] | int | replies.Problem, seller: drafts.Seller
) -> flow.FormResult:
    """Save the summary's minute of the day, or the two minutes of the quiet hours."""
    if isinstance(time, replies.Problem):
        return flow.ask_again(draft, time, seller)
    if isinstance(time, int):
        saved = translations.t(seller.language, "summary-saved", time=seller_texts.clock(time))
        return flow.save_setting(draft, flow.Setting("summary", time), seller, saved)
    saved = translations.t(seller.language, "quiet-saved", hours=seller_texts.hours(time))
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


SETTINGS_VERBS: dict[str, flow.Press] = {
    "zone": press_zone,
    "hours": _hours_pressed,
    "minute": _minute_pressed,
    "off": _off_pressed,
    "clear": _clear_pressed,
    "offer": _offer_pressed,
    "accent": _accent_pressed,
    "telegram-photo": _photo_pressed,
}
