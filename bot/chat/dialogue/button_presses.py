"""Presses of buttons: what each button does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.cards import menus
from bot.chat.cards.card_text import seller_card
from bot.chat.dialogue import (
    alert_settings,
    bought,
    claims,
    getting_paid,
    incoming,
    payment_presses,
    seller_profile,
    sharing,
)
from bot.chat.dialogue.commands import requests_page, show_page
from bot.chat.dialogue.event_context import own_card, own_listing
from bot.chat.dialogue.form_effects import (
    apply_outcome,
    codes_obstacle,
    removal_obstacle,
    start_edit_form,
)
from bot.chat.dialogue.posters import send_poster, show_payments, show_poster
from bot.chat.fields.registry import EDITS, UNITS
from bot.chat.forms.form import duplicate, settings_form
from bot.chat.forms.goods_form import codes_form
from bot.chat.forms.inputs import take_press
from bot.chat.messages.jobs import (
    DeleteRequest,
    RefreshCard,
    ResumeRequest,
    SendCard,
    StopRequest,
)
from bot.chat.messages.reply import Reply
from bot.chat.requests import audit_trail, edit_rules
from bot.chat.store import listings

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.dialogue.events import PressEvent
    from bot.chat.forms.outcome import Outcome
    from bot.chat.messages.jobs import CardJob
    from bot.chat.messages.reply import Action
    from bot.chat.store.listings import Listing

JOBS: dict[str, type[CardJob]] = {
    "card": SendCard,
    "refresh": RefreshCard,
    "stop": StopRequest,
    "resume": ResumeRequest,
    "delete-yes": DeleteRequest,
}
"""The job of each button that needs the service; the others are answered from the database."""

MANAGING = JOBS.keys() | frozenset(
    ["more", "delete", "edit", "edit-not", "duplicate", "poster", "payments", "alerts", "codes"]
)
"""Buttons about a request, which only its seller may use."""

HANDLERS: dict[str, Callable[[EventContext, Action], str | None]] = {
    **dict.fromkeys(claims.WORDS, claims.handle_press),
    **dict.fromkeys(payment_presses.WORDS, payment_presses.handle_press),
    **dict.fromkeys(bought.WORDS, bought.handle_press),
}
"""The handlers of buttons about claims, payments and kept receipts."""

PAGED: dict[str, Callable[[EventContext, int], Reply]] = {
    "list": requests_page,
    "incoming": incoming.page,
    "bought": bought.page,
}
"""Lists whose buttons show a page in their place."""


def handle_press(context: EventContext, press: PressEvent) -> None:
    """Handle a press, and answer its callback query in any case."""
    context.answer_press(press, _perform(context, press))


def _perform(context: EventContext, press: PressEvent) -> str | None:
    """Perform the action of a button; return the text of the answer, if any."""
    action = press.action or ("",)
    match action:
        case ("draft", *_):
            outcome = take_press(context.draft, action, context.seller, context.now)
            apply_outcome(context, outcome)
            if outcome.then is not None:
                left = replace(context, draft=outcome.draft)
                return _perform(left, replace(press, action=outcome.then))
            return outcome.toast
        case ("look", listing_id):
            return sharing.refresh_visited_card(context, press, listing_id)
        case ("undelivered", "again"):
            return alert_settings.resend_undelivered(context)
        case (word, listing_id, *more) if word in MANAGING:
            return _manage_listing(context, press, listing_id, (word, *more))
        case _:
            return _open_page(context, action)


def _open_page(context: EventContext, action: Action) -> str | None:
    """Perform an action that is not about a request; return the text of the answer, if any."""
    match action:
        case (word, *_) if word in HANDLERS:
            return HANDLERS[word](context, action)
        case ("getpaid" | "account", *words):
            return _get_paid(context, action[0], words)
        case ("new",) if not context.may_create:
            return context.text("not-allowed")
        case ("profile", *words):
            seller_profile.handle_press(context, words)
        case (word, page) if word in PAGED:
            context.reply(PAGED[word](context, int(page)))
        case ("settings", step):
            form = settings_form(step, listings.short_id(6), context.seller, context.draft)
            apply_outcome(context, form)
        case (("new" | "help" | "settings" | "bought") as page,):
            show_page(context.without_press(), page)
        case _:
            return context.text("button-unknown")
    return None


def _get_paid(context: EventContext, word: str, words: list[str]) -> str | None:
    """Perform a button about payout accounts; below a card, in a message of its own."""
    if not context.may_create:
        return context.text("not-allowed")
    if context.is_card(context.press):
        context = context.without_press()
    if word == "account":
        return getting_paid.press_account(context, words[0], words[1:])
    if not words:
        getting_paid.show_accounts(context)
    elif form := getting_paid.press_kind(context, words[0]):
        apply_outcome(context, form)
    return None


def _manage_listing(
    context: EventContext, press: PressEvent, listing_id: str, action: tuple[str, ...]
) -> str | None:
    """Perform an action on a request of this person; return the text of the answer, if any."""
    is_codes = action == ("codes",)  # its buyers may wait for them after it was deleted
    listing = own_listing(context, listing_id, or_deleted=is_codes)
    if isinstance(listing, str):
        return listing
    match action:
        case (word,) if word in JOBS:
            job = JOBS[word](listing.id, context.reply_to(press))
            audit_trail.record_press(context.tx, listing, job, context.now)
            context.add_job(job)
        case ("edit", _) | ("codes",) | ("duplicate",):
            return _begin_form(context, listing, action)
        case ("poster",):
            show_poster(context, listing)
        case ("poster", design):
            return send_poster(context, listing, design)
        case ("payments", page):
            show_payments(context, listing, int(page))
        case ("alerts", *mode):
            return alert_settings.choose_alert_mode(context, listing, mode[0] if mode else None)
        case (word,):
            _show_menu(context, listing, word)
    return None


def _show_menu(context: EventContext, listing: Listing, word: str) -> None:
    """Show a menu in place of the card."""
    context.reply(menus.open_menu(own_card(context, listing), word, context.seller.language))


def _begin_form(context: EventContext, listing: Listing, action: tuple[str, ...]) -> str | None:
    """Begin a form about a request; return the text of the answer, if any."""
    match action:
        case ("edit", field):
            return _edit(context, listing, field)
        case ("codes",):
            return _ask_for_codes(context, listing)
        case _:
            return _duplicate(context, listing)


def _edit(context: EventContext, listing: Listing, field: str) -> str | None:
    """Ask for a field's new value; return the reason if it can't change."""
    if field not in EDITS:
        return context.text("button-unknown")
    if EDITS[field].needs_embedded and not context.seller.paid_at.is_embedded:
        return context.text("toast-elsewhere")
    if EDITS[field] is UNITS and (why := removal_obstacle(context, listing)):
        return why
    return _ask_in_new_message(context, listing, start_edit_form(context, listing, field))


def _ask_for_codes(context: EventContext, listing: Listing) -> str | None:
    """Ask for more codes of a request; return the reason where its buyers get none."""
    if why := codes_obstacle(context, listing):
        return why
    form = codes_form(listing.id, listings.short_id(6), context.seller, context.draft)
    return _ask_in_new_message(context, listing, form)


def _duplicate(context: EventContext, listing: Listing) -> str | None:
    """Begin a request with the values of this one; return the text of the answer, if any."""
    if not context.may_create:
        return context.text("not-allowed")
    wish = edit_rules.copy_wish(listing.wish, context.now)
    form = duplicate(wish, listings.short_id(6), context.seller, context.draft)
    if wish.goods != listing.wish.goods:
        form = replace(form, replies=(Reply(context.text("goods-not-copied")), *form.replies))
    return _ask_in_new_message(context, listing, form)


def _ask_in_new_message(context: EventContext, listing: Listing, form: Outcome) -> str | None:
    """Ask in a new message, and turn the menu back into the card."""
    if context.is_card(context.press):
        context.reply(seller_card(own_card(context, listing), context.seller.language))
    apply_outcome(context.without_press(), form)
    return form.toast
