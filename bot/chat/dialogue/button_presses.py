"""What a seller presses: a button's words, each with what it does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.cards import menus
from bot.chat.cards.card_text import seller_card
from bot.chat.dialogue import alert_settings, sharing
from bot.chat.dialogue.commands import requests_page, show_page
from bot.chat.dialogue.edit_effects import form_of, no_units
from bot.chat.dialogue.form_effects import follow
from bot.chat.dialogue.ownership import own_card, own_listing
from bot.chat.dialogue.posters import send_poster, show_payments, show_poster
from bot.chat.fields.registry import EDITS, UNITS
from bot.chat.forms.existing import duplicate
from bot.chat.forms.form import settings_form, take_input
from bot.chat.forms.outcome import ButtonInput
from bot.chat.messages.jobs import (
    DeleteRequest,
    RefreshCard,
    ResumeRequest,
    SendCard,
    StopRequest,
)
from bot.chat.requests import audit_trail, edit_rules
from bot.chat.store import listings

if TYPE_CHECKING:
    from bot.chat.dialogue.events import Tapped
    from bot.chat.dialogue.turn import Turn
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
    ["delete", "edit", "edit-not", "duplicate", "poster", "payments", "alerts"]
)
"""Button words that are about a request, which only its seller may manage."""


def take_press(turn: Turn, tapped: Tapped) -> None:
    """Deal with a press, and answer it in any case."""
    turn.answer(tapped, _pressed(turn, tapped))


def _pressed(turn: Turn, tapped: Tapped) -> str | None:
    """Do what a button says; the words of the answer, if any."""
    action = tapped.action or ("",)
    match action:
        case ("draft", *_):
            outcome = take_input(turn.draft, ButtonInput(action), turn.seller, turn.now)
            follow(turn, outcome)
            if outcome.then is not None:
                left = replace(turn, draft=outcome.draft)
                return _pressed(left, replace(tapped, action=outcome.then))
            return outcome.toast
        case ("look", listing_id):
            return sharing.look(turn, tapped, listing_id)
        case ("undelivered", "again"):
            return alert_settings.send_again(turn)
        case (word, listing_id, *more) if word in MANAGING:
            listing = own_listing(turn, listing_id)
            action = (word, *more)
            return listing if isinstance(listing, str) else _manage(turn, tapped, listing, action)
        case _:
            return _open(turn, action)


def _open(turn: Turn, action: Action) -> str | None:
    """Show what is asked for beside requests; the words of the answer, if any."""
    match action:
        case ("new",) if not turn.may_create:
            return turn.words("not-allowed")
        case ("list", page):
            turn.say(requests_page(turn, int(page)))
        case ("settings", step):
            form = settings_form(step, listings.short_id(6), turn.seller, turn.draft)
            follow(turn, form)
        case (("new" | "help" | "settings") as page,):
            show_page(turn.anew(), page)
        case _:
            return turn.words("button-unknown")
    return None


def _manage(turn: Turn, tapped: Tapped, listing: Listing, action: tuple[str, ...]) -> str | None:
    """Do something with a request of this person; the words of the answer, if any."""
    match action:
        case (word,) if word in JOBS:
            job = JOBS[word](listing.id, turn.reply_to(tapped))
            audit_trail.record_press(turn.tx, listing, job, turn.now)
            turn.add_job(job)
        case ("edit", field):
            return _edit(turn, listing, field)
        case ("duplicate",):
            return _duplicate(turn, listing)
        case ("poster",):
            show_poster(turn, listing)
        case ("poster", design):
            return send_poster(turn, listing, design)
        case ("payments", page):
            show_payments(turn, listing, int(page))
        case ("alerts", *mode):
            return alert_settings.take_alerts(turn, listing, mode[0] if mode else None)
        case (word,):
            _ask(turn, listing, word)
    return None


def _ask(turn: Turn, listing: Listing, word: str) -> None:
    """Show what is asked next, in the place of the card's buttons."""
    menu = {
        "delete": menus.delete_question,
        "edit": menus.edit_menu,
        "edit-not": menus.fixed_menu,
    }[word]
    turn.say(menu(own_card(turn, listing), turn.seller.language))


def _edit(turn: Turn, listing: Listing, field: str) -> str | None:
    """Ask for a field's new value; the words of the answer, where there is nothing to change."""
    if field not in EDITS:
        return turn.words("button-unknown")
    if EDITS[field] is UNITS and (why := no_units(turn, listing)):
        return why
    return _ask_beside(turn, listing, form_of(turn, listing, field))


def _duplicate(turn: Turn, listing: Listing) -> str | None:
    """Begin a new request with all that this one has; the words of the answer, if any."""
    if not turn.may_create:
        return turn.words("not-allowed")
    wish = edit_rules.copy_wish(listing.wish, turn.now)
    form = duplicate(wish, listings.short_id(6), turn.seller, turn.draft)
    return _ask_beside(turn, listing, form)


def _ask_beside(turn: Turn, listing: Listing, form: Outcome) -> str | None:
    """Ask in a message of its own, and let the menu be the card again that it was."""
    if turn.tapped is not None and turn.tapped.picture:
        turn.say(seller_card(own_card(turn, listing), turn.seller.language))
    follow(turn.anew(), form)
    return form.toast
