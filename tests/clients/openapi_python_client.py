"""A round of the client of openapi-python-client."""

from __future__ import annotations

import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from typing import Any

import httpx
from generated import AuthenticatedClient
from generated.api.payment_requests import (
    create_payment_request,
    delete_payment_request,
    edit_payment_request,
    get_payment,
    get_payment_request,
    list_payment_requests,
)
from generated.models import (
    CreateBody,
    EditBody,
    ErrorAnswer,
    NotificationsBody,
    PaymentAnswer,
    ProductBody,
    ProductEdit,
    ReceiverBody,
    RequestAnswer,
    RequestList,
    WebhookBody,
    WebhookEvent,
)
from standardwebhooks import Webhook

webhooks: Queue[Any] = Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        webhooks.put(Webhook(os.environ["WEBHOOK_SECRET"]).verify(body, dict(self.headers)))
        self.send_response(204)
        self.end_headers()


def pay(page: str) -> None:
    found = re.search(r'name="token" value="([^"]+)"', httpx.get(page).text)
    assert found
    assert httpx.post(page, data={"token": found[1]}).status_code == 303


receiver = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()

client = AuthenticatedClient(
    os.environ["SERVICE"],
    headers={"App-Id": os.environ["APP_ID"]},
    auth_header_name="App-Secret",
    prefix="",
    token=os.environ["APP_SECRET"],
)
body = CreateBody(
    product=ProductBody(name="Sticker pack"),
    instrument_currency_code="USD",
    receivers=[ReceiverBody(send_amount=2.5, destination="alice")],
    expiration_type="limit",
    total_units=10,
    notifications=NotificationsBody(
        webhook=WebhookBody(webhook_url=f"http://127.0.0.1:{receiver.server_port}/hook")
    ),
)
made = create_payment_request.sync(client=client, body=body)
assert isinstance(made, RequestAnswer)

listed = list_payment_requests.sync(client=client, limit=5)
assert isinstance(listed, RequestList)

change = EditBody(product=ProductEdit(name="Two packs"), decrease_remaining_units=2)
edits = []
for _ in range(2):
    edited = edit_payment_request.sync(
        made.id, client=client, body=change, idempotency_key="one edit"
    )
    assert isinstance(edited, RequestAnswer)
    edits.append([edited.product.name, edited.remaining_units])

pay(made.payment_request_url)
event = WebhookEvent.from_dict(webhooks.get(timeout=30))
payment = get_payment.sync(made.id, event.transaction_id, client=client)
assert isinstance(payment, PaymentAnswer)

deleted = delete_payment_request.sync_detailed(made.id, client=client)
gone = get_payment_request.sync(made.id, client=client)
assert isinstance(gone, ErrorAnswer)

print(  # noqa: T201 - the test reads it
    json.dumps(
        {
            "listed": [item.id == made.id for item in listed.items],
            "edits": edits,
            "webhook": [event.amount, event.currency_code, event.remaining_units],
            "payment": [payment.amount, payment.currency_code],
            "deleted": deleted.status_code,
            "afterwards": gone.code,
        }
    )
)
