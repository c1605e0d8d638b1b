"""Lightning addresses as people write them, and answers of LNURL services: strict about money."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.errors import BadAnswer, InvalidBody, PeerRefusal
from bot.service.rails import lightning
from bot.service.rails.lightning import PayOffer


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("maria@wallet.example", "maria@wallet.example"),
        (" Maria@Wallet.Example\n", "maria@wallet.example"),
        ("lightning:maria@wallet.example", "maria@wallet.example"),
        ("LIGHTNING:MARIA@WALLET.EXAMPLE", "maria@wallet.example"),
        ("lightning://maria@wallet.example", "maria@wallet.example"),
        ("⚡ maria@wallet.example", "maria@wallet.example"),
        ("m.a-r_1+shop@wallet.example", "m.a-r_1+shop@wallet.example"),
        ("maria@bücher.example", "maria@bücher.example"),
        ("maria@127.0.0.1:5055", "maria@127.0.0.1:5055"),
        ("maria@[::1]:5055", "maria@[::1]:5055"),
    ],
)
def test_an_address_is_taken_as_people_write_it(typed: str, expected: str) -> None:
    assert str(lightning.parse_address(typed)) == expected


def test_the_service_is_asked_at_its_well_known_place() -> None:
    found = lightning.parse_address("Maria+Shop@wallet.example:8443")
    assert found.url("https") == "https://wallet.example:8443/.well-known/lnurlp/maria+shop"


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("", "Enter the Lightning address."),
        (" ", "Enter the Lightning address."),
        ("maria", "has an @"),
        ("lnurl1dp68gurn8ghj7", "That's an LNURL code."),
        ("LNURL1DP68GURN8GHJ7", "That's an LNURL code."),
        ("lnbc10u1pexample", "invoice or an offer"),
        ("lno1qgsyxjtl6luzd9t3pr62xr7eemp6awnejusgf6gw45q75vcfqqqqqqq", "invoice or an offer"),
        ("maria@", "isn't a domain"),
        ("maria@wallet.example/x", "isn't a domain"),
        ("maria@wallet.example?x", "isn't a domain"),
        ("maria@wal let.example", "isn't a domain"),
        ("@wallet.example", "before the @"),
        ("..@wallet.example", "before the @"),
        (".@wallet.example", "before the @"),
        ("a/../b@wallet.example", "before the @"),
        ("a%2e@wallet.example", "before the @"),
        ("märia@wallet.example", "before the @"),
        ("maria@home@wallet.example", "before the @"),
        ("maria@wallet.example:0", "isn't a port"),
        ("maria@wallet.example:70000", "isn't a port"),
        ("a" * 400 + "@wallet.example", "the limit is 320"),
    ],
)
def test_a_wrong_address_is_explained(typed: str, problem: str) -> None:
    with pytest.raises(InvalidBody) as raised:
        lightning.parse_address(typed)
    (found,) = raised.value.info
    assert found.field == "details.address"
    assert problem in found.message


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_taken_or_explained(user: str, server: str) -> None:
    try:
        found = lightning.parse_address(f"{user}@{server}")
    except InvalidBody:
        return
    assert lightning.parse_address(str(found)) == found
    assert found.url("https").count("/") == 5


OFFER = {
    "tag": "payRequest",
    "callback": "https://wallet.example/cb?id=9&sig=a%20b",
    "minSendable": 1_000,
    "maxSendable": 2_000_000,
    "metadata": '[["text/plain","hi"]]',
}


def offer(**changed: Any) -> dict[str, Any]:
    return {name: value for name, value in (OFFER | changed).items() if value is not None}


def test_an_offer_is_read_and_unknown_fields_are_skipped() -> None:
    found = lightning.read_offer(offer(commentAllowed=255, allowsNostr=True, status="OK"))
    assert found == PayOffer("https://wallet.example/cb?id=9&sig=a%20b", 1_000, 2_000_000, 255)


def test_a_whole_number_may_be_written_with_decimals() -> None:
    assert lightning.read_offer(offer(minSendable=Decimal("1000.0"))).least == 1_000


@pytest.mark.parametrize(
    "changed",
    [
        *({"tag": None}, {"tag": "withdrawRequest"}, {"callback": None}, {"callback": 5}),
        *({"callback": ""}, {"callback": "x" * 3_000}, {"minSendable": None}),
        *({"minSendable": "1000"}, {"minSendable": True}, {"minSendable": Decimal("1.5")}),
        *({"maxSendable": Decimal("1e99999999")}, {"minSendable": Decimal("-1e99999999")}),
        *({"minSendable": 0}, {"minSendable": -5}, {"minSendable": 3_000_000}),
        *({"maxSendable": None}, {"maxSendable": []}, {"commentAllowed": "many"}),
        {"minSendable": 10**4_299, "maxSendable": 10**4_299},
    ],
)
def test_an_offer_without_its_fields_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(BadAnswer):
        lightning.read_offer(offer(**changed))


@pytest.mark.parametrize("status", ["ERROR", "error", "Error"])
def test_an_error_is_told_in_the_services_words(status: str) -> None:
    with pytest.raises(PeerRefusal, match=r"^not found$"):
        lightning.read_offer(offer(status=status, reason="not\nfound"))


@pytest.mark.parametrize("reason", [None, "", 0, []])
def test_an_error_may_have_no_reason(reason: Any) -> None:
    with pytest.raises(PeerRefusal, match="no reason given"):
        lightning.read_invoice({"status": "ERROR", "reason": reason})


def test_a_reason_is_cut_and_made_safe() -> None:
    with pytest.raises(PeerRefusal) as raised:
        lightning.read_verification({"status": "ERROR", "reason": "\x1b[31m" + "x" * 10_000})
    assert len(str(raised.value)) == lightning.LONGEST_REASON
    assert "\x1b" not in str(raised.value)


def test_the_callbacks_own_query_stays_as_it_is() -> None:
    found = lightning.callback_url(lightning.read_offer(offer()), 21_000, "Mug")
    assert found == "https://wallet.example/cb?id=9&sig=a%20b&amount=21000"


def test_a_callback_without_a_query_gets_one_and_loses_its_fragment() -> None:
    plain = PayOffer("https://wallet.example/cb#x", 1, 2, 0)
    assert lightning.callback_url(plain, 5_000, "") == "https://wallet.example/cb?amount=5000"


def test_a_comment_is_sent_as_far_as_it_may_be() -> None:
    short = PayOffer("https://wallet.example/cb", 1, 2, 6)
    assert lightning.callback_url(short, 1, "Tea & cake").endswith("?amount=1&comment=Tea+%26+")
    assert lightning.callback_url(short, 1, "茶とケーキをどうぞ").count("%") == 18


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"pr": "lnbc1"}, ("lnbc1", None)),
        ({"pr": "lnbc1", "verify": None}, ("lnbc1", None)),
        ({"pr": "lnbc1", "verify": ""}, ("lnbc1", None)),
        (
            {"pr": "lnbc1", "verify": "https://w.example/v", "routes": [], "successAction": None},
            ("lnbc1", "https://w.example/v"),
        ),
    ],
)
def test_an_invoice_is_read(answer: dict[str, Any], expected: tuple[str, str | None]) -> None:
    assert lightning.read_invoice(answer) == expected


@pytest.mark.parametrize("answer", [{}, {"pr": None}, {"pr": 5}, {"pr": "x", "verify": 5}])
def test_an_answer_without_an_invoice_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(BadAnswer):
        lightning.read_invoice(answer)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": "OK", "settled": False, "preimage": None}, (False, None, None)),
        (
            {"status": "OK", "settled": True, "preimage": "11", "pr": "lnbc1"},
            (True, "11", "lnbc1"),
        ),
        ({"settled": True, "preimage": ""}, (True, None, None)),
    ],
)
def test_a_verification_is_read(
    answer: dict[str, Any], expected: tuple[bool, str | None, str | None]
) -> None:
    assert lightning.read_verification(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        *({}, {"settled": "true"}, {"settled": 1}, {"settled": None}),
        *({"settled": True, "preimage": 5}, {"settled": True, "pr": {}}),
    ],
)
def test_settled_is_a_plain_yes_or_no(answer: dict[str, Any]) -> None:
    with pytest.raises(BadAnswer):
        lightning.read_verification(answer)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = ["tag", "callback", "minSendable", "maxSendable", "commentAllowed", "status", "reason"]


@given(st.dictionaries(st.sampled_from([*NAMES, "pr", "verify", "settled", "preimage"]), VALUES))
def test_any_answer_is_read_or_refused(answer: dict[str, Any]) -> None:
    for read in (lightning.read_offer, lightning.read_invoice, lightning.read_verification):
        for whole in (answer, OFFER | answer):
            with suppress(BadAnswer, PeerRefusal):
                read(whole)
