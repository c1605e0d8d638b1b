"""`/`, `robots.txt`, the icon, stylesheets and scripts."""

from __future__ import annotations

from functools import lru_cache

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from bot.core.errors import NotFound
from bot.core.text.contacts import contact_link, contact_text
from bot.service.http import callers
from bot.service.http.compression import Text, TextResponse
from bot.service.http.plain_route import PlainRoute
from bot.service.page import forms, render
from bot.service.page.forms import Reader

FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
DAY = {"Cache-Control": "public, max-age=86400"}
NOSNIFF = {"X-Content-Type-Options": "nosniff"}
ASSETS = {
    "pay.css": "text/css",
    "docs.css": "text/css",
    "pay.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

ROBOTS = """\
# Pay pages may be read, so that chats can show what a link leads to.
# They say noindex, which a crawler can only obey if it may read it.
User-agent: *
Disallow: /v3/
Disallow: /email/
Disallow: /pay/*/receipt/*/file
"""

router = APIRouter(include_in_schema=False, route_class=PlainRoute)


@router.api_route("/", methods=["GET", "HEAD"])
async def home(request: Request) -> TextResponse:
    """Show what this server is, and lead sellers to the bot."""
    service, reader = callers.state(request).service, forms.reader(request)
    bot = service.bot_name()
    chat = service.chat_page or f"https://t.me/{bot}"
    written = _home(reader.language, bot, chat, service.operator_contact)
    return render.alone(reader, written)


@lru_cache(maxsize=64)
def _home(language: str, bot: str | None, chat: str, contact: str | None) -> Text:
    values = {
        "bot": bot,
        "chat": chat,
        "contact": contact and {"link": contact_link(contact), "text": contact_text(contact)},
    }
    return Text.of(render.text("home.html", Reader(language, language), values))


@router.api_route("/robots.txt", methods=["GET", "HEAD"])
async def robots(_request: Request) -> Response:
    return PlainTextResponse(ROBOTS, headers=DAY | NOSNIFF)


@router.api_route("/assets/{name}.{digest}.{kind}", methods=["GET", "HEAD"])
async def asset(request: Request) -> Response:
    """Return a stylesheet, script or icon at the address of its present content."""
    name, digest, kind = (request.path_params[part] for part in ("name", "digest", "kind"))
    media_type = ASSETS.get(f"{name}.{kind}")
    if media_type is None:
        raise NotFound
    content, address = render.asset(f"{name}.{kind}")
    if address != f"/assets/{name}.{digest}.{kind}":
        raise NotFound
    return TextResponse(content, 200, FOREVER | NOSNIFF, media_type)


@router.api_route("/favicon.ico", methods=["GET", "HEAD"])
async def icon(_request: Request) -> Response:
    """Return the icon that browsers request by themselves, some of which draw no SVG."""
    return Response(ICON, headers=DAY | NOSNIFF, media_type="image/x-icon")


ICON = (render.TEMPLATES / "icon.ico").read_bytes()
