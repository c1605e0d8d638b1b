"""How a request looks to somebody: to its seller, in a message shared inline, to a visitor."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.cards import card_text
from bot.chat.cards.status import card_of
from bot.chat.messages.buttons import markup
from bot.chat.store import received_payments, sellers
from bot.chat.store.posts import OWN, SHARED, VISITED, Shown
from bot.core.text.translations import choose

if TYPE_CHECKING:
    from bot.chat.cards.card_text import Card
    from bot.chat.messages.reply import Reply
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction

DESIGN = 1
"""Number of how cards are drawn: another one makes the pictures that Telegram has old."""


@dataclass(frozen=True, slots=True)
class View:
    """A listing as a message in one language; `own` is OWN, SHARED or VISITED."""

    listing: Listing
    card: Card
    reply: Reply
    language: str
    own: int

    @property
    def seen(self) -> Shown:
        """Keys of what the message shows; no picture where there is no link to draw."""
        return Shown(self._picture() if self.reply.picture else None, words_key(self.reply))

    def _picture(self) -> str:
        card, language = self.card, self.language
        shown = (card.name, card_text.price_text(card, language), card.url, card.image)
        return content_key(DESIGN, language, *shown, card_text.stamp_text(card, language))


def words_key(reply: Reply) -> str:
    """Give the key of a message's text and buttons."""
    return content_key(reply.text, markup(reply.rows))


def content_key(*parts: object) -> str:
    """Give a short name of these parts, another one for any others."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def view_of(
    tx: Transaction, listing: Listing, own: int, now: int, language: str | None = None
) -> View:
    """Give how a listing looks at `now` (epoch ms), in its seller's language unless told another.

    `own` says where: OWN with its seller, SHARED inline, VISITED with who followed the link.
    """
    seller = sellers.find_seller(tx, listing.seller_id)
    spoken = language or (seller.language if seller else choose(None))
    taken = received_payments.takings(tx, listing.id) if own == OWN else ()
    card = card_of(listing, now, taken=taken, zone=seller.zone if seller else None)
    show = {
        OWN: card_text.seller_card,
        SHARED: card_text.public_card,
        VISITED: card_text.visitor_card,
    }[own]
    return View(listing, card, show(card, spoken), spoken, own)
