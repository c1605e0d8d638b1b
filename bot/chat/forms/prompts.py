"""What is asked at each step: the words, above its buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.forms.button_rows import button, moment_rows, rows, ways_out, zone_rows
from bot.chat.forms.draft import OPTIONS, PATH, Draft
from bot.chat.forms.summary import ORDER, fact, shares_of, shown_amount
from bot.chat.messages.problem import Problem
from bot.chat.messages.reply import Reply, Rows, escaped
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bot.chat.forms.parsing import Unclear
    from bot.chat.model.seller import Seller


def prompt(draft: Draft, seller: Seller, note: str | None = None) -> Reply:
    """Ask what the draft's step asks, after a word on the last answer: understood, or wrong."""
    parts = [note, _progress(draft, seller), _question(draft, seller)]
    return Reply("\n\n".join(filter(None, parts)), rows(draft, seller))


def ask_which(draft: Draft, seller: Seller, unclear: Unclear) -> Reply:
    """Ask which of its readings an ambiguous amount has; each button carries its own."""
    choices = tuple(
        (button(draft, label, "amount", *words),)
        for choice in unclear.choices
        for label in [shown_amount(choice, unclear.currency, seller) or ""]
        for words in [(f"{choice:f}", *filter(None, [unclear.currency]))]
    )
    return _which(draft, seller, "ask-which-amount", choices)


def ask_moment(draft: Draft, seller: Seller, times: Iterable[int]) -> Reply:
    """Ask which of several times is meant (epoch ms)."""
    return _which(draft, seller, "ask-which-moment", moment_rows(draft, seller, times))


def ask_zone(draft: Draft, seller: Seller, names: Iterable[str]) -> Reply:
    """Ask which of several time zones is meant."""
    return _which(draft, seller, "ask-which-zone", zone_rows(draft, seller, names))


def _which(draft: Draft, seller: Seller, key: str, choices: Rows) -> Reply:
    parts = [_progress(draft, seller), t(seller.language, key)]
    return Reply("\n\n".join(filter(None, parts)), (*choices, *ways_out(draft, seller)))


def resume_prompt(draft: Draft, seller: Seller) -> Reply:
    """Offer to go on with a form that was left, or to start it over."""
    language = seller.language
    continued = (button(draft, t(language, "button-continue"), "continue"),)
    out = (button(draft, t(language, "button-cancel"), "cancel"),)
    if draft.form != "new":
        return Reply(t(language, "resume-short"), (continued, out))
    name = escaped(draft.name) if draft.name else t(language, "unnamed")
    restart = (button(draft, t(language, "button-restart"), "restart"),)
    return Reply(t(language, "resume", name=name), (continued, restart, out))


def path(draft: Draft, seller: Seller) -> tuple[str, ...]:
    """Give the steps everybody goes; the currency is asked within the amount's, if at all."""
    left_out = {
        "currency": True,
        "units": draft.kind != "drop",
        "destination": not draft.asks_destination and seller.destination is not None,
    }
    now = _counted(draft.step)
    return tuple(step for step in PATH if step == now or not left_out.get(step))


def _counted(step: str) -> str:
    return "amount" if step == "currency" else step


def _progress(draft: Draft, seller: Seller) -> str | None:
    """Count the steps of the path; what is looked at from the menu is none of them.

    How many there are is known once the kind is.
    """
    if draft.kind is None or draft.form != "new" or draft.in_menu or draft.step not in PATH:
        return None
    steps = path(draft, seller)
    place = steps.index(_counted(draft.step)) + 1
    return t(seller.language, "progress", step=place, steps=len(steps))


def _question(draft: Draft, seller: Seller) -> str:
    if draft.step == "review":
        return _review(draft, seller)
    if draft.step == "amount":
        return _ask_amount(draft, seller)
    if draft.step == "receivers":
        return _ask_receivers(draft, seller)
    lines = [t(seller.language, _key(draft), **_values(draft))]
    if draft.form == "edit" and draft.step == "units":
        lines.append(t(seller.language, "left", left=draft.units) if draft.units else "")
    elif draft.form == "edit" or draft.step in OPTIONS:
        lines.append(fact(draft, seller, "ends" if draft.step == "end" else draft.step) or "")
    return "\n\n".join(filter(None, lines))


def _key(draft: Draft) -> str:
    """Name the question; some are other ones where a request stands already."""
    if draft.form == "settings" and draft.step == "destination":
        return "ask-destination-settings"
    if draft.form == "edit" and draft.step == "units":
        return "ask-units-out"
    return f"ask-{draft.step}"


def _values(draft: Draft) -> dict[str, object]:
    return {"currency": draft.currency or ""} if draft.step == "instrument" else {}


def _ask_amount(draft: Draft, seller: Seller) -> str:
    usual = draft.currency or seller.currency
    hint = "ask-amount-usual" if usual else "ask-amount-hint"
    values = {"currency": usual} if usual else {}
    question = t(seller.language, f"ask-amount-{draft.kind}")
    return f"{question}\n{t(seller.language, hint, **values)}"


def _ask_receivers(draft: Draft, seller: Seller) -> str:
    """Ask for them, after what keeps those that were named from making the price."""
    language, shares = seller.language, shares_of(draft)
    price = escaped(shown_amount(draft.amount, draft.currency, seller) or "")
    parts = [t(language, "ask-receivers", price=price), fact(draft, seller, "receivers")]
    if isinstance(shares, Problem):
        parts.insert(0, shares.text(language))
    return "\n\n".join(filter(None, parts))


def _review(draft: Draft, seller: Seller) -> str:
    """Everything at a glance, as it will be created."""
    facts = (fact(draft, seller, step) for step in ORDER)
    return "\n".join([t(seller.language, "review"), *filter(None, facts)])
