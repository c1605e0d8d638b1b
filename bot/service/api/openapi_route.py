"""`/openapi.json`, the contract for machines."""

from functools import lru_cache
from typing import Any

from fastapi import APIRouter
from starlette.responses import JSONResponse

from bot.service.api import (
    checkout_routes,
    delivery_routes,
    goods_routes,
    hint_route,
    payout_routes,
    request_routes,
)
from bot.service.http import responses
from bot.service.http.callers import Serving
from bot.service.http.compression import Text, TextResponse
from bot.service.http.openapi import document

router = APIRouter(include_in_schema=False)


@lru_cache(maxsize=4)
def spec(public_url: str) -> dict[str, Any]:
    """Build the OpenAPI document, once for each address."""
    return document(
        (
            request_routes.quick,
            request_routes.router,
            goods_routes.router,
            goods_routes.files_router,
            payout_routes.router,
            checkout_routes.router,
            hint_route.router,
            delivery_routes.router,
            request_routes.public_router,
            goods_routes.public_router,
        ),
        public_url,
    )


@router.get("/openapi.json")
async def openapi(service: Serving) -> TextResponse:
    written = _encoded(service.public_url)
    return TextResponse(written, 200, responses.HEADERS, JSONResponse.media_type)


@lru_cache(maxsize=1)
def _encoded(public_url: str) -> Text:
    return Text.of(bytes(JSONResponse(spec(public_url)).body).decode())
