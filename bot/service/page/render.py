"""Templates to answers, each under a strict Content-Security-Policy."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from bot.core.errors import NotFound, RateLimited
from bot.service.api import answering
from bot.service.model import links

if TYPE_CHECKING:
    from bot.core.errors import Refused
    from bot.service.model.request import PaymentRequest
    from bot.service.page.view import Reader

TEMPLATES = Path(__file__).parents[1] / "templates"
ICON = (TEMPLATES / "icon.svg").read_bytes()
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Vary": "Accept-Language",
}


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


@cache
def asset(name: str) -> tuple[bytes, str]:
    """Give a stylesheet and the address that changes with what is in it."""
    content = (TEMPLATES / f"{name}.css").read_bytes()
    return content, f"/assets/{name}.{hashlib.sha256(content).hexdigest()[:16]}.css"


def policy(request: PaymentRequest | None = None) -> str:
    """Give the Content-Security-Policy: ourselves, the product's picture, the redirect."""
    picture = request and request.terms.product.image_url
    target = request and request.terms.redirect_url
    images = f" {links.source(picture)}" if picture else ""
    forms = f" {links.source(target)}" if target else ""
    return (
        f"default-src 'none'; style-src 'self'; img-src 'self'{images};"
        f" form-action 'self'{forms}; base-uri 'none'; frame-ancestors 'none'"
    )


def html(
    template: str,
    who: Reader,
    values: dict[str, Any],
    *,
    status: int = 200,
    request: PaymentRequest | None = None,
    test_money: bool = False,
) -> HTMLResponse:
    """Answer with a page in the reader's language."""
    text = (
        _templates()
        .get_template(template)
        .render(
            values,
            t=who.t,
            lang=who.language,
            stylesheet=asset("pay")[1],
            test_money=test_money,
        )
    )
    headers = HEADERS | {
        "Content-Security-Policy": policy(request),
        "Content-Language": who.language,
    }
    return HTMLResponse(text, status, headers)


def document(template: str, values: dict[str, Any]) -> HTMLResponse:
    """Answer with a page of documentation, which has a stylesheet of its own."""
    text = _templates().get_template(template).render(values, stylesheet=asset("docs")[1])
    return HTMLResponse(text, 200, HEADERS | {"Content-Security-Policy": policy()})


def refused(
    who: Reader, refusal: Refused, allow: str | None = None, *, looking: bool = False
) -> HTMLResponse:
    """Answer a payer for whom something can't be done, with a page that says why.

    Who was only `looking` sees the page that they wanted as soon as they may.
    """
    key = "page-missing" if isinstance(refusal, NotFound) else f"page-{refusal.code}"
    passing = isinstance(refusal, RateLimited | answering.Unavailable)
    seconds = int(answering.headers(refusal)["Retry-After"]) if passing else 0
    values = {
        "title": who.t(key),
        "why": who.t(f"{key}-why", seconds=seconds),
        "refresh": seconds if looking else 0,
    }
    page = html("state.html", who, values, status=answering.status(refusal))
    page.headers.update(answering.headers(refusal, allow))
    return page
