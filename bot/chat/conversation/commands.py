"""Messages of a seller: commands, and answers to the questions of a form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.chat.alerts import alert_text, delivery
from bot.chat.cards import card_text, request_card
from bot.chat.conversation import (
    event_context,
    events,
    form_effects,
    getting_paid,
    payment_presses,
    sharing,
)
from bot.chat.forms import flow, goods_form, inputs, one_line, questions, seller_texts
from bot.chat.forms.form import new_form, resume_offer, take_file, take_message
from bot.chat.jobs import audit_trail
from bot.chat.model import drafts, moments, replies, request_spec, zones
from bot.chat.store import link_lists, link_rows, post_rows, seller_rows
from bot.core.outbox import queries
from bot.core.text import translations

# Alerts of a seller: the mode of each request, and the undelivered alerts.


BUTTONS = {
    "on": "button-alerts-on",
    "silent": "button-alerts-silent",
    "off": "button-alerts-off",
}
TOASTS = {"on": "toast-alerts-on", "silent": "toast-alerts-silent", "off": "toast-alerts-off"}
"""Text keys of each of ALERTS: of its button, and of the answer once it is chosen."""

LINES = 15
"""Lines of `/alerts`: as many as fit into one message at their longest."""

_NAME = 60
"""UTF-16 units of a request's name."""


def choose_alert_mode(
    context: event_context.EventContext, link: link_rows.PaymentLink, mode: str | None
) -> str | None:
    """Set a request's alert mode, if given, and show the menu; return the text of the answer.

    `mode` is one of ALERTS. For the current mode the menu is not sent again: Telegram refuses an
    edit that changes nothing.
    """
    if mode is None:
        context.reply(_menu(context, link, link.alerts))
        return None
    if mode != link.alerts:
        link_rows.set_alerts(context.tx, link.id, mode)
        audit_trail.record_edit(context.tx, link, "alerts", (link.alerts, mode), context.now)
        post_rows.refresh(context.tx, context.queues, link.id, context.now)
        context.reply(_menu(context, link, mode))
    return context.text(TOASTS[mode])


def _menu(
    context: event_context.EventContext, link: link_rows.PaymentLink, chosen: str
) -> replies.Reply:
    text = context.text("alerts-menu", name=replies.escaped(link.spec.name, _NAME))
    if context.seller.quiet is not None:
        text = f"{text}\n\n{context.text('alerts-menu-quiet')}"
    modes = tuple(
        replies.Button(
            _label(context, mode, is_chosen=mode == chosen), action=("alerts", link.id, mode)
        )
        for mode in link_rows.ALERTS
    )
    back = replies.Button(context.text("button-back"), action=("refresh", link.id))
    return replies.Reply(text, (modes, (back,)))


def _label(context: event_context.EventContext, mode: str, *, is_chosen: bool) -> str:
    label = context.text(BUTTONS[mode])
    return context.text("button-chosen", label=label) if is_chosen else label


def show_undelivered(context: event_context.EventContext) -> None:
    """Show this chat's undelivered alerts with the reasons, newest first."""
    lane = str(context.person.chat_id)
    found = delivery.newest_undelivered(context.tx, context.queues, lane)
    context.reply(
        _page(context, found, delivery.count_undelivered(context.tx, context.queues, lane))
    )


def resend_undelivered(context: event_context.EventContext) -> str:
    """Queue this chat's given-up alerts again; return the text of the answer."""
    lane = str(context.person.chat_id)
    if delivery.resend(context.tx, context.queues, lane, context.now):
        show_undelivered(context)
    waits = delivery.count_undelivered(context.tx, context.queues, lane) > 0
    return context.text("toast-sent-again" if waits else "toast-all-delivered")


def _page(
    context: event_context.EventContext, found: list[queries.StoredMessage], count: int
) -> replies.Reply:
    lines: list[str] = []
    told = 0
    for untold in found:
        more = _lines(untold, context)
        if len(lines) + len(more) > LINES and lines:
            break
        lines += more[:LINES]
        told += 1
    if not lines:
        return replies.Reply(context.text("undelivered-none"))
    if count > told:
        lines.append(context.text("undelivered-more", more=count - told))
    lines.insert(0, context.text("undelivered"))
    rows: replies.Rows = ()
    if any(untold.state == queries.DEAD for untold in found):
        lines += ["", context.text("undelivered-hint")]
        rows = (
            (replies.Button(context.text("button-send-again"), action=("undelivered", "again")),),
        )
    return replies.Reply("\n".join(lines), rows)


def _lines(untold: queries.StoredMessage, context: event_context.EventContext) -> list[str]:
    """Write a line for each request that an alert tells of."""
    at, why = _when(untold.created_at, context), context.text(_why(untold))
    lines = []
    for group in alert_text.group_payments(delivery.payments_of(untold.body)):
        first, count = group[0], len(group)
        total = [(sum(payment.amount for payment in group), first.currency)]
        said = {
            "at": at,
            "amount": card_text.total_text(total, context.seller.language),
            "name": replies.escaped(first.name, _NAME),
            "why": why,
        }
        if count == 1:
            lines.append(context.text("undelivered-line", **said))
        else:
            lines.append(context.text("undelivered-several", **said, count=count))
    return lines


def _why(untold: queries.StoredMessage) -> str:
    """Return the text key of the reason why an alert was not delivered."""
    if untold.state == queries.DEAD:
        return "undelivered-unclear" if untold.uncertain else "undelivered-refused"
    blocked = "blocked" in (untold.note or "").lower()
    return "undelivered-blocked" if blocked else "undelivered-waiting"


def _when(at: int, context: event_context.EventContext) -> str:
    zone, language = context.seller.zone, context.seller.language
    label = moments.button_label(at, zone or zones.UTC_ZONE, language)
    return label if zone else f"{label} {zones.place_name(zones.UTC_ZONE, language)}"


PAGE = 8
"""Requests on one page of the list."""

FROM_INLINE = "new"
"""Payload of `/start` from the button above inline results: it opens the form at once."""


def handle_message(context: event_context.EventContext, event: events.MessageEvent) -> None:
    """Handle a message: a command, or the answer to a question.

    Nothing that came with a command is dropped in silence.
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
    """Return what follows from a message that is no command."""
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
    is_given = context.draft is not None and goods_form.takes_goods(context.draft)
    text = event.linked or event.text if is_given else event.text
    return take_message(context.draft, text, event.enclosure, context.seller, context.now)


def _open_link(context: event_context.EventContext, payload: str) -> bool:
    """Open the deep link of a receipt or of a request; False for another payload of `/start`."""
    return sharing.open_receipt_link(context, payload) or sharing.open_deep_link(context, payload)


def _greet(context: event_context.EventContext, *, again: bool) -> None:
    """Reply with the greeting to a new person; to others only `again`."""
    first = seller_rows.mark_greeted(context.tx, context.person.id, context.now)
    if first or again:
        offer = resume_offer(context.draft, context.seller)
        context.reply(start_reply(context.seller, new=first, offer=offer))


def show_page(context: event_context.EventContext, command: str, text: str = "") -> None:
    """Answer a command that shows a page; for an unknown one, list the commands."""
    match command:
        case "new":
            form = new_form(context.draft, link_rows.short_id(6), context.seller)
            form_effects.apply_result(context, form)
        case "start":
            _greet(context, again=True)
        case "cancel":
            form_effects.apply_result(context, inputs.cancel(context.draft, context.seller))
        case "find":
            payment_presses.find_payment(context, text)
        case "alerts":
            show_undelivered(context)
        case "payments" | "bought" | "list" | "getpaid" | "settings" | "help":
            context.reply(PAGES[command](context))
        case "privacy" | "paysupport":
            context.reply(about_service(command, context.seller.language, context.operator_contact))
        case _:
            context.reply(replies.Reply(context.text("command-unknown")))


def requests_page(context: event_context.EventContext, page: int) -> replies.Reply:
    """Return a page of the seller's requests, the last one if there are fewer pages."""
    pages = max(1, -(-link_lists.count_links(context.tx, context.person.id) // PAGE))
    page = min(page, pages - 1)
    found = link_lists.links_page(context.tx, context.person.id, PAGE, page * PAGE)
    shown = [request_card.card_of(item, context.now) for item in found]
    pending = link_rows.pending_names(context.tx, context.person.id)
    return card_text.list_page(shown, page, pages, context.seller.language, pending=pending)


COMMANDS = (
    *("new", "list", "payments", "find", "donation", "oneoff", "drop", "alerts"),
    "getpaid",
    "settings",
    "bought",
    *("help", "cancel", "privacy", "paysupport", "start"),
)
"""In the order in which Telegram's menu shows them."""


def commands(language: str) -> list[tuple[str, str]]:
    """Return the commands with their descriptions, for setMyCommands."""
    return [(name, translations.t(language, f"command-{name}")) for name in COMMANDS]


def start_reply(
    seller: drafts.Seller, *, new: bool, offer: replies.Reply | None = None
) -> replies.Reply:
    """Return the greeting, for a `new` seller with Telegram's rule for digital goods.

    `offer` offers to continue a form under way.
    """
    parts = [translations.t(seller.language, "start")]
    if new:
        parts.append(translations.t(seller.language, "digital-goods"))
    if offer is not None:
        parts.append(offer.text)
    return replies.Reply(
        "\n\n".join(parts), offer.rows if offer else questions.menu(seller.language)
    )


def help_reply(language: str, *, may_choose: bool = True) -> replies.Reply:
    """Explain the commands and the one-line forms, with choices where the service has them."""
    choice = [translations.t(language, "help-choice")] if may_choose else []
    parts = [translations.t(language, "help"), *choice, translations.t(language, "digital-goods")]
    return replies.Reply("\n\n".join(parts), questions.menu(language))


def about_service(command: str, language: str, operator_contact: str | None) -> replies.Reply:
    """Answer /privacy or /paysupport, which name the operator by the contact if there is one."""
    operator = operator_contact or translations.t(language, "operator")
    return replies.Reply(translations.t(language, command, operator=replies.escaped(operator)))


PAGES: dict[str, Callable[[event_context.EventContext], replies.Reply]] = {
    "payments": lambda context: payment_presses.incoming_page(context, 0),
    "bought": lambda context: sharing.bought_page(context, 0),
    "list": lambda context: requests_page(context, 0),
    "getpaid": lambda context: seller_texts.accounts_page(context.seller),
    "settings": lambda context: seller_texts.settings(context.seller),
    "help": lambda context: help_reply(
        context.seller.language, may_choose=context.seller.paid_at.is_embedded
    ),
}
"""Commands that are answered by a page alone."""
