"""Messages to sellers about payments: an alert for each, or a digest if many come at once.

A digest is one message about several payments. `join_alerts` selects them when the message is
claimed, and they are stored with it, so that a retry sends the same payments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from bot.chat.cards import card_text, claim_cards, payment_lines, request_card
from bot.chat.model import payloads, replies
from bot.chat.model.payment import TEST_MONEY, PaymentKey
from bot.core.text import translations
from bot.interface import parts

_BUTTON_NAME = 24  # UTF-16 units
_MAX_BUTTONS = 8


def _rows(
    payments: Sequence[payloads.AlertPayment],
    groups: Sequence[Sequence[payloads.AlertPayment]],
    language: str,
) -> replies.Rows:
    """Return the buttons of an alert; `groups` are its payments by request.

    A single payment can be accepted if it is underpaid, marked as sent if there is something to
    send, and shown with its details, which have "Paid back" and the button that shows hidden words
    again.
    """
    rows: list[tuple[replies.Button, ...]] = []
    (payment, *others) = payments
    if not others and payment.claim_id is not None:
        rows += claim_cards.accept_rows(payment.claim_id, language)
    waiting = [group[0].link_id for group in groups if codes_waiting(group)]
    rows += [(request_card.send_codes_button(link, language),) for link in waiting[:1]]
    if not others and (key := alert_key(payment)):
        sent = replies.text_button(language, "button-sent", "sent", *key.words, "a")
        facts = replies.text_button(language, "button-payment", "payment", *key.words)
        rows.append((sent, facts) if payment.is_sent_by_hand else (facts,))
    said = [(one.words, key) for one in payments if (key := alert_key(one))]
    rows += payment_lines.hide_rows(said, language, payment_lines.ON_DIGEST if others else "")
    labels = {group[0].link_id: replies.plain(group[0].name, _BUTTON_NAME) for group in groups}
    if len(labels) == 1:
        labels = dict.fromkeys(labels, translations.t(language, "button-show-card"))
    rows += [
        (replies.Button(label, action=("card", link)),)
        for link, label in islice(labels.items(), _MAX_BUTTONS)
    ]
    return tuple(rows)


def alert_key(payment: payloads.AlertPayment) -> PaymentKey | None:
    """Return the key of a payment for buttons, or None if it has no transaction id or time."""
    if payment.at is None or payment.transaction_id is None:
        return None
    return PaymentKey.of(payment.link_id, payment.at, payment.transaction_id)


def codes_waiting(group: Iterable[payloads.AlertPayment]) -> int:
    """Return the number of units that waited for a code at the newest payment."""
    return max(group, key=lambda payment: payment.count).codes_waiting


MAX_PAYMENTS = 100
"""Maximum payments in one digest; nobody reads a longer one."""

MAX_NUMBERS = 10
"""Maximum transaction numbers in one digest; the list of payments has all of them."""

# Limits in UTF-16 units: texts from other servers may have any length.
_NAME = 200
_NAMED_AMOUNT = 80

_LISTED_HINTS = ("claims-accept-hint-listed", "claims-refund-mark-listed")


def join_alerts(bodies: Iterable[payloads.MessagePayload]) -> tuple[int, payloads.Alert] | None:
    """Merge the first alerts into a digest, as many as fit into one message.

    Return their number and the digest, which is silent if all of them are. Return None if the first
    message is sent alone.
    """
    joined = []
    for body in islice(bodies, MAX_PAYMENTS):
        # a message that is sent alone, such as a repetition, ends the digest
        if not isinstance(body, payloads.Alert) or body.is_single:
            break
        if any(payment.repeated for payment in body.payments):
            break
        joined.append(body)
    while len(joined) > 1:
        payments = _newest([payment for one in joined for payment in one.payments])
        is_silent = all(one.is_silent for one in joined)
        digest = replace(joined[0], payments=payments, is_silent=is_silent)
        if len(payments) <= MAX_PAYMENTS:
            # a repetition needs room for its mark
            text = alert_reply(payments, digest.language).text
            mark = card_text.mark_possibly_repeated("", digest.language)
            if replies.shown_units(text) <= replies.TEXT_LIMIT - replies.shown_units(mark):
                return len(joined), digest
        joined = joined[: len(joined) // 2]
    return None


def _newest(payments: Sequence[payloads.AlertPayment]) -> tuple[payloads.AlertPayment, ...]:
    """Return the payments without underpaid ones that a later payment updates."""
    newest = {(one.link_id, one.transaction_id): one for one in payments}
    return tuple(
        one
        for one in payments
        if not (one.underpaid and one.transaction_id)
        or newest[one.link_id, one.transaction_id] is one
    )


def split_digest(digest: payloads.Alert) -> list[payloads.Alert]:
    """Split a digest that Telegram refuses, so that one payment doesn't block the other alerts.

    Return an alert for each payment, or [] if there is only one payment.
    """
    single = [replace(digest, payments=(one,), is_single=True) for one in digest.payments]
    return single if len(single) > 1 else []


def alert_message(body: payloads.Alert) -> payloads.TextMessage:
    """Return an alert as a text message."""
    reply = alert_reply(body.payments, body.language)
    place, keyboard = body.message_id, replies.markup(reply.rows)
    is_silent = body.is_silent and place is None  # an edit makes no sound anyway
    claim_id = body.payments[0].claim_id if len(body.payments) == 1 else None
    return payloads.TextMessage(
        reply.text, body.language, keyboard, place, is_silent=is_silent, claim_id=claim_id
    )


def alert_reply(payments: Sequence[payloads.AlertPayment], language: str) -> replies.Reply:
    """Render an alert: amount, request, payer, units left, transaction number and total."""
    limited, unsaid, more = _limited(payments)
    found = group_payments(limited)
    lines = [translations.t(language, "digest", count=len(payments))] if len(found) > 1 else []
    last = {group[0].link_id: group for group in found}
    for group in found:
        lines += _group(group, language, is_alone=len(payments) == 1)
        if last[group[0].link_id] is group:
            lines += _total_lines(payments, group[0].link_id, language)
    if more:
        lines.append(translations.t(language, "alert-more-numbers", more=more))
    if unsaid:
        lines.append(translations.t(language, "words-more", more=unsaid))
    text = "\n".join(lines)
    if any(payment.repeated for payment in payments):
        text = card_text.mark_possibly_repeated(text, language)
    return replies.Reply(text, _rows(payments, found, language))


def _limited(
    payments: Iterable[payloads.AlertPayment],
) -> tuple[list[payloads.AlertPayment], int, int]:
    """Drop payers' words after the first MAX_HIDES, and numbers after the first MAX_NUMBERS.

    Return how many of each were dropped. Shown words always need a hide button, and a message has
    at most MAX_HIDES of these.
    """
    shown, said, known = [], 0, 0
    for payment in payments:
        said += bool(payment.words)
        known += payment.transaction_id is not None
        words = payment.words if said <= payment_lines.MAX_HIDES else parts.NO_WORDS
        number = payment.transaction_id if known <= MAX_NUMBERS else None
        shown.append(replace(payment, words=words, transaction_id=number))
    return shown, max(0, said - payment_lines.MAX_HIDES), max(0, known - MAX_NUMBERS)


def group_payments(payments: Sequence[payloads.AlertPayment]) -> list[list[payloads.AlertPayment]]:
    """Group payments by request, currency and settlement, in the order of arrival."""
    found: dict[tuple[str, str, bool], list[payloads.AlertPayment]] = {}
    for payment in payments:
        key = payment.link_id, payment.currency, payment.underpaid
        found.setdefault(key, []).append(payment)
    return list(found.values())


def _group(group: Sequence[payloads.AlertPayment], language: str, *, is_alone: bool) -> list[str]:
    first = group[0]
    quantity = sum(payment.quantity for payment in group)
    name = payment_lines.item_text(
        first.name, quantity if quantity > len(group) else 1, language, _NAME
    )
    total = replies.money(sum(payment.amount for payment in group), first.currency, language)
    head, words = translations.t(language, "alert", amount=total, name=name), []
    if first.underpaid:
        words = payment_lines.words_line(first.words, language)
        if len(group) > 1 or first.price is None:
            head = translations.t(
                language, "claims-underpaid-several", amount=total, name=name, count=len(group)
            )
        else:
            asked = replies.money(*first.price, language)
            head = translations.t(
                language, "claims-underpaid", amount=total, asked=asked, name=name
            )
    elif first.words and len(group) == 1:
        head = payment_lines.words_head(first.words, total, name, language)
    remarks = _remarks(group, language)
    if len(group) == 1:
        how = payment_lines.how_lines(
            first.paid_by, (first.amount, first.currency), language, is_underpaid=first.underpaid
        )
        hints = _hints(first, language, is_alone=is_alone)
        number = payment_lines.number_line(first.transaction_id, language)
        return [head, *words, *_payer(first, language), *how, *remarks, *hints, *number]
    each = (_line(payment, language) for payment in group)
    lines = filter(None, map(" · ".join, each))
    if len({payment.amount for payment in group}) > 1:
        head = translations.t(language, "alert-several", head=head, count=len(group))
    else:
        price = replies.money(first.amount, first.currency, language)
        head = translations.t(
            language, "alert-several-alike", head=head, count=len(group), each=price
        )
    return [head, *lines, *remarks]


def _line(payment: payloads.AlertPayment, language: str) -> list[str]:
    """Return the parts of a digest line: payer, quantity, rail and transaction number."""
    paid = payment.paid_by
    how = [payment_lines.way_text(paid.kind, language)] if paid and paid.kind != TEST_MONEY else []
    if paid and not payment.underpaid:
        how += payment_lines.surplus_line(paid, (payment.amount, payment.currency), language)
    many = payment.quantity > 1
    quantity = [translations.t(language, "count", count=payment.quantity)] if many else []
    words, payer = payment_lines.words_line(payment.words, language), _payer(payment, language)
    number = payment_lines.number_line(payment.transaction_id, language)
    return [*words, *payer, *quantity, *how, *number]


def _payer(payment: payloads.AlertPayment, language: str) -> list[str]:
    return [*map(replies.escaped, payment_lines.payer_facts(payment.payer, language))]


def _hints(payment: payloads.AlertPayment, language: str, *, is_alone: bool) -> list[str]:
    """Explain how to accept or pay back an underpaid, oversold or overpaid payment.

    A digest has no buttons for this.
    """
    paid = payment.paid_by
    if paid is None:
        return []
    surplus = 0 if payment.underpaid else paid.surplus(payment.amount, payment.currency)
    if not (payment.underpaid or payment.oversold or surplus > 0):
        return []
    accept, mark = ("claims-accept-hint", "claims-refund-mark") if is_alone else _LISTED_HINTS
    choice = [translations.t(language, accept)] if payment.claim_id else []
    return [
        *choice,
        f"{payment_lines.refund_hint(paid, language)} {translations.t(language, mark)}",
    ]


def _remarks(group: Sequence[payloads.AlertPayment], language: str) -> list[str]:
    """Return remarks on goals and unusual payments, and the units left."""
    if group[0].underpaid:
        return []
    lines = []
    for payment in group:
        if payment.reached:
            goal = request_card.goal_text(*payment.reached, payment.currency, language)
            lines.append(translations.t(language, "alert-goal-reached", goal=replies.escaped(goal)))
    lines += _amount_remarks(group, language)
    if found := sum(payment.found for payment in group):
        lines.append(translations.t(language, "alert-found", found=found, count=len(group)))
    if oversold := [payment for payment in group if payment.oversold]:
        lines.append(
            translations.t(language, "alert-oversold", oversold=len(oversold), count=len(group))
        )
    if len(oversold) < len(group) and (left := _stock_line(group, language)):
        lines.append(left)
    if waiting := codes_waiting(group):
        lines.append(translations.t(language, "alert-codes-waiting", waiting=waiting))
    return lines


def _amount_remarks(group: Sequence[payloads.AlertPayment], language: str) -> list[str]:
    """Return remarks on payments whose amount differs from the price."""
    others = [payment for payment in group if payment.price is not None]
    odd = [payment for payment in group if payment.price is None and payment.named]
    lines = []
    for key, found in (("alert-other-amount", others), ("alert-odd-amount", odd)):
        if not found:
            continue
        first = found[0]
        named = price = replies.money(first.amount, first.currency, language)
        if first.named:
            named = replies.escaped(first.named, _NAMED_AMOUNT)
        if first.price:
            price = replies.money(*first.price, language)
        counts = {"count": len(group), "other": len(found)}
        lines.append(translations.t(language, key, named=named, price=price, **counts))
    return lines


def _total_lines(
    payments: Sequence[payloads.AlertPayment], link_id: str, language: str
) -> list[str]:
    """Return a request's totals including these payments; [] for its first payment."""
    of_request = [
        payment for payment in payments if payment.link_id == link_id and not payment.underpaid
    ]
    latest = max(of_request, key=lambda payment: payment.count, default=None)
    if latest is None or latest.count <= 1:
        return []
    earned = latest.count - latest.refund_count - latest.settled_count
    total = [payment_lines.total_line(latest.together, earned, language)] if earned > 0 else []
    return [*total, *payment_lines.refund_line(latest.to_refund, latest.refund_count, language)]


def _stock_line(group: Sequence[payloads.AlertPayment], language: str) -> str | None:
    """Return the units left after the latest payment: the fewest left, with reserved ones."""
    if group[0].kind == "oneoff":
        return translations.t(language, "status-completed")
    known = [one for one in group if one.remaining_units is not None]
    latest = min(
        known, key=lambda one: (one.remaining_units or 0) + one.reserved_units, default=None
    )
    if latest is None or latest.remaining_units is None:
        return None
    if latest.remaining_units == latest.reserved_units == 0:
        return translations.t(language, "alert-sold-out")
    line = payment_lines.left_text(latest.remaining_units, latest.total_units, language)
    if not latest.reserved_units:
        return line
    return f"{line}\n{translations.t(language, 'card-reserved', reserved=latest.reserved_units)}"
