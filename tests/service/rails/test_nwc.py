"""The rail of Nostr Wallet Connect, with a real relay and another implementation's wallet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import structlog

from bot.service.rails import nwc
from bot.service.rails.rail import Arrived, Gone, Opened, Unavailable, Waiting
from tests.support.asgi_server import open_tcp_relay
from tests.support.free_ports import free_port
from tests.support.lightning_wallet import charge
from tests.support.nwc_wallet import PAY, NwcWallet
from tests.support.service_harness import Clock
from tests.support.wallet_shops import NwcShop, open_nwc


@pytest.fixture
async def shop(clock: Clock) -> AsyncIterator[NwcShop]:
    async with open_nwc(clock) as it:
        await it.connect()
        yield it


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wallet's silence, which is ten seconds long, is a third of a second."""
    monkeypatch.setattr(nwc, "SECONDS", 0.3)


async def refusal(shop: NwcShop, **typed: Any) -> str:
    """Return what is wrong with a connection, as its seller reads it."""
    problem = await shop.problem(**typed)
    assert problem.field == "details.connection"
    return problem.message


@pytest.mark.parametrize(
    ("announced", "used"),
    [
        ("nip44_v2 nip04", "nip44_v2"),
        ("nip04 nip44_v2", "nip44_v2"),
        ("nip44_v2", "nip44_v2"),
        ("nip04", "nip04"),
        (None, "nip04"),
    ],
)
async def test_the_best_encryption_that_the_wallet_announces_is_used(
    shop: NwcShop, announced: str | None, used: str
) -> None:
    wallet = NwcWallet(shop.relay.url)
    wallet.encryption = announced
    async with wallet:
        other = shop.at(wallet)
        connected = await other.connect()
        await other.opened()
    assert connected.details["encryption"] == used
    assert {heard["scheme"] for heard in wallet.heard} == {used}


async def test_a_wallet_without_an_announcement_is_asked_in_both_ways(shop: NwcShop) -> None:
    wallet = NwcWallet(shop.relay.url)
    wallet.encryption = "unannounced"
    async with wallet:
        other = shop.at(wallet)
        assert (await other.connect()).details["encryption"] == "nip04"
        await other.opened()


async def test_a_connection_is_kept_with_its_encryption_and_a_name(
    shop: NwcShop,
) -> None:
    connection = shop.wallet.connection
    connected = await shop.rail.connect({"connection": f" {connection}\n"})
    assert connected.details == {"connection": connection, "encryption": "nip44_v2"}
    assert (connected.kind, connected.currencies, connected.automatic) == ("nwc", ("SAT",), True)
    assert connected.label.startswith("127.0.0.1 · ")


async def test_what_is_no_connection_is_refused(shop: NwcShop) -> None:
    for typed in (None, 1, "", "name@example.com", "nostr+walletconnect://x"):
        assert await refusal(shop, connection=typed)


async def test_a_connection_that_can_spend_is_refused(shop: NwcShop) -> None:
    shop.wallet.methods = PAY
    message = await refusal(shop)
    assert "can also spend (pay_invoice)" in message
    assert "only create and look up invoices" in message


async def test_an_error_of_the_wallet_is_explained(shop: NwcShop) -> None:
    for code, hint in (("RESTRICTED", "get_info"), ("UNAUTHORIZED", "isn't valid")):
        shop.wallet.errors["get_info"] = code
        assert hint in await refusal(shop)


@pytest.mark.usefixtures("shop", "impatient")
async def test_a_wallet_that_does_not_answer_is_refused_in_time(
    shop: NwcShop,
) -> None:
    shop.wallet.silent.add("*")
    assert "didn't answer" in await refusal(shop)


async def test_an_invoice_is_asked_for_with_amount_name_and_end(
    shop: NwcShop,
) -> None:
    made = await shop.opened()
    (heard,) = shop.calls
    assert heard["params"]["amount"] == 21_000
    assert heard["params"]["description"] == "Coffee & cake for two people"
    assert heard["params"]["expiry"] == 900
    (own,) = shop.wallet.invoices.values()
    assert made.external_id == own["payment_hash"]
    assert made.pay_with
    assert made.pay_with.lightning_invoice == own["invoice"]
    assert made.lapses_at == own["expires_at"] * 1000


async def test_a_long_name_is_cut_between_characters(shop: NwcShop) -> None:
    assert isinstance(await shop.open(memo="🍋" * 200), Opened)
    assert shop.calls[0]["params"]["description"] == "🍋" * 75


async def test_an_answer_without_the_invoices_own_hash_is_invalid(shop: NwcShop) -> None:
    false_answers: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
        lambda result: result | {"payment_hash": "ab" * 32},
        lambda result: result | {"payment_hash": [result["payment_hash"]]},
        lambda result: result | {"invoice": None},
        lambda _: {},
    ]
    for false_answer in false_answers:
        shop.wallet.false_answers["make_invoice"] = false_answer
        assert await shop.refused() == "lied"


async def test_a_wallet_may_refuse_to_make_an_invoice(shop: NwcShop) -> None:
    for code, reason in (
        ("RATE_LIMITED", "slow"),
        ("RESTRICTED", "refused"),
        ("INTERNAL", "refused"),
    ):
        shop.wallet.errors["make_invoice"] = code
        assert await shop.open() == Unavailable(reason, f"the wallet answered {code}")


@pytest.mark.long
@pytest.mark.usefixtures("shop", "impatient")
async def test_a_revoked_connection_is_silence_and_ends_in_time(shop: NwcShop) -> None:
    made = await shop.opened()
    shop.wallet.silent.add("*")
    began = time.monotonic()
    assert isinstance(await shop.open(), Unavailable)
    assert isinstance(await shop.poll(made), Waiting)
    assert time.monotonic() - began < 3


async def test_an_error_leaves_a_payment_open_but_an_unknown_invoice_is_gone(
    shop: NwcShop,
) -> None:
    assert await shop.poll(Opened("ab" * 32)) == Gone("the wallet answered NOT_FOUND")
    made = await shop.opened()
    for code in ("INTERNAL", "RATE_LIMITED", "UNAUTHORIZED", "RESTRICTED"):
        shop.wallet.errors["lookup_invoice"] = code
        assert await shop.poll(made) == Waiting(f"the wallet answered {code}")


@pytest.mark.parametrize("paid", [True, False])
async def test_a_wallet_that_says_no_state_is_asked_for_its_list_after_the_end(
    shop: NwcShop, *, paid: bool
) -> None:
    """LNbits names a time of settling for an invoice that ended unpaid."""
    made = await (shop.paid() if paid else shop.opened())
    shop.say(state=..., settled_at=shop.clock() // 1000)
    ended = Opened(made.external_id, lapses_at=shop.clock() - 1)
    assert isinstance(await shop.poll(ended), Arrived if paid else Gone)


@pytest.mark.simulation
async def test_polls_go_on_when_the_relay_was_stopped_and_started_again(
    shop: NwcShop,
) -> None:
    made = await shop.opened()
    await shop.relay.stop()
    assert isinstance(await shop.poll(made), Waiting)
    await shop.relay.start()
    await shop.wallet.connect()
    shop.pay(made)
    assert isinstance(await shop.poll(made), Arrived)


async def test_the_answer_may_come_in_another_encryption(shop: NwcShop) -> None:
    shop.wallet.answer_as = "nip04"
    assert await shop.opened()


async def test_a_wallet_that_answers_hundreds_of_times_costs_no_other_the_relay(
    shop: NwcShop,
) -> None:
    port = free_port()
    async with (
        open_tcp_relay(str(shop.relay.port), port) as passage,
        NwcWallet(shop.relay.url) as wallet,
        NwcWallet(shop.relay.url) as noisy,
    ):
        for each in (wallet, noisy):
            each.relays = (f"ws://127.0.0.1:{port}",)
        quiet, loud = shop.at(wallet), shop.at(noisy)
        for one in (quiet, loud):
            await one.connect()
        noisy.copies = 400
        made = await quiet.opened()
        flood = asyncio.create_task(loud.open())
        assert [await quiet.poll(made) for _ in range(3)] == [Waiting()] * 3
        await flood
        refused = await loud.open()
        assert await quiet.poll(made) == Waiting()
        assert len(passage.served) == 1
        await shop.rail.close()
    assert isinstance(refused, Unavailable)
    assert "the wallet sent more than was asked for" in refused.detail


async def test_each_wallet_has_a_lane_of_its_own(shop: NwcShop) -> None:
    one, two = shop.typed, shop.at(NwcWallet(shop.relay.url)).typed
    assert shop.rail.host(one) != shop.rail.host(two)
    assert shop.rail.host({"connection": "nothing"}) == ""


@pytest.mark.long
async def test_no_answer_log_or_error_shows_the_secret(
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("DEBUG")
    caplog.set_level("DEBUG", "websockets")  # the product's log quiets it, for the whole process
    said = list[Any]()
    with structlog.testing.capture_logs() as logs:
        async with open_nwc(clock) as shop:
            wallet = shop.wallet
            said += [await shop.connect(), charge(shop.details, shop.clock())]
            made = await shop.opened()
            monkeypatch.setattr(nwc, "SECONDS", 0.3)
            for fault in ({"*"}, set[str]()):
                wallet.silent = fault
                said += [await shop.open(), await shop.poll(made)]
            for part, other in (
                (wallet.public, "ab"),
                ("127.0.0.1", "192.168.0.1"),
                ("ws%3A", "ftp%3A"),
            ):
                said += [await refusal(shop, connection=wallet.connection.replace(part, other))]
            wallet.methods = PAY
            said += [await refusal(shop), shop.rail.host(shop.typed)]
    assert any(record.name.startswith("websockets") for record in caplog.records)
    shown = [repr(said), repr(logs), caplog.text, *capsys.readouterr()]
    assert not [text for text in shown if wallet.secret in text]
