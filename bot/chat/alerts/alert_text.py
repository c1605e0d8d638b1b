"""Payments as messages to their seller: one alert each, or a digest where many came at once.

A digest is one message that tells of several payments. Which ones is decided by `gather` when
the message is claimed, and kept with it, so that a lost answer repeats the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from bot.chat.alerts import quiet_hours
from bot.chat.cards.card_text import possibly_repeated, total_of
from bot.chat.messages.payloads import said
from bot.chat.messages.reply import TEXT_LIMIT, Button, Reply, Rows, escaped, plain, shown_units
from bot.core.money.amounts import format_money
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST = 100
"""Payments in one digest: more is no message that anybody reads."""

# Bounds in UTF-16 units: another server's words may have any length.
_NAME = 200
_LABEL_NAME = 24
_PAYER_VALUE = 200
_PAYER_LABEL = 40
_PAYER_FIELDS = 10
_MOST_BUTTONS = 8
_NAMED = 80

_KNOWN_FIELDS = ("paymail", "email", "phoneNumber")


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment as its seller is told of it; `amount` in minor units of `currency`.

    `payer` as the webhook brought it, values of any kind. `remaining_units` and `reserved_units`
    are those after it, `together` is what the request took with it in all, by currency, from
    `count` payments: none where an earlier version put it. `found`: no webhook told it, it was
    found by looking. `repeated`: it may have been told before. `price` is that of the request
    where another amount came; `named` is what the server named where that can't be counted.
    """

    listing_id: str
    kind: str
    name: str
    amount: int
    currency: str
    payer: Mapping[str, object] = field(default_factory=dict)
    remaining_units: int | None = None
    total_units: int | None = None
    reserved_units: int = 0
    oversold: bool = False
    found: bool = False
    repeated: bool = False
    together: tuple[tuple[int, str], ...] = ()
    count: int = 0
    named: str | None = None
    price: tuple[int, str] | None = None


def body(payment: Payment, language: str, *, silent: bool = False) -> dict[str, Any]:
    """Give the body of a queued message that tells of `payment`; `silent`: without a sound."""
    told = {name: getattr(payment, name) for name in Payment.__slots__}
    return {"payments": [told], "language": language, **({"silent": True} if silent else {})}


def worded(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the call that a queued message is, with its payments in words."""
    payments = told_by(body)
    if payments is None:
        return body
    call = said(alert(payments, body["language"]), body["language"])
    return quiet_hours.silenced(call) if body.get("silent") else call


def told_by(body: Mapping[str, Any]) -> list[Payment] | None:
    """Give the payments that a queued message tells of; None for a message of another kind."""
    payments = body.get("payments")
    return None if payments is None else [_read(payment) for payment in payments]


def _read(payment: Mapping[str, Any]) -> Payment:
    together = tuple((amount, currency) for amount, currency in payment.get("together", ()))
    price = tuple(payment["price"]) if payment.get("price") else None
    return Payment(**{**payment, "together": together, "price": price})


def gather(bodies: Iterable[Mapping[str, Any]]) -> tuple[int, dict[str, Any]] | None:
    """Make one body of as many of these as one message can tell of, from the first on.

    Gives how many that are; None where the first stays alone. It is silent only if all of them are.
    """
    alike = list(takewhile(_may_gather, islice(bodies, MOST)))
    while len(alike) > 1:
        told = {**alike[0], "payments": [payment for one in alike for payment in one["payments"]]}
        if not all(one.get("silent") for one in alike):
            told.pop("silent", None)
        if len(told["payments"]) <= MOST and _fits(told):
            return len(alike), told
        alike = alike[: len(alike) // 2]
    return None


def _fits(body: Mapping[str, Any]) -> bool:
    """Whether one message can tell of all that, and say that it may be a repetition."""
    language = body["language"]
    room = TEXT_LIMIT - shown_units(possibly_repeated("", language))
    return shown_units(alert(told_by(body) or (), language).text) <= room


def _may_gather(body: Mapping[str, Any]) -> bool:
    """Whether others may come with it: what may be a repetition says so of itself alone."""
    payments = body.get("payments", [])
    repeated = any(payment["repeated"] for payment in payments)
    return bool(payments) and not repeated and not body.get("alone")


def apart(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Take a digest that Telegram refuses apart again, so that one payment spoils no other's alert.

    Gives the bodies of alerts that stay alone, none for what tells of one payment or of none.
    """
    payments = body.get("payments", [])
    alone = [{**body, "payments": [payment], "alone": True} for payment in payments]
    return alone if len(alone) > 1 else []


def alert(payments: Sequence[Payment], language: str) -> Reply:
    """Tell the seller of payments: how much, for what, from whom, what is left, and the total."""
    found = groups(payments)
    lines = [t(language, "digest", count=len(payments))] if len(found) > 1 else []
    last = {group[0].listing_id: group for group in found}
    for group in found:
        lines += _group(group, language)
        if last[group[0].listing_id] is group:
            lines += _together(payments, group[0].listing_id, language)
    text = "\n".join(lines)
    if any(payment.repeated for payment in payments):
        text = possibly_repeated(text, language)
    return Reply(text, _rows(found, language))


def groups(payments: Sequence[Payment]) -> list[list[Payment]]:
    """Put together what was paid for one request in one currency, in the order of coming."""
    found: dict[tuple[str, str], list[Payment]] = {}
    for payment in payments:
        found.setdefault((payment.listing_id, payment.currency), []).append(payment)
    return list(found.values())


def _group(group: Sequence[Payment], language: str) -> list[str]:
    """Write the lines of one request's payments."""
    first = group[0]
    name = escaped(first.name, _NAME)
    total = _amount(sum(payment.amount for payment in group), first.currency, language)
    head = t(language, "alert", amount=total, name=name)
    payers = [_payer(payment, language) for payment in group]
    if len(group) == 1:
        lines = [head, *payers[0]]
    else:
        lines = [_counted(head, group, language), *(" · ".join(told) for told in payers if told)]
    return [*lines, *_remarks(group, language)]


def _counted(head: str, group: Sequence[Payment], language: str) -> str:
    amounts = {payment.amount for payment in group}
    if len(amounts) > 1:
        return t(language, "alert-several", head=head, count=len(group))
    each = _amount(group[0].amount, group[0].currency, language)
    return t(language, "alert-several-alike", head=head, count=len(group), each=each)


def _remarks(group: Sequence[Payment], language: str) -> list[str]:
    """Say what is out of the ordinary, and what is left after the last of them."""
    lines = _amounts(group, language)
    if found := sum(payment.found for payment in group):
        lines.append(t(language, "alert-found", found=found, count=len(group)))
    if oversold := [payment for payment in group if payment.oversold]:
        lines.append(t(language, "alert-oversold", oversold=len(oversold), count=len(group)))
    if len(oversold) < len(group) and (left := _left_after(_newest(group), language)):
        lines.append(left)
    return lines


def _amounts(group: Sequence[Payment], language: str) -> list[str]:
    """Return lines on which of a request's payments came with another amount than its price."""
    others = [payment for payment in group if payment.price is not None]
    odd = [payment for payment in group if payment.price is None and payment.named]
    lines = []
    for key, found in (("alert-other-amount", others), ("alert-odd-amount", odd)):
        if found:
            values = {"count": len(group), "other": len(found), **_compared(found[0], language)}
            lines.append(t(language, key, **values))
    return lines


def _compared(payment: Payment, language: str) -> dict[str, str]:
    """Return the amount that the server named, and the price."""
    amount = _amount(payment.amount, payment.currency, language)
    return {
        "named": escaped(payment.named, _NAMED) if payment.named else amount,
        "price": _amount(*payment.price, language) if payment.price else amount,
    }


def _together(payments: Sequence[Payment], listing_id: str, language: str) -> list[str]:
    """Say what a request took in all, with the last of these; nothing after its first payment."""
    of_it = [payment for payment in payments if payment.listing_id == listing_id]
    latest = max(of_it, key=lambda payment: payment.count)
    if latest.count <= 1:
        return []
    return [together(latest.together, latest.count, language)]


def together(amounts: Sequence[tuple[int, str]], count: int, language: str) -> str:
    """Say what `count` payments come to, in minor units by currency."""
    return t(language, "alert-together", total=total_of(amounts, language), count=count)


def _newest(group: Sequence[Payment]) -> Payment:
    """Give the one that knows best what is left: it only gets less, reservations included."""
    known = [payment for payment in group if payment.remaining_units is not None]
    return min(
        known,
        key=lambda payment: (payment.remaining_units or 0) + payment.reserved_units,
        default=group[-1],
    )


def _rows(groups: Sequence[Sequence[Payment]], language: str) -> Rows:
    """Give a button to each request's card, with its name where there are several."""
    listings = {group[0].listing_id: group[0].name for group in groups}
    if len(listings) == 1:
        label = t(language, "button-show-card")
        return tuple((Button(label, action=("card", listing)),) for listing in listings)
    return tuple(
        (Button(plain(name, _LABEL_NAME), action=("card", listing)),)
        for listing, name in list(listings.items())[:_MOST_BUTTONS]
    )


def _amount(amount: int, currency: str, language: str) -> str:
    return escaped(format_money(amount, currency, language))


def _payer(payment: Payment, language: str) -> list[str]:
    """Write what the payer was asked for, known fields first, whatever they hold."""
    known = [name for name in _KNOWN_FIELDS if name in payment.payer]
    others = [name for name in payment.payer if name not in _KNOWN_FIELDS]
    return [
        t(
            language,
            "alert-payer",
            label=t(language, f"payer-{name}") if name in known else escaped(name, _PAYER_LABEL),
            value=escaped(payment.payer[name], _PAYER_VALUE),
        )
        for name in [*known, *others][:_PAYER_FIELDS]
        if payment.payer[name] not in (None, "")
    ]


def _left_after(payment: Payment, language: str) -> str | None:
    if payment.kind == "oneoff":
        return t(language, "alert-closed")
    if payment.remaining_units is None:
        return None
    if payment.remaining_units == payment.reserved_units == 0:
        return t(language, "alert-sold-out")
    left, total, reserved = payment.remaining_units, payment.total_units, payment.reserved_units
    if total is None:
        told = t(language, "alert-left", left=left)
    else:
        told = t(language, "alert-left-of", left=left, total=total)
    return f"{told}\n{t(language, 'card-reserved', reserved=reserved)}" if reserved else told
