"""The pictures of a request, to be drawn in a thread: cards take tens of ms, posters hundreds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat.cards import card_text
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.cards.views import View


@dataclass(frozen=True, slots=True)
class File:
    """Bytes to upload, and the name that they go by."""

    data: bytes
    name: str


def draw(design: str | None, view: View, photo: bytes | None) -> bytes:
    """Draw a view's card, or the poster of a design such as `print-dark.pdf`."""
    return _card(view, photo) if design is None else _sheet(design, view, photo)


def _card(view: View, photo: bytes | None) -> bytes:
    from bot.chat.pictures import card_picture  # noqa: PLC0415 - costs memory, seldom used

    card, language = view.card, view.language
    price, stamp = card_text.price_text(card, language), card_text.stamp_text(card, language)
    content = card_picture.CardContent(
        name=card.name,
        price=price,
        code=card.url,
        photo=photo,
        stamp=stamp,
        dark=stamp is not None,
        hint=None if stamp else t(language, "poster-scan"),
    )
    return card_picture.draw_card(content)


def _sheet(design: str, view: View, photo: bytes | None) -> bytes:
    from bot.chat.pictures import poster  # noqa: PLC0415 - costs memory, seldom used

    name, _, ending = design.partition(".")
    layout, _, ground = name.partition("-")
    card, language = view.card, view.language
    sheet = poster.PosterContent(
        name=card.name,
        price=card_text.price_text(card, language),
        code=card.url,
        photo=photo,
        text=view.listing.poster_text,
        hint=t(language, "poster-scan"),
        dark=ground == "dark",
    )
    made: dict[str, Callable[[poster.PosterContent], bytes]] = {
        "print.png": poster.poster_png,
        "print.pdf": poster.poster_pdf,
        "square.png": poster.square_png,
    }
    return made[f"{layout}.{ending}"](sheet)
