"""What must hold of the shop's units, codes, money, marks and webhooks at a schedule's end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from bot.core.database.database import Row
from bot.core.text.sanitize import words
from tests.simulation.faults.faulty_product import SimulatedProduct
from tests.simulation.faults.service_shop import AMOUNTS, MAX_QUANTITY, Customer, Shop

TOOK = ("paid", "late")
PAYMENTS = (
    "SELECT payments.*, json_extract(user_data, '$.email') AS email FROM payments"
    " WHERE request_id = :id ORDER BY first_unit, id"
)


def shop_problems(product: SimulatedProduct, shop: Shop) -> list[str]:
    """Return every broken promise of the shop in words."""
    rows = [
        row for i in (shop.drop, shop.donation) for row in product.rows("service", PAYMENTS, id=i)
    ]
    return [*balance_problems(product, shop), *_told(rows, shop), *_marks(rows, shop)]


def balance_problems(product: SimulatedProduct, shop: Shop) -> list[str]:
    """Return what is wrong with units, codes, money and receipts."""
    drop, donation = (product.rows("service", PAYMENTS, id=i) for i in (shop.drop, shop.donation))
    return [
        *_units(drop, shop),
        *_codes(product, drop, shop),
        *(line for row in donation for line in _shows(shop, row, None)),
        *_sums(product, shop.drop, drop, shop.units),
        *_sums(product, shop.donation, donation, None),
        *_customers([*drop, *donation], shop),
    ]


def _units(rows: list[Row], shop: Shop) -> Iterator[str]:
    """Check that each unit number is that of one payment, and that what took none has none."""
    numbers = [
        row["first_unit"] + n
        for row in rows
        if row["first_unit"] is not None
        for n in range(row["quantity"])
    ]
    if numbers != list(range(1, len(numbers) + 1)) or len(numbers) > shop.units:
        yield f"the units are {numbers} of {shop.units}"
    for row in rows:
        if (row["first_unit"] is None) == (row["state"] in TOOK):
            yield f"{row['email']} is {row['state']} with unit {row['first_unit']}"


def _codes(product: SimulatedProduct, rows: list[Row], shop: Shop) -> Iterator[str]:
    """Check that each code is there once, and shown on the receipt of its unit alone."""
    sql = "SELECT code FROM codes WHERE request_id = :id ORDER BY place"
    codes = [row["code"] for row in product.rows("service", sql, id=shop.drop)]
    if sorted(codes) != sorted(shop.codes):
        yield f"codes {shop.codes} were added, there are {codes}"
    shown: list[str] = []
    for row in rows:
        mine = None
        if row["first_unit"] is not None and row["paid_back_at"] is None:
            mine = codes[row["first_unit"] - 1 : row["first_unit"] - 1 + row["quantity"]]
            shown += mine
        yield from _shows(shop, row, mine)
    if len(shown) != len({*shown}):
        yield f"codes are shown twice: {shown}"


def _shows(shop: Shop, row: Row, codes: list[str] | None) -> Iterator[str]:
    """Check what a receipt shows; `codes` is None where it may show none at all."""
    receipt = shop.receipts[row["id"]]
    if row["state"] == "underpaid":
        if receipt is not None:
            yield f"{row['email']} paid too little and has a receipt"
        return
    if receipt is None:
        yield f"{row['email']} has no receipt"
        return
    delivery = receipt.get("delivery")
    expected: dict[str, Any] | None = None
    if codes is not None:
        whole = len(codes) == row["quantity"]
        expected = {"state": "delivered" if whole else "waiting"}
        if codes:
            expected["codes"] = codes
    if delivery != expected:
        yield f"the receipt of {row['email']} delivers {delivery}, not {expected}"
    if _cents(receipt["amount"]) != row["amount"] or receipt["quantity"] != row["quantity"]:
        yield f"the receipt of {row['email']} tells {receipt}"


def _sums(
    product: SimulatedProduct, request_id: str, rows: list[Row], total: int | None
) -> Iterator[str]:
    """Check that the request's counts and sums are those of its payments."""
    (it,) = product.rows("service", "SELECT * FROM payment_requests WHERE id = :id", id=request_id)
    took = [row for row in rows if row["state"] in TOOK]
    kept = sum(row["amount"] for row in took if row["paid_back_at"] is None)
    volume = sum(row["amount"] for row in rows if row["state"] != "underpaid")
    oversold = sum(row["state"] == "oversold" for row in rows)
    units = sum(row["quantity"] for row in took)
    expected = (kept, volume, units, len(took), oversold)
    found = (
        it["raised_billions"] * 10**9 + it["raised_rest"],
        it["volume_billions"] * 10**9 + it["volume_rest"],
        it["paid_count"],
        it["sales_count"],
        it["oversold_count"],
    )
    if found != expected:
        yield f"{it['name']} has the sums {found}, not {expected}"
    if total is not None and it["remaining_units"] + it["reserved_units"] + units != total:
        yield f"the units of {it['name']} do not add up: {it}"


def _customers(rows: list[Row], shop: Shop) -> Iterator[str]:
    """Check that each customer paid what they chose, once, or nothing."""
    for one in shop.customers:
        mine = [row for row in rows if row["email"] == one.address]
        if len(mine) > 1:
            yield f"{one.address} is charged {len(mine)} times"
        if one.receipt and [row["id"] for row in mine] != [one.receipt]:
            yield f"{one.address} has a receipt of {one.receipt}, paid {mine}"
        if mine and (problem := _unpaid(one)):
            yield f"{one.address} {problem} and paid"
        yield from (line for row in mine if (line := _ordered(one, row)))
        if not mine and (one.decided == "confirm" or one.receipt):
            yield f"the money of {one.address} is lost"


def _unpaid(one: Customer) -> str | None:
    """Return why there is no money of a customer."""
    if one.status != 303:
        return f"was answered {one.status}"
    if one.quantity > MAX_QUANTITY or AMOUNTS[one.amount] is None:
        return "ordered what is not offered"
    if one.scenario == "never" or one.decided == "reject":
        return "never paid"
    return None


def _ordered(one: Customer, row: Row) -> str | None:
    """Check that a payment is of what was ordered, with the customer's words."""
    chosen = _cents(Decimal(AMOUNTS[one.amount] or 0)) * one.quantity
    whole = row["amount"] == chosen
    if row["state"] == "underpaid":
        whole = whole and row["instrument_amount"] < chosen
    said = {"name": row["payer_name"], "message": row["message"]}
    expected = {"name": None, "message": None} | {k: words(v) for k, v in one.words.items()}
    if whole and row["quantity"] == one.quantity and said == expected:
        return None
    return f"{one.address} ordered {one}, paid {row}"


def _told(rows: list[Row], shop: Shop) -> Iterator[str]:
    """Check that the shop's webhooks tell of each payment, and each time the same of it."""
    due = {row["id"]: row for row in rows if row["state"] != "underpaid"}
    heard = Counter(one["transactionId"] for one in shop.told)
    if heard.keys() != due.keys():
        yield f"the shop heard of {sorted(heard)}, paid was {sorted(due)}"
    for one in shop.told:
        row = due.get(one["transactionId"])
        if row and (line := _tells(one, row)):
            yield line


def _tells(one: Any, row: Row) -> str | None:
    said = (one.get("quantity", 1), one.get("name"), one.get("message"), bool(one.get("oversold")))
    oversold = row["state"] == "oversold"
    expected = (row["quantity"], row["payer_name"], row["message"], oversold)
    same = said == expected and _cents(one["amount"]) == row["amount"]
    return None if same and "CODE" not in str(one) else f"a webhook tells {one} of {row}"


def _marks(rows: list[Row], shop: Shop) -> Iterator[str]:
    """Check that marks are as they were set, and that no repeat moved their time."""
    back = {row["id"] for row in rows if row["paid_back_at"] is not None}
    if back != shop.paid_back:
        yield f"paid back is {back}, not {shop.paid_back}"
    sent = {row["id"] for row in rows if row["sent_at"] is not None}
    asked = {key for key, answers in shop.marks.items() if any("sentAt" in one for one in answers)}
    if sent != asked:
        yield f"sent is {sent}, not {asked}"
    for key, answers in shop.marks.items():
        for name in ("sentAt", "paidBackAt"):
            times = {one[name] for one in answers if name in one}
            if len(times) > 1:
                yield f"{name} of {key} was {times}"


def _cents(amount: Any) -> int:
    return int(Decimal(str(amount)) * 100)
