"""Answers to commands that only show a page: the greeting, help, and the list of requests."""

from __future__ import annotations

from bot.chat.cards import card_text, request_card
from bot.chat.conversation.event_context import EventContext
from bot.chat.forms import form, questions
from bot.chat.model import drafts, replies
from bot.chat.store import link_rows, seller_rows
from bot.core.text import translations

PAGE = 8
"""Requests on one page of the list."""

FROM_INLINE = "new"
"""Payload of `/start` from the button above inline results, which opens the form at once."""


def greet(context: EventContext, *, again: bool) -> None:
    """Greet a new person; greet others only if `again` is set."""
    first = seller_rows.mark_once(context.tx, context.person.id, "greeted", context.now)
    if first or again:
        offer = form.resume_offer(context.draft, context.seller)
        context.reply(start_reply(context.seller, new=first, offer=offer))


def start_reply(
    seller: drafts.Seller, *, new: bool, offer: replies.Reply | None = None
) -> replies.Reply:
    """Return the greeting; a `new` seller also reads Telegram's rule for digital goods.

    `offer` offers to continue the current form.
    """
    parts = [seller.text("start")]
    if new:
        parts.append(seller.text("digital-goods"))
    if offer is not None:
        parts.append(offer.text)
    return replies.Reply(
        "\n\n".join(parts), offer.rows if offer else questions.menu(seller.language)
    )


def requests_page(context: EventContext, page: int) -> replies.Reply:
    """Return a page of the seller's requests, the last one if there are fewer pages."""
    pages = max(1, -(-link_rows.count_links(context.tx, context.person.id) // PAGE))
    page = min(page, pages - 1)
    found = link_rows.links_page(context.tx, context.person.id, PAGE, page * PAGE)
    shown = [request_card.card_of(item, context.now) for item in found]
    pending = link_rows.pending_names(context.tx, context.person.id)
    return card_text.list_page(shown, page, pages, context.seller.language, pending=pending)


def help_page(context: EventContext) -> replies.Reply:
    """Return the answer to /help."""
    return help_reply(context.seller.language, may_choose=context.seller.paid_at.is_embedded)


def help_reply(language: str, *, may_choose: bool = True) -> replies.Reply:
    """Explain the commands and the one-line forms, with amounts to choose from if supported."""
    choice = [translations.t(language, "help-choice")] if may_choose else []
    parts = [translations.t(language, "help"), *choice, translations.t(language, "digital-goods")]
    return replies.Reply("\n\n".join(parts), questions.menu(language))


def about_service(command: str, language: str, operator_contact: str | None) -> replies.Reply:
    """Answer /privacy or /paysupport, with the operator's contact if there is one."""
    operator = operator_contact or translations.t(language, "operator")
    return replies.Reply(translations.t(language, command, operator=replies.escaped(operator)))
