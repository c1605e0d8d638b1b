"""Sellers' pictures at `/images/{id}`, for pay pages and shared cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from bot.chat.store import seller_images

if TYPE_CHECKING:
    from bot.core.database.database import Database

PATH = "/images"

HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}
"""A picture never changes under its id, and pay pages of other sites show it."""


def image_router(db: Database) -> APIRouter:
    """Return the route `GET /images/{id}`; 404 for an unknown id."""
    router = APIRouter(include_in_schema=False)

    @router.api_route(PATH + "/{image_id}", methods=["GET", "HEAD"])
    async def show(image_id: str) -> Response:
        data = await seller_images.image_data(db, image_id)
        if data is None:
            return Response("No such picture.", 404, media_type="text/plain")
        return Response(data, media_type="image/jpeg", headers=HEADERS)

    return router
