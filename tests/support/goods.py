"""Uploads and deliveries of the service's tests."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from bot.service.checkouts import paying
from bot.service.checkouts.paying import PaymentForm
from tests.support.service_harness import ServiceHarness

if TYPE_CHECKING:
    import httpx


FILES_PATH = "/v3/files"
ALBUM = b"PK\x03\x04 the album"


def random_bytes(size: int) -> bytes:
    """Return bytes that nothing compresses, the same ones each time."""
    return random.Random(7).randbytes(size)


async def upload(
    service: ServiceHarness, data: Any = ALBUM, name: str = "album.zip", **headers: str
) -> httpx.Response:
    headers = {"content-type": "application/zip"} | {
        header.replace("_", "-"): value for header, value in headers.items()
    }
    return await service.seller.post(
        FILES_PATH, params={"name": name}, content=data, headers=headers
    )


async def uploaded(service: ServiceHarness, data: Any = ALBUM, name: str = "album.zip") -> str:
    """Upload a file; return its id."""
    answer = await upload(service, data, name)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


async def buy(service: ServiceHarness, request_id: str, number: int = 0, **form: str) -> str:
    """Pay a request; return the path of the receipt."""
    paid = await service.pay(request_id, f"{number:032d}", **form)
    assert paid.status_code == 303, paid.text
    path: str = paid.headers["location"]
    assert "/receipt/" in path, path
    return path


async def buy_units(service: ServiceHarness, request_id: str, quantity: int) -> str:
    """Pay several units in one checkout; return the path of the receipt."""
    form = PaymentForm(request_id, f"{quantity:032d}", {}, quantity=quantity)
    now = service.clock()
    paid = await service.db.transaction(lambda tx: paying.pay(tx, service.context, form, now))
    assert paid.payment
    return f"/pay/{request_id}/receipt/{paid.payment.id}"


async def receipt(service: ServiceHarness, path: str) -> dict[str, Any]:
    """Return the receipt whose page has this path, as JSON."""
    _, _, request_id, _, transaction_id = path.split("/")
    url = f"/v3/paymentRequests/public/{request_id}/receipts/{transaction_id}"
    answer = await service.anyone.get(url)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def delivered(service: ServiceHarness, path: str) -> dict[str, Any] | None:
    """Return what the receipt of this path delivers."""
    found = await receipt(service, path)
    goods: dict[str, Any] | None = found.get("delivery")
    return goods
