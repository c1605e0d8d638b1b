"""The OpenAPI document: the declarations of the routes, plus bodies, links and webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from bot.core import exact_json
from bot.service.http import documented_failures
from bot.service.requests import request
from bot.service.wire import answer_schemas, body_parsing, body_schemas, goods_and_payouts

if TYPE_CHECKING:
    from fastapi import APIRouter
    from pydantic_core.core_schema import WithDefaultSchema

# Webhooks.


SIGNATURE = r"v1,[A-Za-z0-9+/]+=*"
WEBHOOK_HEADERS: list[dict[str, Any]] = [
    {
        "name": "webhook-id",
        "in": "header",
        "required": True,
        "description": "The delivery's id, the same at each attempt: ignore one that you know.",
        "schema": TypeAdapter(answer_schemas.DeliveryId).json_schema(),
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
WEBHOOK_ANSWERS = {
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
            "parameters": WEBHOOK_HEADERS,
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
            "responses": WEBHOOK_ANSWERS,
        }
    }


WEBHOOKS = {
    request.WebhookEvent.PAYMENT.value: _webhook(
        "onPayment",
        "A payment came",
        "Sent to the `webhookUrl` of a request for each payment; for one that is underpaid only if"
        " the request names `events`. Those of one request come one after the other, in the order"
        " of the payments; one that is sent again comes later. The body has no field `event`.",
        "WebhookEvent",
    ),
    request.WebhookEvent.CLAIMED.value: _webhook(
        "onClaim",
        "A payer says that the money was sent",
        "Sent to the `webhookUrl` of a request whose `events` name `checkout.claimed`. It is no"
        " payment yet: look for the money, then call `confirmCheckout` or `rejectCheckout`.",
        "ClaimEvent",
    ),
}
"""Webhooks by the name of their event."""

# Parameters, links and bodies of calls.


WRITE_STATUSES = (400, 401, 404, 409, 413, 415, 429)
IDEMPOTENCY_KEY, MAX_KEY_LENGTH = "Idempotency-Key", 255
OWNER = "Owner-Ref"
"""Header that names the seller for whom an application creates a request."""

_OWNER_PARAMETER: dict[str, Any] = {
    "name": OWNER,
    "in": "header",
    "required": False,
    "description": "Whose it is, if an application has sellers of its own. A receiver"
    " `account:REF` of a request has to name the same one.",
    "schema": {"type": "string", "pattern": f"^{request.OWNERS.pattern}$"},
}
_KEY_PARAMETER: dict[str, Any] = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "required": False,
    "description": "Makes it safe to repeat the call after a lost answer: within 24 hours it is"
    " made once under this key, and a repeat is answered with what it made, as that is now. The"
    " same key with another call or body is refused (`idempotencyMismatch`). A refused call keeps"
    " no key.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
}
KEYED: dict[str, Any] = {"parameters": [_KEY_PARAMETER]}
KEYED_AND_OWNED: dict[str, Any] = {"parameters": [_KEY_PARAMETER, _OWNER_PARAMETER]}
"""Parameters of the calls that change something."""

AUTHENTICATED: dict[str, Any] = {"security": [{"appId": [], "appSecret": []}]}
OPEN: dict[str, Any] = {"security": []}
SECURITY_SCHEMES = {
    "appId": {"type": "apiKey", "in": "header", "name": "App-Id"},
    "appSecret": {"type": "apiKey", "in": "header", "name": "App-Secret"},
}
SCHEMA_REF = "#/components/schemas/{model}"
REQUEST_ID, DELIVERY_ID = (
    TypeAdapter(answer_schemas.Id).json_schema(),
    TypeAdapter(answer_schemas.DeliveryId).json_schema(),
)
NEW_ID, FIRST_ID, NEXT_CURSOR = (
    "$response.body#/id",
    "$response.body#/items/0/id",
    "$response.body#/nextCursor",
)
SAME_ID, SAME_PAYMENT = "$request.path.id", "$request.path.transactionId"
FIRST_PAYMENT = "$response.body#/items/0/transactionId"
REQUEST_OPERATIONS = (
    "getPaymentRequest",
    "editPaymentRequest",
    "deletePaymentRequest",
    "listPayments",
    "addCodes",
    "getPublicPaymentRequest",
    "getPublicStats",
)


def _request_links(request_id: str, but: str = "") -> dict[str, dict[str, str]]:
    return {name: {"id": request_id} for name in REQUEST_OPERATIONS if name != but}


LINKS: dict[str, dict[str, dict[str, str]]] = {
    "createPaymentRequest": {
        **_request_links(NEW_ID),
        "listDeliveries": {"paymentRequestId": NEW_ID},
    },
    "listPaymentRequests": {
        **_request_links(FIRST_ID),
        "listPaymentRequests": {"cursor": NEXT_CURSOR},
    },
    "getPaymentRequest": _request_links(NEW_ID, but="getPaymentRequest"),
    "editPaymentRequest": _request_links(NEW_ID, but="editPaymentRequest"),
    "listPayments": {
        "getPayment": {"id": SAME_ID, "transactionId": FIRST_PAYMENT},
        "markPayment": {"id": SAME_ID, "transactionId": FIRST_PAYMENT},
        "getReceipt": {"id": SAME_ID, "transactionId": FIRST_PAYMENT},
        "listPayments": {"id": SAME_ID, "cursor": NEXT_CURSOR},
    },
    "listDeliveries": {"getDelivery": {"id": FIRST_ID}, "listDeliveries": {"cursor": NEXT_CURSOR}},
    "getDelivery": {
        "retryDelivery": {"id": NEW_ID},
        "getPaymentRequest": {"id": "$response.body#/paymentRequestId"},
        "getPayment": {
            "id": "$response.body#/paymentRequestId",
            "transactionId": "$response.body#/transactionId",
        },
    },
    "retryDelivery": {"getDelivery": {"id": NEW_ID}},
    "connectPayoutAccount": {
        "listPayoutAccounts": {"owner": "$response.body#/owner"},
        "removePayoutAccount": {"id": NEW_ID},
    },
    "listPayoutAccounts": {"removePayoutAccount": {"id": FIRST_ID}},
    "getPayment": {
        "getCheckout": {"id": "$response.body#/checkoutId"},
        "markPayment": {"id": SAME_ID, "transactionId": SAME_PAYMENT},
    },
    "markPayment": {"getPayment": {"id": SAME_ID, "transactionId": SAME_PAYMENT}},
    "getCheckout": {
        "confirmCheckout": {"id": NEW_ID},
        "rejectCheckout": {"id": NEW_ID},
        "getPaymentRequest": {"id": "$response.body#/paymentRequestId"},
    },
}
"""Links from the answers of calls to other calls, with the parameters that the answer provides."""

CALL_BODIES: tuple[type[BaseModel], ...] = (
    body_schemas.CreateBody,
    body_schemas.EditBody,
    body_schemas.CodesBody,
    body_parsing.MarksBody,
    goods_and_payouts.PayoutBody,
)
"""Bodies that routes read themselves and so can't declare."""

WEBHOOK_BODIES: tuple[type[BaseModel], ...] = (
    answer_schemas.WebhookEvent,
    answer_schemas.ClaimEvent,
)

DESCRIPTION = (
    "Payment requests with a hosted pay page: donations, one-offs and limited drops. Amounts are"
    " exact JSON numbers. A webhook that is owed is sent until it is answered with 2xx, signed"
    " by Standard Webhooks."
)


def operation(
    operation_id: str,
    summary: str,
    answer: Any,
    *codes: int,
    extra: dict[str, Any] | None = None,
    overrides: documented_failures.Failures = documented_failures.NO_OVERRIDES,
    keyed: bool = False,
) -> dict[str, Any]:
    """Return the declaration of a route.

    `extra` has further fields of OpenAPI; `overrides` replace the general failures. A `keyed` call
    takes an Idempotency-Key.
    """
    return {
        "operation_id": operation_id,
        "summary": summary,
        "responses": {
            200: {"model": answer},
            **documented_failures.failures(*codes, overrides=overrides, keyed=keyed),
        },
        "openapi_extra": AUTHENTICATED | (KEYED if keyed else {}) | (extra or {}),
    }


def body(model: str) -> dict[str, Any]:
    """Return the declaration of a body that the route reads itself."""
    schema = {"$ref": SCHEMA_REF.format(model=model)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


class _PlainSchemas(GenerateJsonSchema):
    """Generate schemas without defaults: a field that an edit leaves out keeps its value."""

    def default_schema(self, schema: WithDefaultSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, _schema: Any) -> bool:
        return False  # a title would only repeat the name of the field


PUBLISHED_NAMES = {"DetailError": "Wrong", "NotificationState": "DeliveryState"}
"""Published names of schemas whose classes have another name; generated clients use them."""


def document(routers: Sequence[APIRouter], public_url: str) -> dict[str, Any]:
    """Build the document of these routes at a public address."""
    spec = _with_published_names(
        get_openapi(
            title="Payment requests",
            version="3",
            description=DESCRIPTION,
            routes=[route for router in routers for route in router.routes],
            servers=[{"url": public_url}],
        )
    )
    for operations in spec["paths"].values():
        for operation in operations.values():
            _complete(operation)
    components = spec["components"]
    components["securitySchemes"] = SECURITY_SCHEMES
    _, others = models_json_schema(
        [
            *((body, "validation") for body in CALL_BODIES),
            *((sent, "serialization") for sent in WEBHOOK_BODIES),
        ],
        ref_template=SCHEMA_REF,
        schema_generator=_PlainSchemas,
    )
    components["schemas"] |= others["$defs"]
    for unused in ("HTTPValidationError", "Status", "ValidationError"):
        components["schemas"].pop(unused, None)
    return spec | {"webhooks": WEBHOOKS}


def _with_published_names(spec: dict[str, Any]) -> dict[str, Any]:
    text = exact_json.dumps(spec)
    for ours, published in PUBLISHED_NAMES.items():
        text = text.replace(f'"#/components/schemas/{ours}"', f'"#/components/schemas/{published}"')
    renamed: dict[str, Any] = exact_json.loads(text)
    schemas = renamed["components"]["schemas"]
    for ours, published in PUBLISHED_NAMES.items():
        schemas[published] = schemas.pop(ours) | {"title": published}
    renamed["components"]["schemas"] = dict(sorted(schemas.items()))
    return renamed


def _complete(operation: dict[str, Any]) -> None:
    """Add the format of ids and the links from answers, which routes can't declare."""
    operation["responses"].pop("422", None)
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path" and "pattern" not in parameter["schema"]:
            parameter["schema"] = DELIVERY_ID if "deliveries" in operation["tags"] else REQUEST_ID
    links = {
        name: {"operationId": name, "parameters": parameters}
        for name, parameters in LINKS.get(operation["operationId"], {}).items()
    }
    if links:
        operation["responses"]["200"]["links"] = links
