"""The statements of what sellers, payers and workers do all the time, for their query plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.store import payment_search, queries
from bot.core.outbox import lanes
from bot.core.outbox.claims import candidates, series
from bot.service.store import checkouts, deliveries, payments, requests, unit_moves
from bot.service.store.unit_moves import RESERVED, SOLD

if TYPE_CHECKING:
    from collections.abc import Iterator


def hot_statements() -> Iterator[tuple[str, str]]:
    """Return the name and the SQL of each statement."""
    yield "create: the request", requests.INSERT
    yield "pay: a form posted before", checkouts.BY_FORM
    yield "pay: units, sold at once", unit_moves.TAKE[SOLD]
    yield "pay: units, reserved", unit_moves.TAKE[RESERVED]
    yield "pay: units that have lapsed", unit_moves.LAPSE
    yield "pay: what a network holds", checkouts.HELD
    yield "pay: a payer's open checkout", checkouts.BY_PAYER
    yield "pay: the checkout", checkouts.INSERT
    yield "settle: the checkout", unit_moves.PAY
    yield "settle: its units", unit_moves.TAKE_RESERVED
    yield "settle: the payment and its payer's number", payments.PAYMENT
    yield "settle: its delivery", deliveries.INSERT
    yield "deliver: lanes that are open", lanes.OPEN_LANES
    yield "deliver: the next message of a lane", candidates.DUE
    yield "deliver: the next series of a lane", series.TAKE
    yield "deliver: when a lane opens", lanes.STATE_UNORDERED
    yield "deliver: the attempt", deliveries.ADD_ATTEMPT
    yield "pages: the request", requests.BY_ID
    yield "receipts: the payment", payments.BY_ID
    yield "receipts: its letter", deliveries.RECEIPT
    yield "public figures: payers", payments.PAYERS
    yield "chat: a payment by its number", payment_search.WHOLE
    yield "chat: a request's payments", queries.PAYMENTS
