"""What a seller presses: a button's words, each with what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat import conversation, history, store
from bot.chat.cards import delete_question
from bot.chat.conversation import Pressed
from bot.chat.standing import card_of
from bot.chat.usecases.commands import requests_page, show_page
from bot.chat.usecases.forms import follow

if TYPE_CHECKING:
    from bot.chat.handlers import Tapped
    from bot.chat.store import Listing
    from bot.chat.usecases.turn import Turn

CALLS = ("card", "refresh", "stop", "resume", "delete-yes")
"""Button words that need the service; the rest is answered from what we know."""


def take_press(turn: Turn, tapped: Tapped) -> None:
    """Deal with a press, and answer it in any case."""
    turn.answer(tapped, _pressed(turn, tapped))


def _pressed(turn: Turn, tapped: Tapped) -> str | None:
    """Do what a button says; the words of the answer, if any."""
    action = tapped.action or ("",)
    match action:
        case ("draft", *_):
            outcome = conversation.advance(turn.draft, Pressed(action), turn.seller)
            follow(turn, outcome)
            return outcome.toast
        case (word, listing_id) if word in CALLS or word == "delete":
            return _touch(turn, tapped, word, listing_id)
        case ("new",) if not turn.may_create:
            return turn.words("not-allowed")
        case ("list", page):
            turn.say(requests_page(turn, int(page)))
        case ("settings", "destination"):
            form = conversation.change_destination(store.short_id(6), turn.seller, turn.draft)
            follow(turn, form)
        case (("new" | "help" | "settings") as page,):
            show_page(turn.anew(), page)
        case _:
            return turn.words("button-unknown")
    return None


def _touch(turn: Turn, tapped: Tapped, word: str, listing_id: str) -> str | None:
    """Do something with one request, if it is this person's; the words of the answer."""
    listing = own_listing(turn, listing_id)
    if isinstance(listing, str):
        return listing
    if word == "delete":
        turn.say(delete_question(card_of(listing, turn.now), turn.seller.language))
        return None
    place = {"message_id": tapped.message_id, "picture": tapped.picture}
    history.asked(turn.tx, listing, word, turn.now)
    turn.call({"call": word, "listing": listing_id, "place": place})
    return None


def own_listing(turn: Turn, listing_id: str) -> Listing | str:
    """Give this person's listing that can be managed, or in words why there is none."""
    listing = store.listing(turn.tx, listing_id)
    if listing is None or listing.seller_id != turn.person.id or listing.state == store.DELETED:
        return turn.words("listing-gone")
    if listing.answer is None:
        return turn.words("listing-not-ready")
    return listing
