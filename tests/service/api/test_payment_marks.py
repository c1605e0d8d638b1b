"""`PUT …/payments/{transactionId}`: sent, paid back, hidden; each once, and taken back."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from bot.core.ops import audit
from bot.interface.answers import MarkedPaymentAnswer
from tests.support.service_harness import (
    DROP,
    NOON_ISO,
    REQUESTS_PATH,
    ServiceHarness,
    refusal_code,
    refused_fields,
)

if TYPE_CHECKING:
    pass


RAISED = "SELECT raised_billions, raised_rest FROM payment_requests"


async def path_of_payment(service: ServiceHarness, **fields: Any) -> str:
    """Sell one unit; return the address of the payment."""
    request_id = (await service.create(**fields))["id"]
    paid = await service.pay(request_id)
    transaction_id = paid.headers["location"].rpartition("/")[2]
    return f"{REQUESTS_PATH}/{request_id}/payments/{transaction_id}"


async def mark(service: ServiceHarness, path: str, **body: Any) -> dict[str, Any]:
    answer = await service.seller.put(path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    MarkedPaymentAnswer.model_validate(found)
    return found


async def change(service: ServiceHarness, sql: str, **given: object) -> None:
    await service.db.transaction(lambda tx: tx.execute(sql, **given))


async def raised(service: ServiceHarness) -> int:
    (row,) = await service.db.query(RAISED)
    return int(row["raised_billions"]) * 10**9 + int(row["raised_rest"])


async def test_a_payment_is_marked_as_sent_with_a_note_and_a_repeat_changes_nothing(
    service: ServiceHarness,
) -> None:
    path = await path_of_payment(service)
    first = await mark(service, path, sent={"note": " RR123456785DE "})
    assert (first["sentAt"], first["sentNote"]) == (NOON_ISO, "RR123456785DE")
    assert "payerNotified" not in first
    service.clock.advance(60)
    repeats: list[dict[str, Any]] = [{"sent": {"note": "RR123456785DE"}}, {"sent": {}}, {}]
    for body in repeats:
        assert await mark(service, path, **body) == first
    assert (await service.seller.get(path)).json() == first
    lines = service.db.run(partial(audit.read, limit=99))
    assert [line.details for line in lines if line.action.startswith("payment.")] == [
        {"request": path.split("/")[3], "sent": True, "note": True}
    ]


async def test_a_note_can_be_changed_and_the_time_of_its_mark_stays(
    service: ServiceHarness,
) -> None:
    path = await path_of_payment(service)
    await mark(service, path, sent={})
    service.clock.advance(60)
    changed = await mark(service, path, sent={"note": "RR1"}, paidBack={"note": "by bank"})
    assert (changed["sentAt"], changed["sentNote"]) == (NOON_ISO, "RR1")
    assert changed["paidBackNote"] == "by bank"
    assert changed["paidBackAt"] != NOON_ISO
    cleared = await mark(service, path, sent={"note": None}, paidBack=None)
    assert not {"sentNote", "paidBackAt", "paidBackNote"} & cleared.keys()
    assert cleared["sentAt"] == NOON_ISO


async def test_what_is_paid_back_lowers_the_sum_once_and_taken_back_raises_it(
    service: ServiceHarness,
) -> None:
    path = await path_of_payment(service)
    billions = 3 * 10**9 + 7
    await change(service, "UPDATE payment_requests SET raised_billions = 3, raised_rest = 7")
    for _ in range(2):
        await mark(service, path, paidBack={})
        assert await raised(service) == billions - 500
    for _ in range(2):
        await mark(service, path, paidBack=None)
        assert await raised(service) == billions
    await mark(service, path, sent={}, messageHidden=True)
    assert await raised(service) == billions


@pytest.mark.parametrize("state", ["oversold", "underpaid"])
async def test_money_that_was_never_counted_changes_no_sum(
    service: ServiceHarness, state: str
) -> None:
    path = await path_of_payment(service)
    await change(service, "UPDATE payments SET state = :state", state=state)
    before = await raised(service)
    for body in ({"note": "n"}, None):
        await mark(service, path, paidBack=body)
        assert await raised(service) == before


async def test_a_message_is_hidden_and_shown_again(service: ServiceHarness) -> None:
    path = await path_of_payment(service)
    assert (await mark(service, path, messageHidden=True))["messageHidden"] is True
    assert "messageHidden" not in await mark(service, path, messageHidden=False)


async def test_a_marked_payment_keeps_its_unit(service: ServiceHarness) -> None:
    """What was paid back is not for sale again: the seller decides that."""
    path = await path_of_payment(service, **DROP)
    await mark(service, path, paidBack={})
    found = await service.get(path.split("/")[3])
    assert (found["remainingUnits"], found["paymentsCount"]) == (2, 1)


async def test_a_wrong_body_is_refused_whole(service: ServiceHarness) -> None:
    for body, fields in (
        ({"sent": {"note": "x" * 201}}, ["sent.note"]),
        ({"sent": {"note": "a\x07"}}, ["sent.note"]),
        ({"sent": True, "paidBack": []}, ["sent", "paidBack"]),
        ({"messageHidden": None}, ["messageHidden"]),
        ({"notifyPayer": "no"}, ["notifyPayer"]),
        ({"refunded": {}}, ["refunded"]),
    ):
        path = await path_of_payment(service)
        answer = await service.seller.put(path, json={"paidBack": {}} | body)
        assert refusal_code(answer) == (400, "invalidBody"), body
        assert refused_fields(answer) == fields, body
        assert "paidBackAt" not in (await service.seller.get(path)).json(), body


async def test_payments_of_a_deleted_request_are_marked_too(service: ServiceHarness) -> None:
    """Their receipts stay, so their buyers must be able to read that they were paid back."""
    path = await path_of_payment(service, thanks="Enjoy!")
    _, _, _, request_id, _, transaction_id = path.split("/")
    assert (await service.seller.delete(f"{REQUESTS_PATH}/{request_id}")).status_code == 200
    marked = await mark(service, path, paidBack={"note": "Sorry"}, messageHidden=True)
    assert (marked["paidBackAt"], marked["messageHidden"]) == (NOON_ISO, True)
    assert await raised(service) == 0
    receipt = f"{REQUESTS_PATH}/public/{request_id}/receipts/{transaction_id}"
    assert (await service.anyone.get(receipt)).json()["status"] == "paidBack"
    assert refusal_code(await service.seller.get(path)) == (404, "notFound")


async def test_the_audit_log_has_no_note(service: ServiceHarness) -> None:
    path = await path_of_payment(service)
    await mark(service, path, paidBack={"note": "Anna's bank"}, messageHidden=True)
    assert "Anna" not in json.dumps(await service.rows("audit"))


async def test_what_is_marked_at_the_same_time_is_counted_once(service: ServiceHarness) -> None:
    """By several replicas, or by a seller who presses twice."""
    path = await path_of_payment(service)
    before = await raised(service)
    for body in ({"note": "n"}, None):
        calls = [service.seller.put(path, json={"paidBack": body}) for _ in range(6)]
        answers = await asyncio.gather(*calls)
        assert [answer.status_code for answer in answers] == [200] * 6
        assert await raised(service) == before - 500 * (body is not None)
    lines = service.db.run(partial(audit.read, limit=99))
    assert sum(line.action.startswith("payment.") for line in lines) == 2
