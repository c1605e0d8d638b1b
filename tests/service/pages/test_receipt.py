"""The receipt: anyone with its address can read it, so the payer's data is masked."""

from __future__ import annotations

import pytest

from bot.interface.vocabulary import PayerField
from bot.service.checkouts import order
from tests.support.service_harness import REQUESTS_PATH, URL, ServiceHarness

ASKED = {"requestedUserData": ["paymail", "email", "phoneNumber"]}
GIVEN = {"paymail": "me@a.example", "email": "me@b.example", "phoneNumber": "+44 20 7946 0958"}


async def test_the_receipt_needs_the_id_of_its_transaction(service: ServiceHarness) -> None:
    """The id of another request's payment is not found; a receipt outlives its request."""
    made, other = await service.create(**ASKED), await service.create()
    path = (await service.pay(made["id"], **GIVEN)).headers["location"]
    payment_id = path.rpartition("/")[2]
    assert path == f"/pay/{made['id']}/receipt/{payment_id}"
    receipt = await service.anyone.get(path)
    assert receipt.status_code == 200
    link = f"{URL}/pay/{made['id']}"
    for text in ("Coffee", "$5.00", payment_id, "January 15, 2027", "Test mode", link):
        assert text in receipt.text
    wrong = await service.anyone.get(f"/pay/{other['id']}/receipt/{payment_id}")
    assert wrong.status_code == 404
    await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    assert (await service.anyone.get(path)).status_code == 200


async def test_the_receipt_masks_the_payers_data(service: ServiceHarness) -> None:
    """Its address reaches the seller's page and others; the interface has the whole data."""
    made = await service.create(**ASKED)
    path = (await service.pay(made["id"], **GIVEN)).headers["location"]
    receipt = (await service.anyone.get(path)).text
    for shown, whole in (("m•••@a.example", "me@a.example"), ("+44 ••• ••58", "7946")):
        assert shown in receipt
        assert whole not in receipt
    listed = await service.seller.get(f"{REQUESTS_PATH}/{made['id']}/payments")
    assert listed.json()["items"][0]["userData"]["paymail"] == "me@a.example"


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("email", "mia@example.org", "m•••@example.org"),
        ("email", "m@example.org", "•••@example.org"),
        ("paymail", "mia@handcash.io", "m•••@handcash.io"),
        ("phoneNumber", "+491701234589", "+49 ••• ••89"),
        ("phoneNumber", "+15551234589", "+1 ••• ••89"),
        ("phoneNumber", "01701234589", "••• ••89"),
    ],
)
def test_masked_data_stays_recognizable(field: PayerField, value: str, shown: str) -> None:
    assert order.masked(field, value) == shown
