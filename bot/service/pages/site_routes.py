"""`/`, `/privacy`, `/docs`, `/openapi.json`, `robots.txt`, the icon, stylesheets and scripts."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.core import errors
from bot.core.text import contacts
from bot.service.api import (
    callers,
    calls,
    checkout_routes,
    goods_routes,
    openapi,
    request_routes,
)
from bot.service.pages import page_texts, render

CACHED_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
CACHED_FOR_A_DAY = {"Cache-Control": "public, max-age=86400"}
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


async def home(request: Request) -> Response:
    """Show what this server is, with a link to the bot for sellers."""
    service, locale = callers.state_of(request).service, page_texts.locale_of(request)
    bot, contact = service.bot_name(), service.operator_contact
    values = {
        "bot": bot,
        "chat": service.chat_page or f"https://t.me/{bot}",
        "contact": contact
        and {"link": contacts.contact_link(contact), "text": contacts.contact_text(contact)},
    }
    return render.html("home.html", locale, values)


async def robots(_request: Request) -> Response:
    return PlainTextResponse(ROBOTS, headers=CACHED_FOR_A_DAY | NOSNIFF)


async def asset(request: Request) -> Response:
    """Return a stylesheet, script or icon at the address of its current content."""
    name, digest, kind = (request.path_params[part] for part in ("name", "digest", "kind"))
    media_type = ASSETS.get(f"{name}.{kind}")
    if media_type is None:
        raise errors.NotFound
    content, address = render.asset(f"{name}.{kind}")
    if address != f"/assets/{name}.{digest}.{kind}":
        raise errors.NotFound
    return Response(content, headers=CACHED_FOREVER | NOSNIFF, media_type=media_type)


async def icon(_request: Request) -> Response:
    """Return the icon that browsers request by default, because some can't draw SVG."""
    return Response(ICON, headers=CACHED_FOR_A_DAY | NOSNIFF, media_type="image/x-icon")


ICON = (render.TEMPLATES / "icon.ico").read_bytes()


# `/privacy`: what the pages store about payers.


PRIVACY_PARTS = ("typed", "cookie", "address", "pictures", "time", "who")


async def privacy(request: Request) -> Response:
    """Show the page, which is the same for everybody."""
    service, locale = await callers.admit_payer(request), page_texts.locale_of(request)
    minutes = callers.state_of(request).cookies.lifetime_ms // 60_000
    contact = service.operator_contact
    values = {
        "host": urlsplit(service.public_url).netloc,
        "parts": [
            (
                locale.t(f"page-private-{part}"),
                locale.t(f"page-private-{part}-why", minutes=minutes),
            )
            for part in PRIVACY_PARTS
        ],
        "operator": contact
        and {"url": contacts.contact_link(contact), "text": contacts.contact_text(contact)},
    }
    return render.html("privacy.html", locale, values)


# `/openapi.json`, the contract for machines, and `/docs`, the same for people.


@lru_cache(maxsize=4)
def openapi_document(public_url: str) -> dict[str, Any]:
    """Build the OpenAPI document at a public address; cached."""
    routers = (
        request_routes.router,
        goods_routes.router,
        goods_routes.files_router,
        checkout_routes.payout_router,
        checkout_routes.router,
        checkout_routes.hint_router,
        request_routes.delivery_router,
        request_routes.public_router,
        goods_routes.public_router,
    )
    return openapi.document(routers, public_url)


async def show_openapi(request: Request) -> Response:
    text = _openapi_text(callers.state_of(request).service.public_url)
    return Response(text, headers=calls.HEADERS, media_type="application/json")


@lru_cache(maxsize=1)
def _openapi_text(public_url: str) -> bytes:
    return bytes(JSONResponse(openapi_document(public_url)).body)


async def docs(request: Request) -> Response:
    return render.documentation_page(_documentation(callers.state_of(request).service.public_url))


@lru_cache(maxsize=1)
def _documentation(public_url: str) -> str:
    return render.documentation_text({"spec": openapi_document(public_url), "brief": brief})


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


ROUTES = [
    Route("/", home),
    Route("/privacy", privacy, middleware=calls.COMPRESSED),
    Route("/robots.txt", robots),
    Route("/favicon.ico", icon),
    Route("/docs", docs, middleware=calls.COMPRESSED),
    Route("/openapi.json", show_openapi, middleware=calls.COMPRESSED),
    Route("/assets/{name}.{digest}.{kind}", asset, middleware=calls.COMPRESSED),
]
