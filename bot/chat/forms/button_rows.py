"""The buttons below each question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.forms.draft import OPTIONS, PATH, Draft
from bot.chat.forms.parsing import check_price
from bot.chat.forms.receivers import sum_of
from bot.chat.forms.summary import fact, fingerprint, price_of, shares_of, short
from bot.chat.messages.problem import Problem
from bot.chat.messages.reply import Button, Rows
from bot.chat.model.kinds import KINDS
from bot.chat.model.price import Price
from bot.chat.model.stored_json import ASKS
from bot.chat.times import moments, zones
from bot.core.money.amounts import currencies, format_money, from_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bot.chat.model.seller import Seller

# Offered where no currency is usual yet: what Telegram's sellers price in, and the two coins.
CURRENCIES = ("USD", "EUR", "GBP", "CHF", "JPY", "INR", "BRL", "BSV", "BTC")
INSTRUMENTS = ("BSV", "MNEE", "BTC", "SAT", "USD", "EUR")
"""Offered to be paid in where the price is in another: coins first, for they are paid with."""

QUIET = ((22 * 60, 7 * 60), (20 * 60, 9 * 60))
SUMMARY = (8 * 60, 20 * 60)
"""Hours offered, in minutes of the day."""

CLEARABLE = frozenset({*OPTIONS, "end", "postertext"})
_HOUR = 60
_TICK = "✓ "


def rows(draft: Draft, seller: Seller) -> Rows:
    """Give the buttons of the draft's step: its answers, and the ways out."""
    own = _ROWS.get(draft.step, _no_rows)(draft, seller)
    return (*own, *_kept(draft, seller), *_cleared(draft, seller), *ways_out(draft, seller))


def button(draft: Draft, label: str, *words: str) -> Button:
    """Give a button of this form."""
    return Button(label, action=("draft", draft.id, *words))


def ways_out(draft: Draft, seller: Seller) -> Rows:
    """Give Back, where something lies behind, and Cancel."""
    out = button(draft, t(seller.language, "button-cancel"), "cancel")
    if draft.form == "line" or (draft.step == "kind" and not draft.in_menu):
        return ((out,),)
    return ((button(draft, t(seller.language, "button-back"), "back", draft.step), out),)


def zone_rows(draft: Draft, seller: Seller, names: Iterable[str]) -> Rows:
    """Offer time zones by their places."""
    places = [button(draft, zones.place(name, seller.language), "zone", name) for name in names]
    return in_rows(places, 2)


def moment_rows(draft: Draft, seller: Seller, times: Iterable[int]) -> Rows:
    """Offer the times that one may have meant (epoch ms)."""
    zone = seller.zone or zones.UNIVERSAL
    return tuple(
        (
            button(
                draft, moments.button_label(at, zone, seller.language),
                "moment", draft.step, str(at),
            ),
        )
        for at in times
    )  # fmt: skip


def in_rows(buttons: Iterable[Button], width: int) -> Rows:
    """Put so many buttons side by side."""
    each = tuple(buttons)
    return tuple(each[start : start + width] for start in range(0, len(each), width))


def clock(minute: int) -> str:
    """Write a minute of the day: `22:00`."""
    return f"{minute // _HOUR:02}:{minute % _HOUR:02}"


def hours(quiet: tuple[int, int]) -> str:
    """Write from when until when: 22:00 to 07:00, with a dash."""
    return f"{clock(quiet[0])}–{clock(quiet[1])}"  # noqa: RUF001 - as hours are written


def _no_rows(_draft: Draft, _seller: Seller) -> Rows:
    return ()


def _kind_rows(draft: Draft, seller: Seller) -> Rows:
    buttons = (
        button(
            draft,
            _TICK * (kind == draft.kind) + t(seller.language, f"button-{kind}"),
            "kind",
            kind,
        )
        for kind in KINDS
    )
    return in_rows(buttons, 1)


def _amount_rows(draft: Draft, seller: Seller) -> Rows:
    """Offer the seller's last prices."""
    buttons = (
        button(draft, format_money(minor, code, seller.language), "amount", number, code)
        for minor, code in seller.prices
        if code in currencies()
        for number in [price_of(minor, code)]
    )
    return in_rows(buttons, 2)


def _currency_rows(draft: Draft, seller: Seller) -> Rows:
    last = filter(None, (draft.currency, seller.currency))
    codes = tuple(dict.fromkeys((*last, *CURRENCIES)))[: len(CURRENCIES)]
    return in_rows((button(draft, code, "currency", code) for code in codes), 3)


def _instrument_rows(draft: Draft, _seller: Seller) -> Rows:
    codes = dict.fromkeys((*filter(None, [draft.instrument]), *INSTRUMENTS))
    buttons = (
        button(draft, _TICK * (code == draft.instrument) + code, "instrument", code)
        for code in codes
        if code != draft.currency
    )
    return in_rows(buttons, 3)


def _receivers_rows(draft: Draft, seller: Seller) -> Rows:
    """Where amounts don't make the price, offer to make the price what they come to."""
    currency = draft.currency or ""
    total = sum_of(draft.receivers, currency)
    if total is None or not isinstance(shares_of(draft), Problem):
        return ()
    if not isinstance(check_price(from_minor(total, currency), currency), Price):
        return ()
    shown = format_money(total, currency, seller.language)
    label = t(seller.language, "button-make-price", amount=shown)
    return ((button(draft, label, "amount", price_of(total, currency), currency),),)


def _asks_rows(draft: Draft, seller: Seller) -> Rows:
    """Each toggles: a second tap on an old one changes nothing, since it says to what."""
    toggles = in_rows(
        (
            button(
                draft,
                _TICK * (asked in draft.asks) + t(seller.language, f"payer-{asked}"),
                "ask",
                asked,
                "off" if asked in draft.asks else "on",
            )
            for asked in ASKS
        ),
        1,
    )
    return (*toggles, (button(draft, t(seller.language, "button-done"), "options"),))


def _zone_rows(draft: Draft, seller: Seller) -> Rows:
    return zone_rows(draft, seller, zones.suggested(seller.language))


def _quiet_rows(draft: Draft, seller: Seller) -> Rows:
    offers = (button(draft, hours(each), "hours", f"{each[0]}-{each[1]}") for each in QUIET)
    return (*in_rows(offers, 2), *_off(draft, seller, seller.quiet))


def _summary_rows(draft: Draft, seller: Seller) -> Rows:
    offers = (button(draft, clock(minute), "minute", str(minute)) for minute in SUMMARY)
    return (*in_rows(offers, 2), *_off(draft, seller, seller.summary))


def _off(draft: Draft, seller: Seller, value: object) -> Rows:
    if value is None:
        return ()
    return ((button(draft, t(seller.language, "button-off"), "off", draft.step),),)


def _review_rows(draft: Draft, seller: Seller) -> Rows:
    create = button(
        draft, t(seller.language, "button-create"), "create", fingerprint(draft, seller)
    )
    return ((create,), (button(draft, t(seller.language, "button-options"), "options"),))


def _options_rows(draft: Draft, seller: Seller) -> Rows:
    """What is set with its value, a row each; the rest side by side; then on to the review."""
    steps = ("name", "amount", *(("units",) if draft.kind == "drop" else ()), *OPTIONS)
    labels = {step: t(seller.language, f"option-{step}") for step in steps}
    values = {
        step: str(draft.units or "") if step == "units" else short(draft, seller, step)
        for step in steps
    }
    already = [
        (
            button(
                draft,
                _TICK + t(seller.language, "option-set", option=labels[step], value=value),
                "open",
                step,
            ),
        )
        for step, value in values.items()
        if value
    ]
    fresh = (button(draft, labels[step], "open", step) for step in steps if not values[step])
    done = button(draft, t(seller.language, "button-done"), "done")
    return (*already, *in_rows(fresh, 2), (done,))


_ROWS: dict[str, Callable[[Draft, Seller], Rows]] = {
    "kind": _kind_rows,
    "amount": _amount_rows,
    "currency": _currency_rows,
    "instrument": _instrument_rows,
    "receivers": _receivers_rows,
    "asks": _asks_rows,
    "zone": _zone_rows,
    "quiet": _quiet_rows,
    "summary": _summary_rows,
    "review": _review_rows,
    "options": _options_rows,
}


def _kept(draft: Draft, seller: Seller) -> Rows:
    """Whoever went back can keep what is there."""
    if draft.form != "new" or draft.step not in PATH:
        return ()
    value = short(draft, seller, draft.step)
    if not value or (draft.step == "destination" and not seller.destination):
        return ()
    return ((button(draft, t(seller.language, "button-keep", value=value), "keep"),),)


def _cleared(draft: Draft, seller: Seller) -> Rows:
    """What need not be said can be left out, or taken out again."""
    if draft.step not in CLEARABLE:
        return ()
    is_set = fact(draft, seller, "ends" if draft.step == "end" else draft.step) is not None
    if draft.form == "edit" and not is_set:
        return ()
    label = t(seller.language, "button-remove" if is_set else "button-skip")
    return ((button(draft, label, "clear", draft.step),),)
