"""A form of the payer's pages that another site's page posts is refused, and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.routing import Route

from bot.interface.vocabulary import BANK, LIGHTNING
from bot.service.notifications.notification import stop_token
from bot.service.pages import email_routes, pay_routes, receipt, site_routes
from tests.support.checkout_steps import begun
from tests.support.mail import VICTIM, link, open_letter_harness
from tests.support.real_rails import ScriptedRail, open_annas_service
from tests.support.service_harness import ServiceHarness, open_service

if TYPE_CHECKING:
    import httpx


OTHER_SITE = {"Sec-Fetch-Site": "cross-site"}
ONE_CLICK = {"List-Unsubscribe": "One-Click"}
KEY = b"k" * 32
FORMS = {
    "/pay/{id}",
    "/pay/{id}/checkout/{checkout_id}",
    "/email/confirm/{token}",
    "/email/stop/{token}",
    "/email/stop/receipts/{token}",
}
"""The forms that this page tests."""


def assert_refused(answer: httpx.Response) -> None:
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "<h1>This came from another website</h1>" in answer.text


def test_every_form_is_tested_here() -> None:
    routers = (pay_routes.page_router, pay_routes.router, receipt.router, email_routes.router)
    routes = [*(one for router in routers for one in router.routes), *site_routes.ROUTES]
    posted = {
        one.path for one in routes if isinstance(one, Route) and "POST" in (one.methods or ())
    }
    assert posted == FORMS


@pytest.mark.parametrize("site", [None, "same-origin", "same-site", "none"])
async def test_a_payer_pays_on_the_pay_page(service: ServiceHarness, site: str | None) -> None:
    """Old browsers don't say where a form comes from."""
    made = await service.create()
    path, form = f"/pay/{made['id']}", {"token": "t" * 32}
    assert_refused(await service.anyone.post(path, data=form, headers=OTHER_SITE))
    assert await service.rows("payments") == []
    headers = {"Sec-Fetch-Site": site} if site else {}
    assert (await service.anyone.post(path, data=form, headers=headers)).status_code == 303
    assert len(await service.rows("payments")) == 1


async def test_a_checkout_is_claimed_and_cancelled_on_its_page(database_url: str) -> None:
    async with open_annas_service(database_url, ScriptedRail(), BANK, LIGHTNING) as service:
        it = await begun(service, "bank:sepa")
        path, before = f"/pay/{it.request_id}/checkout/{it.id}", await service.rows("checkouts")
        for action in ("claim", "cancel"):
            form = {"action": action}
            assert_refused(await service.anyone.post(path, data=form, headers=OTHER_SITE))
        assert await service.rows("checkouts") == before
        answer = await service.anyone.post(path, data={"action": "cancel"})
        assert answer.status_code == 303
        assert await service.rows("checkouts") != before


async def test_an_address_is_confirmed_and_its_letters_stopped_on_our_pages(
    database_url: str,
) -> None:
    async with open_letter_harness(database_url) as post:
        anyone = post.service.anyone
        await post.pay(await post.sell(VICTIM))
        await post.work()
        path, before = link(post.letters[0], "confirm"), await post.service.rows("recipients")
        assert_refused(await anyone.post(path, headers=OTHER_SITE))
        assert await post.service.rows("recipients") == before
        assert "Address confirmed" in (await anyone.post(path)).text
        path, before = link(post.letters[0], "stop"), await post.service.rows("recipients")
        for scope in ("seller", "everybody"):
            assert_refused(await anyone.post(path, data={"scope": scope}, headers=OTHER_SITE))
        assert await post.service.rows("recipients") == before


async def test_receipts_are_stopped_on_our_page(database_url: str) -> None:
    async with open_service(database_url, payer_key=KEY) as service:
        path = f"/email/stop/receipts/{stop_token(KEY, '0' * 64)}"
        for scope in ("receipts", "everybody"):
            form = {"scope": scope}
            assert_refused(await service.anyone.post(path, data=form, headers=OTHER_SITE))
            assert "No more receipts" not in (await service.anyone.get(path)).text
        answer = await service.anyone.post(path, data={"scope": "receipts"})
        assert (answer.status_code, "No more receipts" in answer.text) == (200, True)


async def test_a_mail_program_that_is_a_website_unsubscribes(database_url: str) -> None:
    """It posts one click from its own site (RFC 8058), to an address that nobody can guess."""
    async with open_letter_harness(database_url) as post:
        await post.pay(await post.sell(VICTIM))
        await post.work()
        path = link(post.letters[0], "stop")
        clicked = await post.service.anyone.post(path, data=ONE_CLICK, headers=OTHER_SITE)
        (row,) = await post.service.rows("recipients")
        assert (clicked.status_code, row["state"]) == (200, "ended")
