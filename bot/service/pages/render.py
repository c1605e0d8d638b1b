"""Answers from templates, each with a strict Content-Security-Policy."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.core import brand, errors
from bot.service.http import responses
from bot.service.pages import payer_form
from bot.service.requests import request

if TYPE_CHECKING:
    from jinja2 import Environment


TEMPLATES = Path(__file__).with_name("templates")
HTML = "text/html"
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Vary": "Accept-Language",
}


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
    )
    made.globals |= {
        "accent": brand.DEFAULT_ACCENT,
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
def asset(file: str) -> tuple[responses.Text, str]:
    """Return a stylesheet or script, and its address, which changes with its content."""
    content = (TEMPLATES / file).read_bytes()
    name, _, kind = file.partition(".")
    address = f"/assets/{name}.{hashlib.sha256(content).hexdigest()[:16]}.{kind}"
    return responses.Text.of(content.decode()), address


@lru_cache(maxsize=1024)
def policy(
    pictures: tuple[str | None, ...] = (), target: str | None = None, *, scripted: bool = False
) -> str:
    """Return the Content-Security-Policy: our own files, a request's pictures, the redirect.

    Scripts are our own, and only allowed on pages that have one (`scripted`).
    """
    sources = dict.fromkeys(request.csp_source(url) for url in pictures if url)
    images = "".join(f" {source}" for source in sources)
    forms = f" {request.csp_source(target)}" if target else ""
    scripts = " script-src 'self'; connect-src 'self';" if scripted else ""
    return (
        f"default-src 'none'; style-src 'self';{scripts} img-src 'self'{images};"
        f" form-action 'self'{forms}; base-uri 'none'; frame-ancestors 'none'"
    )


def text(
    template: str, reader: payer_form.Reader, values: dict[str, Any], *, test_money: bool = False
) -> str:
    """Render a page in the reader's language."""
    return (
        _templates()
        .get_template(template)
        .render(
            values,
            t=reader.t,
            lang=reader.language,
            direction=reader.direction,
            test_money=test_money,
        )
    )


def page(
    written: responses.Text,
    reader: payer_form.Reader,
    request: request.PaymentRequest,
    status: int = 200,
) -> responses.TextResponse:
    """Answer with the pay page of a request, which may load its picture and redirect."""
    terms = request.terms
    rules = policy(pictures(request), terms.redirect_url, scripted=True)
    return _answer(written, reader, rules, status)


def pictures(request: request.PaymentRequest) -> tuple[str | None, ...]:
    """Return the addresses of the pictures that the pages of a request show."""
    seller = request.seller
    return request.terms.product.image_url, seller.image_url if seller else None


def html(
    template: str,
    reader: payer_form.Reader,
    values: dict[str, Any],
    *,
    status: int = 200,
    test_money: bool = False,
    rules: str | None = None,
) -> responses.TextResponse:
    """Answer with any other page, under a policy of its own if `rules` has one."""
    rules = rules or policy(scripted=bool(values.get("scripted")))
    written = text(template, reader, values, test_money=test_money)
    return _answer(responses.Text.of(written), reader, rules, status)


def _answer(
    written: responses.Text, reader: payer_form.Reader, rules: str, status: int = 200
) -> responses.TextResponse:
    headers = {"Content-Security-Policy": rules, "Content-Language": reader.language}
    return responses.TextResponse(written, status, HEADERS | headers, HTML)


def part(reader: payer_form.Reader, values: dict[str, Any]) -> str:
    """Render the part of the pay page that changes while it is open."""
    return _templates().get_template("live.html").render(values, t=reader.t)


def alone(reader: payer_form.Reader, written: responses.Text) -> responses.TextResponse:
    """Answer with a page that loads no picture and has neither form nor script."""
    return _answer(written, reader, policy())


def documentation(values: dict[str, Any]) -> str:
    """Render the documentation, which has a stylesheet of its own."""
    return _templates().get_template("docs.html").render(values, stylesheet=asset("docs.css")[1])


def document(written: responses.Text) -> responses.TextResponse:
    return responses.TextResponse(
        written, 200, HEADERS | {"Content-Security-Policy": policy()}, HTML
    )


def refused(
    reader: payer_form.Reader,
    refusal: errors.Refused,
    allow: str | None = None,
    *,
    looking: bool = False,
) -> responses.TextResponse:
    """Answer a refused request with a page that says why.

    If the payer was only `looking`, the page reloads as soon as that is allowed.
    """
    key = MISSING.get(type(refusal), f"page-{refusal.code}")
    passing = isinstance(refusal, errors.RateLimited | responses.Unavailable)
    seconds = int(responses.headers(refusal)["Retry-After"]) if passing else 0
    written = _state(replace(reader, tag=reader.language), key, seconds, looking=looking)
    answer = _answer(
        written, reader, policy(scripted=looking and passing), responses.status(refusal)
    )
    answer.headers.update(responses.headers(refusal, allow))
    return answer


MISSING: dict[type[errors.Refused], str] = {
    errors.NotFound: "page-missing",
    errors.NoSuchAddress: "page-nowhere",
}
FULL = f"page-{errors.TooManyHolds.code}"


@lru_cache(maxsize=512)
def _state(reader: payer_form.Reader, key: str, seconds: int, *, looking: bool) -> responses.Text:
    """Render a refusal, cached: callers beyond their limit must not cost more than others."""
    values = {
        "title": reader.t(key),
        "why": reader.t(f"{key}-why", seconds=seconds, minutes=-(-seconds // 60)),
        "refresh": seconds if looking else 0,
        "scripted": looking and seconds > 0,
        "again": key == FULL,
    }
    return responses.Text.of(text("state.html", reader, values))
