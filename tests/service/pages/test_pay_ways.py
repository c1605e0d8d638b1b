"""The ways to pay: the seller's first is chosen, and a closed one says which to take instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.interface.parts import AmountChoice
from bot.service.checkouts.paying import Way
from bot.service.pages import page_values
from bot.service.pages.page_texts import Locale
from bot.service.requests.request import UNPRICED, Units
from tests.support.drawn_checkouts import request, way

ENGLISH = Locale("en", "en")
LIGHTNING, BANK = way("lightning"), way("bank:sepa")


def shown(*ways: Way, chosen: str | None = None) -> list[dict[str, Any]]:
    cards: list[dict[str, Any]] = page_values.way_values(ENGLISH, request(), ways, chosen)["ways"]
    return cards


def test_the_first_open_way_is_chosen_unless_the_payer_has() -> None:
    def picked(*ways: Way, chosen: str | None = None) -> list[str]:
        return [card["value"] for card in shown(*ways, chosen=chosen) if card["checked"]]

    closed = way("bank:sepa", quote=None)
    assert picked(BANK, LIGHTNING) == ["bank:sepa"]
    assert picked(closed, LIGHTNING) == ["lightning"]
    assert picked(BANK, LIGHTNING, chosen="lightning") == ["lightning"]
    assert picked(closed, LIGHTNING, chosen="bank:sepa") == ["lightning"]
    assert picked(BANK, LIGHTNING, chosen="nonsense") == ["bank:sepa"]
    assert picked(closed) == []


def test_each_way_says_what_happens_and_what_it_costs() -> None:
    lightning, bank = shown(LIGHTNING, BANK)
    assert (lightning["title"], lightning["amount"]) == ("Lightning", "≈ 20,312\xa0sat")
    assert lightning["how"] == "Takes a few seconds, from any Lightning wallet."
    rate = lightning["rate"]
    assert rate.before == "1 EUR = 1,097.946 sat (median of a.example and b.example, "
    assert rate.moment.style == "clock"
    assert (bank["title"], bank["amount"], bank["rate"]) == ("Bank transfer", "€18.50", None)
    assert bank["how"] == "From your banking app; Mia's Ceramics confirms when it arrives."
    (slow,) = shown(way("lightning", automatic=False))
    assert slow["how"] == "From any Lightning wallet; Mia's Ceramics confirms when it arrives."


@pytest.mark.parametrize(
    ("terms", "units"),
    [({"choice": AmountChoice(300, (1850,))}, None), ({"max_quantity": 3}, Units(9, 9))],
)
def test_ways_show_no_sum_that_the_payer_still_decides(
    terms: dict[str, Any], units: Units | None
) -> None:
    """The rate alone; the checkout names what is to be paid."""
    open_sum = replace(request(), terms=replace(request().terms, **terms), units=units)
    shown = page_values.way_values(ENGLISH, open_sum, [LIGHTNING, BANK], None)["ways"]
    assert [card["amount"] for card in shown] == [None, None]
    assert shown[0]["rate"].before.startswith("1 EUR = 1,097.946 sat")


def test_wallets_are_one_way_to_payers_and_told_apart_all_the_same() -> None:
    """A further one by its host, not by the seller's name there."""

    def labelled(name: str, label: str) -> Way:
        made = way(name)
        assert made.account is not None
        return replace(made, account=replace(made.account, label=label))

    ways = (
        labelled("lnbits", "lnbits.example"),
        labelled("nwc", "relay.example · 12ab…34cd"),
        labelled("lightning", "mia@wallet.example"),
        BANK,
    )
    assert [card["title"] for card in shown(*ways)] == [
        *("Lightning", "Lightning (relay.example)", "Lightning (wallet.example)"),
        "Bank transfer",
    ]
    assert [card["rate"] is not None for card in shown(*ways)] == [True, False, False, False]


@pytest.mark.parametrize(
    ("ways", "why"),
    [
        (
            (way("lightning", quote=None), BANK),
            (
                "The price can't be converted right now."
                " Try again in a few minutes, or pay by bank transfer instead."
            ),
        ),
        (
            (way("lightning", quote=None), way("lnbits", quote=None)),
            "The price can't be converted right now. Please try again in a few minutes.",
        ),
    ],
)
def test_a_closed_way_says_why(ways: tuple[Way, ...], why: str) -> None:
    assert shown(*ways)[0]["why_not"] == why


@pytest.mark.parametrize(
    ("ways", "state"),
    [
        ((), None),
        ((LIGHTNING,), None),
        ((way("lightning", quote=None), BANK), None),
        ((way("lightning", quote=None),), UNPRICED),
    ],
)
def test_a_request_is_closed_when_all_of_its_ways_are(
    ways: tuple[Way, ...], state: str | None
) -> None:
    assert page_values.hindrance(ways) == state


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("lightning", "page-by-lightning"),
        ("nwc", "page-by-lightning"),
        *((f"bank:{scheme}", f"page-by-{scheme}") for scheme in ("sepa", "pix", "upi", "swiss")),
    ],
)
def test_the_only_way_is_named_by_the_button(name: str, key: str) -> None:
    assert page_values.way_values(ENGLISH, request(), [way(name)], None)["alone"] == key
    assert page_values.way_values(ENGLISH, request(), [way(name), BANK], None)["alone"] is None
