"""What the bot says of itself: greeting, help, settings, privacy, and its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.forms.button_rows import clock, hours
from bot.chat.messages.reply import Button, Reply, Rows, escaped
from bot.chat.times import zones
from bot.core.text.translations import t

if TYPE_CHECKING:
    from bot.chat.model.seller import Seller

# In the order in which Telegram's menu shows them.
COMMANDS = (
    *("new", "list", "donation", "oneoff", "drop", "alerts", "settings"),
    *("help", "cancel", "privacy", "paysupport", "start"),
)


def commands(language: str) -> list[tuple[str, str]]:
    """Give the commands with what they do, for setMyCommands."""
    return [(name, t(language, f"command-{name}")) for name in COMMANDS]


def description(language: str) -> str:
    """Say what an empty chat shows, up to 512 characters."""
    return t(language, "bot-description")


def short_description(language: str) -> str:
    """Say what the bot's profile shows, up to 120 characters."""
    return t(language, "bot-short-description")


def menu(language: str) -> Rows:
    """Give the three buttons that one always finds the way with."""
    return (
        (Button(t(language, "button-new"), action=("new",)),),
        (
            Button(t(language, "button-list"), action=("list", "0")),
            Button(t(language, "button-help"), action=("help",)),
        ),
    )


def start_reply(seller: Seller, *, new: bool, left: Reply | None = None) -> Reply:
    """Greet; a `new` seller hears of Telegram's rule for digital goods, once.

    `left` offers to go on with a form that was begun.
    """
    parts = [t(seller.language, "start")]
    if new:
        parts.append(t(seller.language, "digital-goods"))
    if left is not None:
        parts.append(left.text)
    return Reply("\n\n".join(parts), left.rows if left else menu(seller.language))


def help_reply(language: str) -> Reply:
    """Explain the commands and the one-line forms."""
    parts = [t(language, "help"), t(language, "digital-goods")]
    return Reply("\n\n".join(parts), menu(language))


def privacy_reply(language: str) -> Reply:
    """Say what is stored, why, how long, and how to have it deleted."""
    return Reply(t(language, "privacy"))


def paysupport_reply(language: str) -> Reply:
    """Say who helps with a payment."""
    return Reply(t(language, "paysupport"))


def settings(seller: Seller) -> Reply:
    """Show where money is sent and when the seller hears of it, with buttons to change that."""
    language = seller.language
    if seller.destination is None:
        text, label = t(language, "settings-none"), t(language, "button-set-destination")
    else:
        text = t(language, "settings", destination=escaped(seller.destination))
        label = t(language, "button-change-destination")
    rows = [(Button(label, action=("settings", "destination")),)]
    for name, value in _hours(seller).items():
        if value:
            text += "\n" + t(language, f"settings-{name}", value=value)
        rows.append((Button(t(language, f"button-{name}"), action=("settings", name)),))
    return Reply(text, tuple(rows))


def _hours(seller: Seller) -> dict[str, str | None]:
    """Say the seller's zone and hours, as far as they are set."""
    quiet, minute = seller.quiet, seller.summary
    return {
        "zone": seller.zone and escaped(zones.place_name(seller.zone, seller.language)),
        "quiet": quiet and hours(quiet),
        "summary": None if minute is None else clock(minute),
    }
