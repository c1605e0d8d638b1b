"""The statements of what sellers, payers and workers do all the time, for their query plans."""

from __future__ import annotations

from collections.abc import Iterator

from bot.chat.store import payment_marks
from bot.core.outbox import claiming, lanes
from bot.service.checkouts import checkout_rows, inventory
from bot.service.checkouts.inventory import RESERVED, SOLD
from bot.service.notifications import notification_rows
from bot.service.payments import payment_rows
from bot.service.requests import request_rows


def hot_statements() -> Iterator[tuple[str, str]]:
    """Return the name and the SQL of each statement."""
    yield "create: the request", request_rows.INSERT
    yield "pay: a form posted before", checkout_rows.BY_FORM
    yield "pay: units, sold at once", inventory.TAKE[SOLD]
    yield "pay: units, reserved", inventory.TAKE[RESERVED]
    yield "pay: units that have lapsed", inventory.LAPSE
    yield "pay: what a network holds", checkout_rows.HELD
    yield "pay: a payer's open checkout", checkout_rows.BY_PAYER
    yield "pay: the checkout", checkout_rows.INSERT
    yield "settle: the checkout", inventory.PAY
    yield "settle: its units", inventory.TAKE_RESERVED
    yield "settle: the payment and its payer's number", payment_rows.PAYMENT
    yield "settle: its delivery", notification_rows.INSERT
    yield "deliver: lanes that are open", lanes.select_open("open_at")
    yield "deliver: the next message of a lane", claiming.DUE
    yield "deliver: the next batch of a lane", claiming.CLAIM_BATCH
    yield "deliver: when a lane opens", lanes.NEXT_DUE
    yield "deliver: the attempt", notification_rows.ADD_ATTEMPT
    yield "pages: the request", request_rows.BY_ID
    yield "receipts: the payment", payment_rows.BY_ID
    yield "receipts: its letter", notification_rows.RECEIPT
    yield "public figures: payers", payment_rows.PAYERS
    yield "chat: a payment by its number", payment_marks.WHOLE
    yield "chat: a request's payments", payment_marks.PAYMENTS
