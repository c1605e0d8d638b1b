"""Buttons with answers below the question of a field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.fields.choice_text import usual_choice
from bot.chat.fields.receiver_shares import shares_of, total_of_amounts
from bot.chat.fields.typed_text import Price, check_price
from bot.chat.fields.wording import CHOICE_OFFERED, price_brief, shown_amount
from bot.chat.messages.reply import Button, Problem, Rows
from bot.chat.model.goods import CODES
from bot.chat.model.payout import BANK
from bot.chat.model.wish import KINDS, PAYER_FIELDS
from bot.core.money.amounts import currencies, format_money, from_minor
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from bot.chat.model.draft import Draft, Seller

CURRENCIES = ("USD", "EUR", "GBP", "CHF", "JPY", "INR", "BRL", "BSV", "BTC")
"""Offered to a seller without a usual currency: those of most Telegram sellers, and two coins."""

INSTRUMENTS = ("BSV", "MNEE", "BTC", "SAT", "USD", "EUR")
"""Offered to be paid in where the price is in another: coins first, since they are paid with."""

TICK = "✓ "


def button(draft: Draft, label: str, *words: str) -> Button:
    """Build a button of this form."""
    return Button(label, action=("draft", draft.id, *words))


def in_rows(buttons: Iterable[Button], width: int) -> Rows:
    """Put `width` buttons side by side in each row."""
    each = tuple(buttons)
    return tuple(each[start : start + width] for start in range(0, len(each), width))


def kinds(draft: Draft, seller: Seller) -> Rows:
    """Offer the kinds of requests, the present one ticked."""
    labels = (
        (TICK * (kind == draft.kind) + t(seller.language, f"button-{kind}"), kind) for kind in KINDS
    )
    return tuple((button(draft, label, "kind", kind),) for label, kind in labels)


def amounts(draft: Draft, seller: Seller) -> Rows:
    """Offer that payers choose, where that is the default, then the seller's last prices."""
    prices = [price for price in seller.prices if price[1] in currencies()]
    last = in_rows((_price_button(draft, *price, seller) for price in prices), 2)
    return (*_payers_choose(draft, seller), *last)


def _payers_choose(draft: Draft, seller: Seller) -> Rows:
    """Offer the usual suggestions; where no currency is usual, it is asked for first."""
    if draft.kind not in CHOICE_OFFERED or not seller.paid_at.is_embedded:
        return ()
    language, code = seller.language, draft.currency or seller.currency
    if code is None:
        return ((button(draft, t(language, "button-choose"), "choose"),),)
    choice = usual_choice(code)
    amounts = price_brief(Price(choice.first, code, choice), seller)
    label = t(language, "button-choose-amounts", amounts=amounts)
    return ((button(draft, label, "choose", code),),)


def goals(draft: Draft, seller: Seller, readings: Iterable[Decimal]) -> Rows:
    """Offer the readings of an ambiguous goal."""
    currency = draft.currency or ""
    return tuple(
        (button(draft, shown_amount(each, currency, seller), "goal", f"{each:f}", currency),)
        for each in readings
    )


def price_currencies(draft: Draft, seller: Seller) -> Rows:
    """Offer currencies of the price: the last used ones first, then those of payout accounts."""
    last = filter(None, (draft.currency, seller.currency))
    paid = (code for one in seller.accounts if one.kind == BANK for code in one.currencies)
    codes = tuple(dict.fromkeys((*last, *paid, *CURRENCIES)))[: len(CURRENCIES)]
    return in_rows((button(draft, code, "currency", code) for code in codes), 3)


def instruments(draft: Draft, _seller: Seller) -> Rows:
    """Offer currencies to be paid in, other than the price's; the present one ticked."""
    codes = dict.fromkeys((*filter(None, [draft.instrument]), *INSTRUMENTS))
    buttons = (
        button(draft, TICK * (code == draft.instrument) + code, "instrument", code)
        for code in codes
        if code != draft.currency
    )
    return in_rows(buttons, 3)


def price_of_receivers(draft: Draft, seller: Seller) -> Rows:
    """Offer the sum of the receivers' amounts as the price, where they don't make the price."""
    currency = draft.currency or ""
    total = total_of_amounts(draft.receivers, currency)
    if total is None or not isinstance(shares_of(draft), Problem):
        return ()
    if not isinstance(check_price(from_minor(total, currency), currency), Price):
        return ()
    return ((_price_button(draft, total, currency, seller, "button-make-price"),),)


def _price_button(draft: Draft, minor: int, currency: str, seller: Seller, key: str = "") -> Button:
    shown = format_money(minor, currency, seller.language)
    label = t(seller.language, key, amount=shown) if key else shown
    return button(draft, label, "amount", f"{from_minor(minor, currency):f}", currency)


def payout_kinds(draft: Draft, seller: Seller) -> Rows:
    """Offer the kinds of payout accounts, and to connect one later; nothing without real money."""
    language, rails = seller.language, seller.paid_at.rails
    if not rails:
        return ()
    kinds = [
        Button(t(language, f"button-payout-{kind}"), action=("getpaid", kind)) for kind in rails
    ]
    return (*in_rows(kinds, 1), (button(draft, t(language, "button-payout-later"), "later"),))


def goods_readings(draft: Draft, seller: Seller) -> Rows:
    """Offer the readings of the last message, or to send another one."""
    if not draft.readings:
        return ()
    words = [*("codes" if one.kind == CODES else "one" for one in draft.readings), "again"]
    labels = [*(one.kind for one in draft.readings), "again"]
    return tuple(
        (button(draft, t(seller.language, f"button-goods-{label}"), "goods", word),)
        for word, label in zip(words, labels, strict=True)
    )


def file_answers(draft: Draft, seller: Seller) -> Rows:
    """Offer to give a file to buyers, or not; a picture may be meant as the photo instead."""
    no = "photo" if draft.file is not None and draft.file.is_picture else "no"
    return tuple(
        (button(draft, t(seller.language, f"button-file-{word}"), "file", word),)
        for word in ("yes", no)
    )


def payer_fields(draft: Draft, seller: Seller) -> Rows:
    """Offer what payers can be asked for; each button carries the state that it leads to."""
    rows = []
    for asked in PAYER_FIELDS:
        is_asked, label = asked in draft.payer_fields, t(seller.language, f"payer-{asked}")
        to = "off" if is_asked else "on"
        rows.append((button(draft, TICK * is_asked + label, "ask", asked, to),))
    return (*rows, (button(draft, t(seller.language, "button-done"), "options"),))
