"""What follows from an edit that a form has asked for, and where its form begins.

What only we know is changed here; the rest is a call of the service, which says what came of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards import menus
from bot.chat.dialogue.ownership import own_card, own_listing
from bot.chat.fields.registry import EDITS, POSTER_TEXT, UNITS
from bot.chat.forms.existing import edit_form
from bot.chat.messages.reply import Reply, escaped
from bot.chat.requests import audit_trail, edit_rules
from bot.chat.store import listings, pending

if TYPE_CHECKING:
    from bot.chat.dialogue.turn import Turn
    from bot.chat.forms.outcome import Change, Outcome
    from bot.chat.store.listings import Listing

NAME = 200
"""UTF-16 units of a request's name."""


def form_of(turn: Turn, listing: Listing, field: str) -> Outcome:
    """Give the form that asks for a field's new value."""
    draft_id = listings.short_id(6)
    return edit_form(
        draft_id,
        edit_rules.request_for_form(listing, field),
        field,
        turn.seller,
        current=turn.draft,
    )


def apply(turn: Turn, change: Change) -> None:
    """Change a request as its form said; what can't be is said."""
    listing = own_listing(turn, change.listing_id)
    if isinstance(listing, str):
        turn.say(Reply(listing))
    elif EDITS[change.field] is POSTER_TEXT:
        _set_poster_text(turn, listing, change)
    elif why := _why_not(turn, listing, change):
        turn.say(menus.unsaved_reply(own_card(turn, listing), why, turn.seller.language))
    else:
        turn.add_job(edit_rules.job_of(change, turn.reply_to()))


def _set_poster_text(turn: Turn, listing: Listing, change: Change) -> None:
    text = edit_rules.text_of(change)
    listings.set_poster_text(turn.tx, listing.id, text)
    values = (listing.poster_text, text)
    audit_trail.record_edit(turn.tx, listing, POSTER_TEXT.name, values, turn.now)
    turn.say(menus.saved_reply(own_card(turn, listing), change, turn.seller, turn.now))


def _why_not(turn: Turn, listing: Listing, change: Change) -> str | None:
    """Say why units can't be taken out, if that is asked for and so."""
    if EDITS[change.field] is not UNITS:
        return None
    if why := no_units(turn, listing):
        return why
    name = escaped(listing.wish.name, NAME)
    if pending.is_removal_uncertain(turn.tx, turn.queues, listing.id):
        return turn.words("units-doubted", name=name)
    problem = edit_rules.removal_problem(listing, change)
    left = own_card(turn, listing).remaining_units
    return problem and turn.words(problem, name=name, left=left or 0)


def no_units(turn: Turn, listing: Listing) -> str | None:
    """Say why no units can be taken out of a request at all, if so."""
    if listing.wish.units is None:
        return turn.words("toast-no-units")
    return turn.words("toast-none-left") if own_card(turn, listing).remaining_units == 0 else None
