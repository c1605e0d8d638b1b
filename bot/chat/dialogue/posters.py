"""A request's posters and list of payments."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from bot.chat.cards import menus
from bot.chat.cards.card_text import seller_card
from bot.chat.cards.payment_texts import payments_page
from bot.chat.dialogue.event_context import own_card
from bot.chat.messages.payloads import PosterFile
from bot.chat.store import pending, queries

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.store.listings import Listing

PAGE = 10
"""Payments on one page."""

FILES = {
    "print-light": ("print-light.png", "print-light.pdf"),
    "print-dark": ("print-dark.png", "print-dark.pdf"),
    "square-light": ("square-light.png",),
    "square-dark": ("square-dark.png",),
}
"""The files of each design of the poster."""

LONGEST_FILE_NAME = 40
"""Characters of a poster's file name before its design."""

NO_LETTER = re.compile(r"[^a-z0-9]+")
SPELLED = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l"})
"""Letters that Unicode does not decompose into an ASCII letter and a mark."""


def show_poster(context: EventContext, listing: Listing) -> None:
    """Show the addresses of a request and the designs of its poster."""
    shown, text = own_card(context, listing), listing.poster_text
    context.reply(menus.poster_menu(shown, text, context.bot_name, context.seller.language))


def send_poster(context: EventContext, listing: Listing, design: str) -> str:
    """Queue the files of a poster, unless they are queued; return the text of the answer."""
    chat, files = str(context.person.chat_id), FILES[design]
    if pending.is_file_queued(context.tx, context.queues, chat, listing.id, files):
        return context.text("toast-poster-coming")
    for file in files:
        name = f"{file_name(listing.wish.name)}-{file}"
        context.put(PosterFile(listing.id, context.seller.language, file, name), subject=listing.id)
    return context.text("toast-poster")


def file_name(name: str) -> str:
    """Derive a file name from a request's name: ASCII letters and digits, never empty."""
    apart = unicodedata.normalize("NFKD", name.casefold().translate(SPELLED))
    plain = "".join(char for char in apart if not unicodedata.combining(char))
    return NO_LETTER.sub("-", plain)[:LONGEST_FILE_NAME].strip("-") or "poster"


def show_payments(context: EventContext, listing: Listing, page: int) -> None:
    """Show a page of a request's payments, the last one where there are fewer.

    In a message of its own, for a picture's caption has no room for it; the menu in the picture's
    caption becomes the card again.
    """
    pages = max(1, -(-listing.paid_count // PAGE))
    page = min(page, pages - 1)
    found = queries.payments_page(context.tx, listing.id, PAGE, page * PAGE)
    shown = own_card(context, listing)
    reply = payments_page(shown, found, (page, pages), context.seller)
    if context.is_card(context.press):
        context.without_press().reply(reply)
        context.reply(seller_card(shown, context.seller.language))
    else:
        context.reply(reply)
