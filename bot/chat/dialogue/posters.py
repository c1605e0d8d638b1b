"""A request's poster and payments: what a seller takes along and looks up."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from bot.chat.cards import menus
from bot.chat.dialogue.ownership import own_card
from bot.chat.messages.payloads import PosterFile
from bot.chat.store import pending, queries

if TYPE_CHECKING:
    from bot.chat.dialogue.turn import Turn
    from bot.chat.store.listings import Listing

PAGE = 10
"""Payments on one page."""

FILES = {
    "print-light": ("print-light.png", "print-light.pdf"),
    "print-dark": ("print-dark.png", "print-dark.pdf"),
    "square-light": ("square-light.png",),
    "square-dark": ("square-dark.png",),
}
"""What each design of the poster comes as."""

LONGEST_FILE_NAME = 40
"""Characters of a poster's file name before its design."""

NO_LETTER = re.compile(r"[^a-z0-9]+")
SPELLED = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l"})
"""Letters that don't come apart into an ASCII one and a mark."""


def show_poster(turn: Turn, listing: Listing) -> None:
    """Show where a request is found, and the posters that can be had."""
    shown, text = own_card(turn, listing), listing.poster_text
    turn.say(menus.poster_menu(shown, text, turn.bot_name, turn.seller.language))


def send_poster(turn: Turn, listing: Listing, design: str) -> str:
    """Send the files of a poster, unless they are on their way; the words of the answer."""
    chat, files = str(turn.person.chat_id), FILES[design]
    if pending.is_file_queued(turn.tx, turn.queues, chat, listing.id, files):
        return turn.words("toast-poster-coming")
    for file in files:
        name = f"{file_name(listing.wish.name)}-{file}"
        turn.put(PosterFile(listing.id, turn.seller.language, file, name), subject=listing.id)
    return turn.words("toast-poster")


def file_name(name: str) -> str:
    """Make a file's name of a request's: ASCII letters and digits, never empty."""
    apart = unicodedata.normalize("NFKD", name.casefold().translate(SPELLED))
    plain = "".join(char for char in apart if not unicodedata.combining(char))
    return NO_LETTER.sub("-", plain)[:LONGEST_FILE_NAME].strip("-") or "poster"


def show_payments(turn: Turn, listing: Listing, page: int) -> None:
    """Show a page of a request's payments, the last one where there are fewer.

    In a message of its own, for a picture's caption has no room for it.
    """
    pages = max(1, -(-listing.paid_count // PAGE))
    page = min(page, pages - 1)
    found = queries.payments_page(turn.tx, listing.id, PAGE, page * PAGE)
    shown = own_card(turn, listing)
    reply = menus.payments_page(shown, found, (page, pages), turn.seller)
    on_picture = turn.tapped is not None and turn.tapped.picture
    (turn.anew() if on_picture else turn).say(reply)
