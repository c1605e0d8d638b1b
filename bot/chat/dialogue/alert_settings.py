"""Alerts of a seller: the mode of each request, and the undelivered alerts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.alerts import alert_text, delivery
from bot.chat.cards.card_text import total_text
from bot.chat.messages.reply import Button, Reply, escaped
from bot.chat.requests import audit_trail
from bot.chat.store import listings, posts
from bot.chat.store.listings import ALERTS
from bot.chat.times import display, zones
from bot.core.outbox.queries import DEAD

if TYPE_CHECKING:
    from bot.chat.dialogue.event_context import EventContext
    from bot.chat.messages.reply import Rows
    from bot.chat.store.listings import Listing
    from bot.core.outbox.queries import StoredMessage

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


def choose_alert_mode(context: EventContext, listing: Listing, mode: str | None) -> str | None:
    """Set a request's alert mode, if given, and show the menu; return the text of the answer.

    `mode` is one of ALERTS. For the current mode the menu is not sent again: Telegram refuses an
    edit that changes nothing.
    """
    if mode is None:
        context.reply(_menu(context, listing, listing.alerts))
        return None
    if mode != listing.alerts:
        listings.set_alerts(context.tx, listing.id, mode)
        audit_trail.record_edit(context.tx, listing, "alerts", (listing.alerts, mode), context.now)
        posts.refresh(context.tx, context.queues, listing.id, context.now)
        context.reply(_menu(context, listing, mode))
    return context.text(TOASTS[mode])


def _menu(context: EventContext, listing: Listing, chosen: str) -> Reply:
    text = context.text("alerts-menu", name=escaped(listing.wish.name, _NAME))
    if context.seller.quiet is not None:
        text = f"{text}\n\n{context.text('alerts-menu-quiet')}"
    modes = tuple(
        Button(_label(context, mode, is_chosen=mode == chosen), action=("alerts", listing.id, mode))
        for mode in ALERTS
    )
    back = Button(context.text("button-back"), action=("refresh", listing.id))
    return Reply(text, (modes, (back,)))


def _label(context: EventContext, mode: str, *, is_chosen: bool) -> str:
    label = context.text(BUTTONS[mode])
    return context.text("button-chosen", label=label) if is_chosen else label


def show_undelivered(context: EventContext) -> None:
    """Show this chat's undelivered alerts with the reasons, newest first."""
    lane = str(context.person.chat_id)
    found = delivery.newest_undelivered(context.tx, context.queues, lane)
    context.reply(
        _page(context, found, delivery.count_undelivered(context.tx, context.queues, lane))
    )


def resend_undelivered(context: EventContext) -> str:
    """Queue this chat's given-up alerts again; return the text of the answer."""
    lane = str(context.person.chat_id)
    if delivery.resend(context.tx, context.queues, lane, context.now):
        show_undelivered(context)
    waits = delivery.count_undelivered(context.tx, context.queues, lane) > 0
    return context.text("toast-sent-again" if waits else "toast-all-delivered")


def _page(context: EventContext, found: list[StoredMessage], count: int) -> Reply:
    lines: list[str] = []
    told = 0
    for untold in found:
        more = _lines(untold, context)
        if len(lines) + len(more) > LINES and lines:
            break
        lines += more[:LINES]
        told += 1
    if not lines:
        return Reply(context.text("undelivered-none"))
    if count > told:
        lines.append(context.text("undelivered-more", more=count - told))
    lines.insert(0, context.text("undelivered"))
    rows: Rows = ()
    if any(untold.state == DEAD for untold in found):
        lines += ["", context.text("undelivered-hint")]
        rows = ((Button(context.text("button-send-again"), action=("undelivered", "again")),),)
    return Reply("\n".join(lines), rows)


def _lines(untold: StoredMessage, context: EventContext) -> list[str]:
    """Write a line for each request that an alert tells of."""
    at, why = _when(untold.created_at, context), context.text(_why(untold))
    lines = []
    for group in alert_text.group_payments(delivery.payments_of(untold.body)):
        first, count = group[0], len(group)
        total = [(sum(payment.amount for payment in group), first.currency)]
        said = {
            "at": at,
            "amount": total_text(total, context.seller.language),
            "name": escaped(first.name, _NAME),
            "why": why,
        }
        if count == 1:
            lines.append(context.text("undelivered-line", **said))
        else:
            lines.append(context.text("undelivered-several", **said, count=count))
    return lines


def _why(untold: StoredMessage) -> str:
    """Return the text key of the reason why an alert was not delivered."""
    if untold.state == DEAD:
        return "undelivered-unclear" if untold.uncertain else "undelivered-refused"
    blocked = "blocked" in (untold.note or "").lower()
    return "undelivered-blocked" if blocked else "undelivered-waiting"


def _when(at: int, context: EventContext) -> str:
    zone, language = context.seller.zone, context.seller.language
    label = display.button_label(at, zone or zones.UTC_ZONE, language)
    return label if zone else f"{label} {zones.place_name(zones.UTC_ZONE, language)}"
