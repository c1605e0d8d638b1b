"""Values of the order in the pay form: amount, quantity, name and message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.core.money import amounts
from bot.interface import fields, parts
from bot.service.pages import page_texts, payer_form
from bot.service.requests.request import PaymentRequest, Terms

WORDS = {"name": fields.MAX_PAYER_NAME, "message": fields.MAX_PAYER_MESSAGE}
"""The fields of the payer's words, with their limits in characters."""


def order_values(
    locale: page_texts.Locale,
    request: PaymentRequest,
    order: payer_form.PayerOrder | None,
    typed: Mapping[str, str],
) -> dict[str, Any]:
    """Return the values of the order's fields; `order` has the payer's input, if any."""
    terms = request.terms
    most = most_units(request)
    choice = terms.choice and _choice(locale, terms, terms.choice, order)
    was_chosen = bool(order and order.quantity != 1 and terms.max_quantity)
    has_quantity = most > 1 or was_chosen
    return {
        "choice": choice,
        "quantity": _quantity(locale, terms, most, order) if has_quantity else None,
        "words": [
            {
                "name": name,
                "value": typed.get(name, ""),
                "hint": locale.t("page-up-to", limit=limit),
                "most": limit,
            }
            for name, limit in WORDS.items()
        ],
        "sums": _sums(locale, terms) if choice or has_quantity else None,
    }


def most_units(request: PaymentRequest) -> int:
    """Return how many units a checkout may take now."""
    most = request.terms.max_quantity or 1
    return min(most, request.units.remaining) if request.units else most


def has_open_sum(request: PaymentRequest) -> bool:
    """True if the payer chooses the amount or the quantity."""
    return request.terms.choice is not None or most_units(request) > 1


def order_problems(
    locale: page_texts.Locale, request: PaymentRequest, order: payer_form.PayerOrder | None
) -> dict[str, str]:
    """Return the problems of an order, by the ids of its fields."""
    if order is None:
        return {}
    found: dict[str, str] = {}
    if order.chosen.problem:
        found["amount"] = _amount_problem(locale, request.terms, order)
    if order.quantity is None:
        found["quantity"] = locale.t("page-quantity-wrong", most=max(most_units(request), 1))
    return found | {
        name: locale.t("page-too-long", count=count, limit=WORDS[name])
        for name, count in order.too_long.items()
    }


def _amount_problem(locale: page_texts.Locale, terms: Terms, order: payer_form.PayerOrder) -> str:
    choice, currency = terms.choice, terms.currency
    low = choice.minimum if choice else terms.amount
    high = choice.maximum if choice else None
    readings = order.chosen.readings
    return locale.t(
        f"page-amount-{order.chosen.problem}",
        price=page_texts.money_text(terms.amount, currency, locale.tag),
        minimum=page_texts.money_text(low, currency, locale.tag),
        maximum="none" if high is None else page_texts.money_text(high, currency, locale.tag),
        currency=amounts.unit(currency),
        decimals=amounts.exponent(currency),
        readings=len(readings),
        reading=page_texts.money_text(readings[0], currency, locale.tag) if readings else "",
    )


def _choice(
    locale: page_texts.Locale,
    terms: Terms,
    choice: parts.AmountChoice[int],
    order: payer_form.PayerOrder | None,
) -> dict[str, Any]:
    offered = dict.fromkeys((*(order.chosen.readings if order else ()), *choice.suggested))
    values = {payer_form.write_amount(amount, terms.currency): amount for amount in offered}
    button, text = _posted(order, values, terms)
    before, after = page_texts.affixes(terms.currency, locale.tag)
    return {
        "buttons": [
            {
                "value": value,
                "text": page_texts.short_text(amount, terms.currency, locale.tag),
                "checked": value == button,
            }
            for value, amount in values.items()
        ],
        "other": {"value": payer_form.OTHER, "checked": button == payer_form.OTHER},
        "text": text,
        "before": before.strip(),
        "after": after.strip(),
        "hint": _bounds(locale, terms, choice),
    }


def _posted(
    order: payer_form.PayerOrder | None, values: dict[str, int], terms: Terms
) -> tuple[str | None, str]:
    """Return the selected button and the text; on a new page the first suggestion is selected."""
    if order is None:
        return next(iter(values), payer_form.OTHER), ""
    given = [value.strip() for value in order.amounts]
    if order.chosen.problem is payer_form.AmountProblem.BOTH:
        return None, ""  # both amounts are buttons now
    text = next(
        (value for value in reversed(given) if value not in {payer_form.OTHER, *values}), ""
    )
    if order.chosen.problem is payer_form.AmountProblem.AMBIGUOUS:
        return None, text
    button = next((value for value in given if value in {payer_form.OTHER, *values}), None)
    if button is None and not order.chosen.problem:
        same = payer_form.write_amount(order.chosen.amount or terms.amount, terms.currency)
        return (same, "") if same in values else (payer_form.OTHER, text)
    return button or payer_form.OTHER, text


def _bounds(locale: page_texts.Locale, terms: Terms, choice: parts.AmountChoice[int]) -> str:
    minimum = page_texts.short_text(choice.minimum, terms.currency, locale.tag)
    if choice.maximum is None:
        return locale.t("page-amount-from", minimum=minimum)
    maximum = page_texts.short_text(choice.maximum, terms.currency, locale.tag)
    return locale.t("range", first=minimum, last=maximum)


def _quantity(
    locale: page_texts.Locale, terms: Terms, most: int, order: payer_form.PayerOrder | None
) -> dict[str, Any]:
    """Return the quantities on offer; the payer's quantity is limited to the available units."""
    wanted = (order and order.quantity) or 1
    each = page_texts.money_text(terms.amount, terms.currency, locale.tag)
    key = "page-quantity-chosen" if terms.choice else "page-quantity-each"
    return {
        "options": range(1, max(most, 1) + 1),
        "chosen": max(1, min(wanted, most)),
        "hint": locale.t(key, amount=each),
    }


def _sums(locale: page_texts.Locale, terms: Terms) -> dict[str, Any]:
    """Return the values that pay.js needs to write sums: the price and the money format."""
    before, after = page_texts.affixes(terms.currency, locale.tag)
    return {
        "price": payer_form.write_amount(terms.amount, terms.currency),
        "least": terms.choice and payer_form.write_amount(terms.choice.minimum, terms.currency),
        "most": terms.choice
        and terms.choice.maximum
        and payer_form.write_amount(terms.choice.maximum, terms.currency),
        "before": before,
        "after": after,
        "decimals": amounts.exponent(terms.currency),
        "shown": amounts.shown_decimals(terms.currency),
        "tag": locale.tag,
    }
