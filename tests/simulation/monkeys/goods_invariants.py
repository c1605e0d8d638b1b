"""What must hold of codes, marks and payers' words after the hour."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.simulation.monkeys.monkey_hour import Hour
from tests.simulation.monkeys.monkey_product import SimulatedProduct
from tests.simulation.monkeys.typed_words import CODE

HELD = (
    "SELECT account_id, code FROM codes JOIN payments ON payments.request_id = codes.request_id"
    " AND place >= first_unit AND place < first_unit + quantity JOIN kept_receipts ON"
    " transaction_id = payments.id"
)
"""The accounts that keep a receipt, with the codes of its units."""

NUMBERED = (
    "SELECT request_id, first_unit, quantity FROM payments WHERE first_unit IS NOT NULL"
    " ORDER BY request_id, first_unit"
)
DIFFERENT = (
    "SELECT there.id, here.listing_id FROM received_payments AS here JOIN payments AS there ON"
    " there.id = here.transaction_id JOIN payment_requests ON payment_requests.id ="
    " there.request_id WHERE deleted_at IS NULL AND ((here.amount, here.quantity,"
    " COALESCE(here.payer_name, ''), COALESCE(here.message, ''), here.message_hidden,"
    " here.sent_at IS NULL, COALESCE(here.sent_note, ''), here.paid_back_at IS NULL,"
    " COALESCE(here.paid_back_note, '')) <> (there.amount, there.quantity,"
    " COALESCE(there.payer_name, ''), COALESCE(there.message, ''), there.message_hidden,"
    " there.sent_at IS NULL, COALESCE(there.sent_note, ''), there.paid_back_at IS NULL,"
    " COALESCE(there.paid_back_note, '')))"
)
"""Payments that chat and service don't know alike."""

RAISED = (
    "SELECT id, raised_billions * 1000000000 + raised_rest AS raised, COALESCE((SELECT SUM(amount)"
    " FROM payments WHERE request_id = payment_requests.id AND first_unit IS NOT NULL"
    " AND paid_back_at IS NULL), 0) AS paid FROM payment_requests WHERE raised <> paid"
)
HIDDEN = (
    "SELECT received_payments.seller_id, alerted_in, message FROM received_payments WHERE"
    " message_hidden = 1 AND alerted_in IS NOT NULL AND message IS NOT NULL"
)


def goods_problems(product: SimulatedProduct, hour: Hour) -> Iterator[str]:
    """Yield what is wrong with what was given, marked and hidden."""
    yield from _units(product)
    yield from _codes(product, hour)
    yield from (f"chat and service differ: {row}" for row in product.rows(DIFFERENT))
    yield from (f"not what was paid was raised: {row}" for row in product.rows(RAISED))
    yield from _hidden(product, hour)


def _units(product: SimulatedProduct) -> Iterator[str]:
    """Check that each unit is that of one payment, so that each code has one buyer."""
    free: dict[str, int] = {}
    for row in product.rows(NUMBERED):
        first = free.get(row["request_id"], 1)
        if row["first_unit"] != first:
            yield f"unit {first} of {row['request_id']} was sold twice or never"
        free[row["request_id"]] = row["first_unit"] + row["quantity"]


def _codes(product: SimulatedProduct, hour: Hour) -> Iterator[str]:
    """Check that a code is read by its seller and by who keeps the receipt of its unit alone."""
    listed = {row["code"] for row in product.rows("SELECT code FROM codes")}
    held = {(row["account_id"], row["code"]) for row in product.rows(HELD)}
    for seller in hour.sellers:
        own = f"{seller.mark.number:03}"
        for message in seller.chat.messages.values():
            if not message.sender.is_bot:
                continue
            told = [json.dumps(one.content) for one in message.history]
            for found in CODE.finditer(" ".join([*told, json.dumps(message.content)])):
                is_own = found[1] == own or (seller.id, found[0]) in held
                if found[0] in listed and not is_own:
                    yield f"{seller.mark.public} reads the code {found[0]}"
    for shared in product.world.inline_messages.values():
        if CODE.search(f"{shared.text} {json.dumps(shared.markup)}"):
            yield f"a shared post has a code: {shared.text}"


def _hidden(product: SimulatedProduct, hour: Hour) -> Iterator[str]:
    """Check that an alert doesn't have the words that its seller has hidden."""
    sellers = {seller.id: seller for seller in hour.sellers}
    for row in product.rows(HIDDEN):
        seller = sellers[row["seller_id"]]
        alert = seller.chat.messages.get(row["alerted_in"])
        said = row["message"].partition(".")[0]
        is_shown = alert is not None and not alert.deleted and f"{said}." in _plain(alert.text)
        if is_shown and seller.id not in product.shut:
            yield f"{seller.mark.public} still reads {said} in {row['alerted_in']}"


def _plain(text: str) -> str:
    """Return a text without the joiners that keep Telegram from finding links in it."""
    return text.replace("\u2060", "")
