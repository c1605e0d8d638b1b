"""The steps of the settings that ask for the seller's profile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.fields.profile_text import READERS, offer_key
from bot.chat.forms import flow
from bot.chat.forms.outcome import Outcome, Press, Setting
from bot.chat.forms.sellers.profile_texts import offered_values, profile_page
from bot.chat.messages.reply import Problem
from bot.chat.model.profile import PROFILE_STEPS
from bot.core.accents import ACCENTS
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.messages.reply import Action
    from bot.chat.model.draft import Draft, Seller

PHOTO_STEP = "sellerimage"
"""The step that takes a photo."""

TELEGRAM_PHOTO = ""
"""The file_id that stands for the seller's profile photo at Telegram."""


def take_text(draft: Draft, text: str, seller: Seller) -> Outcome:
    """Take a text as the answer to a step of the profile."""
    if draft.step not in READERS:
        key = "problem-sellerimage" if draft.step == PHOTO_STEP else "problem-press"
        return flow.ask_again(draft, Problem(key), seller)
    found = READERS[draft.step](text)
    if isinstance(found, Problem):
        return flow.ask_again(draft, found, seller)
    return save(draft, found, seller)


def save(draft: Draft, value: str | None, seller: Seller) -> Outcome:
    """Save a part of the profile, and show what payers see now; None removes the part."""
    profile = replace(seller.profile, **{PROFILE_STEPS[draft.step]: value})
    changed = replace(seller, profile=profile)
    note = t(seller.language, "profile-removed" if value is None else "profile-saved")
    outcome = flow.reply_and_resume(draft.paused, changed, profile_page(changed, note))
    return replace(outcome, setting=Setting(draft.step, value))


def clear(draft: Draft, words: Action, seller: Seller) -> Outcome | None:
    """Remove a part of the profile; None where the button is not of its step."""
    is_own = words == (draft.step,) and draft.step in PROFILE_STEPS
    return save(draft, None, seller) if is_own else None


def _offer_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    """Take an offered value; ask again where another one is offered by now."""
    values = {offer_key(value): value for value in offered_values(draft.step, seller)}
    value = values.get(words[0])
    return flow.ask_step(draft, draft.step, seller) if value is None else save(draft, value, seller)


def _accent_pressed(draft: Draft, words: Action, seller: Seller, _now: int) -> Outcome | None:
    is_known = draft.step == "selleraccent" and words[0] in ACCENTS
    return save(draft, words[0], seller) if is_known else None


def _photo_pressed(draft: Draft, _words: Action, seller: Seller, _now: int) -> Outcome | None:
    if draft.step != PHOTO_STEP:
        return None
    toast = t(seller.language, "toast-profile-photo")
    return Outcome(draft, photo=TELEGRAM_PHOTO, toast=toast)


VERBS: dict[str, Press] = {
    "offer": _offer_pressed,
    "accent": _accent_pressed,
    "telegram-photo": _photo_pressed,
}
