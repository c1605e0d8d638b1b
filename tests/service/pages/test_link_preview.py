"""The preview of a link to a pay page in chats: its texts and its picture."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest
import zxingcpp
from PIL import Image

from bot.core.brand import COLOURS, rgb_of
from bot.core.images import text_fitting
from bot.core.net.rates import Rate
from bot.core.text import translations
from bot.service.pages import preview_picture
from bot.service.pages.page_texts import Locale
from bot.service.pages.page_values import PREVIEW_SIZE
from bot.service.pages.preview_picture import Content
from bot.service.requests import request_rows
from tests.support.sample_pictures import readings
from tests.support.service_harness import DROP, URL, ServiceHarness, open_service


async def told(service: ServiceHarness, request_id: str, **headers: str) -> dict[str, str]:
    """Return the Open Graph properties of the page."""
    page = await service.anyone.get(f"/pay/{request_id}", headers=headers)
    found = re.findall(r'<meta (?:property|name)="([\w:]+)" content="([^"]*)">', page.text)
    return {name: unescape(content) for name, content in found if ":" in name}


async def picture(service: ServiceHarness, request_id: str) -> Image.Image:
    answer = await service.anyone.get(f"/pay/{request_id}/card.png")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    return Image.open(io.BytesIO(answer.content))


def drawn(**shown: Any) -> Image.Image:
    """Return the picture of this content, in colour."""
    content = Content(**{"url": f"{URL}/pay/1", "name": "Coffee", "price": "$5.00"} | shown)
    return Image.open(io.BytesIO(preview_picture.draw(content))).convert("RGB")


async def test_the_preview_names_product_and_price(service: ServiceHarness) -> None:
    made = await service.create(product={"name": 'Tea & "cake"', "description": "For\ntwo"})
    url = f"{URL}/pay/{made['id']}"
    assert await told(service, made["id"]) == {
        "og:type": "website",
        "og:site_name": "Payment link",
        "og:locale": "en_US",
        "og:title": 'Tea & "cake"',
        "og:description": "$5.00 · For two",
        "og:url": url,
        "og:image": f"{url}/card.png",
        "og:image:type": "image/png",
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": 'Price and QR code for Tea & "cake"',
        "twitter:card": "summary_large_image",
    }


async def test_the_preview_shows_the_products_own_picture(service: ServiceHarness) -> None:
    product = {"name": "Tea", "imageUrl": "https://münchen.example/ö.png"}
    made = await service.create(product=product)
    shown = await told(service, made["id"])
    assert shown["og:image"] == "https://xn--mnchen-3ya.example/%C3%B6.png"
    assert shown["og:image:alt"] == "Tea"
    assert "og:image:width" not in shown


async def test_the_preview_is_the_same_in_every_state(service: ServiceHarness) -> None:
    """Chats cache it for long, so it contains nothing that changes."""
    made = await service.create(**DROP)
    before, seen = await told(service, made["id"]), await picture(service, made["id"])
    for number in range(3):
        await service.pay(made["id"], str(number) * 32)
    assert await told(service, made["id"]) == before
    assert (await picture(service, made["id"])).tobytes() == seen.tobytes()


async def test_the_picture_has_the_qr_code_of_the_page(service: ServiceHarness) -> None:
    """In the size that the page names, readable by two decoders, with its white border."""
    made = await service.create()
    shown = await picture(service, made["id"])
    assert shown.size == PREVIEW_SIZE
    (code,) = zxingcpp.read_barcodes(shown.convert("L"))
    assert code.text == made["paymentRequestUrl"]
    assert readings(shown) == [{code.text}, {code.text}]
    left, top = code.position.top_left.x, code.position.top_left.y
    module = (code.position.top_right.x - left) / 33
    border = shown.convert("L").crop(
        (int(left - 4 * module) + 1, int(top - 4 * module) + 1, left - 1, top - 1)
    )
    assert border.getextrema() == (255, 255)


async def test_the_picture_is_cacheable_and_counts_as_a_call(database_url: str) -> None:
    async with open_service(database_url, payer_rate=Rate(1, 60)) as service:
        made = await service.create()
        answer = await service.anyone.get(f"/pay/{made['id']}/card.png")
        assert "max-age=3600" in answer.headers["cache-control"]
        assert answer.headers["vary"] == "Accept-Language"
        assert (await service.anyone.get(f"/pay/{made['id']}/card.png")).status_code == 429


async def test_unknown_requests_have_no_picture(service: ServiceHarness) -> None:
    made = await service.create()
    await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    for one in (made["id"], "0" * 24):
        assert (await service.anyone.get(f"/pay/{one}/card.png")).status_code == 404


@pytest.mark.parametrize(
    "name", ["Кофе", "قهوة " * 20, "コーヒー" * 25, "🎉" * 100, "x" * 100, "long words " * 9]
)
@pytest.mark.parametrize("seller", [None, "Anna", "W" * 100, "Atelier für Druckgraphik " * 4])
def test_no_text_leaves_its_column(name: str, seller: str | None) -> None:
    """Everything around texts and code is background, however long a name is."""
    price = "1,000,000,000.00 USD"
    shown = drawn(name=name.strip(), price=price, seller=seller, accent="teal")
    ground = tuple((part, part) for part in rgb_of(COLOURS["teal"].light))
    width, height = PREVIEW_SIZE
    free = preview_picture.MARGIN - 8  # letters such as j reach a little beyond where they begin
    column = preview_picture.MARGIN + preview_picture.COLUMN + 8
    for edge in (
        (0, 0, width, free), (0, height - free, width, height),
        (0, 0, free, height), (column, 0, column + free - 8, height),
    ):  # fmt: skip
        assert shown.crop(edge).getextrema() == ground


def test_a_long_name_keeps_off_the_seller_and_the_host() -> None:
    """Nothing of one text touches another: between them are rows of background alone."""
    shown = drawn(name="g" * 100, seller="Anna", price="$5.00")
    column = shown.crop((0, 0, preview_picture.MARGIN + preview_picture.COLUMN, PREVIEW_SIZE[1]))
    rows = np.array(column).reshape(PREVIEW_SIZE[1], -1, 3)
    is_bare = (rows == rows[0, 0]).all(axis=(1, 2))
    edges = np.flatnonzero(np.diff(is_bare.astype(int)))
    assert len(edges) == 2 * (len(("seller", "price", "host")) + preview_picture.NAMES[-1][1])


def test_a_name_of_100_characters_is_shown_to_its_end() -> None:
    start = "Hand-cut weatherproof vinyl stickers for bicycles, laptops and guitars, a set of ten "
    names = (start + "designs, signed", start + "designs, framed")
    assert {len(name) for name in names} == {100}
    assert len({drawn(name=name, seller="Anna").tobytes() for name in names}) == len(names)


@pytest.mark.parametrize("name", ["קפה", "قهوة", "コーヒー", "☕🎉", "कॉफ़ी"])
async def test_a_name_in_any_script_is_shown(service: ServiceHarness, name: str) -> None:
    made = await service.create(product={"name": name})
    assert (await told(service, made["id"]))["og:title"] == name
    shown, url = await picture(service, made["id"]), made["paymentRequestUrl"]
    assert shown.tobytes() == drawn(url=url, name=name).tobytes()
    assert shown.tobytes() != drawn(url=url, name="").tobytes()
    assert drawn(seller=name).tobytes() != drawn(seller=None).tobytes()


@pytest.mark.parametrize(
    ("seller", "accent"),
    [({"name": "Anna"}, "blue"), ({"name": "Anna", "accentColor": "purple"}, "purple")],
)
async def test_the_preview_shows_the_seller(
    service: ServiceHarness, seller: dict[str, str], accent: str
) -> None:
    """Chats show the site's name above the title."""
    made = await service.create(seller=seller)
    assert (await told(service, made["id"]))["og:site_name"] == "Anna"
    shown = (await picture(service, made["id"])).convert("RGB")
    url = made["paymentRequestUrl"]
    assert shown.getpixel((0, 0)) == rgb_of(COLOURS[accent].light)
    assert shown.tobytes() == drawn(url=url, seller="Anna", accent=accent).tobytes()
    assert shown.tobytes() != drawn(url=url, accent=accent).tobytes()


@pytest.mark.parametrize("accent", COLOURS)
def test_a_worn_picture_can_be_scanned(accent: str) -> None:
    """Half the size, after a JPEG of quality 60: chats store previews so."""
    worn = io.BytesIO()
    drawn(accent=accent, seller="Anna").reduce(2).save(worn, "JPEG", quality=60)
    shown = Image.open(worn)
    assert readings(shown) == [{f"{URL}/pay/1"}] * 2


async def test_a_choice_and_a_goal_are_named(service: ServiceHarness) -> None:
    """But not what was raised: chats keep the picture for days."""
    made = await service.create(
        amountChoice={"minimum": 3, "suggested": [5]}, goal=1000, instrumentCurrencyCode="EUR"
    )
    found = await request_rows.read(service.db, made["id"], service.clock())
    assert found
    german = preview_picture.content(Locale("de", "de"), found, URL)
    assert (german.price, german.goal) == ("Ab 3 €", "Spendenziel: 1.000 €")
    assert preview_picture.draw(german) != preview_picture.draw(replace(german, goal=None))
    page = (await service.anyone.get(f"/pay/{made['id']}")).text
    assert '<meta property="og:description" content="From €3">' in page


async def test_a_price_that_no_font_has_is_written_plainly(service: ServiceHarness) -> None:
    made = await service.create(instrumentCurrencyCode="KHR")
    khmer = {"Accept-Language": "km-KH"}
    assert text_fitting.drawable_text(Locale("en", "km-kh").money(500, "KHR")) is None
    answer = await service.anyone.get(f"/pay/{made['id']}/card.png", headers=khmer)
    with Image.open(io.BytesIO(answer.content)) as shown:
        plain = drawn(url=made["paymentRequestUrl"], price="5.00 KHR")
        assert shown.convert("RGB").tobytes() == plain.tobytes()


@pytest.mark.parametrize(("language", "direction"), [("en", "ltr"), ("ar", "rtl"), ("he", "rtl")])
def test_a_page_has_the_direction_of_its_script(language: str, direction: str) -> None:
    assert Locale(language, language).direction == direction


@pytest.mark.parametrize("language", translations.languages())
def test_each_language_names_a_locale_for_open_graph(language: str) -> None:
    assert re.fullmatch(rf"{language}_[A-Z]{{2}}", Locale(language, language).t("page-locale"))
