"""The chat for people other than sellers: receipts, posters, posted cards and deep links."""

from __future__ import annotations

import re
import unicodedata

from bot.chat.cards import card_text, menus, payment_texts, receipts
from bot.chat.conversation import event_context, events
from bot.chat.conversation.event_context import EventContext
from bot.chat.model import jobs, payloads, replies
from bot.chat.model.queues import INLINE, RECEIPTS, Queues, Step
from bot.chat.store import link_rows, payment_marks, post_rows, receipt_rows
from bot.core.database import database
from bot.core.outbox import outbox, queries

# Bought items: receipts kept through a deep link, and their list. Anybody may keep a receipt, even
# people who may not create requests.

BOUGHT_PAGE = 8
"""Receipts on one page."""


def is_receipt_link(event: events.MessageEvent) -> bool:
    """True if a message has a receipt's address; its stored body is erased after it is handled."""
    return event.command == "start" and receipt_rows.read_key(event.text) is not None


def open_receipt_link(context: EventContext, payload: str) -> bool:
    """Queue the job that keeps a deep link's receipt; False for any other `/start` payload."""
    key = receipt_rows.read_key(payload)
    if key is None:
        return False
    job = jobs.KeepReceipt(*key, context.reply_to())
    lane = f"{RECEIPTS}{context.person.id}"
    outbox.put(context.tx, context.queues.jobs, lane, job, context.now)
    return True


def bought_page(context: EventContext, number: int) -> replies.Reply:
    """Return a page of this person's receipts; the last page if there are fewer pages."""
    pages = max(1, -(-receipt_rows.count(context.tx, context.person.id) // BOUGHT_PAGE))
    number = min(number, pages - 1)
    kept = receipt_rows.page(context.tx, context.person.id, BOUGHT_PAGE, number * BOUGHT_PAGE)
    return receipts.bought_page(kept, number, pages, context.seller.language)


def handle_bought_press(context: EventContext, action: replies.Action) -> str | None:
    """Handle a button of a kept receipt; return the text of the answer, if any."""
    word, receipt_id = action
    kept = receipt_rows.find(context.tx, receipt_id, context.person.id)
    if kept is None:
        return context.text("toast-receipt-gone")
    if word == "receipt":
        context.put(payloads.ReceiptMessage(*kept.key, context.seller.language))
        if receipts.telegram_file(context.tx, kept.key.request_id):
            context.put(payloads.ReceiptMessage(*kept.key, context.seller.language, is_file=True))
        return None
    receipt_rows.remove(context.tx, receipt_id, context.person.id)
    return context.text("toast-receipt-removed")


# A request's posters and list of payments.

PAYMENTS_PAGE = 10
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


def handle_poster_press(
    context: EventContext, link: link_rows.PaymentLink, action: replies.Action
) -> str | None:
    """Show a request's addresses and the designs of its poster, or send the chosen one.

    Its files are queued unless they are queued already. Return the text of the answer, if any.
    """
    if not action[1:]:
        shown, text = event_context.own_card(context, link), link.poster_text
        context.reply(menus.poster_menu(shown, text, context.bot_name, context.seller.language))
        return None
    chat, files = str(context.person.chat_id), FILES[action[1]]
    queued = queries.unsettled_about(context.tx, context.queues.messages, link.id)
    if any(
        lane == chat and isinstance(body, payloads.PosterFile) and body.design in files
        for lane, body in queued
    ):
        return context.text("toast-poster-coming")
    for file in files:
        name = f"{file_name(link.spec.name)}-{file}"
        context.put(
            payloads.PosterFile(link.id, context.seller.language, file, name), subject=link.id
        )
    return context.text("toast-poster")


def file_name(name: str) -> str:
    """Derive a file name from a request's name: ASCII letters and digits, never empty."""
    apart = unicodedata.normalize("NFKD", name.casefold().translate(SPELLED))
    plain = "".join(char for char in apart if not unicodedata.combining(char))
    return NO_LETTER.sub("-", plain)[:LONGEST_FILE_NAME].strip("-") or "poster"


def show_payments(context: EventContext, link: link_rows.PaymentLink, page: int) -> None:
    """Show a page of a request's payments; the last page if there are fewer pages.

    If the button is below a card, the page is a new message, because a picture's caption has too
    little room; the card's menu is closed.
    """
    pages = max(1, -(-link.paid_count // PAYMENTS_PAGE))
    page = min(page, pages - 1)
    found = payment_marks.payments_page(context.tx, link.id, PAYMENTS_PAGE, page * PAYMENTS_PAGE)
    shown = event_context.own_card(context, link)
    reply = payment_texts.payments_page(shown, found, (page, pages), context.seller)
    if context.is_card(context.press):
        context.without_press().reply(reply)
        context.reply(event_context.own_card_message(context, link))
    else:
        context.reply(reply)


# Messages posted inline, and visitors through a deep link.

BETWEEN = "-"
"""Separator in the id of a result, between the link's id and the key of the text."""

SHOWN = frozenset([link_rows.LIVE, link_rows.STOPPED])
"""States of links that others may see."""


def result_id(link_id: str, words: str) -> str:
    """Return the id of an inline result; `handle_posted` parses it."""
    return f"{link_id}{BETWEEN}{words}"


def handle_posted(
    tx: database.Transaction, queues: Queues, event: events.PostedEvent, now: int
) -> None:
    """Store where a request was posted, and queue the refresh that adds the picture.

    Posts by anybody but the request's seller are ignored, because others are offered no results.
    """
    link_id, _, words = event.result_id.partition(BETWEEN)
    link = link_rows.find_link(tx, link_id)
    if event.message_id is None or link is None or link.seller_id != event.person.id:
        return
    post = post_rows.save_post(
        tx, link.id, post_rows.MessagePlace(f"{INLINE}{event.message_id}", 0), post_rows.SHARED, now
    )
    post_rows.record_shown(tx, post.id, post_rows.PostContent(None, words))
    post_rows.refresh_one(Step(tx, queues, now), post)


def open_deep_link(context: EventContext, payload: str) -> bool:
    """Reply to a visitor of a request's deep link; return False for any other `/start` payload.

    The seller gets their own card, other people get the public card. A deleted request gets the
    same reply as a request that never existed.
    """
    if not payload.startswith(card_text.DEEP_LINK_PREFIX):
        return False
    link = link_rows.find_link(context.tx, payload.removeprefix(card_text.DEEP_LINK_PREFIX))
    if link is None or link.answer is None or link.state not in SHOWN:
        context.reply(replies.Reply(context.text("link-gone")))
    elif link.seller_id == context.person.id:
        own = event_context.own_card_message(context, link)
        context.put(payloads.new_message(own, context.seller.language))
    else:
        context.put(payloads.CardMessage(link.id, context.seller.language, is_public=True))
    return True


def refresh_visited_card(context: EventContext, action: replies.Action) -> str | None:
    """Refresh a visitor's card in its message; return the text of the answer, if any."""
    link, press = link_rows.find_link(context.tx, action[1]), context.press
    known = (*SHOWN, link_rows.DELETED)
    if link is None or link.answer is None or link.state not in known:
        return context.text("link-gone")
    place = press.message_id if press and context.is_card(press) else None
    context.put(payloads.CardMessage(link.id, context.seller.language, place, is_public=True))
    return None
