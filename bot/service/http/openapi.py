"""The OpenAPI document: what the routes declare, and what they can't."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from bot.service.model.seller import OWNERS
from bot.service.wire.answer_schemas import DeliveryId, ErrorAnswer, Id
from bot.service.wire.body_schemas import CreateBody, EditBody
from bot.service.wire.payout_schemas import PayoutBody

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import APIRouter
    from pydantic_core.core_schema import WithDefaultSchema

FAILURES = {
    400: "A field is wrong (`invalidBody`), or email is asked for (`emailUnavailable`).",
    401: "The App-Id and App-Secret headers are missing or wrong (`unauthorized`).",
    404: "The application has nothing of this id, or no longer what the key made (`notFound`).",
    409: "It can't be done now (`notLimited`, `notEnoughUnits`, `idempotencyMismatch`).",
    413: "The body is larger than 64 KiB (`bodyTooLarge`).",
    415: "The body is not JSON (`unsupportedMediaType`).",
    429: "Too many calls (`rateLimited`): see Retry-After.",
    500: "Something went wrong here (`internal`); it is in the operator's log.",
    503: "The service can't be used just now (`unavailable`): see Retry-After.",
}
OF_READING = {
    400: "A parameter is wrong (`invalidBody`).",
    404: "There is nothing of this id (`notFound`).",
}
"""The same for calls without a body."""

OF_PAYOUTS = {
    400: "A field is wrong, or the server takes test money, which goes to no account"
    " (`invalidBody`).",
    404: "The application has no such payout account (`notFound`).",
    429: "Too many calls, or too many accounts at once (`rateLimited`): see Retry-After.",
}
"""The same for calls about payout accounts."""

OF_CHECKOUTS = {
    404: "The application has no such checkout (`notFound`).",
    409: "The checkout is in a state that doesn't allow it (`wrongState`).",
}
"""The same for calls about checkouts."""

EXAMPLES = {
    400: ("invalidBody", "product.name: is required", "product.name", "is required"),
    401: ("unauthorized", "The App-Id and App-Secret headers are missing or wrong.", "", ""),
    404: ("notFound", "There is no such payment request.", "", ""),
    409: ("notEnoughUnits", "3 units remain, 5 were to be taken out.", "", ""),
    413: ("bodyTooLarge", "The body is larger than 64 KiB.", "", ""),
    415: ("unsupportedMediaType", "Send the body as application/json.", "", ""),
    429: ("rateLimited", "Too many calls: slow down.", "", ""),
    500: ("internal", "Something went wrong here. It is in the operator's log.", "", ""),
    503: ("unavailable", "Not just now: please try again.", "", ""),
}
NO_CURSOR = "is none that this list gave"
EXAMPLES_OF_READING = {
    400: ("invalidBody", f"cursor: {NO_CURSOR}", "cursor", NO_CURSOR),
    409: ("wrongState", "This checkout is lapsed.", "", ""),
}
ANYWHERE = (500, 503)
OF_WRITING = (400, 401, 404, 409, 413, 415, 429)
NO_JSON = 415
"""The status that marks calls with a body."""

LATER = frozenset({429, 503})
"""Statuses with a Retry-After header."""

RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds to wait",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    }
}
IDEMPOTENCY_KEY, MAX_KEY = "Idempotency-Key", 255
OWNER = "Owner-Ref"
"""Header by which an application names the seller for whom it creates a request."""

KEYED: dict[str, Any] = {
    "parameters": [
        {
            "name": IDEMPOTENCY_KEY,
            "in": "header",
            "required": False,
            "description": "Calls with the same key within 24 hours make one request.",
            "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY},
        },
        {
            "name": OWNER,
            "in": "header",
            "required": False,
            "description": "Whose the request is, where an application has sellers of its own.",
            "schema": {"type": "string", "pattern": f"^{OWNERS.pattern}$"},
        },
    ]
}
AUTHENTICATED: dict[str, Any] = {"security": [{"appId": [], "appSecret": []}]}
OPEN: dict[str, Any] = {"security": []}
SCHEMES = {
    "appId": {"type": "apiKey", "in": "header", "name": "App-Id"},
    "appSecret": {"type": "apiKey", "in": "header", "name": "App-Secret"},
}
REF = "#/components/schemas/{model}"
REQUEST, DELIVERY = TypeAdapter(Id).json_schema(), TypeAdapter(DeliveryId).json_schema()
ID, FIRST, NEXT = "$response.body#/id", "$response.body#/items/0/id", "$response.body#/nextCursor"
SAME = "$request.path.id"
OF_A_REQUEST = (
    "getPaymentRequest",
    "editPaymentRequest",
    "deletePaymentRequest",
    "listPayments",
    "getPublicPaymentRequest",
    "getPublicStats",
)


def _managed(request_id: str, but: str = "") -> dict[str, dict[str, str]]:
    return {name: {"id": request_id} for name in OF_A_REQUEST if name != but}


LINKS: dict[str, dict[str, dict[str, str]]] = {
    "createPaymentRequest": {**_managed(ID), "listDeliveries": {"paymentRequestId": ID}},
    "listPaymentRequests": {**_managed(FIRST), "listPaymentRequests": {"cursor": NEXT}},
    "getPaymentRequest": _managed(ID, but="getPaymentRequest"),
    "editPaymentRequest": _managed(ID, but="editPaymentRequest"),
    "listPayments": {
        "getPayment": {"id": SAME, "transactionId": "$response.body#/items/0/transactionId"},
        "listPayments": {"id": SAME, "cursor": NEXT},
    },
    "listDeliveries": {"getDelivery": {"id": FIRST}, "listDeliveries": {"cursor": NEXT}},
    "getDelivery": {
        "retryDelivery": {"id": ID},
        "getPaymentRequest": {"id": "$response.body#/paymentRequestId"},
        "getPayment": {
            "id": "$response.body#/paymentRequestId",
            "transactionId": "$response.body#/transactionId",
        },
    },
    "retryDelivery": {"getDelivery": {"id": ID}},
    "connectPayoutAccount": {
        "listPayoutAccounts": {"owner": "$response.body#/owner"},
        "removePayoutAccount": {"id": ID},
    },
    "listPayoutAccounts": {"removePayoutAccount": {"id": FIRST}},
    "getPayment": {"getCheckout": {"id": "$response.body#/checkoutId"}},
    "getCheckout": {
        "confirmCheckout": {"id": ID},
        "rejectCheckout": {"id": ID},
        "getPaymentRequest": {"id": "$response.body#/paymentRequestId"},
    },
}
"""Links from answers to calls, with the parameters that the answer provides."""

DESCRIPTION = (
    "Payment requests with a hosted pay page: donations, one-offs and limited drops. Amounts are"
    " exact JSON numbers. A webhook that is owed is sent until it is answered with 2xx, signed"
    " by Standard Webhooks."
)


NOTHING_ELSE: Mapping[int, str] = MappingProxyType({})


def operation(
    operation_id: str,
    summary: str,
    answer: Any,
    *codes: int,
    extra: dict[str, Any] | None = None,
    said: Mapping[int, str] = NOTHING_ELSE,
) -> dict[str, Any]:
    """Return the declaration of a route.

    `extra` adds to OpenAPI's own fields of it, `said` has its own words on failures.
    """
    return {
        "operation_id": operation_id,
        "summary": summary,
        "responses": {200: {"model": answer}, **failures(*codes, said=said)},
        "openapi_extra": AUTHENTICATED | (extra or {}),
    }


def failures(
    *codes: int, said: Mapping[int, str] = NOTHING_ELSE
) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route; `said` has its own words on some."""
    takes_body = NO_JSON in codes
    descriptions = {**FAILURES, **({} if takes_body else OF_READING), **said}
    examples = EXAMPLES if takes_body else EXAMPLES | EXAMPLES_OF_READING
    return {
        code: _failure(code, descriptions[code], examples[code]) for code in (*codes, *ANYWHERE)
    }


def _failure(code: int, description: str, sample: tuple[str, str, str, str]) -> dict[str, Any]:
    name, message, field, problem = sample
    info = [{"field": field, "message": problem}] if field else []
    example = {"code": name, "message": message, "info": info}
    said: dict[str, Any] = {
        "model": ErrorAnswer,
        "description": description,
        "content": {"application/json": {"example": example}},
    }
    return said | ({"headers": RETRY_AFTER} if code in LATER else {})


def body(model: str) -> dict[str, Any]:
    """Return the documentation of a body that the route reads by itself."""
    schema = {"$ref": REF.format(model=model)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


class _Bodies(GenerateJsonSchema):
    """Schemas without defaults: a field that an edit leaves out stays as it is."""

    def default_schema(self, schema: WithDefaultSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, _schema: Any) -> bool:
        """Return False: a title would only repeat the name of the field."""
        return False


def document(routers: Sequence[APIRouter], public_url: str) -> dict[str, Any]:
    spec = get_openapi(
        title="Payment requests",
        version="3",
        description=DESCRIPTION,
        routes=[route for router in routers for route in router.routes],
        servers=[{"url": public_url}],
    )
    for operations in spec["paths"].values():
        for operation in operations.values():
            _complete(operation)
    components = spec["components"]
    components["securitySchemes"] = SCHEMES
    _, bodies = models_json_schema(
        [(CreateBody, "validation"), (EditBody, "validation"), (PayoutBody, "validation")],
        ref_template=REF,
        schema_generator=_Bodies,
    )
    components["schemas"] |= bodies["$defs"]
    for unused in ("HTTPValidationError", "Status", "ValidationError"):
        components["schemas"].pop(unused, None)
    return spec


def _complete(operation: dict[str, Any]) -> None:
    """Add what routes can't declare: the form of ids, and links from answers."""
    operation["responses"].pop("422", None)
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            parameter["schema"] = DELIVERY if "deliveries" in operation["tags"] else REQUEST
    links = {
        name: {"operationId": name, "parameters": parameters}
        for name, parameters in LINKS.get(operation["operationId"], {}).items()
    }
    if links:
        operation["responses"]["200"]["links"] = links
