"""The rail of Nostr Wallet Connect, with a real relay and another implementation's wallet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import structlog

from bot.core.errors import InvalidBody
from bot.core.net.webhook_addresses import AllowList
from bot.service.rails import nwc
from bot.service.rails.nwc import NwcRail
from bot.service.rails.rail import Arrived, Charge, Gone, Opened, PollAnswer, Unavailable, Waiting
from tests.support.asgi_server import open_tcp_relay
from tests.support.free_ports import free_port
from tests.support.nwc_wallet import PAY, LocalRelay, NwcWallet

LIFE = 600_000


def now() -> int:
    return int(time.time() * 1000)


@pytest.fixture
async def relay() -> AsyncIterator[LocalRelay]:
    async with LocalRelay() as relay:
        yield relay


@pytest.fixture
async def wallet(relay: LocalRelay) -> AsyncIterator[NwcWallet]:
    async with NwcWallet(relay.url) as wallet:
        yield wallet


@pytest.fixture
async def rail() -> AsyncIterator[NwcRail]:
    rail = NwcRail(AllowList.parse("127.0.0.1"), now)
    yield rail
    await rail.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wallet's silence, which is ten seconds long, is a tenth of a second."""
    monkeypatch.setattr(nwc, "SECONDS", 0.3)


def ask(wallet: NwcWallet, amount: int = 21, encryption: str = "nip44_v2") -> Charge:
    details = {"connection": wallet.connection, "encryption": encryption}
    at = now()
    return Charge("c1", amount, "SAT", "Lemonade", "", at, at + LIFE, details)


async def opened(rail: NwcRail, wallet: NwcWallet) -> Opened:
    made = await rail.open(ask(wallet))
    assert isinstance(made, Opened)
    return made


async def poll(rail: NwcRail, wallet: NwcWallet, made: Opened) -> PollAnswer:
    return await rail.poll(ask(wallet), made)


async def problem(rail: NwcRail, connection: Any) -> str:
    with pytest.raises(InvalidBody) as caught:
        await rail.connect({"connection": connection})
    (found,) = caught.value.info
    assert found.field == "details.connection"
    return found.message


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
    rail: NwcRail, relay: LocalRelay, announced: str | None, used: str
) -> None:
    wallet = NwcWallet(relay.url)
    wallet.encryption = announced
    async with wallet:
        connected = await rail.connect({"connection": wallet.connection})
        made = await rail.open(ask(wallet, encryption=connected.details["encryption"]))
    assert connected.details["encryption"] == used
    assert {heard["scheme"] for heard in wallet.heard} == {used}
    assert isinstance(made, Opened)


async def test_a_wallet_without_an_announcement_is_asked_in_both_ways(
    rail: NwcRail, relay: LocalRelay
) -> None:
    wallet = NwcWallet(relay.url)
    wallet.encryption = "unannounced"
    async with wallet:
        connected = await rail.connect({"connection": wallet.connection})
        assert isinstance(await rail.open(ask(wallet, encryption="nip04")), Opened)
    assert connected.details["encryption"] == "nip04"


async def test_a_connection_is_kept_with_its_encryption_and_a_name(
    rail: NwcRail, wallet: NwcWallet
) -> None:
    connected = await rail.connect({"connection": f" {wallet.connection}\n"})
    assert connected.details == {"connection": wallet.connection, "encryption": "nip44_v2"}
    assert (connected.kind, connected.currencies, connected.automatic) == ("nwc", ("SAT",), True)
    assert connected.label.startswith("127.0.0.1 · ")


@pytest.mark.parametrize("typed", [None, 1, "", "name@example.com", "nostr+walletconnect://x"])
async def test_what_is_no_connection_is_refused(rail: NwcRail, typed: Any) -> None:
    assert await problem(rail, typed)


async def test_a_connection_that_can_spend_is_refused(rail: NwcRail, relay: LocalRelay) -> None:
    async with NwcWallet(relay.url, methods=PAY) as wallet:
        message = await problem(rail, wallet.connection)
    assert "can also spend (pay_invoice)" in message
    assert "only create and look up invoices" in message


@pytest.mark.parametrize(
    ("code", "hint"), [("RESTRICTED", "get_info"), ("UNAUTHORIZED", "isn't valid")]
)
async def test_an_error_of_the_wallet_is_explained(
    rail: NwcRail, wallet: NwcWallet, code: str, hint: str
) -> None:
    wallet.errors["get_info"] = code
    assert hint in await problem(rail, wallet.connection)


@pytest.mark.usefixtures("impatient")
async def test_a_wallet_that_does_not_answer_is_refused_in_time(
    rail: NwcRail, wallet: NwcWallet
) -> None:
    wallet.silent.add("*")
    assert "didn't answer" in await problem(rail, wallet.connection)


async def test_an_invoice_is_asked_for_with_amount_name_and_end(
    rail: NwcRail, wallet: NwcWallet
) -> None:
    made = await opened(rail, wallet)
    (heard,) = wallet.heard
    assert heard["params"]["amount"] == 21_000
    assert heard["params"]["description"] == "Lemonade"
    assert 595 <= heard["params"]["expiry"] <= 600
    (own,) = wallet.invoices.values()
    assert made.external_id == own["payment_hash"]
    assert made.pay_with
    assert made.pay_with.lightning_invoice == own["invoice"]
    assert made.lapses_at == own["expires_at"] * 1000


async def test_a_long_name_is_cut_between_characters(rail: NwcRail, wallet: NwcWallet) -> None:
    charge = ask(wallet)
    lifetime = (charge.created_at, charge.lapses_at)
    long = Charge("c", 1, "SAT", "🍋" * 200, "", *lifetime, charge.details)
    assert isinstance(await rail.open(long), Opened)
    assert wallet.heard[0]["params"]["description"] == "🍋" * 75


async def test_an_answer_without_the_invoices_own_hash_is_invalid(
    rail: NwcRail, wallet: NwcWallet
) -> None:
    false_answers: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
        lambda result: result | {"payment_hash": "ab" * 32},
        lambda result: result | {"payment_hash": [result["payment_hash"]]},
        lambda result: result | {"invoice": None},
        lambda _: {},
    ]
    for false_answer in false_answers:
        wallet.false_answers["make_invoice"] = false_answer
        found = await rail.open(ask(wallet))
        assert isinstance(found, Unavailable)
        assert found.reason == "lied"


@pytest.mark.parametrize(
    ("code", "reason"),
    [("RATE_LIMITED", "slow"), ("RESTRICTED", "refused"), ("INTERNAL", "refused")],
)
async def test_a_wallet_may_refuse_to_make_an_invoice(
    rail: NwcRail, wallet: NwcWallet, code: str, reason: str
) -> None:
    wallet.errors["make_invoice"] = code
    assert await rail.open(ask(wallet)) == Unavailable(reason, f"the wallet answered {code}")


@pytest.mark.long
@pytest.mark.usefixtures("impatient")
async def test_a_revoked_connection_is_silence_and_ends_in_time(
    rail: NwcRail, wallet: NwcWallet
) -> None:
    made = await opened(rail, wallet)
    wallet.silent.add("*")
    began = time.monotonic()
    assert isinstance(await rail.open(ask(wallet)), Unavailable)
    assert isinstance(await poll(rail, wallet, made), Waiting)
    assert time.monotonic() - began < 3


async def test_an_invoice_that_the_wallet_does_not_know_is_gone(
    rail: NwcRail, wallet: NwcWallet
) -> None:
    found = await poll(rail, wallet, Opened("ab" * 32))
    assert found == Gone("the wallet answered NOT_FOUND")


@pytest.mark.parametrize("code", ["INTERNAL", "RATE_LIMITED", "UNAUTHORIZED", "RESTRICTED"])
async def test_any_other_error_leaves_the_payment_open(
    rail: NwcRail, wallet: NwcWallet, code: str
) -> None:
    made = await opened(rail, wallet)
    wallet.errors["lookup_invoice"] = code
    assert await poll(rail, wallet, made) == Waiting(f"the wallet answered {code}")


@pytest.mark.parametrize("paid", [True, False])
async def test_a_wallet_that_says_no_state_is_asked_for_its_list_after_the_end(
    rail: NwcRail, wallet: NwcWallet, *, paid: bool
) -> None:
    """LNbits names a time of settling for an invoice that ended unpaid."""
    made = await opened(rail, wallet)
    if paid:
        wallet.settle(made.external_id)
    wallet.false_answers["lookup_invoice"] = lambda result: (
        {name: value for name, value in result.items() if name != "state"}
        | {"settled_at": result["created_at"]}
    )
    ended = Opened(made.external_id, lapses_at=now() - 1)
    found = await poll(rail, wallet, ended)
    assert isinstance(found, Arrived if paid else Gone)


@pytest.mark.simulation
async def test_polls_go_on_when_the_relay_was_stopped_and_started_again(
    rail: NwcRail, relay: LocalRelay, wallet: NwcWallet
) -> None:
    made = await opened(rail, wallet)
    await relay.stop()
    assert isinstance(await poll(rail, wallet, made), Waiting)
    await relay.start()
    await wallet.connect()
    wallet.settle(made.external_id)
    assert isinstance(await poll(rail, wallet, made), Arrived)


async def test_the_answer_may_come_in_another_encryption(rail: NwcRail, wallet: NwcWallet) -> None:
    wallet.answer_as = "nip04"
    assert await opened(rail, wallet)


async def test_a_wallet_that_answers_hundreds_of_times_costs_no_other_the_relay(
    rail: NwcRail, relay: LocalRelay
) -> None:
    port = free_port()
    async with (
        open_tcp_relay(str(relay.port), port) as passage,
        NwcWallet(relay.url) as wallet,
        NwcWallet(relay.url) as noisy,
    ):
        noisy.copies = 400
        for each in (wallet, noisy):
            each.relays = (f"ws://127.0.0.1:{port}",)
        made = await opened(rail, wallet)
        flood = asyncio.create_task(rail.open(ask(noisy)))
        assert [await poll(rail, wallet, made) for _ in range(3)] == [Waiting()] * 3
        await flood
        refused = await rail.open(ask(noisy))
        assert await poll(rail, wallet, made) == Waiting()
        assert len(passage.served) == 1
        await rail.close()
    assert isinstance(refused, Unavailable)
    assert "the wallet sent more than was asked for" in refused.detail


async def test_each_wallet_has_a_lane_of_its_own(rail: NwcRail, relay: LocalRelay) -> None:
    one, two = NwcWallet(relay.url), NwcWallet(relay.url)
    lanes = {rail.host({"connection": wallet.connection}) for wallet in (one, two)}
    assert len(lanes) == 2
    assert rail.host({"connection": "nothing"}) == ""


@pytest.mark.long
@pytest.mark.usefixtures("impatient")
async def test_no_answer_log_or_error_shows_the_secret(
    rail: NwcRail,
    wallet: NwcWallet,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("DEBUG")
    said: list[Any] = []
    with structlog.testing.capture_logs() as logs:
        connected = await rail.connect({"connection": wallet.connection})
        made = await opened(rail, wallet)
        for fault in ({"*"}, set[str]()):
            wallet.silent = fault
            said += [await rail.open(ask(wallet)), await poll(rail, wallet, made)]
        said += [await problem(rail, wallet.connection.replace(wallet.public, "ab"))]
        said += [await problem(rail, wallet.connection.replace("127.0.0.1", "192.168.0.1"))]
        said += [await problem(rail, wallet.connection.replace("ws%3A", "ftp%3A"))]
        wallet.methods = PAY
        said += [await problem(rail, wallet.connection)]
    rail_host = rail.host({"connection": wallet.connection})
    shown = [
        repr(connected),
        repr(ask(wallet)),
        rail_host,
        repr(said),
        repr(logs),
        caplog.text,
        *capsys.readouterr(),
    ]
    assert any(record.name.startswith("websockets") for record in caplog.records)
    assert not [text for text in shown if wallet.secret in text]
