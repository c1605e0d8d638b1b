"""The seller's profile: its page, what its forms offer, and a change of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.fields.profile_text import name_at_telegram, offer_key
from bot.chat.forms.sellers.profile_texts import profile_offer, profile_page
from bot.chat.messages.reply import Button, Reply, escaped
from bot.chat.model.profile import PROFILE_STEPS, ProfileHints
from bot.chat.requests import audit_trail
from bot.chat.requests.sellers.profile_change import change_profile
from bot.chat.store import profiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.dialogue.events import Person, PressEvent
    from bot.chat.model.draft import Draft
    from bot.chat.model.profile import Profile
    from bot.core.database.database import Transaction


def hints_for(
    tx: Transaction, person: Person, draft: Draft | None, press: PressEvent | None
) -> ProfileHints:
    """Return what the profile's forms offer this person.

    Where neither the form under way nor the button is about the profile, only the name, which needs
    no query.
    """
    name = name_at_telegram(person.first_name, person.last_name)
    action = (press.action if press else None) or ("",)
    is_profile = action[0] == "profile" or action[-1] in PROFILE_STEPS
    if not is_profile and (draft is None or draft.step not in PROFILE_STEPS):
        return ProfileHints(name)
    username = f"@{person.username}" if person.username else None
    contacts = filter(None, (username, profiles.notification_email(tx, person.id)))
    return ProfileHints(name, tuple(contacts), profiles.newest_page(tx, person.id))


def handle_press(context: EventContext, words: Sequence[str]) -> None:
    """Perform a button of the profile, in the place of its message."""
    match words:
        case ("use", key):
            _use_name(context, key)
        case ("later",):
            context.reply(Reply(context.text("profile-declined")))
        case _:
            context.reply(profile_page(context.seller))


def _use_name(context: EventContext, key: str) -> None:
    """Take the name on the button; ask again where the person has another one by now."""
    name = context.seller.hints.name
    if name is None or offer_key(name) != key:
        context.reply(profile_offer(name, context.seller.language))
        return
    save_profile(context, replace(context.seller.profile, name=name))
    own = Button(context.text("button-profile"), action=("profile",))
    context.reply(Reply(context.text("profile-used", name=escaped(name)), ((own,),)))


def save_profile(context: EventContext, profile: Profile) -> None:
    """Save this person's profile, unless nothing changes."""
    tx, seller_id, before = context.tx, context.person.id, context.seller.profile
    if profile != before:
        change_profile(tx, context.queues, seller_id, profile, context.now)
        audit_trail.record_profile(tx, seller_id, before, profile, context.now)
