"""`/`, `robots.txt`, the icon, stylesheets and scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from bot.core import errors
from bot.core.text import contacts
from bot.service.http import callers, responses, routes
from bot.service.pages import payer_form, render

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

router = APIRouter(include_in_schema=False, route_class=routes.PlainRoute)


@router.api_route("/", methods=["GET", "HEAD"])
async def home(request: Request) -> responses.TextResponse:
    """Show what this server is, and lead sellers to the bot."""
    service, reader = callers.state_of(request).service, payer_form.reader(request)
    bot = service.bot_name()
    chat = service.chat_page or f"https://t.me/{bot}"
    written = _home(reader.language, bot, chat, service.operator_contact)
    return render.alone(reader, written)


@lru_cache(maxsize=64)
def _home(language: str, bot: str | None, chat: str, contact: str | None) -> responses.Text:
    values = {
        "bot": bot,
        "chat": chat,
        "contact": contact
        and {"link": contacts.contact_link(contact), "text": contacts.contact_text(contact)},
    }
    return responses.Text.of(
        render.text("home.html", payer_form.Reader(language, language), values)
    )


@router.api_route("/robots.txt", methods=["GET", "HEAD"])
async def robots(_request: Request) -> Response:
    return PlainTextResponse(ROBOTS, headers=DAY | NOSNIFF)


@router.api_route("/assets/{name}.{digest}.{kind}", methods=["GET", "HEAD"])
async def asset(request: Request) -> Response:
    """Return a stylesheet, script or icon at the address of its present content."""
    name, digest, kind = (request.path_params[part] for part in ("name", "digest", "kind"))
    media_type = ASSETS.get(f"{name}.{kind}")
    if media_type is None:
        raise errors.NotFound
    content, address = render.asset(f"{name}.{kind}")
    if address != f"/assets/{name}.{digest}.{kind}":
        raise errors.NotFound
    return responses.TextResponse(content, 200, FOREVER | NOSNIFF, media_type)


@router.api_route("/favicon.ico", methods=["GET", "HEAD"])
async def icon(_request: Request) -> Response:
    """Return the icon that browsers request by themselves, some of which draw no SVG."""
    return Response(ICON, headers=DAY | NOSNIFF, media_type="image/x-icon")


ICON = (render.TEMPLATES / "icon.ico").read_bytes()


# `/privacy`: what the pages store about payers, in plain words.


privacy_router = APIRouter(include_in_schema=False, route_class=routes.PlainRoute)

PARTS = ("typed", "cookie", "address", "pictures", "time", "who")


@privacy_router.api_route("/privacy", methods=["GET", "HEAD"])
async def privacy(request: Request) -> Response:
    """Show the page, which is the same for everybody."""
    service, reader = callers.admit_payer(request), payer_form.reader(request)
    minutes = callers.state_of(request).cookies.lifetime_ms // 60_000
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


# `/docs`, the contract for people, made from the OpenAPI document; it loads nothing foreign.


def docs_router(spec: Callable[[str], dict[str, Any]]) -> APIRouter:
    """Return the route of the page; `spec` returns the OpenAPI document for a public address."""
    router = APIRouter(include_in_schema=False, route_class=routes.PlainRoute)

    @router.get("/docs")
    async def docs(request: Request) -> responses.TextResponse:
        return render.document(_html(spec, callers.state_of(request).service.public_url))

    return router


@lru_cache(maxsize=1)
def _html(spec: Callable[[str], dict[str, Any]], public_url: str) -> responses.Text:
    return responses.Text.of(render.documentation({"spec": spec(public_url), "brief": brief}))


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
