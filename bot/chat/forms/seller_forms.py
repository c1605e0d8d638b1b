"""The forms about sellers: payout accounts, profiles, time zones and hours."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.forms import flow, questions, request_fields, seller_texts, typed_text
from bot.chat.model import drafts, moments, payout, replies, zones
from bot.core import brand, errors

# The form of a payout account: the fields one by one, the service's check, and Save. A secret is
# sealed before the draft is stored, so the form never sees the secret again.


def payout_form(
    way: str, draft_id: str, seller: drafts.Seller, current: drafts.Draft | None = None
) -> flow.FormResult:
    """Ask for the first field of an account; an open form of a new request is paused."""
    step, paused = _step(payout.WAYS[way][0]), flow.new_form_under_way(current)
    draft = drafts.PayoutDraft(id=draft_id, step=step, way=way, paused=paused)
    return flow.ask_step(draft, step, seller)


def take_payout_text(
    draft: drafts.PayoutDraft, text: str, seller: drafts.Seller
) -> flow.FormResult:
    """Take a text as the answer to the form's question."""
    if draft.step in (payout.CHECKING, payout.SAVING):
        return flow.ask_step(draft, draft.step, seller)
    if draft.step == payout.FOUND:
        return flow.ask_again(draft, replies.Problem("problem-press"), seller)
    field = payout.PAYOUT_STEPS[draft.step]
    found = typed_text.read_field(draft.way, field, text)
    if isinstance(found, replies.Problem):
        return flow.ask_again(draft, found, seller)
    return _answer(draft, field, found, seller)


def account_probed(
    draft: drafts.PayoutDraft, account: payout.PayoutAccount, seller: drafts.Seller
) -> flow.FormResult:
    """Show the service's information about an account before it is saved."""
    return flow.ask_step(replace(draft, found=account), payout.FOUND, seller)


SPENDING = ("spendingKey", "spendingConnection")
"""Refusal codes for keys that could spend money."""


def account_refused(
    draft: drafts.PayoutDraft, problem: errors.FieldProblem, seller: drafts.Seller
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


def probe_interrupted(
    draft: drafts.PayoutDraft, note: str, seller: drafts.Seller
) -> flow.FormResult:
    """Ask the last question again after a failed call of the service."""
    if draft.step == payout.SAVING and draft.found:
        return flow.ask_step(draft, payout.FOUND, seller, note)
    return _ask(draft, _fields(draft)[-1], seller, note)


def account_saved(
    draft: drafts.PayoutDraft, account: payout.PayoutAccount, seller: drafts.Seller
) -> flow.FormResult:
    """End the form with its account; `seller` still has the former accounts.

    If a new request waited for an account, its form continues.
    """
    saved = seller_texts.saved_reply(account, seller.account_of(account.way), seller)
    others = [one for one in seller.accounts if one.way != account.way]
    seller = replace(seller, accounts=(*others, account))
    paused = draft.paused
    if paused is None:
        return flow.FormResult(None, (saved,))
    go = flow.go_on if paused.step == "destination" else flow.resume
    result = go(paused, seller)
    return replace(result, replies=(replace(saved, rows=()), *result.replies))


def connection_token(draft: drafts.PayoutDraft) -> str:
    """Return a checksum of the seller's answers, which reveals late answers of the service."""
    return seller_texts.fingerprint((draft.way, draft.answers))


def _answer(
    draft: drafts.PayoutDraft, field: str, text: str, seller: drafts.Seller
) -> flow.FormResult:
    """Keep an answer, and ask for the next unanswered field, or check the account."""
    given = {answer.field: answer for answer in draft.answers}
    given[field] = payout.PayoutAnswer(field, text)
    if field == "iban":
        given.pop(payout.BIC, None)  # it named the bank of the former IBAN
    fields = payout.fields_of(draft.way, given.values())
    answers = tuple(given[name] for name in fields if name in given)
    return _ask_missing(replace(draft, answers=answers), seller)


def _ask_missing(draft: drafts.PayoutDraft, seller: drafts.Seller) -> flow.FormResult:
    """Ask for the first unanswered field; if there is none, check the account."""
    given = {answer.field for answer in draft.answers}
    missing = [name for name in _fields(draft) if name not in given]
    if missing:
        return _ask(draft, missing[0], seller)
    checking = flow.ask_step(replace(draft, found=None), payout.CHECKING, seller)
    return replace(checking, connect=flow.PROBE)


def _ask(
    draft: drafts.PayoutDraft, field: str, seller: drafts.Seller, note: str | None = None
) -> flow.FormResult:
    return flow.ask_step(replace(draft, found=None), _step(field), seller, note)


def _fields(draft: drafts.PayoutDraft) -> tuple[str, ...]:
    return payout.fields_of(draft.way, draft.answers)


def _step(field: str) -> str:
    return f"pay{field.lower()}"


def _keep_pressed(press: flow.Press[drafts.PayoutDraft]) -> flow.FormResult | None:
    draft, seller, field = press.draft, press.seller, payout.PAYOUT_STEPS.get(press.draft.step)
    if field not in [answer.field for answer in draft.answers]:
        return None
    fields = _fields(draft)
    following = fields[fields.index(field or "") + 1 :]
    return _ask(draft, following[0], seller) if following else _ask_missing(draft, seller)


def _back_pressed(press: flow.Press[drafts.PayoutDraft]) -> flow.FormResult | None:
    """Ask for the previous field; from the first field, return to the accounts."""
    draft, fields = press.draft, _fields(press.draft)
    field = payout.PAYOUT_STEPS.get(draft.step)
    place = fields.index(field) if field else len(fields)
    if place:
        return _ask(draft, fields[place - 1], press.seller)
    return flow.FormResult(draft.paused, then=("getpaid",))


def _save_pressed(press: flow.Press[drafts.PayoutDraft]) -> flow.FormResult | None:
    """Save the account, if it is still the account shown with this button."""
    draft, seller = press.draft, press.seller
    if draft.step != payout.FOUND or draft.found is None:
        return None
    if press.words != (seller_texts.fingerprint(draft.answers),):
        shown = flow.ask_step(draft, payout.FOUND, seller)
        return replace(shown, toast=seller.text("toast-changed"))
    saving = replace(draft, step=payout.SAVING)
    return flow.FormResult(saving, toast=seller.text("payout-saving"), connect=flow.SAVE)


def _change_pressed(press: flow.Press[drafts.PayoutDraft]) -> flow.FormResult | None:
    is_found = press.draft.step == payout.FOUND
    return _ask(press.draft, _fields(press.draft)[0], press.seller) if is_found else None


def _skip_pressed(press: flow.Press[drafts.PayoutDraft]) -> flow.FormResult | None:
    field = payout.PAYOUT_STEPS.get(press.draft.step)
    return _answer(press.draft, field, "", press.seller) if field in payout.OPTIONAL else None


def _land_pressed(press: flow.Press[drafts.PayoutDraft]) -> flow.FormResult | None:
    is_asked = press.draft.step == _step("country")
    return take_payout_text(press.draft, press.words[0], press.seller) if is_asked else None


def press_later(press: flow.Press[drafts.NewDraft]) -> flow.FormResult | None:
    """Ask the request's next question: the account is connected later."""
    if press.draft.step != "destination" or not press.seller.paid_at.rails:
        return None
    result = flow.go_on(press.draft, replace(press.seller, pays_later=True))
    return replace(result, setting=flow.Setting("payoutlater", 1))


PAYOUT_VERBS: dict[str, flow.PressHandler] = {
    "back": _back_pressed,
    "keep": _keep_pressed,
    "save": _save_pressed,
    "change": _change_pressed,
    "skip": _skip_pressed,
    "land": _land_pressed,
}


# The settings: where the money goes, the profile, the time zone and hours.

PHOTO_STEP = "sellerimage"
"""The step that takes a photo."""

TELEGRAM_PHOTO = ""
"""The file_id that means the seller's profile photo at Telegram."""

_DAY = 24 * 60
"""Minutes of a day."""


def settings_form(
    step: str, draft_id: str, seller: drafts.Seller, current: drafts.Draft | None = None
) -> flow.FormResult:
    """Ask for a setting, one of `STEPS["settings"]`; an open form of a new request is paused."""
    paused = flow.new_form_under_way(current)
    draft = drafts.SettingsDraft(id=draft_id, step=step, paused=paused)
    return flow.ask_after_zone(draft, step, seller)


def take_setting(
    draft: drafts.SettingsDraft, text: str, seller: drafts.Seller, now: int
) -> flow.FormResult:
    """Take a text as the value of the setting that the form asks for."""
    match draft.step:
        case "destination":
            return take_destination(draft, text, seller)
        case "zone":
            return take_zone(draft, text, seller, now)
        case "quiet":
            return _take_time(draft, moments.read_hours(text), seller)
        case "summary":
            return _take_time(draft, moments.read_clock(text), seller)
    if draft.step not in seller_texts.READERS:
        key = "problem-sellerimage" if draft.step == PHOTO_STEP else "problem-press"
        return flow.ask_again(draft, replies.Problem(key), seller)
    found = seller_texts.READERS[draft.step](text)
    if isinstance(found, replies.Problem):
        return flow.ask_again(draft, found, seller)
    return save_profile_value(draft, found, seller)


def _save_setting(
    draft: drafts.SettingsDraft, setting: flow.Setting, seller: drafts.Seller, saved: str
) -> flow.FormResult:
    """Save a setting, and end its form with the text `saved`."""
    reply = replies.Reply(saved, seller_texts.settings(seller).rows)
    return replace(flow.reply_and_resume(draft.paused, seller, reply), setting=setting)


def take_destination(
    draft: drafts.RequestDraft | drafts.SettingsDraft, text: str, seller: drafts.Seller
) -> flow.FormResult:
    """Take a text as the destination of the seller's money, and continue."""
    if seller.paid_at.rails:
        return flow.ask_again(draft, replies.Problem("problem-press"), seller)
    destination = typed_text.read_destination(text, seller.paid_at)
    if isinstance(destination, replies.Problem):
        return flow.ask_again(draft, destination, seller)
    setting = flow.Setting("destination", destination)
    seller = replace(seller, destination=destination)
    if isinstance(draft, drafts.RequestDraft):
        return replace(flow.go_on(draft, seller), setting=setting)
    saved = seller.text("destination-saved", destination=replies.escaped(destination))
    return _save_setting(draft, setting, seller, saved)


def save_profile_value(
    draft: drafts.SettingsDraft, value: str | None, seller: drafts.Seller
) -> flow.FormResult:
    """Save a part of the profile, and show the payers' new view; None removes the part."""
    profile = replace(seller.profile, **{drafts.PROFILE_STEPS[draft.step]: value})
    changed = replace(seller, profile=profile)
    note = seller.text("profile-removed" if value is None else "profile-saved")
    result = flow.reply_and_resume(draft.paused, changed, seller_texts.profile_page(changed, note))
    return replace(result, setting=flow.Setting(draft.step, value))


def _clear_pressed(press: flow.Press[drafts.SettingsDraft]) -> flow.FormResult | None:
    """Remove a part of the profile; None if the button belongs to another step."""
    step = press.draft.step
    is_own = press.words == (step,) and step in drafts.PROFILE_STEPS
    return save_profile_value(press.draft, None, press.seller) if is_own else None


def _offer_pressed(press: flow.Press[drafts.SettingsDraft]) -> flow.FormResult | None:
    """Save an offered value; ask again if the offer has changed."""
    draft, seller = press.draft, press.seller
    for value in seller_texts.offered_values(draft.step, seller):
        if press.words == (seller_texts.offer_key(value),):
            return save_profile_value(draft, value, seller)
    return flow.ask_step(draft, draft.step, seller)


def _accent_pressed(press: flow.Press[drafts.SettingsDraft]) -> flow.FormResult | None:
    draft, accent = press.draft, press.words[0]
    is_known = draft.step == "selleraccent" and accent in brand.COLOURS
    return save_profile_value(draft, accent, press.seller) if is_known else None


def _photo_pressed(press: flow.Press[drafts.SettingsDraft]) -> flow.FormResult | None:
    if press.draft.step != PHOTO_STEP:
        return None
    toast = press.seller.text("toast-profile-photo")
    return flow.FormResult(press.draft, photo=TELEGRAM_PHOTO, toast=toast)


def take_zone(draft: drafts.Draft, text: str, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Take a text as the time zone; if it means several zones, ask which."""
    zone = zones.read_zone(text)
    if isinstance(zone, replies.Problem):
        return flow.ask_again(draft, zone, seller)
    if isinstance(zone, tuple):
        choices = questions.zone_rows(draft, seller, zone)
        question = questions.ask_which(draft, seller, "ask-which-zone", choices)
        return flow.FormResult(draft, (question,))
    return _save_zone(draft, zone, seller, now)


def press_zone(press: flow.Press[drafts.TimedDraft]) -> flow.FormResult | None:
    """Save an offered zone."""
    name = press.words[0]
    return _save_zone(press.draft, name, press.seller, press.now) if zones.is_zone(name) else None


def _save_zone(draft: drafts.Draft, name: str, seller: drafts.Seller, now: int) -> flow.FormResult:
    """Save the zone, and ask the question that waited for the zone."""
    seller, setting = replace(seller, zone=name), flow.Setting("zone", name)
    shown = replies.escaped(zones.shown_zone(name, now, seller.language))
    saved = seller.text("zone-saved", zone=shown)
    if isinstance(draft, drafts.TimedDraft) and draft.step_after_zone is not None:
        waiting = replace(draft, step_after_zone=None)
        result = flow.ask_step(waiting, draft.step_after_zone, seller, saved)
    elif isinstance(draft, drafts.SettingsDraft):
        return _save_setting(draft, setting, seller, saved)
    else:  # an old button: the current question stays
        result = flow.ask_step(draft, draft.step, seller, saved)
    return replace(result, setting=setting)


def _take_time(
    draft: drafts.SettingsDraft,
    time: tuple[int, int] | int | replies.Problem,
    seller: drafts.Seller,
) -> flow.FormResult:
    """Save the summary's minute of the day, or the two minutes of the quiet hours."""
    if isinstance(time, replies.Problem):
        return flow.ask_again(draft, time, seller)
    if isinstance(time, int):
        saved = seller.text("summary-saved", time=seller_texts.clock(time))
        return _save_setting(draft, flow.Setting("summary", time), seller, saved)
    saved = seller.text("quiet-saved", hours=seller_texts.hours(time))
    return _save_setting(draft, flow.Setting("quiet", time), seller, saved)


def _time_pressed(press: flow.Press[drafts.SettingsDraft]) -> flow.FormResult | None:
    """Save offered quiet hours (`1320-420`), or an offered minute of the summary (`480`)."""
    first, *second = map(int, press.words[0].split("-"))
    if press.seller.zone is None:
        return flow.ask_after_zone(press.draft, "quiet" if second else "summary", press.seller)
    if max(first, *second, 0) >= _DAY or second == [first]:
        return None
    return _take_time(press.draft, (first, second[0]) if second else first, press.seller)


def _off_pressed(press: flow.Press[drafts.SettingsDraft]) -> flow.FormResult | None:
    name = press.words[0]
    if name not in ("quiet", "summary"):
        return None
    saved = press.seller.text("quiet-off" if name == "quiet" else "summary-off")
    return _save_setting(press.draft, flow.Setting(name, None), press.seller, saved)


SETTINGS_VERBS: dict[str, flow.PressHandler] = {
    "zone": press_zone,
    "hours": _time_pressed,
    "minute": _time_pressed,
    "off": _off_pressed,
    "clear": _clear_pressed,
    "offer": _offer_pressed,
    "accent": _accent_pressed,
    "telegram-photo": _photo_pressed,
}


# Times of a request.


def press_moment(press: flow.Press[drafts.RequestDraft]) -> flow.FormResult | None:
    """Set an offered time of a field, in epoch ms."""
    draft, seller, now = press.draft, press.seller, press.now
    step, at = press.words[0], int(press.words[1])
    field = request_fields.field_of(draft, step)
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


def refuse_past(
    draft: drafts.RequestDraft, at: int, seller: drafts.Seller, now: int
) -> flow.FormResult:
    """Ask again for the time of the draft's step, because `at` (epoch ms) has passed."""
    zone = seller.zone or zones.UTC_ZONE
    return flow.ask_again(draft, moments.Past("problem-moment-past", {}, at, now, zone), seller)
