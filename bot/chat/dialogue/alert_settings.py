"""How a seller hears of payments: the choice for each request, and what could not be delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.alerts import alert_text, undelivered
from bot.chat.cards.card_text import total_text
from bot.chat.messages.reply import Button, Reply, escaped
from bot.chat.requests import audit_trail
from bot.chat.store import listings, posts
from bot.chat.store.listings import ALERTS
from bot.chat.times import display, zones

if TYPE_CHECKING:
    from bot.chat.alerts.undelivered import UndeliveredAlert
    from bot.chat.dialogue.turn import Turn
    from bot.chat.messages.reply import Rows
    from bot.chat.store.listings import Listing

BUTTONS = {
    "on": "button-alerts-on",
    "silent": "button-alerts-silent",
    "off": "button-alerts-off",
}
TOASTS = {"on": "toast-alerts-on", "silent": "toast-alerts-silent", "off": "toast-alerts-off"}
"""What each of store.ALERTS is called on its button, and what is said when it is chosen."""

LINES = 15
"""Lines of `/alerts`, so that they fit into one message whatever they say."""

_NAME = 60
"""UTF-16 units of a request's name."""


def take_alerts(turn: Turn, listing: Listing, mode: str | None) -> str | None:
    """Show how a request's payments are told, in the place of what was pressed.

    A `mode` is set first, one of store.ALERTS; the words of the answer, if any. What is so already
    is only said: the menu that shows it can't be changed into itself.
    """
    if mode is None:
        turn.say(_menu(turn, listing, listing.alerts))
        return None
    if mode != listing.alerts:
        listings.set_alerts(turn.tx, listing.id, mode)
        audit_trail.record_edit(turn.tx, listing, "alerts", (listing.alerts, mode), turn.now)
        posts.refresh(turn.tx, turn.queues, listing.id, turn.now)
        turn.say(_menu(turn, listing, mode))
    return turn.words(TOASTS[mode])


def _menu(turn: Turn, listing: Listing, chosen: str) -> Reply:
    text = turn.words("alerts-menu", name=escaped(listing.wish.name, _NAME))
    if turn.seller.quiet is not None:
        text = f"{text}\n\n{turn.words('alerts-menu-quiet')}"
    modes = tuple(
        Button(_label(turn, mode, is_chosen=mode == chosen), action=("alerts", listing.id, mode))
        for mode in ALERTS
    )
    back = Button(turn.words("button-back"), action=("refresh", listing.id))
    return Reply(text, (modes, (back,)))


def _label(turn: Turn, mode: str, *, is_chosen: bool) -> str:
    label = turn.words(BUTTONS[mode])
    return turn.words("button-chosen", label=label) if is_chosen else label


def show_undelivered(turn: Turn) -> None:
    """Say which alerts of this chat have not been delivered, and why; newest first."""
    lane = str(turn.person.chat_id)
    found = undelivered.newest(turn.tx, turn.queues, lane)
    turn.say(_page(turn, found, undelivered.count(turn.tx, turn.queues, lane)))


def send_again(turn: Turn) -> str:
    """Let this chat's alerts go again that were given up; the words of the answer."""
    lane = str(turn.person.chat_id)
    if undelivered.resend(turn.tx, turn.queues, lane, turn.now):
        show_undelivered(turn)
    waits = undelivered.count(turn.tx, turn.queues, lane) > 0
    return turn.words("toast-sent-again" if waits else "toast-all-delivered")


def _page(turn: Turn, found: list[UndeliveredAlert], count: int) -> Reply:
    lines: list[str] = []
    told = 0
    for untold in found:
        more = _lines(untold, turn)
        if len(lines) + len(more) > LINES and lines:
            break
        lines += more[:LINES]
        told += 1
    if not lines:
        return Reply(turn.words("undelivered-none"))
    if count > told:
        lines.append(turn.words("undelivered-more", more=count - told))
    lines.insert(0, turn.words("undelivered"))
    rows: Rows = ()
    if any(untold.is_dead for untold in found):
        lines += ["", turn.words("undelivered-hint")]
        rows = ((Button(turn.words("button-send-again"), action=("undelivered", "again")),),)
    return Reply("\n".join(lines), rows)


def _lines(untold: UndeliveredAlert, turn: Turn) -> list[str]:
    """Write a line for each request that an alert tells of."""
    at, why = _when(untold.created_at, turn), turn.words(_why(untold))
    lines = []
    for group in alert_text.group_payments(untold.payments):
        first, count = group[0], len(group)
        total = [(sum(payment.amount for payment in group), first.currency)]
        said = {
            "at": at,
            "amount": total_text(total, turn.seller.language),
            "name": escaped(first.name, _NAME),
            "why": why,
        }
        if count == 1:
            lines.append(turn.words("undelivered-line", **said))
        else:
            lines.append(turn.words("undelivered-several", **said, count=count))
    return lines


def _why(untold: UndeliveredAlert) -> str:
    """Give the text that says why an alert has not arrived."""
    if untold.is_dead:
        return "undelivered-unclear" if untold.uncertain else "undelivered-refused"
    blocked = "blocked" in (untold.note or "").lower()
    return "undelivered-blocked" if blocked else "undelivered-waiting"


def _when(at: int, turn: Turn) -> str:
    zone, language = turn.seller.zone, turn.seller.language
    label = display.button_label(at, zone or zones.UTC_ZONE, language)
    return label if zone else f"{label} {zones.place_name(zones.UTC_ZONE, language)}"
