"""What is asked at each step: the words and the buttons."""

from __future__ import annotations

import zlib
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.chat.conversation.draft import STEPS, Draft, Seller
from bot.chat.conversation.wish import KINDS
from bot.chat.replies import Button, Reply, Rows, escaped, plain
from bot.core.money import format_money, to_minor
from bot.core.texts import t

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.conversation.reading import Unclear

# Offered where no currency is usual yet: what Telegram's sellers price in, and the two coins.
CURRENCIES = ("USD", "EUR", "GBP", "CHF", "JPY", "INR", "BRL", "BSV", "BTC")
_A_ROW = 3
_LABEL = 32  # UTF-16 units of a person's words on a button


def prompt(draft: Draft, seller: Seller, problem: str | None = None) -> Reply:
    """Ask what the draft's step asks, after saying what was wrong with the last answer."""
    parts = [problem, _progress(draft, seller), _question(draft, seller)]
    return Reply("\n\n".join(filter(None, parts)), _rows(draft, seller))


def ask_which(draft: Draft, seller: Seller, unclear: Unclear) -> Reply:
    """Ask which of its readings an ambiguous amount has; each button carries its own."""
    choices = tuple(
        (_button(draft, _amount_label(choice, unclear.currency, seller), "amount", *words),)
        for choice in unclear.choices
        for words in [(f"{choice:f}", *filter(None, [unclear.currency]))]
    )
    text = t(seller.language, "ask-which-amount")
    parts = [_progress(draft, seller), text]
    return Reply("\n\n".join(filter(None, parts)), (*choices, *_ways_out(draft, seller)))


def resume_prompt(draft: Draft, seller: Seller) -> Reply:
    """Offer to go on with a form that was left, or to start it over."""
    language = seller.language
    name = escaped(draft.name) if draft.name else t(language, "unnamed")
    rows = (
        (_button(draft, t(language, "button-continue"), "continue"),),
        (_button(draft, t(language, "button-restart"), "restart"),),
        (_button(draft, t(language, "button-cancel"), "cancel"),),
    )
    return Reply(t(language, "resume", name=name), rows)


def path(draft: Draft, seller: Seller) -> tuple[str, ...]:
    """Give the steps of this form; the currency is asked within the amount's, if at all."""
    left_out = {
        "currency": True,
        "units": draft.kind != "drop",
        "destination": not draft.asks_destination and seller.destination is not None,
    }
    now = _counted(draft.step)
    return tuple(step for step in STEPS[draft.form] if step == now or not left_out.get(step))


def _counted(step: str) -> str:
    return "amount" if step == "currency" else step


def fingerprint(draft: Draft, seller: Seller) -> str:
    """Mark of exactly what a review shows, so that an old Create can't create something else."""
    shown = (
        *(draft.kind, draft.name, draft.description, draft.amount),
        *(draft.currency, draft.units, seller.destination),
    )
    return f"{zlib.crc32(repr(shown).encode()):08x}"


def _progress(draft: Draft, seller: Seller) -> str | None:
    """Count the steps, where there are several."""
    if draft.form != "new":
        return None
    steps = path(draft, seller)
    place = steps.index(_counted(draft.step)) + 1
    return t(seller.language, "progress", step=place, steps=len(steps))


def _question(draft: Draft, seller: Seller) -> str:
    if draft.step == "review":
        return _review(draft, seller)
    key = f"ask-{draft.step}"
    if draft.step == "amount":
        usual = draft.currency or seller.currency
        key, values = f"{key}-{draft.kind}", {"currency": usual or "USD"}
        hint = "ask-amount-usual" if usual else "ask-amount-hint"
        return f"{t(seller.language, key)}\n{t(seller.language, hint, **values)}"
    if draft.step == "destination" and draft.form == "settings":
        key = "ask-destination-settings"
    return t(seller.language, key)


def _review(draft: Draft, seller: Seller) -> str:
    """Everything at a glance, as it will be created."""
    language, currency = seller.language, draft.currency or ""
    minor = to_minor(draft.amount or Decimal(0), currency)
    lines = [
        t(language, "review"),
        t(language, "review-name", name=escaped(draft.name)),
        t(language, "review-kind", kind=t(language, f"kind-{draft.kind}")),
        t(language, "review-amount", amount=escaped(format_money(minor, currency, language))),
    ]
    if draft.units is not None:
        lines.append(t(language, "review-units", units=draft.units))
    if draft.description:
        lines.append(t(language, "review-description", description=escaped(draft.description)))
    lines.append(t(language, "review-destination", destination=escaped(seller.destination)))
    return "\n".join(lines)


def _rows(draft: Draft, seller: Seller) -> Rows:
    own = _ROWS.get(draft.step, _no_rows)(draft, seller)
    return (*own, *_kept(draft, seller), *_ways_out(draft, seller))


def _no_rows(_draft: Draft, _seller: Seller) -> Rows:
    return ()


def _kind_rows(draft: Draft, seller: Seller) -> Rows:
    return tuple(
        (
            _button(
                draft,
                ("✓ " if kind == draft.kind else "") + t(seller.language, f"button-{kind}"),
                "kind",
                kind,
            ),
        )
        for kind in KINDS
    )


def _description_rows(draft: Draft, seller: Seller) -> Rows:
    return ((_button(draft, t(seller.language, "button-skip"), "skip"),),)


def _currency_rows(draft: Draft, seller: Seller) -> Rows:
    last = filter(None, (draft.currency, seller.currency))
    codes = tuple(dict.fromkeys((*last, *CURRENCIES)))[: len(CURRENCIES)]
    buttons = tuple(_button(draft, code, "currency", code) for code in codes)
    return tuple(buttons[start : start + _A_ROW] for start in range(0, len(buttons), _A_ROW))


def _review_rows(draft: Draft, seller: Seller) -> Rows:
    mark = fingerprint(draft, seller)
    return ((_button(draft, t(seller.language, "button-create"), "create", mark),),)


_ROWS: dict[str, Callable[[Draft, Seller], Rows]] = {
    "kind": _kind_rows,
    "description": _description_rows,
    "currency": _currency_rows,
    "review": _review_rows,
}


def _kept(draft: Draft, seller: Seller) -> Rows:
    """Whoever went back can keep what is there."""
    if draft.form != "new":
        return ()
    value = _value(draft, seller)
    if not value:
        return ()
    label = t(seller.language, "button-keep", value=plain(value, _LABEL))
    return ((_button(draft, label, "keep"),),)


def _value(draft: Draft, seller: Seller) -> str | None:
    """Give the step's answer so far, for people."""
    if draft.step == "amount" and draft.amount is not None:
        return _amount_label(draft.amount, draft.currency, seller)
    if draft.step == "units" and draft.units is not None:
        return t(seller.language, "count", count=draft.units)
    words = {
        "name": draft.name,
        "description": draft.description,
        "destination": seller.destination,
    }
    return words.get(draft.step)


def _amount_label(amount: Decimal, currency: str | None, seller: Seller) -> str:
    if currency is None:
        return f"{amount:f}"  # Fluent would round it
    return format_money(to_minor(amount, currency), currency, seller.language)


def _ways_out(draft: Draft, seller: Seller) -> Rows:
    """Back, where a step lies behind, and Cancel."""
    out = _button(draft, t(seller.language, "button-cancel"), "cancel")
    if draft.form != "new" or draft.step == "kind":
        return ((out,),)
    back = _button(draft, t(seller.language, "button-back"), "back", draft.step)
    return ((back, out),)


def _button(draft: Draft, label: str, *words: str) -> Button:
    return Button(label, action=("draft", draft.id, *words))
