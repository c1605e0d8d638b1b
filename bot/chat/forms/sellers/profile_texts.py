"""The seller's profile as payers see it, and the offer to set it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.fields.offers import TICK, button, in_rows
from bot.chat.fields.profile_text import offer_key
from bot.chat.messages.reply import Button, Reply, Rows, escaped, plain
from bot.chat.model.profile import PROFILE_STEPS
from bot.core.text.contacts import contact_text
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.draft import Draft, Seller
    from bot.chat.model.profile import Profile

MARKS = {
    "blue": "🔵",
    "teal": "🌊",
    "green": "🟢",
    "orange": "🟠",
    "red": "🔴",
    "pink": "🌸",
    "purple": "🟣",
    "grey": "🌑",
}
"""A pictogram of each accent colour, since Telegram's texts have no colours."""

SHOWN = ("sellername", "sellerabout", "sellercontact", "selleraccent", "sellerimage")
"""The steps in the order in which the page shows their values."""

_LABEL = 40
"""UTF-16 units of a name on a button."""


def accent_label(accent: str, language: str) -> str:
    """Return an accent colour as people read it: a pictogram and a word."""
    return f"{MARKS[accent]} {t(language, f'accent-{accent}')}"


def profile_line(step: str, profile: Profile, language: str) -> str | None:
    """Return what the profile has at a step, as HTML; None where it has nothing."""
    value = getattr(profile, PROFILE_STEPS[step])
    if value is None:
        return None
    match step:
        case "sellername":
            return f"<b>{escaped(value)}</b>"
        case "sellerimage":
            return t(language, "profile-picture")
        case "sellercontact":
            return t(language, "profile-contact", contact=escaped(contact_text(value)))
        case "selleraccent":
            return t(language, "profile-accent", colour=accent_label(value, language))
        case _:
            return escaped(value)


def profile_page(seller: Seller, note: str | None = None) -> Reply:
    """Show what payers see of a seller, below a note on the last change."""
    language, profile = seller.language, seller.profile
    lines = [profile_line(step, profile, language) for step in SHOWN]
    shown = "\n".join(filter(None, lines))
    key = "profile" if profile.name else "profile-hidden" if shown else "profile-none"
    parts = (note, t(language, key), shown)
    return Reply("\n\n".join(filter(None, parts)), _page_rows(seller))


def _page_rows(seller: Seller) -> Rows:
    language = seller.language

    def change(step: str) -> Button:
        return Button(t(language, f"button-{step}"), action=("settings", step))

    back = Button(t(language, "button-back"), action=("settings",))
    page = seller.hints.page
    see = (Button(t(language, "button-profile-see"), url=page),) if page else ()
    return (
        (change("sellername"), change("sellerimage")),
        (change("sellerabout"), change("sellercontact")),
        (change("selleraccent"), *see),
        (back,),
    )


def profile_offer(name: str | None, language: str) -> Reply:
    """Ask a seller whom payers should see; `name` is theirs at Telegram, if it can be shown."""
    later = Button(t(language, "button-profile-later"), action=("profile", "later"))
    own = Button(t(language, "button-profile-own"), action=("profile",))
    if name is None:
        return Reply(t(language, "profile-offer-unnamed"), ((own,), (later,)))
    use = Button(use_label(name, language), action=("profile", "use", offer_key(name)))
    return Reply(t(language, "profile-offer", name=escaped(name)), ((use,), (own, later)))


def use_label(value: str, language: str) -> str:
    """Return the label of a button that takes an offered value."""
    return t(language, "button-profile-use", value=plain(value, _LABEL))


def profile_question(draft: Draft, seller: Seller) -> str:
    """Ask for a part of the profile, above its present value."""
    asked = t(seller.language, f"ask-{draft.step}")
    present = profile_line(draft.step, seller.profile, seller.language)
    shown = present and t(seller.language, "profile-present", value=present)
    return f"{asked}\n\n{shown}" if shown else asked


def profile_rows(draft: Draft, seller: Seller) -> Rows:
    """Return the answers that a step of the profile offers, and Remove where it has a value."""
    present = getattr(seller.profile, PROFILE_STEPS[draft.step])
    remove = button(draft, t(seller.language, "button-remove"), "clear", draft.step)
    return (*_offers(draft, seller, present), *(((remove,),) if present else ()))


def _offers(draft: Draft, seller: Seller, present: str | None) -> Rows:
    language = seller.language
    if draft.step == "sellerimage":
        return ((button(draft, t(language, "button-profile-photo"), "telegram-photo"),),)
    if draft.step == "selleraccent":
        labels = ((TICK * (each == present) + accent_label(each, language), each) for each in MARKS)
        return in_rows((button(draft, label, "accent", each) for label, each in labels), 2)
    return tuple(
        (button(draft, use_label(value, language), "offer", offer_key(value)),)
        for value in offered_values(draft.step, seller)
        if value != present
    )


def offered_values(step: str, seller: Seller) -> tuple[str, ...]:
    """Return the values that a step offers on buttons."""
    if step == "sellername":
        return tuple(filter(None, (seller.hints.name,)))
    return seller.hints.contacts if step == "sellercontact" else ()
