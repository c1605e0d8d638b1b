"""Sellers' pictures at `/images/{id}`, for pay pages and shared cards."""

from __future__ import annotations

from fastapi import APIRouter, Response

from bot.chat.store import seller_rows
from bot.core.database import database

PATH = "/images"

HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}
"""The picture of an id never changes, and pay pages on other sites show it."""


def image_router(db: database.Database) -> APIRouter:
    """Return the route `GET /images/{id}`; 404 for an unknown id."""
    router = APIRouter(include_in_schema=False)

    @router.api_route(PATH + "/{image_id}", methods=["GET", "HEAD"])
    async def show(image_id: str) -> Response:
        data = await seller_rows.image_data(db, image_id)
        if data is None:
            return Response("No such picture.", 404, media_type="text/plain")
        return Response(data, media_type="image/jpeg", headers=HEADERS)

    return router
