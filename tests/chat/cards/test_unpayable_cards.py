"""Cards of requests that real money can't reach yet: what is wrong, and what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.chat.cards.card_text import public_card, seller_card
from bot.chat.cards.request_card import card_of
from bot.chat.model.request_spec import RequestSpec, Share
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.telegram_limits import labels

if TYPE_CHECKING:
    from bot.sandbox.world.people import Person


UNPAYABLE = service_answer(is_enabled=False, status="noPayoutAccount")
TO_OTHERS = replace(COFFEE, destination="account:seller-7")
TO_ACCOUNTS = replace(COFFEE, destination="account:seller-1001")
"""To Sam's accounts, by the first id of a test's world."""

SHARED = replace(TO_ACCOUNTS, receivers=(Share("$anna", 300, "60%"), Share("$ben", 200, "40%")))


@pytest.mark.parametrize(
    ("spec", "words", "button"),
    [
        (TO_ACCOUNTS, "Can't be paid yet", "Connect an account"),
        (COFFEE, "made for test money", "Duplicate"),
        (SHARED, "made for test money", "Duplicate"),
        (TO_OTHERS, "made for test money", "Duplicate"),
    ],
)
def test_a_request_that_no_account_takes_says_what_to_do(
    chat: ChatHarness, sam: Person, spec: RequestSpec, words: str, button: str
) -> None:
    card = card_of(chat.add_link(sam, spec, told=UNPAYABLE), chat.clock())
    shown = seller_card(card, "en")
    assert words in shown.text
    assert any(label.endswith(button) for label in labels(shown.rows))


def test_others_are_offered_no_way_to_pay_it(chat: ChatHarness, sam: Person) -> None:
    card = card_of(chat.add_link(sam, TO_ACCOUNTS, told=UNPAYABLE), chat.clock())
    shown = public_card(card, "en")
    assert shown.rows == ()
    assert "This can't be paid right now." in shown.text


def test_what_ended_or_was_paused_says_so_first(chat: ChatHarness, sam: Person) -> None:
    ended = replace(UNPAYABLE, expires_at=chat.clock() - 1)
    over = card_of(chat.add_link(sam, TO_ACCOUNTS, told=ended), chat.clock())
    paused = replace(UNPAYABLE, id="1" * 24)
    stopped = chat.add_link(sam, TO_ACCOUNTS, told=paused, state="stopped")
    assert [over.status, card_of(stopped, chat.clock()).status] == ["expired", "stopped"]
