"""`/openapi.json`, the contract for machines."""

from functools import lru_cache
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse

from bot.service.api import checkout_routes, delivery_routes, goods_routes, request_routes
from bot.service.http import callers, responses
from bot.service.http.openapi import document

router = APIRouter(include_in_schema=False)


@lru_cache(maxsize=4)
def spec(public_url: str) -> dict[str, Any]:
    """Build the OpenAPI document at a public address; cached."""
    return document(
        (
            request_routes.quick,
            request_routes.router,
            goods_routes.router,
            goods_routes.files_router,
            checkout_routes.payout_router,
            checkout_routes.router,
            checkout_routes.hint_router,
            delivery_routes.router,
            request_routes.public_router,
            goods_routes.public_router,
        ),
        public_url,
    )


@router.get("/openapi.json")
async def openapi(service: callers.ServiceDep) -> responses.TextResponse:
    text = _encoded(service.public_url)
    return responses.TextResponse(text, 200, responses.HEADERS, JSONResponse.media_type)


@lru_cache(maxsize=1)
def _encoded(public_url: str) -> responses.Text:
    return responses.Text.of(bytes(JSONResponse(spec(public_url)).body).decode())
