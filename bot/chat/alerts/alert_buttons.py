"""Buttons of alerts: what the seller can do about a payment, and the cards of the requests."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from bot.chat.cards.claim_text import accept_rows
from bot.chat.cards.goods_texts import send_codes_button
from bot.chat.cards.payer_words_text import ON_DIGEST, hide_rows
from bot.chat.messages.reply import Button, plain
from bot.chat.model.payment_key import PaymentKey
from bot.core.text.translations import t

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bot.chat.messages.payloads import AlertPayment
    from bot.chat.messages.reply import Rows

_BUTTON_NAME = 24  # UTF-16 units
_MAX_BUTTONS = 8


def alert_rows(
    payments: Sequence[AlertPayment], groups: Sequence[Sequence[AlertPayment]], language: str
) -> Rows:
    """Return the buttons of an alert; `groups` are its payments by request."""
    return (
        *_accept(payments, language),
        *_codes(groups, language),
        *_details(payments, language),
        *_hides(payments, language),
        *_cards(groups, language),
    )


def _cards(groups: Sequence[Sequence[AlertPayment]], language: str) -> Rows:
    """Return a button to each request's card, with its name where there are several."""
    labels = {group[0].listing_id: plain(group[0].name, _BUTTON_NAME) for group in groups}
    if len(labels) == 1:
        labels = dict.fromkeys(labels, t(language, "button-show-card"))
    return tuple(
        (Button(label, action=("card", listing)),)
        for listing, label in islice(labels.items(), _MAX_BUTTONS)
    )


def _accept(payments: Sequence[AlertPayment], language: str) -> Rows:
    """Return the button that accepts a single underpaid payment; () for others."""
    (payment, *others) = payments
    return () if others or payment.claim_id is None else accept_rows(payment.claim_id, language)


def _details(payments: Sequence[AlertPayment], language: str) -> Rows:
    """Return the buttons of a single payment; () for several.

    "Sent", where there is something to send, and the facts, where "Paid back" is and words that
    were hidden are shown again.
    """
    (payment, *others) = payments
    key = alert_key(payment)
    if others or key is None:
        return ()
    sent = Button(t(language, "button-sent"), action=("sent", *key.words, "a"))
    facts = Button(t(language, "button-payment"), action=("payment", *key.words))
    return ((sent, facts) if payment.is_sent_by_hand else (facts,),)


def alert_key(payment: AlertPayment) -> PaymentKey | None:
    """Return the key of a payment in buttons, None for one without a number."""
    if payment.at is None or payment.transaction_id is None:
        return None
    return PaymentKey.of(payment.listing_id, payment.at, payment.transaction_id)


def _hides(payments: Sequence[AlertPayment], language: str) -> Rows:
    """Return the buttons that hide what payers wrote; those of a digest say where they stand."""
    said = [(one.words, key) for one in payments if (key := alert_key(one))]
    return hide_rows(said, language, ON_DIGEST if len(payments) > 1 else "")


def _codes(groups: Sequence[Sequence[AlertPayment]], language: str) -> Rows:
    """Return the button that sends codes to buyers who wait for them."""
    waiting = [group[0].listing_id for group in groups if codes_waiting(group)]
    return tuple((send_codes_button(listing, language),) for listing in waiting[:1])


def codes_waiting(group: Iterable[AlertPayment]) -> int:
    """Return how many units waited for a code when the newest of the payments came."""
    return max(group, key=lambda payment: payment.count).codes_waiting
