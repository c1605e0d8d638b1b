"""The pay page in each state of its request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zxingcpp
from PIL import Image

from bot.core.net.rates import Rate
from bot.core.text.links import check_redirect
from bot.service.pages.page_texts import read_locale
from bot.service.requests import request
from tests.support.service_harness import DROP, URL, ServiceHarness, open_service

if TYPE_CHECKING:
    import httpx


async def page(service: ServiceHarness, request_id: str, **headers: str) -> httpx.Response:
    return await service.anyone.get(f"/pay/{request_id}", headers=headers)


def policy(answer: httpx.Response) -> dict[str, list[str]]:
    directives = answer.headers["content-security-policy"].split(";")
    return {name: values for name, *values in (one.split() for one in directives)}


async def test_the_page_shows_product_price_and_units_left(service: ServiceHarness) -> None:
    made = await service.create(
        product={
            "name": "Stickers",
            "description": "Ten",
            "longDescription": "By hand",
            "imageUrl": "https://i.example/a.png",
        },
        receivers=[{"sendAmount": 2.5, "destination": "a"}, {"sendAmount": 1, "destination": "b"}],
        priceBeforeDiscount=4,
        **DROP,
    )
    answer = await page(service, made["id"])
    assert answer.status_code == 200
    heading = '<h1 class="name" dir="auto">Stickers</h1>'
    for text in (heading, "Ten", "By hand", "$3.50", "3 of 3 left"):
        assert text in answer.text
    assert re.search(r"<s>.*\$4\.00</s>", answer.text)
    assert 'src="https://i.example/a.png"' in answer.text
    assert "Test mode: no real money is charged." in answer.text
    assert "Pay $3.50 in test money" in answer.text
    assert "alice" not in answer.text


async def test_the_page_keeps_the_line_breaks_of_descriptions(service: ServiceHarness) -> None:
    product = {"name": "x", "description": "one\r\ntwo", "longDescription": "three\n\nfour"}
    answer = await page(service, (await service.create(product=product))["id"])
    assert '<p class="description" dir="auto">one\r\ntwo</p>' in answer.text
    assert '<p dir="auto">three\n\nfour</p>' in answer.text
    sheet = re.search(r'href="([^"]+\.css[^"]*)"', answer.text)
    assert sheet
    styles = (await service.anyone.get(sheet[1])).text
    assert re.search(r"\.description,\s*details p\s*\{\s*white-space:\s*pre-line", styles)


async def test_viewing_the_page_changes_nothing(service: ServiceHarness) -> None:
    made = await service.create(**DROP)
    for _ in range(5):
        await page(service, made["id"])
    assert await service.rows("checkouts") == []
    assert await service.get(made["id"]) == made


async def test_payers_texts_are_escaped(service: ServiceHarness) -> None:
    made = await service.create(requestedUserData=["email"])
    answer = await service.pay(made["id"], email='"><script>alert(1)</script>')
    assert answer.status_code == 400
    assert "<script>" not in answer.text
    assert 'value="&#34;&gt;&lt;script&gt;' in answer.text


@pytest.mark.parametrize(
    ("fields", "pays", "passes", "title"),
    [
        ({"enabledAt": "2027-02-01T09:30:00Z"}, 0, 0, "February 1, 2027, 9:30\u202fAM UTC"),
        ({"expirationInSeconds": 60}, 0, 60, "January 15, 2027, 8:01\u202fAM UTC</time>. If"),
        ({"expirationType": "onPaymentCompleted"}, 1, 0, "Already paid"),
        ({"expirationType": "limit", "totalUnits": 2}, 2, 0, "Sold out"),
    ],
)
async def test_each_state_has_a_page_that_explains_it(
    service: ServiceHarness, fields: dict[str, Any], pays: int, passes: int, title: str
) -> None:
    """A GET is 200, a POST 409; the page has no form, and nothing is paid."""
    made = await service.create(**fields)
    for number in range(pays):
        assert (await service.pay(made["id"], str(number) * 32)).status_code == 303
    service.clock.advance(passes)
    looked, tried = await page(service, made["id"]), await service.pay(made["id"], "late" * 8)
    assert (looked.status_code, tried.status_code) == (200, 409)
    for answer in (looked, tried):
        assert title in answer.text
        assert "<form" not in answer.text
    uncharged = "You haven't been charged.".replace("'", "&#39;")
    assert (uncharged in looked.text, uncharged in tried.text) == (False, True)
    assert len(await service.rows("payments")) == pays


async def test_a_link_that_its_seller_stopped_is_paused_not_expired(
    service: ServiceHarness,
) -> None:
    """By an edit that ends it at once; an edit that lets it go on ends the pause."""
    made = await service.create(expirationInSeconds=60)
    await service.edit(made["id"], {"expirationInSeconds": 1})
    service.clock.advance(1)
    stopped = await page(service, made["id"])
    assert "The seller has paused this link." in stopped.text
    assert "expired" not in stopped.text
    assert (await service.get(made["id"]))["status"] == "expired"
    await service.edit(made["id"], {"expirationInSeconds": 60})
    assert "<form" in (await page(service, made["id"])).text
    service.clock.advance(60)
    assert "paused" not in (await page(service, made["id"])).text


@pytest.mark.parametrize(("sold", "text"), [(1, "The only one has been sold."), (2, "All 2 sold.")])
async def test_sold_out_says_how_many_were_sold(
    service: ServiceHarness, sold: int, text: str
) -> None:
    made = await service.create(expirationType="limit", totalUnits=sold)
    for number in range(sold):
        await service.pay(made["id"], str(number) * 32)
    answer = await page(service, made["id"])
    assert text in answer.text
    assert "left" not in answer.text


async def test_each_time_names_its_zone_and_can_be_read_by_the_script(
    service: ServiceHarness,
) -> None:
    for language in ("en", "de"):
        made = await service.create(expirationInSeconds=60)
        answer = await page(service, made["id"], **{"Accept-Language": language})
        (found,) = re.findall(r'<time datetime="([^"]*)" data-shows="moment">([^<]*)<', answer.text)
        assert found[0] == "2027-01-15T08:01:00Z", language
        assert found[1].endswith(" UTC"), language


async def test_names_beyond_three_lines_shrink(service: ServiceHarness) -> None:
    for name, is_long in (
        ("x" * 66, False),
        ("x" * 67, True),
        ("名" * 34, True),
        ("🍋" * 33, False),
    ):
        made = await service.create(product={"name": name})
        assert ('<h1 class="name long"' in (await page(service, made["id"])).text) is is_long, name


async def test_reserved_and_sold_units_are_told_apart(service: ServiceHarness) -> None:
    made = await service.create(expirationType="limit", totalUnits=5)

    def set_units(remaining: int, reserved: int) -> None:
        service.db.run(
            lambda tx: tx.execute(
                "UPDATE payment_requests SET remaining_units = :remaining,"
                " reserved_units = :reserved",
                remaining=remaining,
                reserved=reserved,
            )
        )

    set_units(3, 1)
    some = await page(service, made["id"])
    assert "3 of 5 left" in some.text
    assert "1 more is on hold while someone pays." in some.text
    assert "<form" in some.text
    set_units(0, 2)
    none = await page(service, made["id"])
    assert "Payments for the last 2 are still under way." in none.text
    assert "Sold out" not in none.text
    assert "<form" not in none.text


async def test_units_taken_out_do_not_count_as_sold(service: ServiceHarness) -> None:
    made = await service.create(expirationType="limit", totalUnits=50)
    await service.edit(made["id"], {"decreaseRemainingUnits": 5})
    assert "45 of 45 left" in (await page(service, made["id"])).text


async def test_a_form_without_a_sound_token_pays_nothing_unknown(service: ServiceHarness) -> None:
    """PostgreSQL takes no NUL."""
    for token in ("", "\x00" * 32, "é" * 32):
        answer = await service.anyone.post(f"/pay/{'f' * 24}", data={"token": token})
        assert answer.status_code == 404, token


async def test_unknown_and_deleted_requests_have_a_404_page(service: ServiceHarness) -> None:
    made = await service.create()
    await service.seller.delete(f"/v3/paymentRequests/{made['id']}")
    for path in (made["id"], "0" * 24, "x", f"{made['id']}/receipt/{'0' * 24}", "a/b/c/d"):
        answer = await page(service, path)
        assert answer.status_code == 404
        assert "Link not found" in answer.text
    assert (await service.pay(made["id"])).status_code == 404


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("https://t.example/a?b", "https://t.example"),
        ("http://t.example:8080/", "http://t.example:8080"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example"),
        ("https://[2001:db8::1]/", "https:"),
        ("shop://paid/now", "shop:"),
    ],
)
def test_the_policy_names_the_target_of_the_form(url: str, source: str) -> None:
    """Otherwise browsers block the redirect; a CSP can name an IPv6 host only by its scheme."""
    assert request.csp_source(check_redirect(url)) == source


async def test_every_page_has_security_headers(service: ServiceHarness) -> None:
    """A strict policy, no cache, no referrer, no frames."""
    made = await service.create(
        product={"name": "x", "imageUrl": "https://i.example/a.png"},
        redirectUrl="https://t.example/thanks",
    )
    plain = await service.create()
    receipt = (await service.pay(plain["id"])).headers["location"]
    open_page = await page(service, made["id"])
    assert policy(open_page) == {
        "default-src": ["'none'"],
        "style-src": ["'self'"],
        "script-src": ["'self'"],
        "connect-src": ["'self'"],
        "img-src": ["'self'", "https://i.example"],
        "form-action": ["'self'", "https://t.example"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
    for answer in (open_page, await page(service, "x"), await service.anyone.get(receipt)):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert policy(answer)["default-src"] == ["'none'"]
        assert not re.search(r"<style|style=|\son\w+=|<script>", answer.text)
        assert ("script-src" in policy(answer)) is ("<script" in answer.text)


async def test_the_qr_code_encodes_the_pay_page(service: ServiceHarness, tmp_path: Path) -> None:
    made = await service.create()
    png = await service.anyone.get(f"/qr/{made['id']}.png")
    assert png.headers["content-type"] == "image/png"
    (tmp_path / "qr.png").write_bytes(png.content)
    with Image.open(tmp_path / "qr.png") as picture:
        found = zxingcpp.read_barcodes(picture.convert("L"))
    assert [one.text for one in found] == [f"{URL}/pay/{made['id']}"]
    svg = await service.anyone.get(f"/qr/{made['id']}.svg")
    assert svg.headers["content-type"].startswith("image/svg+xml")
    assert svg.text.startswith("<svg")
    assert (await service.anyone.get(f"/qr/{'0' * 24}.png")).status_code == 404


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        ("css", r'rel="stylesheet" href="([^"]+)"'),
        ("javascript", r'<script src="([^"]+)" defer>'),
    ],
)
async def test_assets_have_the_hash_of_their_content_in_their_address(
    service: ServiceHarness, kind: str, link: str
) -> None:
    made = await service.create()
    (path,) = re.findall(link, (await page(service, made["id"])).text)
    answer = await service.anyone.get(path)
    assert answer.headers["content-type"].startswith(f"text/{kind}")
    assert "immutable" in answer.headers["cache-control"]
    for wrong in ("pay.0.css", "pay.0.js", "other.0.css", "..%2f..%2fpay.0.css", "base.0.html"):
        assert (await service.anyone.get(f"/assets/{wrong}")).status_code == 404


async def test_amounts_have_the_format_of_the_readers_language(service: ServiceHarness) -> None:
    made = await service.create(receivers=[{"sendAmount": 1234.5, "destination": "a"}])
    german = await page(service, made["id"], **{"Accept-Language": "de-DE,de;q=0.9,en;q=0.8"})
    assert "1.234,50\xa0$" in german.text
    assert '<html lang="de" dir="ltr">' in german.text
    dutch = await page(service, made["id"], **{"Accept-Language": "nl-NL,nl;q=0.9,en;q=0.8"})
    assert "$\xa01.234,50" in dutch.text
    assert '<html lang="en" dir="ltr">' in dutch.text
    assert "$1,234.50" in (await page(service, made["id"])).text


@pytest.mark.parametrize(
    ("header", "tag"),
    [
        ("", "en"),
        ("*", "en"),
        ("de;q=0.5, fr", "fr"),
        ("de;q=0", "en"),
        ("pt-BR", "pt-br"),
        ("x" * 5000, "en"),
        ("en;q=nonsense, de", "de"),
        ("ar-EG, he;q=0.9", "en"),
        ("uz-arab-af, de;q=0.5", "de"),
    ],
)
def test_accept_language_is_read_by_rank(header: str, tag: str) -> None:
    assert read_locale(header).tag == tag


async def test_a_payer_beyond_the_rate_is_asked_to_wait(database_url: str) -> None:
    """Forms, pictures and public answers count together; the seller's calls don't count."""
    async with open_service(database_url, payer_rate=Rate(3, 60)) as service:
        made = await service.create()
        assert (await page(service, f"{made['id']}/receipt/x")).status_code == 404
        assert (await service.anyone.get(f"/qr/{made['id']}.png")).status_code == 200
        public = f"/v3/paymentRequests/public/{made['id']}"
        assert (await service.anyone.get(public)).status_code == 200
        answer = await service.pay(made["id"])
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert "Please try again in" in answer.text
        assert (await service.anyone.get(public)).json()["code"] == "rateLimited"
        assert await service.rows("payments") == []
        assert (await service.get(made["id"]))["isEnabled"] is True


async def test_a_head_request_is_answered(service: ServiceHarness) -> None:
    made = await service.create()
    answer = await service.anyone.head(f"/pay/{made['id']}")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_a_title_of_an_earlier_version_is_shown_in_order(service: ServiceHarness) -> None:
    """Names were once stored with characters that reorder them; isolates of our own stay."""
    made = await service.create(product={"name": "Tea"}, seller={"name": "אנה"})
    stored = "UPDATE payment_requests SET name = :name"
    await service.db.transaction(lambda tx: tx.execute(stored, name="Tea \u202eeerf\u2067"))
    shown = (await page(service, made["id"])).text
    assert '<h1 class="name" dir="auto">Tea eerf</h1>' in shown
    assert not re.search("[\u202a-\u202e\u2066\u2067]", shown)
