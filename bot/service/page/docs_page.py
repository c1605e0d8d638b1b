"""`/docs`, the contract for people, made from the OpenAPI document; it loads nothing foreign."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from bot.service.http import callers
from bot.service.http.compression import Text, TextResponse
from bot.service.http.plain_route import PlainRoute
from bot.service.page import render

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request


def docs_router(spec: Callable[[str], dict[str, Any]]) -> APIRouter:
    """Return the route of the page; `spec` returns the OpenAPI document for a public address."""
    router = APIRouter(include_in_schema=False, route_class=PlainRoute)

    @router.get("/docs")
    async def docs(request: Request) -> TextResponse:
        return render.document(_html(spec, callers.state(request).service.public_url))

    return router


@lru_cache(maxsize=1)
def _html(spec: Callable[[str], dict[str, Any]], public_url: str) -> Text:
    return Text.of(render.documentation({"spec": spec(public_url), "brief": brief}))


def brief(schema: dict[str, Any]) -> str:
    """Describe a schema in a few words: `string, length at most 100`, `integer, at least 1`."""
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
