"""Messages of a seller: commands, and answers to the questions of a form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.cards.card_text import list_page
from bot.chat.cards.request_card import card_of
from bot.chat.dialogue import (
    alert_settings,
    bought,
    find_command,
    getting_paid,
    incoming,
    sharing,
)
from bot.chat.dialogue.form_effects import apply_outcome
from bot.chat.forms.bot_texts import about_service, help_reply, settings, start_reply
from bot.chat.forms.form import new_form, resume_offer, take_file, take_message
from bot.chat.forms.goods_form import takes_goods
from bot.chat.forms.inputs import cancel
from bot.chat.forms.one_line import offer_line, one_line
from bot.chat.forms.sellers.payout_texts import accounts_page
from bot.chat.messages.reply import Reply
from bot.chat.model.wish import KINDS
from bot.chat.store import listings, queries, sellers

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.dialogue.events import MessageEvent
    from bot.chat.forms.outcome import Outcome

PAGE = 8
"""Requests on one page of the list."""

FROM_INLINE = "new"
"""Payload of `/start` from the button above inline results: it opens the form at once."""


def handle_message(context: EventContext, event: MessageEvent) -> None:
    """Handle a message: a command, or the answer to a question.

    Nothing that came with a command is dropped in silence.
    """
    sent = event.enclosure
    if getting_paid.is_misplaced(context.draft, event.text):
        context.reply(Reply(context.text("payout-connection-elsewhere")))
    elif event.command is None:
        apply_outcome(context, _take_message(context, event))
    elif sent is not None and event.command not in ("new", *KINDS):
        context.reply(Reply(context.text("file-unused-command")))
        handle_message(context, replace(event, photo=None, file=None, is_unusable=False))
    elif event.command == "start" and _open_link(context, event.text):
        return
    elif event.command in ("new", "getpaid", *KINDS) and not context.may_create:
        context.reply(Reply(context.text("not-allowed")))
    elif event.command in KINDS:
        form = one_line(
            event.command, event.text, listings.short_id(6), context.seller, context.draft,
            sent=sent,
        )  # fmt: skip
        apply_outcome(context, form)
    elif event.command == "new":
        form = new_form(context.draft, listings.short_id(6), context.seller, sent)
        apply_outcome(context, form)
    elif (event.command, event.text) == ("start", FROM_INLINE) and context.may_create:
        _greet(context, again=False)
        show_page(context, "new")
    else:
        show_page(context, event.command, event.text)


def _take_message(context: EventContext, event: MessageEvent) -> Outcome:
    """Return what follows from a message that is no command."""
    if context.draft is None and context.may_create:
        offer = offer_line(event.text, listings.short_id(6), context.seller, event.enclosure)
        if offer is not None:
            return offer
    if context.draft is not None and event.file is not None:
        outcome = take_file(context.draft, event.file, context.seller, context.now)
        if outcome is not None:
            return outcome
    is_given = context.draft is not None and takes_goods(context.draft)
    text = event.linked or event.text if is_given else event.text
    return take_message(context.draft, text, event.enclosure, context.seller, context.now)


def _open_link(context: EventContext, payload: str) -> bool:
    """Open the deep link of a receipt or of a request; False for another payload of `/start`."""
    return bought.open_link(context, payload) or sharing.open_deep_link(context, payload)


def _greet(context: EventContext, *, again: bool) -> None:
    """Reply with the greeting to a new person; to others only `again`."""
    first = sellers.mark_greeted(context.tx, context.person.id, context.now)
    if first or again:
        offer = resume_offer(context.draft, context.seller)
        context.reply(start_reply(context.seller, new=first, offer=offer))


def show_page(context: EventContext, command: str, text: str = "") -> None:
    """Answer a command that shows a page; for an unknown one, list the commands."""
    match command:
        case "new":
            form = new_form(context.draft, listings.short_id(6), context.seller)
            apply_outcome(context, form)
        case "start":
            _greet(context, again=True)
        case "cancel":
            apply_outcome(context, cancel(context.draft, context.seller))
        case "find":
            find_command.find(context, text)
        case "alerts":
            alert_settings.show_undelivered(context)
        case "payments" | "bought" | "list" | "getpaid" | "settings" | "help":
            context.reply(PAGES[command](context))
        case "privacy" | "paysupport":
            context.reply(about_service(command, context.seller.language, context.operator_contact))
        case _:
            context.reply(Reply(context.text("command-unknown")))


def requests_page(context: EventContext, page: int) -> Reply:
    """Return a page of the seller's requests, the last one if there are fewer pages."""
    pages = max(1, -(-queries.count_listings(context.tx, context.person.id) // PAGE))
    page = min(page, pages - 1)
    found = queries.listings_page(context.tx, context.person.id, PAGE, page * PAGE)
    shown = [card_of(item, context.now) for item in found]
    pending = listings.pending_names(context.tx, context.person.id)
    return list_page(shown, page, pages, context.seller.language, pending=pending)


PAGES: dict[str, Callable[[EventContext], Reply]] = {
    "payments": lambda context: incoming.page(context, 0),
    "bought": lambda context: bought.page(context, 0),
    "list": lambda context: requests_page(context, 0),
    "getpaid": lambda context: accounts_page(context.seller),
    "settings": lambda context: settings(context.seller),
    "help": lambda context: help_reply(
        context.seller.language, may_choose=context.seller.paid_at.is_embedded
    ),
}
"""Commands that are answered by a page alone."""
