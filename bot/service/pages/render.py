"""Renders pages from templates, and answers with a strict Content-Security-Policy."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse

from bot.core import brand, errors
from bot.core.text import sanitize
from bot.interface import refusals
from bot.service.api import calls
from bot.service.pages import page_texts
from bot.service.requests.request import PaymentRequest, csp_source

if TYPE_CHECKING:
    from jinja2 import Environment


TEMPLATES = Path(__file__).with_name("templates")
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Vary": "Accept-Language",
}


def _in_order(value: Any) -> Any:
    """Remove what reorders the words around a value; HTML stays as it is."""
    if not isinstance(value, str):
        return value
    shown = sanitize.in_order(value)
    return value if shown == value else shown


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - costs memory

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_in_order,
    )
    made.globals |= {
        "accent": brand.DEFAULT_COLOUR,
        "icon": asset("icon.svg")[1],
        "report": None,
        "script": asset("pay.js")[1],
        "scripted": False,
        "seller": None,
        "stylesheet": asset("pay.css")[1],
        "test_money": False,
    }
    return made


@cache
def asset(file: str) -> tuple[bytes, str]:
    """Return a stylesheet, script or icon, and its address, which contains a digest of the file."""
    content = (TEMPLATES / file).read_bytes()
    name, _, kind = file.partition(".")
    address = f"/assets/{name}.{hashlib.sha256(content).hexdigest()[:16]}.{kind}"
    return content, address


@lru_cache(maxsize=1024)
def policy(
    pictures: tuple[str | None, ...] = (), target: str | None = None, *, scripted: bool = False
) -> str:
    """Return the Content-Security-Policy of a page.

    It permits our own files, these pictures, a form that leads to `target`, and our own scripts if
    the page is `scripted`.
    """
    sources = dict.fromkeys(csp_source(url) for url in pictures if url)
    images = "".join(f" {source}" for source in sources)
    forms = f" {csp_source(target)}" if target else ""
    scripts = " script-src 'self'; connect-src 'self';" if scripted else ""
    return (
        f"default-src 'none'; style-src 'self';{scripts} img-src 'self'{images};"
        f" form-action 'self'{forms}; base-uri 'none'; frame-ancestors 'none'"
    )


def text(
    template: str, locale: page_texts.Locale, values: dict[str, Any], *, test_money: bool = False
) -> str:
    """Render a page in the payer's language."""
    return (
        _templates()
        .get_template(template)
        .render(
            values,
            t=locale.t,
            lang=locale.language,
            direction=locale.direction,
            test_money=test_money,
        )
    )


def page(
    written: str,
    locale: page_texts.Locale,
    request: PaymentRequest,
    status: int = 200,
) -> HTMLResponse:
    """Answer with the pay page of a request, which may load its pictures and redirect."""
    terms = request.terms
    rules = policy(pictures(request), terms.redirect_url, scripted=True)
    return _answer(written, locale, rules, status)


def pictures(request: PaymentRequest) -> tuple[str | None, ...]:
    """Return the addresses of the pictures on the pages of a request."""
    seller = request.seller
    return request.terms.product.image_url, seller.image_url if seller else None


def html(
    template: str,
    locale: page_texts.Locale,
    values: dict[str, Any],
    *,
    status: int = 200,
    test_money: bool = False,
    rules: str | None = None,
) -> HTMLResponse:
    """Answer with any other page; `rules` replaces the default Content-Security-Policy."""
    rules = rules or policy(scripted=bool(values.get("scripted")))
    written = text(template, locale, values, test_money=test_money)
    return _answer(written, locale, rules, status)


def _answer(written: str, locale: page_texts.Locale, rules: str, status: int = 200) -> HTMLResponse:
    headers = {"Content-Security-Policy": rules, "Content-Language": locale.language}
    return HTMLResponse(written, status, HEADERS | headers)


def part(locale: page_texts.Locale, values: dict[str, Any]) -> str:
    """Render the part of the pay page that changes while it is open."""
    return _templates().get_template("live.html").render(values, t=locale.t)


def static_page(locale: page_texts.Locale, written: str) -> HTMLResponse:
    """Answer with a page without pictures, redirect or script."""
    return _answer(written, locale, policy())


def documentation_text(values: dict[str, Any]) -> str:
    """Render the documentation, which has its own stylesheet."""
    return _templates().get_template("docs.html").render(values, stylesheet=asset("docs.css")[1])


def documentation_page(written: str) -> HTMLResponse:
    return HTMLResponse(written, headers=HEADERS | {"Content-Security-Policy": policy()})


def refused(
    locale: page_texts.Locale,
    refusal: errors.Refused,
    allow: str | None = None,
    *,
    looking: bool = False,
) -> HTMLResponse:
    """Answer a refused request with a page that says why.

    If the payer was only `looking` at a page, the answer reloads when the refusal ends.
    """
    key = MISSING.get(type(refusal), f"page-{refusal.code}")
    ends = isinstance(refusal, errors.RateLimited | errors.Unavailable)
    seconds = int(calls.headers(refusal)["Retry-After"]) if ends else 0
    written = _refusal(replace(locale, tag=locale.language), key, seconds, looking=looking)
    answer = _answer(written, locale, policy(scripted=looking and ends), refusals.status(refusal))
    answer.headers.update(calls.headers(refusal, allow))
    return answer


MISSING: dict[type[errors.Refused], str] = {
    errors.NotFound: "page-missing",
    errors.NoSuchAddress: "page-nowhere",
}
TOO_MANY_HOLDS = f"page-{errors.TooManyHolds.code}"


@lru_cache(maxsize=512)
def _refusal(locale: page_texts.Locale, key: str, seconds: int, *, looking: bool) -> str:
    """Render a refusal; cached, so that callers over their limit cost no more than others."""
    values = {
        "title": locale.t(key),
        "why": locale.t(f"{key}-why", seconds=seconds, minutes=-(-seconds // 60)),
        "refresh": seconds if looking else 0,
        "scripted": looking and seconds > 0,
        "again": key == TOO_MANY_HOLDS,
    }
    return text("state.html", locale, values)
