"""Payments as messages to their seller: one alert each, or a digest where many came at once.

A digest is one message about several payments. `join_alerts` chooses them when the message is
claimed; they are stored with it, so that a lost answer repeats the same ones.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from bot.chat.alerts.alert_buttons import alert_rows, codes_waiting
from bot.chat.cards.card_text import (
    mark_possibly_repeated,
    number_line,
    refund_line,
    total_text,
)
from bot.chat.cards.payer_words_text import MAX_HIDES, item_text, words_head, words_line
from bot.chat.cards.rail_text import paid_by_lines, refund_hint, surplus_line, way_text
from bot.chat.messages.buttons import markup
from bot.chat.messages.payloads import Alert, TextMessage
from bot.chat.messages.reply import TEXT_LIMIT, Reply, escaped, shown_units
from bot.chat.model.paid_by import TEST_MONEY
from bot.chat.model.payer_words import NO_WORDS
from bot.core.money.amounts import format_money, format_short
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bot.chat.messages.payloads import AlertPayment, MessagePayload

MAX_PAYMENTS = 100
"""Payments in one digest; nobody reads a longer one."""

MAX_NUMBERS = 10
"""Transaction numbers in one digest: they would fill it, and the list of payments has them all."""

# Limits in UTF-16 units: texts of another server may have any length.
_NAME = 200
_PAYER_VALUE = 200
_PAYER_LABEL = 40
_MAX_PAYER_FIELDS = 10
_NAMED_AMOUNT = 80

_LISTED_HINTS = ("claims-accept-hint-listed", "claims-refund-mark-listed")
_KNOWN_FIELDS = ("paymail", "email", "phoneNumber")


def join_alerts(bodies: Iterable[MessagePayload]) -> tuple[int, Alert] | None:
    """Join the first messages that are alerts, as many as one message has room for.

    Return their number and the digest, which is silent if all of them are; None where the first
    message stays alone.
    """
    joined = list(_joinable(islice(bodies, MAX_PAYMENTS)))
    while len(joined) > 1:
        payments = _newest([payment for one in joined for payment in one.payments])
        is_silent = all(one.is_silent for one in joined)
        digest = replace(joined[0], payments=payments, is_silent=is_silent)
        if len(payments) <= MAX_PAYMENTS and _fits(digest):
            return len(joined), digest
        joined = joined[: len(joined) // 2]
    return None


def _newest(payments: Sequence[AlertPayment]) -> tuple[AlertPayment, ...]:
    """Return the payments without underpaid money that a later one completes or raises."""
    newest = {(one.listing_id, one.transaction_id): one for one in payments}
    return tuple(
        one
        for one in payments
        if not (one.underpaid and one.transaction_id)
        or newest[one.listing_id, one.transaction_id] is one
    )


def _fits(digest: Alert) -> bool:
    """Check that one message has room for a digest and the mark of a repetition."""
    room = TEXT_LIMIT - shown_units(mark_possibly_repeated("", digest.language))
    return shown_units(alert_reply(digest.payments, digest.language).text) <= room


def _joinable(bodies: Iterable[MessagePayload]) -> Iterator[Alert]:
    """Yield alerts up to the first message that is sent alone, such as a repetition."""
    for body in bodies:
        if not isinstance(body, Alert) or body.is_single:
            return
        if any(payment.repeated for payment in body.payments):
            return
        yield body


def split_digest(digest: Alert) -> list[Alert]:
    """Split a digest that Telegram refuses, so that one payment holds up no other's alert.

    Return an alert for each payment, or nothing where there is only one.
    """
    single = [replace(digest, payments=(one,), is_single=True) for one in digest.payments]
    return single if len(single) > 1 else []


def alert_message(body: Alert) -> TextMessage:
    """Return an alert as a text message."""
    reply = alert_reply(body.payments, body.language)
    place, keyboard = body.message_id, markup(reply.rows)
    is_silent = body.is_silent and place is None  # an edit makes no sound anyway
    claim_id = body.payments[0].claim_id if len(body.payments) == 1 else None
    return TextMessage(
        reply.text, body.language, keyboard, place, is_silent=is_silent, claim_id=claim_id
    )


def alert_reply(payments: Sequence[AlertPayment], language: str) -> Reply:
    """Render payments for their seller: amount, request, payer, units left, number and total."""
    limited, unsaid = _limit_words(payments)
    numbered, more = _limit_numbers(limited)
    found = group_payments(numbered)
    lines = [t(language, "digest", count=len(payments))] if len(found) > 1 else []
    last = {group[0].listing_id: group for group in found}
    for group in found:
        lines += _group(group, language, is_alone=len(payments) == 1)
        if last[group[0].listing_id] is group:
            lines += _total_lines(payments, group[0].listing_id, language)
    if more:
        lines.append(t(language, "alert-more-numbers", more=more))
    if unsaid:
        lines.append(t(language, "words-more", more=unsaid))
    text = "\n".join(lines)
    if any(payment.repeated for payment in payments):
        text = mark_possibly_repeated(text, language)
    return Reply(text, alert_rows(payments, found, language))


def _limit_words(payments: Iterable[AlertPayment]) -> tuple[list[AlertPayment], int]:
    """Drop the words after the first MAX_HIDES; return how many were dropped.

    A seller can hide words wherever they are shown.
    """
    shown, said = [], 0
    for payment in payments:
        said += bool(payment.words)
        shown.append(payment if said <= MAX_HIDES else replace(payment, words=NO_WORDS))
    return shown, max(0, said - MAX_HIDES)


def _limit_numbers(payments: Iterable[AlertPayment]) -> tuple[list[AlertPayment], int]:
    """Drop the transaction numbers after the first MAX_NUMBERS; return how many were dropped."""
    numbered, known = [], 0
    for payment in payments:
        known += payment.transaction_id is not None
        shown = known <= MAX_NUMBERS
        numbered.append(payment if shown else replace(payment, transaction_id=None))
    return numbered, max(0, known - MAX_NUMBERS)


def group_payments(payments: Sequence[AlertPayment]) -> list[list[AlertPayment]]:
    """Group payments by request, currency and whether they sold, in the order of their arrival."""
    found: dict[tuple[str, str, bool], list[AlertPayment]] = {}
    for payment in payments:
        key = payment.listing_id, payment.currency, payment.underpaid
        found.setdefault(key, []).append(payment)
    return list(found.values())


def _group(group: Sequence[AlertPayment], language: str, *, is_alone: bool) -> list[str]:
    first = group[0]
    pieces = sum(payment.quantity for payment in group)
    name = item_text(first.name, pieces if pieces > len(group) else 1, language, _NAME)
    total = _amount(sum(payment.amount for payment in group), first.currency, language)
    head, words = t(language, "alert", amount=total, name=name), []
    if first.underpaid:
        head, words = _short_head(group, total, name, language), words_line(first.words, language)
    elif first.words and len(group) == 1:
        head = words_head(first.words, total, name, language)
    remarks = _remarks(group, language)
    if len(group) == 1:
        facts = [*words, *_payer(first, language), *_how(first, language)]
        hints = _hints(first, language, is_alone=is_alone)
        return [head, *facts, *remarks, *hints, *_number(first, language)]
    each = (_line(payment, language) for payment in group)
    lines = filter(None, map(" · ".join, each))
    return [_head_of_several(head, group, language), *lines, *remarks]


def _short_head(group: Sequence[AlertPayment], total: str, name: str, language: str) -> str:
    """Return the head of money that was less than asked, for which nothing was sold."""
    price = group[0].price
    if len(group) > 1 or price is None:
        return t(language, "claims-underpaid-several", amount=total, name=name, count=len(group))
    asked = _amount(*price, language)
    return t(language, "claims-underpaid", amount=total, asked=asked, name=name)


def _line(payment: AlertPayment, language: str) -> list[str]:
    """Return what a digest says of one payment: its payer, its pieces, its rail and its number."""
    paid = payment.paid_by
    how = [way_text(paid.kind, language)] if paid and paid.kind != TEST_MONEY else []
    if paid and not payment.underpaid:
        how += surplus_line(paid, (payment.amount, payment.currency), language)
    many = payment.quantity > 1
    pieces = [t(language, "payments-pieces", pieces=payment.quantity)] if many else []
    words, payer = words_line(payment.words, language), _payer(payment, language)
    return [*words, *payer, *pieces, *how, *_number(payment, language)]


def _how(payment: AlertPayment, language: str) -> list[str]:
    """Return how a payment was paid and what it is worth, and how much too much it was."""
    paid = payment.paid_by
    if paid is None:
        return []
    if payment.underpaid:
        return paid_by_lines(paid, None, language)
    price = (payment.amount, payment.currency)
    return [*paid_by_lines(paid, price, language), *surplus_line(paid, price, language)]


def _hints(payment: AlertPayment, language: str, *, is_alone: bool) -> list[str]:
    """Return how money is accepted or paid back that was too little, too late or too much.

    A digest has no buttons for that.
    """
    paid = payment.paid_by
    if paid is None:
        return []
    surplus = 0 if payment.underpaid else paid.surplus(payment.amount, payment.currency)
    if not (payment.underpaid or payment.oversold or surplus > 0):
        return []
    accept, mark = ("claims-accept-hint", "claims-refund-mark") if is_alone else _LISTED_HINTS
    choice = [t(language, accept)] if payment.claim_id else []
    return [*choice, f"{refund_hint(paid, language)} {t(language, mark)}"]


def _number(payment: AlertPayment, language: str) -> list[str]:
    return [*filter(None, [number_line(payment.transaction_id, language)])]


def _head_of_several(head: str, group: Sequence[AlertPayment], language: str) -> str:
    amounts = {payment.amount for payment in group}
    if len(amounts) > 1:
        return t(language, "alert-several", head=head, count=len(group))
    each = _amount(group[0].amount, group[0].currency, language)
    return t(language, "alert-several-alike", head=head, count=len(group), each=each)


def _remarks(group: Sequence[AlertPayment], language: str) -> list[str]:
    """Return remarks on goals and unusual payments, and the units left after the newest one."""
    if group[0].underpaid:
        return []
    lines = [*_goal_lines(group, language), *_amount_remarks(group, language)]
    if found := sum(payment.found for payment in group):
        lines.append(t(language, "alert-found", found=found, count=len(group)))
    if oversold := [payment for payment in group if payment.oversold]:
        lines.append(t(language, "alert-oversold", oversold=len(oversold), count=len(group)))
    if len(oversold) < len(group) and (left := _stock_line(_latest_stock(group), language)):
        lines.append(left)
    if waiting := codes_waiting(group):
        lines.append(t(language, "alert-codes-waiting", waiting=waiting))
    return lines


def _goal_lines(group: Sequence[AlertPayment], language: str) -> list[str]:
    """Return what was raised when payments reached a goal, one line for each goal."""
    reached = [(*payment.reached, payment.currency) for payment in group if payment.reached]
    return [
        t(
            language,
            "alert-goal-reached",
            raised=escaped(format_short(raised, currency, language)),
            goal=escaped(format_short(goal, currency, language)),
        )
        for raised, goal, currency in reached
    ]


def _amount_remarks(group: Sequence[AlertPayment], language: str) -> list[str]:
    """Return remarks on payments whose amount is not the price."""
    others = [payment for payment in group if payment.price is not None]
    odd = [payment for payment in group if payment.price is None and payment.named]
    lines = []
    for key, found in (("alert-other-amount", others), ("alert-odd-amount", odd)):
        if not found:
            continue
        first = found[0]
        named = price = _amount(first.amount, first.currency, language)
        if first.named:
            named = escaped(first.named, _NAMED_AMOUNT)
        if first.price:
            price = _amount(*first.price, language)
        counts = {"count": len(group), "other": len(found)}
        lines.append(t(language, key, named=named, price=price, **counts))
    return lines


def _total_lines(payments: Sequence[AlertPayment], listing_id: str, language: str) -> list[str]:
    """Return the totals of a request including these payments; nothing after its first payment."""
    of_request = [
        payment
        for payment in payments
        if payment.listing_id == listing_id and not payment.underpaid
    ]
    latest = max(of_request, key=lambda payment: payment.count, default=None)
    if latest is None or latest.count <= 1:
        return []
    earned = latest.count - latest.refund_count - latest.settled_count
    lines = [total_line(latest.together, earned, language)] if earned > 0 else []
    refund = refund_line(latest.to_refund, latest.refund_count, language)
    return [*lines, *filter(None, [refund])]


def total_line(amounts: Sequence[tuple[int, str]], count: int, language: str) -> str:
    """Return the total of `count` payments, given in minor units by currency."""
    return t(language, "alert-together", total=total_text(amounts, language), count=count)


def _latest_stock(group: Sequence[AlertPayment]) -> AlertPayment:
    """Return the payment with the fewest units left, reserved ones included: they only decrease."""
    known = [payment for payment in group if payment.remaining_units is not None]
    return min(
        known,
        key=lambda payment: (payment.remaining_units or 0) + payment.reserved_units,
        default=group[-1],
    )


def _amount(amount: int, currency: str, language: str) -> str:
    return escaped(format_money(amount, currency, language))


def _payer(payment: AlertPayment, language: str) -> list[str]:
    """Return the payer's data, known fields first, whatever JSON values they hold."""
    known = [name for name in _KNOWN_FIELDS if name in payment.payer]
    others = [name for name in payment.payer if name not in _KNOWN_FIELDS]
    return [
        t(
            language,
            "alert-payer",
            label=t(language, f"payer-{name}") if name in known else escaped(name, _PAYER_LABEL),
            value=escaped(payment.payer[name], _PAYER_VALUE),
        )
        for name in [*known, *others][:_MAX_PAYER_FIELDS]
        if payment.payer[name] not in (None, "")
    ]


def _stock_line(payment: AlertPayment, language: str) -> str | None:
    if payment.kind == "oneoff":
        return t(language, "alert-closed")
    if payment.remaining_units is None:
        return None
    if payment.remaining_units == payment.reserved_units == 0:
        return t(language, "alert-sold-out")
    left, total, reserved = payment.remaining_units, payment.total_units, payment.reserved_units
    if total is None:
        line = t(language, "alert-left", left=left)
    else:
        line = t(language, "alert-left-of", left=left, total=total)
    return f"{line}\n{t(language, 'card-reserved', reserved=reserved)}" if reserved else line
