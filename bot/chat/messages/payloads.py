"""Bodies of queued messages: Bot API calls that say a reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.chat.messages.buttons import markup

if TYPE_CHECKING:
    from bot.chat.messages.reply import Reply

CARD, PUBLIC = "card", "public"
"""What a body says under `draw` that shows a request to its seller, or to others."""


def said(reply: Reply, language: str) -> dict[str, Any]:
    """Give the body of a queued message that says `reply`; a card is made when it is sent."""
    keyboard = markup(reply.rows)
    extra = {"reply_markup": keyboard} if keyboard else {}
    if reply.picture is None:
        args = {"text": reply.text, **extra}
        return {"method": "sendMessage", "args": args, "language": language}
    args = {"caption": reply.text, **extra}
    return {"method": "sendPhoto", "args": args, "language": language, **_drawn(reply.picture)}


def changed(
    reply: Reply, message_id: int | None, language: str, *, picture: bool
) -> dict[str, Any]:
    """Give the body that shows `reply` in the place of an earlier message.

    `picture` says whether that message is one: a text stays one, nor can a message that is too
    old (None) be touched; then a card is said anew.
    """
    if message_id is None or (reply.picture is not None and not picture):
        return said(reply, language)
    method, field = ("editMessageCaption", "caption") if picture else ("editMessageText", "text")
    args = {"message_id": message_id, field: reply.text, "reply_markup": markup(reply.rows)}
    drawn = _drawn(reply.picture) if reply.picture else {}
    return {"method": method, "args": args, "language": language, **drawn}


def _drawn(listing_id: str) -> dict[str, str]:
    return {"listing": listing_id, "draw": CARD}


def answered(query_id: str, toast: str | None) -> dict[str, Any]:
    """Give the body that answers a callback query, with words or without."""
    words = {"text": toast} if toast else {}
    return {"method": "answerCallbackQuery", "args": {"callback_query_id": query_id, **words}}
