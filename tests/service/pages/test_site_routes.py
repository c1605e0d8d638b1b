"""What surrounds the pay pages: the front page, lost addresses, robots.txt, icon, headers."""

from __future__ import annotations

import io
import re
from html import unescape
from urllib.robotparser import RobotFileParser

import pytest
from PIL import Image

from bot.core.text.translations import languages, t
from bot.service.pages import render
from tests.support.service_harness import ServiceHarness, open_service, refusal_code

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


@pytest.mark.parametrize("path", ["/nothing", "/pay", "/wp-login.php"])
async def test_a_browser_gets_a_page_for_a_lost_address(service: ServiceHarness, path: str) -> None:
    answer = await service.anyone.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>Page not found</h1>" in answer.text


@pytest.mark.parametrize(
    ("path", "accepted"),
    [("/nothing", "*/*"), ("/nothing", "application/json"), ("/v3/nothing", BROWSER["Accept"]),
     ("/v3", BROWSER["Accept"]), ("/webhooks/x", BROWSER["Accept"])],
)  # fmt: skip
async def test_programs_get_json_for_a_lost_address(
    service: ServiceHarness, path: str, accepted: str
) -> None:
    answer = await service.anyone.get(path, headers={"Accept": accepted})
    assert refusal_code(answer) == (404, "notFound")


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


@pytest.mark.parametrize(
    "path", ["/nothing/", "//example.org/", "/pay/", "/pay/a/b/", "/v3/paymentRequests/0123/"]
)
async def test_a_slash_at_the_end_of_another_address_leads_nowhere(
    service: ServiceHarness, path: str
) -> None:
    answer = await service.anyone.get(f"http://pay.test{path}")
    assert (answer.status_code, "location" in answer.headers) == (404, False)


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


@pytest.mark.parametrize("path", ["/", "/pay/{id}", "/pay/{id}/live", "/pay/lost", "/docs"])
async def test_a_page_may_use_nothing_of_the_device(service: ServiceHarness, path: str) -> None:
    made = await service.create()
    answer = await service.anyone.get(path.format(id=made["id"]))
    denied = dict(rule.split("=") for rule in answer.headers["permissions-policy"].split(", "))
    assert {"camera", "geolocation", "microphone", "payment", "usb"} == denied.keys()
    assert set(denied.values()) == {"()"}


@pytest.mark.parametrize(
    ("product", "about"),
    [
        ({"name": "Tea"}, "$5.00"),
        ({"name": "Tea", "description": 'For\ntwo & "more"'}, '$5.00 · For two & "more"'),
    ],
)
async def test_the_page_describes_itself(
    service: ServiceHarness, product: dict[str, str], about: str
) -> None:
    made = await service.create(product=product)
    page = await service.anyone.get(f"/pay/{made['id']}")
    (found,) = re.findall(r'<meta name="description" content="([^"]*)">', page.text)
    assert unescape(found) == about


async def test_the_icon_is_drawn_by_every_browser(service: ServiceHarness) -> None:
    page = await service.anyone.get("/")
    (path,) = re.findall(r'<link rel="icon" href="([^"]+)" type="image/svg\+xml">', page.text)
    drawn, asked = await service.anyone.get(path), await service.anyone.get("/favicon.ico")
    assert (drawn.status_code, drawn.headers["content-type"]) == (200, "image/svg+xml")
    assert asked.headers["content-type"] == "image/x-icon"
    with Image.open(io.BytesIO(asked.content)) as icon:
        assert icon.info["sizes"] == {(16, 16), (32, 32), (48, 48)}
