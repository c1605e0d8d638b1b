"""The layout around pages: the seller, the links below, the accent, the privacy page."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bot.core.brand import COLOURS
from bot.service.pages import render
from tests.support.service_harness import URL, ServiceHarness, open_service

SELLER = {
    "name": "Mia Paper Studio",
    "imageUrl": "https://m.example/me.png",
    "contact": "@miapaper",
    "accentColor": "teal",
    "description": "Stickers and prints",
}


async def paths(service: ServiceHarness, **fields: Any) -> tuple[str, str, str]:
    """Return the addresses of a pay page, a checkout and a receipt of one request."""
    made = await service.create(**fields)
    waiting = await service.pay(made["id"], "w" * 32, manner="never")
    paid = await service.pay(made["id"])
    return f"/pay/{made['id']}", waiting.headers["location"], paid.headers["location"]


async def test_every_page_of_a_request_leads_with_its_seller(service: ServiceHarness) -> None:
    for path in await paths(service, seller=SELLER):
        answer = await service.anyone.get(path)
        text = answer.text
        assert '<p class="who" dir="auto">Mia Paper Studio</p>' in text
        assert '<p class="about" dir="auto">Stickers and prints</p>' in text
        assert 'MP<img src="https://m.example/me.png" alt=""' in text
        assert '<body class="accent-teal">' in text
        assert "Sold by <bdi>Mia Paper Studio</bdi>" in text
        assert '<a href="https://t.me/miapaper" rel="noreferrer noopener nofollow">Contact' in text
        assert "img-src 'self' https://m.example;" in answer.headers["content-security-policy"]


async def test_without_a_seller_no_name_is_invented(service: ServiceHarness) -> None:
    for path in await paths(service):
        text = (await service.anyone.get(path)).text
        assert 'class="seller"' not in text
        assert "Sold by" not in text
        assert ">Contact<" not in text
        assert '<body class="accent-blue">' in text


async def test_a_sellers_texts_are_escaped(service: ServiceHarness) -> None:
    evil = "<img src=x onerror=alert(1)>\"'&"
    for path in await paths(service, seller={"name": evil, "description": evil}):
        assert "<img src=x" not in (await service.anyone.get(path)).text


@pytest.mark.parametrize(
    ("contact", "link"),
    [
        ("@miapaper", "https://t.me/miapaper"),
        ("mia@example.org", "mailto:mia@example.org"),
        ("https://mia.example/help?a=1&b", "https://mia.example/help?a=1&amp;b"),
    ],
)
async def test_a_contact_is_a_link(service: ServiceHarness, contact: str, link: str) -> None:
    made = await service.create(seller={"name": "Mia", "contact": contact})
    assert f'<a href="{link}" ' in (await service.anyone.get(f"/pay/{made['id']}")).text


async def test_a_page_on_which_nothing_can_be_paid_leads_to_the_seller(
    service: ServiceHarness,
) -> None:
    """Where they gave a contact; not while paying may still become possible by itself."""
    link = "Contact the seller</a>"
    for seller, shown in ((SELLER, True), ({"name": "Mia"}, False)):
        made = await service.create(expirationType="onPaymentCompleted", seller=seller)
        path = f"/pay/{made['id']}"
        assert link not in (await service.anyone.get(path)).text
        await service.pay(made["id"], "w" * 32, manner="never")
        assert link not in (await service.anyone.get(path)).text
        service.clock.advance(900)
        await service.pay(made["id"])
        assert (link in (await service.anyone.get(path)).text) is shown


@pytest.mark.parametrize(
    ("operator", "link"),
    [
        (None, None),
        ("https://op.example/report", "https://op.example/report"),
        ("op@op.example", "mailto:op@op.example?subject=Reported%20link%3A%20{url}"),
    ],
)
async def test_reports_go_to_the_operator(
    database_url: str, operator: str | None, link: str | None
) -> None:
    """An email names the page; without a contact there is no link."""
    async with open_service(database_url, operator_contact=operator) as service:
        made = await service.create()
        url = f"{URL}/pay/{made['id']}".replace(":", "%3A")
        text = (await service.anyone.get(f"/pay/{made['id']}")).text
        found = re.search(r'<a href="([^"]*)"[^>]*>Report</a>', text)
        assert (found and found[1]) == (link and link.format(url=url))


@pytest.mark.parametrize(("scheme", "place"), [("light", 0), ("dark", 1)])
def test_each_accent_has_its_colours_in_the_stylesheet(scheme: str, place: int) -> None:
    """The rules in the media query are those of dark screens."""
    sheet = (render.TEMPLATES / "pay.css").read_text("utf-8")
    found = re.findall(r"\.accent-(\w+) { --accent: (#[0-9a-f]{6}); }", sheet)
    half = found[place * len(COLOURS) : (place + 1) * len(COLOURS)]
    assert half == [(name, getattr(accent, scheme)) for name, accent in COLOURS.items()]


async def test_the_privacy_page_is_plain_and_complete(database_url: str) -> None:
    """In the reader's language, with the lifetime of the cookie and whom to ask."""
    async with open_service(database_url, operator_contact="op@op.example") as service:
        english = await service.anyone.get("/privacy")
        assert english.status_code == 200
        for text in ("What you type", "after 75 minutes", "IP address", "pay.test"):
            assert text in english.text
        assert '<a href="mailto:op@op.example" ' in english.text
        assert "script-src" not in english.headers["content-security-policy"]
        german = await service.anyone.get("/privacy", headers={"Accept-Language": "de"})
        assert "Was Sie eingeben" in german.text
        assert "set-cookie" not in german.headers
