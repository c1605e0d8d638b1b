"""Payers by the hundred: bare connections, one each, so that the crowd costs less than the shop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx


REQUESTS_PATH = "/v3/paymentRequests"


@dataclass(frozen=True)
class Answer:
    """What a payer read; `location` where they were sent on."""

    status: int
    location: str
    text: str


async def posted(url: str, request_id: str, token: str) -> Answer:
    """Post the form of the pay page on a new connection. Raises OSError if it breaks."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    body = f"token={token}"
    head = [
        f"POST /pay/{request_id} HTTP/1.1",
        f"Host: {address.netloc}",
        "Content-Type: application/x-www-form-urlencoded",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    try:
        writer.write(("\r\n".join(head) + f"\r\n\r\n{body}").encode())
        whole = (await reader.read()).decode()
    finally:
        writer.close()
    if not whole:
        raise ConnectionResetError("closed without an answer")
    first, *lines = whole.partition("\r\n\r\n")[0].split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return Answer(int(first.split()[1]), headers.get("location", ""), whole)


async def request_of(seller: httpx.AsyncClient, hook: str, units: int) -> dict[str, Any]:
    """Make a drop whose webhooks go to `hook`."""
    body = {
        "product": {"name": "Ticket"},
        "instrumentCurrencyCode": "USD",
        "receivers": [{"sendAmount": 5, "destination": "band"}],
        "expirationType": "limit",
        "totalUnits": units,
        "notifications": {"webhook": {"webhookUrl": hook}},
    }
    answer = await seller.post(REQUESTS_PATH, json=body)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def paid(seller: httpx.AsyncClient, request_id: str) -> list[str]:
    """Return the ids of all payments of a request."""
    found: list[str] = []
    cursor = None
    while True:
        params = {"limit": "100"} | ({"cursor": cursor} if cursor else {})
        page = (await seller.get(f"{REQUESTS_PATH}/{request_id}/payments", params=params)).json()
        found += [item["transactionId"] for item in page["items"]]
        cursor = page.get("nextCursor")
        if not cursor:
            return found
