"""Texts about the bot itself: greeting, help, settings, privacy and support, and its commands."""

from __future__ import annotations

from bot.chat.forms import questions, seller_texts
from bot.chat.model import drafts, replies, zones
from bot.core.text import translations

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


def menu(language: str) -> replies.Rows:
    """Return the buttons of the main menu: new request, list, help."""
    return (
        (replies.Button(translations.t(language, "button-new"), action=("new",)),),
        (
            replies.Button(translations.t(language, "button-list"), action=("list", "0")),
            replies.Button(translations.t(language, "button-help"), action=("help",)),
        ),
    )


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
    return replies.Reply("\n\n".join(parts), offer.rows if offer else menu(seller.language))


def help_reply(language: str, *, may_choose: bool = True) -> replies.Reply:
    """Explain the commands and the one-line forms, with choices where the service has them."""
    choice = [translations.t(language, "help-choice")] if may_choose else []
    parts = [translations.t(language, "help"), *choice, translations.t(language, "digital-goods")]
    return replies.Reply("\n\n".join(parts), menu(language))


def about_service(command: str, language: str, operator_contact: str | None) -> replies.Reply:
    """Answer /privacy or /paysupport, which name the operator by the contact if there is one."""
    operator = operator_contact or translations.t(language, "operator")
    return replies.Reply(translations.t(language, command, operator=replies.escaped(operator)))


def _destination(seller: drafts.Seller) -> tuple[str, replies.Button]:
    """Return where the money goes, and the button that changes it."""
    language = seller.language
    if seller.paid_at.rails:
        shown = "\n".join(
            [translations.t(language, "payout-settings"), *seller_texts.account_lines(seller)]
        )
        text = shown if seller.accounts else translations.t(language, "payout-settings-none")
        return text, replies.Button(translations.t(language, "button-payout"), action=("getpaid",))
    if seller.destination is None:
        text, label = (
            translations.t(language, "settings-none"),
            translations.t(language, "button-set-destination"),
        )
    else:
        text = translations.t(language, "settings", destination=replies.escaped(seller.destination))
        label = translations.t(language, "button-change-destination")
    return text, replies.Button(label, action=("settings", "destination"))


def settings(seller: drafts.Seller) -> replies.Reply:
    """Return the seller's destination, zone and hours, with buttons to change them."""
    language = seller.language
    text, button = _destination(seller)
    rows = [
        (replies.Button(translations.t(language, "button-profile"), action=("profile",)),),
        (button,),
    ]
    if name := seller.profile.name:
        text += "\n" + translations.t(language, "settings-profile", name=replies.escaped(name))
    values = {
        "zone": seller.zone and replies.escaped(zones.place_name(seller.zone, language)),
        "quiet": seller.quiet and questions.hours(seller.quiet),
        "summary": None if seller.summary is None else questions.clock(seller.summary),
    }
    for name, value in values.items():
        if value:
            text += "\n" + translations.t(language, f"settings-{name}", value=value)
        rows.append(
            (replies.Button(translations.t(language, f"button-{name}"), action=("settings", name)),)
        )
    return replies.Reply(text, tuple(rows))
