"""Codes that were added to a request, in words, and the button that asks for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.messages.reply import Button, Reply, escaped
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.goods import CodeCounts
    from bot.chat.store.listings import Listing

_NAME = 200


def send_codes_button(listing_id: str, language: str) -> Button:
    """Return the button that asks the seller for more codes."""
    return Button(t(language, "button-send-codes"), action=("codes", listing_id))


def codes_line(codes: CodeCounts | None, language: str) -> str | None:
    """Return how many codes are left, or how many buyers wait for one; None without codes."""
    if codes is None:
        return None
    if codes.waiting:
        return t(language, "codes-waiting", count=codes.waiting)
    return t(language, "codes-left", left=codes.left, total=codes.total)


def added_reply(listing: Listing, waiting: int, new: int | None, language: str) -> Reply:
    """Reply to codes that were added: how many are new, None if unknown, and who still waits."""
    name = escaped(listing.wish.name, _NAME)
    first = "codes-stored" if new is None else "codes-added" if new else "codes-known"
    lines = [t(language, first, name=name, count=new or 0)]
    if waiting:
        lines.append(t(language, "codes-still-waiting", count=waiting))
        return Reply("\n".join(lines), ((send_codes_button(listing.id, language),),))
    lines.append(t(language, "codes-enough"))
    left = codes_line(listing.answer.codes if listing.answer else None, language)
    return Reply("\n".join(filter(None, [*lines, left])))
