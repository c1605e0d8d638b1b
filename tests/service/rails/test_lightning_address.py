"""The rail of Lightning addresses: what it asks, what it believes, and each lie that it refuses."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bot.core.net.webhook_addresses import AllowList
from bot.service.rails.lightning import LightningAddressRail
from bot.service.rails.rail import (
    Arrived,
    Connected,
    InvalidWalletAnswer,
    Opened,
    PayWith,
    Unavailable,
    Waiting,
)
from tests.support.asgi_server import make_certificate, open_tcp_relay
from tests.support.free_ports import free_port
from tests.support.lightning_wallet import (
    InvoiceDraft,
    LnurlService,
    redirect_to,
    serve_wallet,
    shorten_unfinished,
    silent_answer,
    text_answer,
)
from tests.support.service_harness import Clock
from tests.support.wallet_shops import Shop, open_lightning

if TYPE_CHECKING:
    from starlette.responses import Response


OFFER = {"tag": "payRequest", "minSendable": 1_000, "maxSendable": 100_000_000}
ERROR = '{"status":"ERROR","reason":"Not today."}'
PRIVATE = ("10.0.0.1", "127.0.0.2", "localhost", "[::1]", "2130706434", "wallet.localhost")


@pytest.fixture
async def shop(clock: Clock) -> AsyncIterator[Shop]:
    async with open_lightning(clock) as it:
        await it.connect()
        yield it


async def refusal(shop: Shop, address: Any) -> str:
    """Return what is wrong with an address, as its seller reads it."""
    problem = await shop.problem(address=address)
    assert problem.field == "details.address"
    return problem.message


async def test_connecting_tries_the_smallest_invoice_and_says_that_payments_are_reported(
    shop: Shop,
) -> None:
    found = await shop.rail.connect({"address": f" lightning:SHOP@{shop.wallet.host}"})
    url = f"{shop.wallet.url}/.well-known/lnurlp/shop"
    host = shop.wallet.host
    details = {"address": shop.wallet.address, "url": url, "verify": True, "host": host}
    assert found == Connected("lightning", details, shop.wallet.address, ("SAT",), automatic=True)
    assert shop.wallet.paths() == [
        "/.well-known/lnurlp/shop",
        "/callback",
        f"/verify/{shop.wallet.last}",
    ]
    assert dict(shop.wallet.asked[1].query_params) == {
        "user": "shop",
        "sig": "a b",
        "amount": "1000",
    }
    assert shop.rail.host(found.details) == shop.wallet.host


async def test_without_a_verify_address_the_seller_confirms(shop: Shop) -> None:
    shop.wallet.changed["invoice"] = {"verify": None}
    assert not (await shop.connect()).automatic
    made = await shop.opened()
    assert (made.poll_times, made.poll_details) == ((), {})


async def test_a_wallet_that_stops_reporting_payments_opens_nothing(shop: Shop) -> None:
    """Its payer could not say that it was sent, so nobody would learn of the money."""
    shop.wallet.changed["invoice"] = {"verify": None}
    assert await shop.refused() == "refused"


async def test_a_wallet_that_begins_to_report_payments_is_asked(shop: Shop) -> None:
    shop.wallet.changed["invoice"] = {"verify": None}
    await shop.connect()
    shop.wallet.changed.clear()
    found = await shop.opened()
    assert (found.poll_times, found.poll_details) == (
        None,
        {"verify": f"{shop.wallet.url}/verify/{found.external_id}"},
    )


async def test_the_smallest_amount_is_rounded_up_to_whole_satoshi(shop: Shop) -> None:
    shop.wallet.changed["offer"] = {"minSendable": 1_001}
    await shop.rail.connect({"address": shop.wallet.address})
    assert shop.wallet.asked[1].query_params["amount"] == "2000"


async def test_an_address_at_a_public_host_is_needed(shop: Shop) -> None:
    for typed in (None, 5, "", "shop"):
        assert "such as maria@wallet.example" in await refusal(shop, typed)
    for host in PRIVATE:
        assert "it isn't a public address" in await refusal(shop, f"shop@{host}"), host


async def test_no_address_that_a_wallet_names_is_called_at_a_private_host(
    shop: Shop,
) -> None:
    """Neither the callback nor the verify address, when it is connected and later."""
    for url in (*(f"https://{host}/x" for host in PRIVATE), "http://wallet.example/cb", "ftp:x"):
        for route, name in (("offer", "callback"), ("invoice", "verify")):
            shop.wallet.changed = {route: {name: url}}
            assert "it isn't a public address" in await refusal(shop, shop.wallet.address), url
            shop.calls.clear()
            assert await shop.refused() == "refused"
            assert len(shop.calls) == (1 if route == "offer" else 2)


async def test_a_port_is_for_hosts_that_the_operator_allows(shop: Shop) -> None:
    assert "Leave the port out" in await refusal(shop, "shop@wallet.example:8443")


async def test_an_allowed_port_is_the_only_one_of_its_host(shop: Shop) -> None:
    shop.rail = LightningAddressRail(AllowList.parse(shop.wallet.host), shop.clock)
    assert (await shop.connect()).label == shop.wallet.address
    assert "Leave the port out" in await refusal(shop, "shop@127.0.0.1:9")
    assert "it isn't a public address" in await refusal(shop, "shop@127.0.0.1")
    await shop.rail.close()


async def test_the_services_own_words_explain_its_refusal(shop: Shop) -> None:
    assert (
        await refusal(shop, f"nobody@{shop.wallet.host}")
        == f"{shop.wallet.host} says: No such user."
    )


async def test_a_wrong_test_invoice_is_not_connected(shop: Shop) -> None:
    shop.wallet.invoice = {"network": "tb"}
    assert "The test invoice" in await refusal(shop, shop.wallet.address)


async def test_a_verify_address_that_redirects_to_a_private_host_is_not_connected(
    shop: Shop,
) -> None:
    shop.wallet.answers["verify"] = redirect_to("https://10.0.0.1/verify")
    assert (await shop.problem()).code == "hostMoved"


async def test_a_verify_address_may_not_know_an_unpaid_invoice(shop: Shop) -> None:
    shop.wallet.answers["verify"] = text_answer('{"status":"ERROR","reason":"Not found"}', 404)
    assert (await shop.connect()).automatic


async def test_an_invoice_of_whole_satoshi_is_asked_for_with_the_products_name(shop: Shop) -> None:
    found = await shop.opened()
    assert shop.wallet.paths() == ["/.well-known/lnurlp/shop", "/callback"]
    query = {"user": "shop", "sig": "a b", "amount": "21000", "comment": "Coffee & cake for tw"}
    assert dict(shop.wallet.asked[1].query_params) == query
    draft = InvoiceDraft(21_000, shop.clock(), payment_hash=shop.wallet.last)
    assert found == Opened(
        shop.wallet.last,
        PayWith(lightning_invoice=draft.write()),
        shop.clock() // 1000 * 1000 + 900_000,
        poll_details={"verify": f"{shop.wallet.url}/verify/{shop.wallet.last}"},
        host=shop.wallet.host,
    )


async def test_calls_are_counted_at_the_hosts_that_make_and_verify_invoices(shop: Shop) -> None:
    """The domain of an address often only names the provider behind it, which many share."""
    shop.rail = LightningAddressRail(AllowList.parse("127.0.0.1, localhost"), shop.clock)
    url = shop.wallet.url.replace("127.0.0.1", "localhost")
    shop.wallet.changed["offer"] = {"callback": f"{url}/callback"}
    found = await shop.connect()
    provider = url.partition("://")[2]
    assert shop.rail.host(found.details) == provider
    verify = {"verify": f"{url}/verify/{'0' * 64}"}
    shop.wallet.changed["invoice"] = verify
    assert (await shop.opened()).host == provider
    await shop.rail.close()


async def test_an_invoice_handed_out_twice_has_the_same_id(shop: Shop) -> None:
    """The service stores ids once, so the second opening fails there."""
    first = await shop.opened()
    shop.wallet.invoice = {"payment_hash": first.external_id}
    assert (await shop.opened()).external_id == first.external_id


@pytest.mark.parametrize(("satoshi", "reason"), [(4, "tooSmall"), (51, "tooLarge")])
async def test_the_wallets_limits_are_kept(shop: Shop, satoshi: int, reason: str) -> None:
    shop.wallet.changed["offer"] = {"minSendable": 4_001, "maxSendable": 50_999}
    assert await shop.refused(amount=satoshi) == reason
    assert shop.wallet.paths() == ["/.well-known/lnurlp/shop"]


@pytest.mark.parametrize("route", ["offer", "invoice"])
async def test_a_refusal_is_an_unavailable_wallet(shop: Shop, route: str) -> None:
    shop.wallet.answers[route] = text_answer(ERROR)
    found = await shop.open()
    assert found == Unavailable("refused", "Not today.")


async def test_an_answer_about_another_invoice_is_an_invalid_answer(shop: Shop) -> None:
    found = await shop.opened()
    shop.wallet.paid.add(found.external_id)
    shop.wallet.changed["verify"] = {"pr": InvoiceDraft(5_000, shop.clock()).write()}
    false_answer = Waiting(
        "the wallet answers for another invoice", InvalidWalletAnswer.OTHER_INVOICE
    )
    assert await shop.poll(found) == false_answer


async def test_the_invoice_itself_in_capitals_is_no_other(shop: Shop) -> None:
    found = await shop.opened()
    assert found.pay_with is not None
    shop.wallet.paid.add(found.external_id)
    shop.wallet.changed["verify"] = {"pr": str(found.pay_with.lightning_invoice).upper()}
    assert isinstance(await shop.poll(found), Arrived)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_wallet_whose_domain_moved_is_followed_in_every_call(
    shop: Shop, status: int
) -> None:
    """Its own address stays as it was typed."""
    old = shop.wallet
    moved = LnurlService(shop.clock)
    async with serve_wallet(moved):
        old.answers["offer"] = text_answer(
            "", status, location=f"{moved.url}/.well-known/lnurlp/shop"
        )
        moved.changed["offer"] = {"callback": f"{old.url}/callback?user=shop"}
        query = "user=shop&amount={}"
        old.answers["invoice"] = text_answer(
            "", status, location=f"{moved.url}/callback?{query.format(1_000)}"
        )
        assert (await shop.connect()).details["address"] == old.address
        assert shop.details["url"] == f"{old.url}/.well-known/lnurlp/shop"
        old.answers["invoice"] = text_answer(
            "", status, location=f"{moved.url}/callback?{query.format(21_000)}"
        )
        found = await shop.opened()
        at = f"/verify/{found.external_id}"
        found = replace(found, poll_details={"verify": f"{old.url}{at}"})
        old.answers["verify"] = text_answer("", status, location=f"{moved.url}{at}")
        assert await shop.poll(found) == Waiting()
        moved.paid.add(found.external_id)
        assert await shop.poll(found) == Arrived()


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_two_redirects_are_followed_also_relative_ones(shop: Shop, times: int) -> None:
    left = [times]

    def hop() -> Response:
        left[0] -= 1
        if left[0] >= 0:
            return redirect_to("shop")()
        del shop.wallet.answers["offer"]
        found: Response = shop.wallet._answer(
            "offer", OFFER | {"callback": f"{shop.wallet.url}/callback"}
        )
        return found

    shop.wallet.answers["offer"] = hop
    shop.calls.clear()
    if times <= 2:
        assert (await shop.connect()).automatic
    else:
        assert (await shop.problem()).code == "hostMoved"
        assert len(shop.calls) == 3


async def test_a_redirect_to_what_may_not_be_called_is_named_as_such(shop: Shop) -> None:
    for location in (
        "",
        "http://wallet.example/",
        "https://10.0.0.1/x",
        "https://[::1]/x",
        "//169.254.169.254/latest",
        "https://localhost/x",
        "https://user:pw@wallet.example/",
        "ftp://wallet.example/",
        "https://wallet.example:99999/",
        "https://wal let.example/",
        "x" * 3_000,
        "javascript:alert(1)",
        "https://[x",
    ):
        shop.wallet.answers["offer"] = redirect_to(location)
        problem = await shop.problem()
        assert problem.code == "hostMoved", location
        assert problem.message == (
            f"{shop.wallet.host} redirects to an address that can't be used."
            " Ask your wallet for your current address."
        )
        shop.calls.clear()
        assert await shop.refused() == "refused"
        assert len(shop.calls) == 1


async def test_a_redirect_to_a_name_of_a_private_address_is_not_dialled(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.2", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    shop.wallet.answers["offer"] = redirect_to("https://wallet.example/")
    assert (await shop.problem()).code == "hostMoved"


async def test_each_answer_that_is_no_wallets_is_told_as_what_it_is(shop: Shop) -> None:
    """A callback that fails is not an address that doesn't exist."""
    for route, status, body, code in (
        ("offer", 404, "<html>", "noSuchAddress"),
        ("offer", 404, '{"detail":"Not Found"}', "noSuchAddress"),
        ("offer", 410, "", "noSuchAddress"),
        ("offer", 404, ERROR, "hostSays"),
        ("offer", 200, ERROR, "hostSays"),
        ("offer", 500, ERROR, "hostSays"),
        ("offer", 401, "", "hostDenies"),
        ("offer", 403, "<html>", "hostDenies"),
        ("offer", 403, "{}", "hostDenies"),
        ("offer", 500, "{}", "hostBroken"),
        ("offer", 503, "<html>", "hostBroken"),
        ("offer", 200, '{"tag":"withdrawRequest"}', "notLnurl"),
        ("offer", 304, "", "hostMoved"),
        ("invoice", 404, "", "notLnurl"),
        ("invoice", 503, "", "hostBroken"),
        ("invoice", 200, "{}", "notLnurl"),
        ("invoice", 404, ERROR, "hostSays"),
    ):
        shop.wallet.answers = {route: text_answer(body, status)}
        assert (await shop.problem()).code == code, (route, status, body)


async def test_not_found_is_not_yet(shop: Shop) -> None:
    found = await shop.opened()
    for answer in (ERROR, '{"status":"error"}'):
        shop.wallet.answers["verify"] = text_answer(answer)
        assert isinstance(await shop.poll(found), Waiting)


async def test_each_way_not_to_be_reached_is_told_as_what_it_is(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    closed = await shop.problem(address="shop@127.0.0.1:9")
    assert closed.code == "hostClosed"
    assert "127.0.0.1:9 can't be reached" in closed.message
    certificate = make_certificate(tmp_path)
    port = free_port()
    async with open_tcp_relay(shop.wallet.host.rpartition(":")[2], port, certificate):
        assert (await shop.problem(address=f"shop@127.0.0.1:{port}")).code == "hostUnsafe"
    shop.wallet.answers["offer"] = silent_answer
    shorten_unfinished("silent", monkeypatch)
    problem = await shop.problem()
    assert (problem.code, problem.message) == (
        "hostSilent",
        f"{shop.wallet.host} didn't answer in time. Try again later.",
    )
    monkeypatch.undo()
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    problem = await shop.problem(address="shop@wallet.example")
    assert (problem.code, problem.message) == (
        "hostUnknown",
        "There's no server at wallet.example. Check the spelling.",
    )


async def test_a_stored_verify_address_is_checked_again_when_it_is_dialled(shop: Shop) -> None:
    found = replace(await shop.opened(), poll_details={"verify": "http://10.0.0.1/v"})
    assert isinstance(await shop.poll(found), Waiting)
