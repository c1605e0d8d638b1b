"""What a wallet connection says, and what its answers mean: payments are believed with reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.net.webhook_addresses import AllowList
from bot.service.rails import nwc
from bot.service.rails.nostr_wallet import SecretKey, WalletConnection, parse_connection
from bot.service.rails.rail import (
    Arrived,
    BadDetail,
    Gone,
    InvalidWalletAnswer,
    PollAnswer,
    Waiting,
)
from tests.support.lightning_wallet import PREIMAGE, hash_of

SECRET = "71a8c14c1407c113601079c4302dab36460f0ccd0ad506f1f2dc73b5100e4f3c"
WALLET = SecretKey(f"{7:064x}").public
RELAY = "wss://relay.example.com"
GOOD = f"nostr+walletconnect://{WALLET}?relay={RELAY}&secret={SECRET}"
ALLOW = AllowList.parse("127.0.0.1, 10.0.0.0/8, relay.local")


def parse(text: str) -> WalletConnection:
    return parse_connection(text, ALLOW)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  {GOOD}\n",
        GOOD.replace("://", ":", 1),
        GOOD.replace("nostr+walletconnect", "nostrwalletconnect"),
        GOOD.replace("nostr+walletconnect", "Nostr+WalletConnect"),
        GOOD.replace(RELAY, "wss%3A%2F%2Frelay.example.com"),
        GOOD.replace(WALLET, WALLET.upper()).replace(SECRET, SECRET.upper()),
        GOOD.replace("?", "/?"),
        f"{GOOD}&pubkey={WALLET}&unknown=1",
    ],
)
def test_every_spelling_of_wallets_is_read(text: str) -> None:
    found = parse(text)
    assert (found.wallet, found.relays) == (WALLET, (RELAY,))
    assert found.key.public == SecretKey(SECRET).public


def test_a_relays_scheme_is_read_in_any_case() -> None:
    """The scheme of an address says the same in capitals (RFC 3986 section 3.1)."""
    loud = "WSS://relay.example.com"
    assert parse(GOOD.replace(RELAY, loud)).relays == (loud,)


def test_several_relays_are_used_up_to_three() -> None:
    more = "".join(f"&relay=wss://r{at}.example.com" for at in range(5))
    assert len(parse(GOOD + more + more).relays) == 3


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "isn't a wallet connection"),
        ("name@example.com", "isn't a wallet connection"),
        (GOOD.replace("nostr+walletconnect", "https"), "isn't a wallet connection"),
        (GOOD + "&x=" + "x" * 2_000, "isn't a wallet connection"),
        (GOOD.replace(WALLET, WALLET[:-1]), "wallet's key"),
        (GOOD.replace(WALLET, "ff" * 32), "wallet's key"),
        (GOOD.replace(SECRET, SECRET[:-1]), "secret"),
        (GOOD.replace(SECRET, "0" * 64), "secret"),
        (GOOD.replace("&secret=", "&sekret="), "secret"),
        (GOOD.replace("relay=", "rely="), "names no relay"),
        (GOOD.replace(RELAY, "ws://relay.example.com"), "without encryption"),
        (GOOD.replace(RELAY, "https://relay.example.com"), "without encryption"),
        (GOOD.replace(RELAY, "ftp://relay.example.com"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://user:word@relay.example.com"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://192.168.1.2"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://localhost"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://[::1]:7000"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://relay.example.com:99999"), "can't be reached"),
        (GOOD.replace(RELAY, "wss://"), "can't be reached"),
        (GOOD.replace(RELAY, ""), "names no relay"),
    ],
)
def test_each_mistake_is_explained_without_the_secret(text: str, hint: str) -> None:
    with pytest.raises(BadDetail, match=hint) as caught:
        parse(text)
    assert SECRET[:-1] not in str(caught.value)


@pytest.mark.parametrize("relay", ["ws://127.0.0.1:7777", "ws://10.1.2.3", "ws://relay.local:80"])
def test_an_allowed_host_may_be_reached_without_encryption(relay: str) -> None:
    assert parse(GOOD.replace(RELAY, relay)).relays == (relay,)


def test_an_allowed_port_is_the_only_one_without_encryption() -> None:
    allow = AllowList.parse("relay.local:7777, 127.0.0.1:7777")
    for host in ("relay.local", "127.0.0.1"):
        relay = f"ws://{host}:7777"
        assert parse_connection(GOOD.replace(RELAY, relay), allow).relays == (relay,)
        with pytest.raises(BadDetail):
            parse_connection(GOOD.replace(RELAY, f"ws://{host}:80"), allow)


def test_the_label_is_the_wallets_address_or_its_relay_and_our_public_key() -> None:
    assert parse(GOOD + "&lud16=ada@example.com").label == "ada@example.com"
    public = SecretKey(SECRET).public
    plain = f"relay.example.com · {public[:4]}…{public[-4:]}"
    assert parse(GOOD).label == plain
    assert parse(GOOD + "&lud16=%3Cb%3E").label == plain


def test_a_connection_shows_no_secret() -> None:
    assert SECRET not in repr(parse(GOOD))


HASH = hash_of()
PENDING = {
    "type": "incoming",
    "state": "pending",
    "payment_hash": HASH,
    "amount": 21_000,
    "created_at": 1_794_000_000,
    "settled_at": None,
    "preimage": "",
}
PAID = PENDING | {"state": "settled", "settled_at": 1_794_000_050, "preimage": PREIMAGE}
SAYS_NO_STATE = {name: value for name, value in PAID.items() if name != "state"}


def read(found: dict[str, Any], *, ended: bool = False) -> PollAnswer | None:
    return nwc.read_lookup(found, HASH, ended=ended)


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        (PENDING, Waiting()),
        (PENDING | {"state": "accepted"}, Waiting()),
        (PENDING | {"preimage": PREIMAGE}, Waiting()),  # LNbits gives it for unpaid invoices
        (PENDING | {"settled_at": 0}, Waiting()),
        (PENDING | {"state": "paid"}, Waiting("the wallet says an unknown state")),
        (PENDING | {"state": "expired"}, Gone("the wallet says expired")),
        (PENDING | {"state": "FAILED"}, Gone("the wallet says failed")),
        (PAID, Arrived(21)),
        (PAID | {"state": "SETTLED"}, Arrived(21)),
        (PAID | {"type": None}, Arrived(21)),
        (PAID | {"metadata": {"deep": [[[[{}]]]]}}, Arrived(21)),
        (PAID | {"preimage": None}, Arrived(21)),
        (PAID | {"preimage": ""}, Arrived(21)),
        (PAID | {"preimage": "0" * 64}, Arrived(21)),
        (PAID | {"amount": None}, Arrived(None)),
        (PAID | {"amount": 20_999}, Arrived(20)),
        (PAID | {"amount": 22_000}, Arrived(22)),
        (SAYS_NO_STATE, Arrived(21)),
        (SAYS_NO_STATE | {"settled_at": None}, Waiting()),
        (SAYS_NO_STATE | {"settled_at": 0}, Waiting()),
        (SAYS_NO_STATE | {"state": None}, Arrived(21)),
    ],
)
def test_what_a_lookup_says(found: dict[str, Any], answer: PollAnswer) -> None:
    assert read(found) == answer


def test_a_time_of_settling_without_a_state_says_nothing_once_the_invoice_has_ended() -> None:
    assert read(SAYS_NO_STATE, ended=True) is None
    assert read(PAID, ended=True) == Arrived(21)


@pytest.mark.parametrize(
    "false_answer",
    [
        {"payment_hash": hash_of("22" * 32)},
        {"payment_hash": None},
        {"payment_hash": [HASH]},
        {"type": "outgoing"},
        {"type": {}},
        {"amount": 0},
        {"amount": -21_000},
        {"amount": 999},
        {"amount": 10**30},
        {"amount": True},
        {"amount": "21000"},
        {"amount": 21_000.0},
        {"preimage": "22" * 32},
        {"preimage": "an internal id"},
    ],
)
def test_a_false_answer_about_a_payment_is_refused(false_answer: dict[str, Any]) -> None:
    answer = read(PAID | false_answer)
    expected = (
        InvalidWalletAnswer(next(iter(false_answer)))
        if {"amount", "preimage"} & false_answer.keys()
        else InvalidWalletAnswer.OTHER_INVOICE
    )
    assert isinstance(answer, Waiting)
    assert answer.invalid_answer is expected


@pytest.mark.parametrize(
    ("listed", "answer"),
    [
        ([SAYS_NO_STATE], Arrived(21)),
        ([{"payment_hash": "other"}, None, SAYS_NO_STATE], Arrived(21)),
        ([PENDING], Waiting()),
        ([], Gone("the invoice ended without a payment")),
        (None, Gone("the invoice ended without a payment")),
        ("text", Gone("the invoice ended without a payment")),
    ],
)
def test_what_a_list_of_payments_says(listed: Any, answer: PollAnswer) -> None:
    assert nwc.read_list({"transactions": listed}, HASH) == answer


RECEIVE = ["make_invoice", "lookup_invoice", "get_info"]


@pytest.mark.parametrize(
    "info",
    [
        {"methods": RECEIVE},
        {"methods": RECEIVE, "network": "mainnet"},
        {"methods": RECEIVE, "network": None},
        {"methods": RECEIVE, "network": []},
        {"methods": [*RECEIVE, "get_balance", "get_budget", "list_transactions", "notifications"]},
        {"methods": [*RECEIVE, "make_hold_invoice", "settle_hold_invoice", "cancel_hold_invoice"]},
    ],
)
def test_a_connection_that_can_only_receive_is_taken(info: dict[str, Any]) -> None:
    assert nwc.problem_of(info) is None


@pytest.mark.parametrize(
    "method",
    [
        *("pay_invoice", "pay_keysend", "multi_pay_invoice", "multi_pay_keysend", "pay_offer"),
        *("pay", "create_connection", "send", "PAY_INVOICE", "", "<b>"),
    ],
)
def test_a_connection_that_may_do_more_is_refused(method: str) -> None:
    problem = nwc.problem_of({"methods": [*RECEIVE, method]})
    assert problem
    assert "can also spend" in problem.message
    assert "only create and look up invoices" in problem.message
    assert "<" not in problem.message


@pytest.mark.parametrize(
    ("info", "problem"),
    [
        ({"methods": ["get_info", "lookup_invoice"]}, "lacks make_invoice."),
        ({"methods": ["get_info", "make_invoice"]}, "lacks lookup_invoice."),
        ({"methods": []}, "lacks make_invoice and lookup_invoice."),
        ({"methods": RECEIVE, "network": "regtest"}, "test network"),
        ({"methods": RECEIVE, "network": "signet"}, "test network"),
        ({"methods": None}, "doesn't say"),
        ({"methods": "make_invoice"}, "doesn't say"),
        ({"methods": [1]}, "doesn't say"),
        ({}, "doesn't say"),
    ],
)
def test_a_connection_that_can_not_be_paid_to_is_refused(
    info: dict[str, Any], problem: str
) -> None:
    found = nwc.problem_of(info)
    assert found
    assert problem in found.message


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("RATE_LIMITED", "busy"),
        ("UNAUTHORIZED", "isn't valid"),
        ("RESTRICTED", "get_info"),
        ("INTERNAL", "error (INTERNAL)"),
    ],
)
def test_an_error_while_connecting_is_explained(code: str, hint: str) -> None:
    assert hint in nwc.refusal_of(code).message


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from([HASH, "settled"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
FIELDS = st.dictionaries(st.sampled_from([*PAID, "methods", "network", "transactions"]), JSON)


@given(fields=FIELDS, ended=st.booleans())
def test_answers_of_any_type_are_read_or_refused(fields: dict[str, Any], *, ended: bool) -> None:
    """Whatever a wallet says, the money that it can be made to mean is a whole sum or none."""
    nwc.problem_of(fields)
    for answer in (fields, PAID | fields):
        found = nwc.read_lookup(answer, HASH, ended=ended)
        listed = nwc.read_list({"transactions": [answer]}, HASH)
        for one in (found, listed):
            assert not isinstance(one, Arrived) or one.amount is None or one.amount >= 1
