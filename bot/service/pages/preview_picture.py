"""The picture that chats show for a link to a pay page: seller, name, price, goal and QR code.

Chats cache it for a long time, so it shows nothing that changes while a request is open.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache, partial
from urllib.parse import urlsplit

from PIL import Image, ImageChops, ImageDraw

from bot.core import brand
from bot.core.images import qr, text_fitting
from bot.core.money import amounts
from bot.service.pages import page_texts, page_values
from bot.service.requests.request import PaymentRequest

PAPER, INK = brand.rgb_of(brand.PAPER), brand.rgb_of(brand.INK)
WHITE_SHARE = 0.85
"""The share of white in the colour of the host name and the goal; the rest is the accent."""

WIDTH, HEIGHT = page_values.PREVIEW_SIZE
MARGIN = 64  # pixels around everything
PANEL = 440  # the white square with the code
COLUMN = WIDTH - PANEL - 3 * MARGIN
CORNER = 36
FACE = 84  # the disc with the seller's initials
GAP = 20
SELLER_SIZES, SELLER_LINES = (36, 32, 28), 2
INITIALS_SIZES = (36, 30, 24)
NAMES = ((64, 2), (56, 3), (48, 3), (42, 4))
"""Font sizes of the name, each with the number of lines that fit."""

ABOVE_PRICE = 12
PRICE_SIZES = (96, 84, 72, 60, 48, 40, 32)
ABOVE_GOAL = 12
NAMES_ABOVE_GOAL, PRICE_ABOVE_GOAL = ((56, 2), (44, 3)), 72
GOAL_SIZES = (36, 30, 26)
HOST_SIZES = (28, 24, 20)
SMOOTHNESS = 4
"""Pixels drawn per pixel shown, in each direction, at round corners."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of the picture; a goal that can't be drawn is left out."""

    url: str
    name: str
    price: str
    seller: str | None = None
    accent: str | None = None
    """A name of `brand.COLOURS`, None for the default."""

    goal: str | None = None


def content(locale: page_texts.Locale, request: PaymentRequest, url: str) -> Content:
    """Return the content of a request's picture in this locale."""
    terms, seller = request.terms, request.seller
    local = page_texts.price_text(locale, request)
    price = text_fitting.drawable_text(local)
    if price is None:
        lowest = terms.choice.minimum if terms.choice else terms.amount
        price = f"{amounts.from_minor(lowest, terms.currency):f} {terms.currency}"
        price = f"≥ {price}" if terms.choice else price
    name, accent = (seller.name, seller.accent) if seller else (None, None)
    goal = None
    if terms.goal is not None:
        text = locale.t("page-goal-of", goal=locale.short(terms.goal, terms.currency))
        goal = text_fitting.drawable_text(text)
    return Content(url, terms.product.name, price, name, accent, goal)


@lru_cache(maxsize=64)
def draw(shown: Content) -> bytes:
    """Draw the picture as a PNG, which takes tens of milliseconds."""
    accent = brand.rgb_of(brand.colour_named(shown.accent).light)
    picture = Image.new("RGB", (WIDTH, HEIGHT), accent)
    _draw_code(picture, shown.url)
    _draw_seller(picture, shown.seller, accent)
    _draw_offer(picture, shown, accent)
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=4)
    return out.getvalue()


def _draw_code(picture: Image.Image, url: str) -> None:
    """Draw the QR code on white, its modules as large as whole pixels allow."""
    left, top = WIDTH - MARGIN - PANEL, (HEIGHT - PANEL) // 2
    picture.paste(PAPER, (left, top), _rounded(PANEL, CORNER))
    small = qr.module_image(url)
    code = qr.enlarge(small, max(1, PANEL // small.width))
    inset = (PANEL - code.width) // 2
    picture.paste(INK, (left + inset, top + inset), ImageChops.invert(code.convert("L")))


def _draw_seller(picture: Image.Image, seller: str | None, accent: brand.Rgb) -> None:
    """Draw the seller's initials on a disc, and the name next to it."""
    name = seller and text_fitting.fit_drawable(
        seller, COLUMN - FACE - GAP, SELLER_SIZES, max_lines=SELLER_LINES, weight="semibold"
    )
    if not seller or not name:
        return
    picture.paste(PAPER, (MARGIN, MARGIN), _rounded(FACE, FACE // 2))
    letters = text_fitting.fit_drawable(
        brand.initials(seller), FACE * 3 // 4, INITIALS_SIZES, weight="bold"
    )
    if letters:
        _draw_at(picture, letters, (MARGIN + (FACE - letters.width) // 2, MARGIN), accent)
    _draw_at(picture, name, (MARGIN + FACE + GAP, MARGIN), PAPER)


def _draw_at(
    picture: Image.Image, text: text_fitting.FittedText, at: tuple[int, int], fill: brand.Rgb
) -> None:
    """Draw lines next to or on the disc, vertically centred; `at` is the disc's upper edge."""
    text.draw(picture, (at[0], at[1] + (FACE - text.height) // 2), fill)


def _draw_offer(picture: Image.Image, shown: Content, accent: brand.Rgb) -> None:
    """Draw name, price and goal in the vertical middle, and the host at the bottom."""
    largest = PRICE_SIZES.index(PRICE_ABOVE_GOAL) if shown.goal else 0
    price = text_fitting.fit(shown.price, COLUMN, PRICE_SIZES[largest:], weight="bold")
    goal = text_fitting.fit(shown.goal, COLUMN, GOAL_SIZES) if shown.goal else None
    host = text_fitting.fit(urlsplit(shown.url).netloc, COLUMN, HOST_SIZES)
    top, bottom = MARGIN, HEIGHT - MARGIN - host.height
    host.draw(picture, (MARGIN, bottom), _lighter(accent))
    if shown.seller:
        top += FACE
    below = ABOVE_GOAL + goal.height if goal else 0
    room = bottom - top - ABOVE_PRICE - price.height - below
    name = _fit_name(shown.name, NAMES_ABOVE_GOAL if shown.goal else NAMES, room)
    above = name.height + ABOVE_PRICE if name else 0
    top += (bottom - top - above - price.height - below) // 2
    if name:
        name.draw(picture, (MARGIN, top), PAPER)
    price.draw(picture, (MARGIN, top + above), PAPER)
    if goal:
        under = top + above + price.height + ABOVE_GOAL
        goal.draw(picture, (MARGIN, under), _lighter(accent))


def _fit_name(
    name: str, sizes: tuple[tuple[int, int], ...], room: int
) -> text_fitting.FittedText | None:
    """Fit the name into the largest size with enough lines; truncate it in the smallest size.

    Lines of some scripts are higher, so fewer lines fit.
    """
    fit = partial(text_fitting.fit_drawable, name, COLUMN, weight="semibold")
    *larger, (smallest, most) = sizes
    for size, lines in larger:
        fitted = fit((size,), max_lines=lines + 1)
        if not fitted or (len(fitted.lines) <= lines and fitted.height <= room):
            return fitted
    for lines in range(most, 0, -1):
        fitted = fit((smallest,), max_lines=lines)
        if not fitted or fitted.height <= room:
            break
    return fitted


def _lighter(accent: brand.Rgb) -> brand.Rgb:
    red, green, blue = (round(part + (255 - part) * WHITE_SHARE) for part in accent)
    return red, green, blue


@lru_cache(maxsize=4)
def _rounded(side: int, radius: int) -> Image.Image:
    """Return a mask: a square with round corners."""
    large = Image.new("L", (side * SMOOTHNESS, side * SMOOTHNESS))
    box = (0, 0, side * SMOOTHNESS - 1, side * SMOOTHNESS - 1)
    ImageDraw.Draw(large).rounded_rectangle(box, radius * SMOOTHNESS, fill=255)
    return large.reduce(SMOOTHNESS)
