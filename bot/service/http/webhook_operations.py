"""The webhooks of the OpenAPI document: what is sent, and what follows from the answer."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from bot.service.model.request import WebhookEvent
from bot.service.wire.answer_schemas import DeliveryId

SIGNATURE = r"v1,[A-Za-z0-9+/]+=*"
HEADERS: list[dict[str, Any]] = [
    {
        "name": "webhook-id",
        "in": "header",
        "required": True,
        "description": "The delivery's id, the same at each attempt: ignore one that you know.",
        "schema": TypeAdapter(DeliveryId).json_schema(),
    },
    {
        "name": "webhook-timestamp",
        "in": "header",
        "required": True,
        "description": "When this attempt was made, in Unix seconds.",
        "schema": {"type": "integer"},
    },
    {
        "name": "webhook-signature",
        "in": "header",
        "required": True,
        "description": (
            "Signatures by Standard Webhooks, one for each valid WEBHOOK_SECRET: check that one"
            " of them is yours."
        ),
        "schema": {"type": "string", "pattern": f"^{SIGNATURE}( {SIGNATURE})*$"},
    },
]
ANSWERS = {
    "2XX": {"description": "It is delivered."},
    "410": {"description": "It is given up at once."},
    "default": {
        "description": (
            "It is sent again, up to eight times within 28 hours: see Retry-After, which is"
            " respected. Redirects are not followed."
        )
    },
}


def _webhook(operation_id: str, summary: str, description: str, model: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {
        "post": {
            "operationId": operation_id,
            "summary": summary,
            "description": description,
            "security": [],
            "parameters": HEADERS,
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
            "responses": ANSWERS,
        }
    }


WEBHOOKS = {
    WebhookEvent.PAYMENT.value: _webhook(
        "onPayment",
        "A payment came",
        "Sent to the `webhookUrl` of a request for each payment; for one that is underpaid only if"
        " the request names `events`. Those of one request come one after the other, in the order"
        " of the payments; one that is sent again comes later. The body has no field `event`.",
        "WebhookEvent",
    ),
    WebhookEvent.CLAIMED.value: _webhook(
        "onClaim",
        "A payer says that the money was sent",
        "Sent to the `webhookUrl` of a request whose `events` name `checkout.claimed`. It is no"
        " payment yet: look for the money, then call `confirmCheckout` or `rejectCheckout`.",
        "ClaimEvent",
    ),
}
"""Webhooks by the name of their event."""
