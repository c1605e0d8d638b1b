"""`/privacy`: what the pages store about payers, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi import APIRouter, Request

from bot.core.text import contacts
from bot.service.http import callers
from bot.service.http.plain_route import PlainRoute
from bot.service.page import forms, render

if TYPE_CHECKING:
    from starlette.responses import Response

router = APIRouter(include_in_schema=False, route_class=PlainRoute)

PARTS = ("typed", "cookie", "address", "pictures", "time", "who")


@router.api_route("/privacy", methods=["GET", "HEAD"])
async def privacy(request: Request) -> Response:
    """Show the page, which is the same for everybody."""
    service, reader = callers.admit_payer(request), forms.reader(request)
    minutes = callers.state(request).cookies.lifetime // 60_000
    values = {
        "host": urlsplit(service.public_url).netloc,
        "parts": [
            (
                reader.t(f"page-private-{part}"),
                reader.t(f"page-private-{part}-why", minutes=minutes),
            )
            for part in PARTS
        ],
        "operator": _operator(service.operator_contact),
    }
    return render.html("privacy.html", reader, values)


def _operator(contact: str | None) -> dict[str, str] | None:
    if contact is None:
        return None
    return {"url": contacts.contact_link(contact), "text": contacts.contact_text(contact)}
