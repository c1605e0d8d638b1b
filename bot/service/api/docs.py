"""`/openapi.json` and `/docs`, which is made from it here and loads nothing from elsewhere."""

import json
from functools import lru_cache
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from bot.service.api import deliveries, public, routes
from bot.service.http import responses
from bot.service.http.calls import Serving
from bot.service.http.openapi import document
from bot.service.page import render

router = APIRouter(include_in_schema=False)


@lru_cache(maxsize=4)
def spec(public_url: str) -> dict[str, Any]:
    """Give the OpenAPI document."""
    return document((routes.quick, routes.router, deliveries.router, public.router), public_url)


@router.get("/openapi.json")
async def openapi(service: Serving) -> Response:
    """Return the contract for machines."""
    return Response(
        _for_machines(service.public_url), 200, responses.HEADERS, JSONResponse.media_type
    )


@router.get("/docs")
async def docs(service: Serving) -> Response:
    """Return the contract for people."""
    return render.document(_for_people(service.public_url))


@lru_cache(maxsize=1)
def _for_machines(public_url: str) -> bytes:
    return bytes(JSONResponse(spec(public_url)).body)


@lru_cache(maxsize=1)
def _for_people(public_url: str) -> bytes:
    values = {"spec": spec(public_url), "brief": brief}
    return render.document_text("docs.html", values).encode()


def brief(schema: dict[str, Any]) -> str:
    """Say in a few words what a schema allows: `string, 1 to 100 characters`, `integer ≥ 1`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(brief(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    kind = str(schema.get("format") or schema.get("type", "anything"))
    if "items" in schema:
        kind = f"list of {brief(schema['items'])}"
    bounds = [f"{word} {schema[name]}" for name, word in _BOUNDS.items() if name in schema]
    return ", ".join([kind, *bounds])


_BOUNDS = {
    "minLength": "length at least",
    "maxLength": "length at most",
    "exclusiveMinimum": "more than",
    "minimum": "at least",
    "maximum": "at most",
    "minItems": "items at least",
    "maxItems": "items at most",
}
