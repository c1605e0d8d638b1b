"""A link as a message: its text, buttons and picture, for its seller and for others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.chat.cards import card_text, menus, request_card
from bot.chat.model import replies
from bot.chat.store import link_rows, post_rows, seller_rows
from bot.core import brand
from bot.core.database import database
from bot.core.text import translations

if TYPE_CHECKING:
    from bot.chat.pictures import canvas

DESIGN = 2
"""Version of the card's design; changing it invalidates the pictures stored at Telegram."""


@dataclass(frozen=True, slots=True)
class View:
    """A link as a message in one language; `own` is OWN, SHARED or VISITED."""

    link: link_rows.PaymentLink
    card: request_card.Card
    reply: replies.Reply
    language: str
    own: int

    @property
    def seen(self) -> post_rows.PostContent:
        """Return the keys of text and picture; no picture if there is no URL to draw."""
        words, menu = words_key(self.reply), self.reply.menu
        if not self.reply.picture:
            return post_rows.PostContent(None, words, menu)
        card, language = self.card, self.language
        shown = (card.name, request_card.price_text(card, language), card.url, card.image)
        stamp, seller = card_text.stamp_text(card, language), card.seller
        look = (seller.name, seller.accent, seller.image) if seller.name else ()
        return post_rows.PostContent(
            content_key(DESIGN, language, *shown, stamp, *look), words, menu
        )

    def with_menu(self, menu: str | None) -> View:
        """Return the view with a menu open; a deleted link has none."""
        if menu is None or self.link.state == link_rows.DELETED:
            return self
        return replace(self, reply=menus.open_menu(self.card, menu, self.language))

    def draw_card(self, photo: bytes | None, portrait: bytes | None = None) -> bytes:
        """Draw the card's picture as a JPEG; takes about 20 ms in a thread.

        `photo` is the request's picture, `portrait` the seller's picture.
        """
        from bot.chat.pictures import card_picture  # noqa: PLC0415 - costs memory, seldom used

        stamp = card_text.stamp_text(self.card, self.language)
        content = self._content(photo, portrait)
        if stamp:
            content = replace(content, stamp=stamp, dark=True, hint=None)
        return card_picture.draw_card(content)

    def draw_poster(self, design: str, photo: bytes | None, portrait: bytes | None = None) -> bytes:
        """Draw a poster in a design such as `print-dark.pdf`; takes about 100 ms in a thread."""
        from bot.chat.pictures import canvas, poster  # noqa: PLC0415 - costs memory, seldom used

        name, _, ending = design.partition(".")
        layout, _, background = name.partition("-")
        draw: dict[str, Callable[[canvas.PictureContent], bytes]] = {
            "print.png": poster.poster_png,
            "print.pdf": poster.poster_pdf,
            "square.png": poster.square_png,
        }
        content = replace(
            self._content(photo, portrait), text=self.link.poster_text, dark=background == "dark"
        )
        card, share = self.card, request_card.goal_share(self.card)
        if card.goal is not None and share is not None:  # a poster is never refreshed
            text = request_card.goal_text(card.raised, card.goal, card.currency, self.language)
            content = replace(content, goal=canvas.GoalBar(text, share))
        return draw[f"{layout}.{ending}"](content)

    def _content(self, photo: bytes | None, portrait: bytes | None) -> canvas.PictureContent:
        from bot.chat.pictures import canvas  # noqa: PLC0415 - costs memory

        card, language = self.card, self.language
        price = request_card.price_text(card, language)
        hint = translations.t(language, "poster-scan")
        if card.choice is not None:
            hint = translations.t(language, "poster-scan-choice")
        if card.seller.name:
            hint = translations.t(language, "poster-pay", seller=card.seller.name)
        look = None
        if card.seller.name is not None:
            accent = card.seller.accent or brand.DEFAULT_COLOUR
            look = canvas.SellerLook(card.seller.name, accent, portrait)
        return canvas.PictureContent(card.name, price, card.url, photo, hint, seller=look)


def words_key(reply: replies.Reply) -> str:
    """Return the key of a message's text and buttons."""
    return content_key(reply.text, replies.markup(reply.rows))


def content_key(*parts: object) -> str:
    """Hash parts of a message to a short key."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def view_of(
    tx: database.Transaction,
    link: link_rows.PaymentLink,
    own: int,
    now: int,
    language: str | None = None,
) -> View:
    """Build the view of a link at `now` (epoch ms), by default in its seller's language.

    `own` says who sees it: OWN the seller, SHARED readers of an inline message, VISITED someone who
    followed the deep link.
    """
    seller = seller_rows.find_seller(tx, link.seller_id)
    language = language or (seller.language if seller else translations.choose(None))
    build, render = {
        post_rows.OWN: (request_card.seller_card_of, card_text.seller_card),
        post_rows.SHARED: (request_card.public_card_of, card_text.public_card),
        post_rows.VISITED: (request_card.public_card_of, card_text.visitor_card),
    }[own]
    card = build(tx, link, seller, now)
    return View(link, card, render(card, language), language, own)
