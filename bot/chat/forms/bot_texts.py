"""Texts about the bot itself: greeting, help, settings, privacy and support, and its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.forms.button_rows import clock, hours
from bot.chat.forms.sellers.payout_texts import account_lines
from bot.chat.messages.reply import Button, Reply, Rows, escaped
from bot.chat.times import zones
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.draft import Seller

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
    return [(name, t(language, f"command-{name}")) for name in COMMANDS]


def menu(language: str) -> Rows:
    """Return the buttons of the main menu: new request, list, help."""
    return (
        (Button(t(language, "button-new"), action=("new",)),),
        (
            Button(t(language, "button-list"), action=("list", "0")),
            Button(t(language, "button-help"), action=("help",)),
        ),
    )


def start_reply(seller: Seller, *, new: bool, offer: Reply | None = None) -> Reply:
    """Return the greeting, for a `new` seller with Telegram's rule for digital goods.

    `offer` offers to continue a form under way.
    """
    parts = [t(seller.language, "start")]
    if new:
        parts.append(t(seller.language, "digital-goods"))
    if offer is not None:
        parts.append(offer.text)
    return Reply("\n\n".join(parts), offer.rows if offer else menu(seller.language))


def help_reply(language: str, *, may_choose: bool = True) -> Reply:
    """Explain the commands and the one-line forms, with choices where the service has them."""
    choice = [t(language, "help-choice")] if may_choose else []
    parts = [t(language, "help"), *choice, t(language, "digital-goods")]
    return Reply("\n\n".join(parts), menu(language))


def about_service(command: str, language: str, operator_contact: str | None) -> Reply:
    """Answer /privacy or /paysupport, which name the operator by the contact if there is one."""
    operator = operator_contact or t(language, "operator")
    return Reply(t(language, command, operator=escaped(operator)))


def _destination(seller: Seller) -> tuple[str, Button]:
    """Return where the money goes, and the button that changes it."""
    language = seller.language
    if seller.paid_at.rails:
        shown = "\n".join([t(language, "payout-settings"), *account_lines(seller)])
        text = shown if seller.accounts else t(language, "payout-settings-none")
        return text, Button(t(language, "button-payout"), action=("getpaid",))
    if seller.destination is None:
        text, label = t(language, "settings-none"), t(language, "button-set-destination")
    else:
        text = t(language, "settings", destination=escaped(seller.destination))
        label = t(language, "button-change-destination")
    return text, Button(label, action=("settings", "destination"))


def settings(seller: Seller) -> Reply:
    """Return the seller's destination, zone and hours, with buttons to change them."""
    language = seller.language
    text, button = _destination(seller)
    rows = [(Button(t(language, "button-profile"), action=("profile",)),), (button,)]
    if name := seller.profile.name:
        text += "\n" + t(language, "settings-profile", name=escaped(name))
    values = {
        "zone": seller.zone and escaped(zones.place_name(seller.zone, language)),
        "quiet": seller.quiet and hours(seller.quiet),
        "summary": None if seller.summary is None else clock(seller.summary),
    }
    for name, value in values.items():
        if value:
            text += "\n" + t(language, f"settings-{name}", value=value)
        rows.append((Button(t(language, f"button-{name}"), action=("settings", name)),))
    return Reply(text, tuple(rows))
