"""Handle a seller's message (`handle_message`): a command, or the answer to a form's question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.chat.cards import card_text, request_card
from bot.chat.conversation import (
    event_context,
    events,
    form_effects,
    getting_paid,
    payments_and_alerts,
    sharing,
)
from bot.chat.forms import flow, goods_form, inputs, one_line, questions, seller_texts
from bot.chat.forms.form import new_form, resume_offer, take_file, take_message
from bot.chat.model import drafts, replies, request_spec
from bot.chat.store import link_lists, link_rows, seller_rows
from bot.core.text import translations

PAGE = 8
"""Requests on one page of the list."""

FROM_INLINE = "new"
"""Payload of `/start` from the button above inline results, which opens the form at once."""


def handle_message(context: event_context.EventContext, event: events.MessageEvent) -> None:
    """Handle a message: a command, or the answer to a question.

    If a file came with a command that doesn't use files, the reply says so.
    """
    sent = event.enclosure
    if getting_paid.is_misplaced(context.draft, event.text):
        context.reply(replies.Reply(context.text("payout-connection-elsewhere")))
    elif event.command is None:
        form_effects.apply_result(context, _take_message(context, event))
    elif sent is not None and event.command not in ("new", *request_spec.KINDS):
        context.reply(replies.Reply(context.text("file-unused-command")))
        handle_message(context, replace(event, photo=None, file=None, is_unusable=False))
    elif event.command == "start" and _open_link(context, event.text):
        return
    elif event.command in ("new", "getpaid", *request_spec.KINDS) and not context.may_create:
        context.reply(replies.Reply(context.text("not-allowed")))
    elif event.command in request_spec.KINDS:
        form = one_line.one_line(
            event.command, event.text, link_rows.short_id(6), context.seller, context.draft,
            sent=sent,
        )  # fmt: skip
        form_effects.apply_result(context, form)
    elif event.command == "new":
        form = new_form(context.draft, link_rows.short_id(6), context.seller, sent)
        form_effects.apply_result(context, form)
    elif (event.command, event.text) == ("start", FROM_INLINE) and context.may_create:
        _greet(context, again=False)
        show_page(context, "new")
    else:
        show_page(context, event.command, event.text)


def _take_message(
    context: event_context.EventContext, event: events.MessageEvent
) -> flow.FormResult:
    """Return the result of a message that is not a command."""
    if context.draft is None and context.may_create:
        offer = one_line.offer_line(
            event.text, link_rows.short_id(6), context.seller, event.enclosure
        )
        if offer is not None:
            return offer
    if context.draft is not None and event.file is not None:
        result = take_file(context.draft, event.file, context.seller, context.now)
        if result is not None:
            return result
    text = event.text
    if context.draft is not None and goods_form.takes_goods(context.draft):
        text = event.linked or text
    return take_message(context.draft, text, event.enclosure, context.seller, context.now)


def _open_link(context: event_context.EventContext, payload: str) -> bool:
    """Open the deep link of a receipt or a request; return False for any other `/start` payload."""
    return sharing.open_receipt_link(context, payload) or sharing.open_deep_link(context, payload)


def _greet(context: event_context.EventContext, *, again: bool) -> None:
    """Greet a new person; greet others only if `again` is set."""
    first = seller_rows.mark_greeted(context.tx, context.person.id, context.now)
    if first or again:
        offer = resume_offer(context.draft, context.seller)
        context.reply(start_reply(context.seller, new=first, offer=offer))


def show_page(context: event_context.EventContext, command: str, text: str = "") -> None:
    """Answer a command that shows a page; list the commands if the command is unknown."""
    match command:
        case "new":
            form = new_form(context.draft, link_rows.short_id(6), context.seller)
            form_effects.apply_result(context, form)
        case "start":
            _greet(context, again=True)
        case "cancel":
            form_effects.apply_result(context, inputs.cancel(context.draft, context.seller))
        case "find":
            payments_and_alerts.find_payment(context, text)
        case "alerts":
            payments_and_alerts.show_undelivered(context)
        case "payments" | "bought" | "list" | "getpaid" | "settings" | "help":
            context.reply(PAGES[command](context))
        case "privacy" | "paysupport":
            context.reply(about_service(command, context.seller.language, context.operator_contact))
        case _:
            context.reply(replies.Reply(context.text("command-unknown")))


PAGES: dict[str, Callable[[event_context.EventContext], replies.Reply]] = {
    "payments": lambda context: payments_and_alerts.incoming_page(context, 0),
    "bought": lambda context: sharing.bought_page(context, 0),
    "list": lambda context: requests_page(context, 0),
    "getpaid": lambda context: seller_texts.accounts_page(context.seller),
    "settings": lambda context: seller_texts.settings(context.seller),
    "help": lambda context: help_reply(
        context.seller.language, may_choose=context.seller.paid_at.is_embedded
    ),
}
"""Commands that only show a page."""


def start_reply(
    seller: drafts.Seller, *, new: bool, offer: replies.Reply | None = None
) -> replies.Reply:
    """Return the greeting; a `new` seller also reads Telegram's rule for digital goods.

    `offer` offers to continue the current form.
    """
    parts = [translations.t(seller.language, "start")]
    if new:
        parts.append(translations.t(seller.language, "digital-goods"))
    if offer is not None:
        parts.append(offer.text)
    return replies.Reply(
        "\n\n".join(parts), offer.rows if offer else questions.menu(seller.language)
    )


def requests_page(context: event_context.EventContext, page: int) -> replies.Reply:
    """Return a page of the seller's requests, the last one if there are fewer pages."""
    pages = max(1, -(-link_lists.count_links(context.tx, context.person.id) // PAGE))
    page = min(page, pages - 1)
    found = link_lists.links_page(context.tx, context.person.id, PAGE, page * PAGE)
    shown = [request_card.card_of(item, context.now) for item in found]
    pending = link_rows.pending_names(context.tx, context.person.id)
    return card_text.list_page(shown, page, pages, context.seller.language, pending=pending)


def help_reply(language: str, *, may_choose: bool = True) -> replies.Reply:
    """Explain the commands and the one-line forms, with amounts to choose from if supported."""
    choice = [translations.t(language, "help-choice")] if may_choose else []
    parts = [translations.t(language, "help"), *choice, translations.t(language, "digital-goods")]
    return replies.Reply("\n\n".join(parts), questions.menu(language))


def about_service(command: str, language: str, operator_contact: str | None) -> replies.Reply:
    """Answer /privacy or /paysupport, with the operator's contact if there is one."""
    operator = operator_contact or translations.t(language, "operator")
    return replies.Reply(translations.t(language, command, operator=replies.escaped(operator)))


COMMANDS = (
    *("new", "list", "payments", "find", "donation", "oneoff", "drop", "alerts"),
    "getpaid",
    "settings",
    "bought",
    *("help", "cancel", "privacy", "paysupport", "start"),
)
"""The commands, in the order of Telegram's menu."""


def commands(language: str) -> list[tuple[str, str]]:
    """Return the commands with their descriptions, for setMyCommands."""
    return [(name, translations.t(language, f"command-{name}")) for name in COMMANDS]
