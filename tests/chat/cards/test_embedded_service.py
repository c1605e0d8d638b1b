"""The embedded service's receipts, read and shown by the chat."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat.cards.receipts import receipt_reply
from bot.chat.store.receipt_rows import Receipt, ReceiptKey, read_key, read_receipt
from bot.core import exact_json
from tests.support.goods import buy, uploaded
from tests.support.service_harness import DROP, REQUESTS_PATH, ServiceHarness


async def bought(service: ServiceHarness, **fields: Any) -> Receipt:
    """Buy a unit of a drop; return the receipt as the chat's client reads it."""
    made = await service.create(**DROP, **fields)
    transaction_id = (await buy(service, made["id"])).rpartition("/")[2]
    assert read_key(f"r-{made['id']}-{transaction_id}") == ReceiptKey(made["id"], transaction_id)
    path = f"{REQUESTS_PATH}/public/{made['id']}/receipts/{transaction_id}"
    return read_receipt(exact_json.loads((await service.anyone.get(path)).content))


@pytest.mark.parametrize(
    ("delivery", "shown"),
    [
        ({"text": "The door's\nnumber is 4711."}, "The door&#x27;s\nnumber is 4711."),
        ({"codes": ["AAAA-1"]}, "<code>AAAA-1</code>"),
    ],
)
async def test_what_was_delivered_is_shown(
    service: ServiceHarness, delivery: dict[str, Any], shown: str
) -> None:
    receipt = await bought(service, thanks="See you!", delivery=delivery)
    text = receipt_reply(receipt, "en", None).text
    assert shown in text
    assert "See you!" in text
    assert "Yours: 1 of 3" in text


async def test_a_file_has_its_name_and_size(service: ServiceHarness) -> None:
    file_id = await uploaded(service, b"PK" * 51_200, "album.zip")
    receipt = await bought(service, delivery={"fileId": file_id})
    assert "📎 album.zip · 100 KB" in receipt_reply(receipt, "en", None).text
