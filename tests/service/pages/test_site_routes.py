"""What surrounds the pay pages: layout, front page, lost addresses, robots.txt, documents."""

from __future__ import annotations

import io
import re
from functools import _lru_cache_wrapper
from html import unescape
from typing import Any
from urllib.robotparser import RobotFileParser

import pytest
from PIL import Image

from bot.core.brand import COLOURS
from bot.core.net.rates import Rate
from bot.core.text.translations import languages, t
from bot.service.pages import render, site_routes
from bot.service.pages.app import create_app
from bot.service.pages.receipt import TextPart, linked
from tests.support.raw_http import get, open_web_server
from tests.support.service_harness import (
    URL,
    ServiceHarness,
    make_service,
    open_service,
    refusal_code,
)

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PREVIEWERS = (
    *("TelegramBot (like TwitterBot)", "WhatsApp/2.23", "facebookexternalhit/1.1"),
    *("Facebot", "Twitterbot/1.0", "Slackbot-LinkExpanding 1.0", "Discordbot/2.0", "Googlebot/2.1"),
)


@pytest.mark.parametrize("language", languages())
async def test_the_front_page_leads_to_bot_and_operator(database_url: str, language: str) -> None:
    async with open_service(
        database_url, bot_name=lambda: "ShopBot", operator_contact="help@example.org"
    ) as service:
        answer = await service.anyone.get("/", headers={"Accept-Language": language})
    page = unescape(answer.text)
    assert (answer.status_code, answer.headers["content-language"]) == (200, language)
    assert t(language, "page-home-why") in page
    assert '<a class="button" href="https://t.me/ShopBot">' in page
    assert '<a href="mailto:help@example.org" rel="noreferrer">help@example.org</a>' in page


async def test_the_front_page_of_the_demo_leads_to_its_chat_page(database_url: str) -> None:
    """Whoever has the name of the demo's bot at Telegram is a stranger."""
    async with open_service(database_url, bot_name=lambda: "DemoBot", chat_page="/chat") as service:
        page = (await service.anyone.get("/")).text
    assert ('<a class="button" href="/chat">' in page, "t.me" in page) == (True, False)


async def test_the_front_page_stands_without_bot_and_operator(service: ServiceHarness) -> None:
    answer = await service.anyone.get("/")
    assert answer.status_code == 200
    assert "t.me" not in answer.text
    assert t("en", "page-home-contact") not in answer.text


async def test_a_browser_gets_a_page_for_a_lost_address(service: ServiceHarness) -> None:
    for path in (
        "/nothing",
        "/pay",
        "/wp-login.php",
    ):
        answer = await service.anyone.get(path, headers=BROWSER)
        assert (answer.status_code, answer.headers["content-type"]) == (
            404,
            "text/html; charset=utf-8",
        ), path
        assert "<h1>Page not found</h1>" in answer.text, path


async def test_programs_get_json_for_a_lost_address(service: ServiceHarness) -> None:
    for path, accepted in (
        ("/nothing", "*/*"),
        ("/nothing", "application/json"),
        ("/v3/nothing", BROWSER["Accept"]),
        ("/v3", BROWSER["Accept"]),
        ("/webhooks/x", BROWSER["Accept"]),
    ):
        answer = await service.anyone.get(path, headers={"Accept": accepted})
        assert refusal_code(answer) == (404, "notFound"), path


async def test_a_slash_at_the_end_leads_to_the_address_without_it(service: ServiceHarness) -> None:
    """Chats and people add one. A form that is posted there is posted again without it."""
    made = await service.create()
    pay, qr = f"/pay/{made['id']}", f"/qr/{made['id']}"
    receipt = (await service.pay(made["id"])).headers["location"]
    checkout, letter = f"{pay}/checkout/0123", "/email/stop/0123"
    pictures = (f"{pay}/card.png", f"{qr}.png", f"{qr}.svg")
    for path in (pay, receipt, checkout, letter, *pictures, "/privacy", "/docs"):
        for end, query in (("/", ""), ("//", ""), ("%2F", ""), ("/", "?a=b%20c&d=/")):
            answer = await service.anyone.get(path + end + query)
            assert (answer.status_code, answer.headers["location"]) == (308, path + query)
    answer = await service.anyone.post(f"{pay}/", data={"token": "u" * 32}, follow_redirects=True)
    assert [one.status_code for one in answer.history] == [308, 303]
    assert (answer.status_code, len(await service.rows("payments"))) == (200, 2)


async def test_a_slash_at_the_end_of_another_address_leads_nowhere(service: ServiceHarness) -> None:
    for path in (
        "/nothing/",
        "//example.org/",
        "/pay/",
        "/pay/a/b/",
        "/v3/paymentRequests/0123/",
    ):
        answer = await service.anyone.get(f"http://pay.test{path}")
        assert (answer.status_code, "location" in answer.headers) == (404, False), path


async def test_whoever_previews_or_indexes_may_read_pay_pages(service: ServiceHarness) -> None:
    """A crawler that may not read a page can't see that it says noindex."""
    answer = await service.anyone.get("/robots.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    robots = RobotFileParser()
    robots.parse(answer.text.splitlines())
    for agent in PREVIEWERS:
        for path in ("/pay/0123", "/pay/0123/card.png", "/images/7", render.asset("pay.css")[1]):
            assert robots.can_fetch(agent, path)
        assert not robots.can_fetch(agent, "/v3/paymentRequests")


async def test_crawlers_are_kept_from_what_payers_bought(service: ServiceHarness) -> None:
    """By a pattern (RFC 9309, section 2.2.3); the receipt itself says noindex."""
    lines = (await service.anyone.get("/robots.txt")).text.splitlines()
    rules = [line.removeprefix("Disallow: ") for line in lines if line.startswith("Disallow: ")]
    patterns = [re.escape(rule).replace(r"\*", ".*") for rule in rules]
    paths = ("/pay/0123/receipt/4567/file", "/pay/0123/receipt/4567", "/pay/0123")
    kept = [any(re.match(pattern, path) for pattern in patterns) for path in paths]
    assert kept == [True, False, False]


async def test_pay_pages_and_their_pictures_stay_out_of_indexes(service: ServiceHarness) -> None:
    made = await service.create()
    page = await service.anyone.get(f"/pay/{made['id']}")
    assert '<meta name="robots" content="noindex">' in page.text
    for path in (f"/pay/{made['id']}/card.png", f"/qr/{made['id']}.png", f"/qr/{made['id']}.svg"):
        picture = await service.anyone.get(path)
        assert picture.headers["x-robots-tag"] == "noindex"


async def test_a_page_may_use_nothing_of_the_device(service: ServiceHarness) -> None:
    for path in (
        "/",
        "/pay/{id}",
        "/pay/{id}/live",
        "/pay/lost",
        "/docs",
    ):
        made = await service.create()
        answer = await service.anyone.get(path.format(id=made["id"]))
        denied = dict(rule.split("=") for rule in answer.headers["permissions-policy"].split(", "))
        assert {"camera", "geolocation", "microphone", "payment", "usb"} == denied.keys(), path
        assert set(denied.values()) == {"()"}, path


async def test_the_page_describes_itself(service: ServiceHarness) -> None:
    for product, about in (
        ({"name": "Tea"}, "$5.00"),
        ({"name": "Tea", "description": 'For\ntwo & "more"'}, '$5.00 · For two & "more"'),
    ):
        made = await service.create(product=product)
        page = await service.anyone.get(f"/pay/{made['id']}")
        (found,) = re.findall(r'<meta name="description" content="([^"]*)">', page.text)
        assert unescape(found) == about, product


async def test_the_icon_is_drawn_by_every_browser(service: ServiceHarness) -> None:
    page = await service.anyone.get("/")
    (path,) = re.findall(r'<link rel="icon" href="([^"]+)" type="image/svg\+xml">', page.text)
    drawn, asked = await service.anyone.get(path), await service.anyone.get("/favicon.ico")
    assert (drawn.status_code, drawn.headers["content-type"]) == (200, "image/svg+xml")
    assert asked.headers["content-type"] == "image/x-icon"
    with Image.open(io.BytesIO(asked.content)) as icon:
        assert icon.info["sizes"] == {(16, 16), (32, 32), (48, 48)}


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
    product = {"name": evil, "description": evil, "longDescription": evil}
    seller = {"name": evil, "description": evil}
    for path in await paths(service, seller=seller, product=product, thanks=evil):
        text = (await service.anyone.get(path)).text
        assert "<img src=x" not in text
        assert text.count("&lt;img src=x onerror=alert(1)&gt;") > 2


async def test_a_contact_is_a_link(service: ServiceHarness) -> None:
    for contact, link in (
        ("@miapaper", "https://t.me/miapaper"),
        ("mia@example.org", "mailto:mia@example.org"),
        ("https://mia.example/help?a=1&b", "https://mia.example/help?a=1&amp;b"),
    ):
        made = await service.create(seller={"name": "Mia", "contact": contact})
        assert f'<a href="{link}" ' in (await service.anyone.get(f"/pay/{made['id']}")).text, (
            contact
        )


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


BEFORE = TextPart("See ")


@pytest.mark.parametrize(
    ("address", "rest"),
    [
        ("https://example.org", ""),
        ("http://example.org:8080/a_(b)", ""),
        ("https://example.org/a?b=c&d=%20#e", ""),
        ("https://example.org/a", "."),
        ("https://example.org/a", "؟"),
        ("https://example.org/a", ")."),
        ("https://example.org/a", "\u200f now"),
        ("https://example.org/a", "\nhttp"),
    ],
)
def test_an_address_ends_where_its_sentence_goes_on(address: str, rest: str) -> None:
    parts = (BEFORE, TextPart(address, address), *([TextPart(rest)] if rest else []))
    assert linked(f"See {address}{rest}") == parts


def test_an_address_leads_where_browsers_would_go() -> None:
    (part,) = linked("https://bücher.example/für")
    assert part == TextPart("https://bücher.example/für", "https://xn--bcher-kva.example/f%C3%BCr")


def test_every_address_of_a_text_is_one() -> None:
    urls = [part.url for part in linked("https://a.example, https://b.example") if part.url]
    assert urls == ["https://a.example", "https://b.example"]


@pytest.mark.parametrize(
    "text",
    [
        "example.org",
        "javascript:alert(1)",
        "ftp://example.org",
        "https://",
        "https://...",
        "https://me:secret@example.org",
        "https://[::1",
    ],
)
def test_what_no_browser_opens_from_here_stays_text(text: str) -> None:
    assert linked(text) == (TextPart(text),)


def test_an_empty_text_has_no_parts() -> None:
    assert linked("") == ()


def test_an_address_that_imitates_another_one_shows_where_it_leads() -> None:
    (part,) = linked("https://\u0440aypal.example/a")
    assert part == TextPart("https://xn--aypal-uye.example/a", "https://xn--aypal-uye.example/a")


PAGE = "/pay/" + "0" * 24


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "written"),
    [("/docs", site_routes._documentation), ("/openapi.json", site_routes._openapi_text)],
)
async def test_the_documents_are_rendered_once(
    service: ServiceHarness, path: str, written: _lru_cache_wrapper[bytes]
) -> None:
    written.cache_clear()
    app = create_app(make_service(service.db, service.clock))
    async with open_web_server(app) as site:
        bodies = {(await site.ask(get(path))).body for _ in range(5)}
    assert len(bodies) == 1
    assert written.cache_info().misses == 1


async def test_a_refusal_is_rendered_once_for_each_language_and_wait(
    service: ServiceHarness,
) -> None:
    """However many dialects of a language a caller invents."""
    render._refusal.cache_clear()
    app = create_app(make_service(service.db, service.clock, payer_rate=Rate(1, 60)))
    async with open_web_server(app) as site:
        await site.ask(get(PAGE))
        missing = render._refusal.cache_info().misses
        answers = [
            await site.ask(get(PAGE, f"Accept-Language: de-{region}"))
            for region in ("AT", "CH", "DE", "LI", "LU")
        ]
    assert {answer.status for answer in answers} == {429}
    waits = {answer.headers["retry-after"] for answer in answers}
    assert render._refusal.cache_info().misses - missing == len(waits)
