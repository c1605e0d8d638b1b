"""A listing as a message: its text, buttons and picture, for its seller and for others."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.cards import card_text
from bot.chat.cards.giving_text import goal_share, goal_text, price_text
from bot.chat.cards.menus import open_menu
from bot.chat.cards.request_card import card_of, raised_of
from bot.chat.messages.buttons import markup
from bot.chat.model.profile import NO_PROFILE
from bot.chat.store import sellers
from bot.chat.store.listings import DELETED
from bot.chat.store.posts import OWN, SHARED, VISITED, Shown
from bot.chat.store.takings import NO_TAKINGS
from bot.chat.store.takings import takings as takings_of
from bot.core.accents import DEFAULT_ACCENT
from bot.core.text.translations import choose, t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.cards.request_card import Card
    from bot.chat.messages.reply import Reply
    from bot.chat.model.profile import Profile
    from bot.chat.pictures.canvas import GoalBar, PictureContent, SellerLook
    from bot.chat.store.listings import Listing
    from bot.core.database.database import Transaction

DESIGN = 2
"""The version of the card's design: a new one makes Telegram's pictures out of date."""


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
        """Return the keys of text and picture; no picture where there is no link to draw."""
        words, menu = words_key(self.reply), self.reply.menu
        if not self.reply.picture:
            return Shown(None, words, menu)
        card, language = self.card, self.language
        shown = (card.name, price_text(card, language), card.url, card.image)
        stamp, seller = card_text.stamp_text(card, language), card.seller
        look = (seller.name, seller.accent, seller.image) if seller.name else ()
        return Shown(content_key(DESIGN, language, *shown, stamp, *look), words, menu)

    def with_menu(self, menu: str | None) -> View:
        """Return the view with a menu open; a deleted listing has none."""
        if menu is None or self.listing.state == DELETED:
            return self
        return replace(self, reply=open_menu(self.card, menu, self.language))

    def draw_card(self, photo: bytes | None, portrait: bytes | None = None) -> bytes:
        """Draw the card's picture as a JPEG; takes some 20 ms of a thread.

        `photo` is the request's picture, `portrait` the seller's.
        """
        from bot.chat.pictures import card_picture  # noqa: PLC0415 - costs memory, seldom used

        stamp = card_text.stamp_text(self.card, self.language)
        content = self._content(photo, portrait)
        if stamp:
            content = replace(content, stamp=stamp, dark=True, hint=None)
        return card_picture.draw_card(content)

    def draw_poster(self, design: str, photo: bytes | None, portrait: bytes | None = None) -> bytes:
        """Draw a poster of a design such as `print-dark.pdf`; takes some 100 ms of a thread."""
        from bot.chat.pictures import poster, square  # noqa: PLC0415 - costs memory, seldom used

        name, _, ending = design.partition(".")
        layout, _, background = name.partition("-")
        draw: dict[str, Callable[[PictureContent], bytes]] = {
            "print.png": poster.poster_png,
            "print.pdf": poster.poster_pdf,
            "square.png": square.square_png,
        }
        content = replace(self._content(photo, portrait), goal=self._goal())
        text, dark = self.listing.poster_text, background == "dark"
        return draw[f"{layout}.{ending}"](replace(content, text=text, dark=dark))

    def _goal(self) -> GoalBar | None:
        """Return the goal's bar as it stands; only posters have it, which nobody keeps fresh."""
        from bot.chat.pictures.canvas import GoalBar  # noqa: PLC0415 - costs memory

        text, share = goal_text(self.card, self.language), goal_share(self.card)
        return None if text is None or share is None else GoalBar(text, share)

    def _content(self, photo: bytes | None, portrait: bytes | None) -> PictureContent:
        from bot.chat.pictures.canvas import PictureContent  # noqa: PLC0415 - costs memory

        card, language = self.card, self.language
        price, hint = price_text(card, language), t(language, "poster-scan")
        if card.choice is not None:
            hint = t(language, "poster-scan-choice")
        if card.seller.name:
            hint = t(language, "poster-pay", seller=card.seller.name)
        look = _look(card.seller, portrait)
        return PictureContent(card.name, price, card.url, photo, hint, seller=look)


def _look(seller: Profile, portrait: bytes | None) -> SellerLook | None:
    from bot.chat.pictures.canvas import SellerLook  # noqa: PLC0415 - costs memory

    if seller.name is None:
        return None
    return SellerLook(seller.name, seller.accent or DEFAULT_ACCENT, portrait)


def words_key(reply: Reply) -> str:
    """Return the key of a message's text and buttons."""
    return content_key(reply.text, markup(reply.rows))


def content_key(*parts: object) -> str:
    """Hash parts of a message to a short key."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def view_of(
    tx: Transaction, listing: Listing, own: int, now: int, language: str | None = None
) -> View:
    """Build the view of a listing at `now` (epoch ms), by default in its seller's language.

    `own` is its place: OWN with its seller, SHARED inline, VISITED with someone who followed the
    link.
    """
    seller = sellers.find_seller(tx, listing.seller_id)
    language = language or (seller.language if seller else choose(None))
    takings = takings_of(tx, listing.id) if own == OWN else NO_TAKINGS
    zone, profile = (seller.zone, seller.profile) if seller else (None, NO_PROFILE)
    raised = raised_of(tx, listing)
    card = card_of(listing, now, takings=takings, zone=zone, profile=profile, raised=raised)
    render = {
        OWN: card_text.seller_card,
        SHARED: card_text.public_card,
        VISITED: card_text.visitor_card,
    }[own]
    return View(listing, card, render(card, language), language, own)
