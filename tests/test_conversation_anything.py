"""Whatever is said and pressed, in any order, old buttons and forged ones included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat.conversation import (
    Draft,
    Pressed,
    Said,
    Seller,
    Wish,
    cancel,
    change_destination,
    new_form,
    one_line,
    reopen,
)
from bot.core.money import to_minor
from tests.talking import FORM, KNOWN, OTHER, STRANGER, Talk

if TYPE_CHECKING:
    from decimal import Decimal

TYPED = st.one_of(
    st.text(),
    st.text(st.characters(categories=["Cc", "Cf", "Cs", "Lo", "Mn", "So", "Zs"])),
    st.sampled_from(
        ["Coffee", "5", "5 USD", "1.000", "1.234 EUR", "2.5 JPY", "eur", "10", "1,000", "$anna"]
    ),
    st.integers(0, 4096).map("😀".__mul__),
)
WORDS = st.sampled_from(
    [
        *("draft", FORM, OTHER, "kind", "donation", "oneoff", "drop", "skip", "keep", "back"),
        *("amount", "5", "0.5", "1.005", "USD", "JPY", "XXX", "currency", "create", "continue"),
        *("restart", "cancel", "review", "units", "currency", "destination", "name", "00000000"),
    ]
)
FORGED = st.one_of(
    st.lists(WORDS, max_size=4).map(lambda words: ("draft", FORM, *words)),
    st.lists(st.text() | WORDS, max_size=5).map(tuple),
)
DOORS = st.sampled_from(["new", "settings", "line", "reopen", "cancel"])
MOVES = st.one_of(
    st.tuples(st.just("say"), TYPED),
    st.tuples(st.just("press"), st.integers(0, 999)),
    st.tuples(st.just("forge"), FORGED),
    st.tuples(st.just("door"), st.tuples(DOORS, TYPED)),
)


def enter(talk: Talk, door: str, text: str) -> None:
    """Use one of the commands that begin or end a form."""
    draft, seller = talk.draft, talk.seller
    kind = ("donation", "oneoff", "drop")[len(text) % 3]
    wish = Wish(kind, "N", None, 100, "USD", 3 if kind == "drop" else None, "$anna")
    outcome = {
        "new": lambda: new_form(draft, OTHER, seller),
        "settings": lambda: change_destination(OTHER, seller, draft),
        "line": lambda: one_line(kind, text, OTHER, seller, draft),
        "reopen": lambda: reopen(wish, OTHER, text, text, seller, current=draft),
        "cancel": lambda: cancel(draft, seller),
    }[door]()
    talk.take(outcome)


def make_move(talk: Talk, kind: str, what: object) -> None:
    if kind == "say":
        talk.give(Said(str(what)))
    elif kind == "forge":
        assert isinstance(what, tuple)
        talk.give(Pressed(what))
    elif kind == "door":
        assert isinstance(what, tuple)
        enter(talk, *what)
    elif talk.replies:
        assert isinstance(what, int)
        buttons = [b.action for reply in talk.replies for row in reply.rows for b in row]
        action = buttons[-1 - what % len(buttons)] if buttons else None
        talk.give(Pressed(action or ()))


@settings(max_examples=400)
@given(st.sampled_from([KNOWN, STRANGER]), st.lists(MOVES, max_size=40))
def test_no_talk_breaks(seller: Seller, moves: list[tuple[str, object]]) -> None:
    """No exception, nothing that Telegram refuses, a draft that reads back, sound wishes."""
    talk = Talk(seller)
    enter(talk, "new", "")
    for kind, what in moves:
        before = len(talk.wishes)
        make_move(talk, kind, what)
        assert len(talk.wishes) <= before + 1
        assert talk.replies or talk.toast
    for wish in talk.wishes:
        assert 1 <= len(wish.name) <= 100
        assert wish.amount > 0
        assert (wish.units is not None) == (wish.kind == "drop")


@given(st.text())
def test_any_text_as_a_stored_draft_is_read_or_none(text: str) -> None:
    assert Draft.from_json(text) is None
    assert Wish.from_json(text) is None


@given(st.decimals("0.00000001", "1000000000", places=8))
def test_what_one_line_makes_is_exactly_what_was_written(amount: Decimal) -> None:
    talk = Talk(KNOWN)
    talk.take(one_line("donation", f"{amount:f} BTC Coffee", OTHER, KNOWN))
    assert [wish.amount for wish in talk.wishes] == [to_minor(amount, "BTC")]
