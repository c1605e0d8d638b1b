"""The OpenAPI document: the declarations of the routes, plus links and webhooks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from starlette.responses import Response

from bot.interface import answers, bodies, fields, refusals, vocabulary

if TYPE_CHECKING:
    from fastapi import APIRouter
    from starlette.requests import Request

# Webhooks.


SIGNATURE = r"v1,[A-Za-z0-9+/]+=*"
WEBHOOK_HEADERS: list[dict[str, Any]] = [
    {
        "name": "webhook-id",
        "in": "header",
        "required": True,
        "description": "The delivery's id, the same at each attempt: ignore one that you know.",
        "schema": TypeAdapter(answers.DeliveryId).json_schema(),
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
SCHEMA_REF = "#/components/schemas/{model}"


def _webhook(
    operation_id: str, summary: str, description: str, model: type[BaseModel]
) -> dict[str, Any]:
    schema = {"$ref": SCHEMA_REF.format(model=model.__name__)}
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
    vocabulary.WebhookEvent.PAYMENT.value: _webhook(
        "onPayment",
        "A payment came",
        "Sent to the `webhookUrl` of a request for each payment; for one that is underpaid only if"
        " the request names `events`. Those of one request come one after the other, in the order"
        " of the payments; one that is sent again comes later. The body has no field `event`.",
        bodies.WebhookEvent,
    ),
    vocabulary.WebhookEvent.CLAIMED.value: _webhook(
        "onClaim",
        "A payer says that the money was sent",
        "Sent to the `webhookUrl` of a request whose `events` name `checkout.claimed`. It is no"
        " payment yet: look for the money, then call `confirmCheckout` or `rejectCheckout`.",
        bodies.ClaimEvent,
    ),
}
"""Webhooks by the name of their event."""

# Links from the answers of calls to other calls, with the parameters that the answer provides.


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

# Headers of calls that change something.


@dataclass(frozen=True, slots=True)
class Header:
    """An optional header. FastAPI's own reading of the two took a sixth of a create's calls."""

    name: str
    kind: TypeAdapter[str]
    description: str

    def read(self, request: Request) -> str | None:
        """Return the header of a call. Raises InvalidBody."""
        given = request.headers.get(self.name)
        if given is None:
            return None
        try:
            return self.kind.validate_python(given)
        except ValidationError as error:
            raise refusals.invalid_body(error.errors(), within=self.name) from None

    @property
    def declared(self) -> dict[str, Any]:
        """Return the header as a parameter in OpenAPI."""
        return {
            "name": self.name,
            "in": "header",
            "required": False,
            "description": self.description,
            "schema": self.kind.json_schema(),
        }


KEY = Header(
    "Idempotency-Key",
    TypeAdapter(fields.IdempotencyKey),
    "Makes it safe to repeat the call after a lost answer: within 24 hours it is made once under"
    " this key, and a repeat is answered with what it made, as that is now. The same key with"
    " another call or body is refused (`idempotencyMismatch`). A refused call keeps no key.",
)
OWNER = Header(
    "Owner-Ref",
    TypeAdapter(fields.Owner),
    "Whose it is, if an application has sellers of its own. A receiver `account:REF` of a request"
    " has to name the same one.",
)
"""The seller for whom an application calls."""

# Declarations of routes.


AUTHENTICATED: dict[str, Any] = {"security": [{"appId": [], "appSecret": []}]}
OPEN: dict[str, Any] = {"security": []}
SECURITY_SCHEMES = {
    "appId": {"type": "apiKey", "in": "header", "name": "App-Id"},
    "appSecret": {"type": "apiKey", "in": "header", "name": "App-Secret"},
}
EMPTY = {
    "description": "It is gone; the body is empty.",
    "content": {"text/plain": {"schema": {"type": "string", "maxLength": 0}}},
}
RETRIED_LATER = frozenset({429, 503})
"""Statuses with a Retry-After header."""

RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds to wait",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    }
}


def operation(
    operation_id: str,
    summary: str,
    answer: type[answers.Answer] | None,
    *codes: int,
    but: Sequence[refusals.Failure] = (),
    keyed: bool = False,
    owned: bool = False,
    extra: dict[str, Any] = AUTHENTICATED,
) -> dict[str, Any]:
    """Return the declaration of a route; without an `answer` its body is empty.

    The refusals with the statuses `codes` are the general ones, but those that `but` replaces. A
    `keyed` call takes an Idempotency-Key, an `owned` one a seller's reference. `extra` has further
    fields of OpenAPI.
    """
    headers = [*([KEY.declared] if keyed else []), *([OWNER.declared] if owned else [])]
    return {
        "operation_id": operation_id,
        "summary": summary,
        **({} if answer else {"response_class": Response}),
        "responses": {
            200: {"model": answer} if answer else EMPTY,
            **failures(*codes, but=but, keyed=keyed),
        },
        "openapi_extra": extra | ({"parameters": headers} if headers else {}),
    }


def failures(
    *codes: int, but: Sequence[refusals.Failure] = (), keyed: bool = False
) -> dict[int | str, dict[str, Any]]:
    """Return the declarations of a route's refusals."""
    declared: dict[int | str, dict[str, Any]] = {}
    for failure in refusals.documented(*codes, but=but, keyed=keyed):
        example = refusals.answer(failure.error).to_json()
        declared[failure.status] = {
            "model": answers.ErrorAnswer,
            "description": failure.when,
            "content": {"application/json": {"example": example}},
            **({"headers": RETRY_AFTER} if failure.status in RETRIED_LATER else {}),
        }
    return declared


# The document.


TITLE = "Payment requests"
DESCRIPTION = (
    "Payment requests with a hosted pay page: donations, one-offs and limited drops. Amounts are"
    " exact JSON numbers. A webhook that is owed is sent until it is answered with 2xx, signed"
    " by Standard Webhooks."
)
TAGS = {
    "payment requests": "Requests of an application, their payments, and codes for buyers.",
    "files": "Files that buyers get.",
    "payout accounts": "Where the money of a seller's payments goes.",
    "checkouts": "Attempts to pay, which a seller confirms or rejects if nothing else can.",
    "wallets": "Calls of wallets.",
    "deliveries": "Webhooks and letters about payments, with their attempts.",
    "public": "Calls without credentials.",
}
PUBLISHED_NAMES = {"DetailError": "Wrong", "NotificationState": "DeliveryState"}
"""Published names of schemas whose classes have another name; generated clients use them."""

UNUSED = ("HTTPValidationError", "Status", "ValidationError")
"""Schemas that FastAPI adds."""


class _Untitled(GenerateJsonSchema):
    """Generate schemas without titles of fields, which would only repeat their names."""

    def field_title_should_be_set(self, _schema: Any) -> bool:
        return False


def document(routers: Sequence[APIRouter], public_url: str) -> dict[str, Any]:
    """Build the document of these routes at a public address."""
    spec = _with_published_names(
        get_openapi(
            title=TITLE,
            version="3",
            description=DESCRIPTION,
            routes=[route for router in routers for route in router.routes],
            servers=[{"url": public_url}],
            tags=[{"name": name, "description": words} for name, words in TAGS.items()],
        )
    )
    for operations in spec["paths"].values():
        for call in operations.values():
            _complete(call)
    components = spec["components"]
    components["securitySchemes"] = SECURITY_SCHEMES
    _, others = models_json_schema(
        [(bodies.WebhookEvent, "serialization"), (bodies.ClaimEvent, "serialization")],
        ref_template=SCHEMA_REF,
        schema_generator=_Untitled,
    )
    components["schemas"] |= others["$defs"]
    for name in UNUSED:
        components["schemas"].pop(name, None)
    return spec | {"webhooks": WEBHOOKS}


def _with_published_names(spec: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(spec)
    for ours, published in PUBLISHED_NAMES.items():
        text = text.replace(SCHEMA_REF.format(model=ours), SCHEMA_REF.format(model=published))
    renamed: dict[str, Any] = json.loads(text)
    schemas = renamed["components"]["schemas"]
    for ours, published in PUBLISHED_NAMES.items():
        schemas[published] = schemas.pop(ours) | {"title": published}
    renamed["components"]["schemas"] = dict(sorted(schemas.items()))
    return renamed


def _complete(call: dict[str, Any]) -> None:
    """Add the links from answers, and make the schemas of paths plain."""
    call["responses"].pop("422", None)
    for parameter in call.get("parameters", ()):
        if parameter["in"] == "path":
            for repeated in ("title", "description"):
                parameter["schema"].pop(repeated, None)
    links = {
        name: {"operationId": name, "parameters": parameters}
        for name, parameters in LINKS.get(call["operationId"], {}).items()
    }
    if links:
        call["responses"]["200"]["links"] = links
