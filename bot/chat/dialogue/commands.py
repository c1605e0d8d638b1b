"""What a seller says: commands, and answers to what a form asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.cards.card_text import list_page
from bot.chat.cards.request_card import card_of
from bot.chat.dialogue import alert_settings, sharing
from bot.chat.dialogue.form_effects import follow
from bot.chat.forms.bot_texts import (
    help_reply,
    paysupport_reply,
    privacy_reply,
    settings,
    start_reply,
)
from bot.chat.forms.form import cancel, new_form, resume_offer, take_input
from bot.chat.forms.one_line import one_line
from bot.chat.forms.outcome import MessageInput
from bot.chat.messages.reply import Reply
from bot.chat.model.kinds import KINDS
from bot.chat.store import listings, queries, sellers

if TYPE_CHECKING:
    from bot.chat.dialogue.events import Spoke
    from bot.chat.dialogue.turn import Turn

PAGE = 8
"""Requests on one page of the list."""

FROM_INLINE = "new"
"""What `/start` brings from the button above inline results: a form is wanted at once."""


def take_words(turn: Turn, event: Spoke) -> None:
    """Deal with a message: a command, or a text that a form may be waiting for."""
    if event.command is None:
        given = MessageInput(event.text, event.photo)
        follow(turn, take_input(turn.draft, given, turn.seller, turn.now))
    elif event.command == "start" and sharing.follow_link(turn, event.text):
        return
    elif event.command in ("new", *KINDS) and not turn.may_create:
        turn.say(Reply(turn.words("not-allowed")))
    elif event.command in KINDS:
        form = one_line(event.command, event.text, listings.short_id(6), turn.seller, turn.draft)
        follow(turn, form)
    elif (event.command, event.text) == ("start", FROM_INLINE) and turn.may_create:
        _greet(turn, again=False)
        show_page(turn, "new")
    else:
        show_page(turn, event.command)


def _greet(turn: Turn, *, again: bool) -> None:
    """Greet whoever is new, and others `again` where they ask for it."""
    first = sellers.mark_greeted(turn.tx, turn.person.id, turn.now)
    if first or again:
        offer = resume_offer(turn.draft, turn.seller)
        turn.say(start_reply(turn.seller, new=first, offer=offer))


def show_page(turn: Turn, command: str) -> None:
    """Answer a command that asks for one page; an unknown one is told what there is."""
    language = turn.seller.language
    match command:
        case "new":
            form = new_form(turn.draft, listings.short_id(6), turn.seller)
            follow(turn, form)
        case "start":
            _greet(turn, again=True)
        case "cancel":
            follow(turn, cancel(turn.draft, turn.seller))
        case "list":
            turn.say(requests_page(turn, 0))
        case "alerts":
            alert_settings.show_undelivered(turn)
        case "settings":
            turn.say(settings(turn.seller))
        case "help":
            turn.say(help_reply(language))
        case "privacy":
            turn.say(privacy_reply(language))
        case "paysupport":
            turn.say(paysupport_reply(language))
        case _:
            turn.say(Reply(turn.words("command-unknown")))


def requests_page(turn: Turn, page: int) -> Reply:
    """Give a page of the seller's requests, the last one where there are fewer."""
    pages = max(1, -(-queries.count_listings(turn.tx, turn.person.id) // PAGE))
    page = min(page, pages - 1)
    found = queries.listings_page(turn.tx, turn.person.id, PAGE, page * PAGE)
    shown = [card_of(item, turn.now) for item in found]
    pending = listings.pending_names(turn.tx, turn.person.id)
    return list_page(shown, page, pages, turn.seller.language, pending=pending)
