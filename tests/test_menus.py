"""What stands beside a request's card: the edit menu, its poster, its payments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat import menus, shelf, store
from bot.chat.cards import Card
from bot.chat.conversation import Change, Seller
from bot.chat.shelf import Receipt
from bot.chat.usecases.posters import FILES, LONGEST_FILE_NAME, PAGE, file_name
from bot.core.texts import languages, t
from tests.relaying import BOT_NAME, COFFEE, DROP, Relay, answer
from tests.saying import actions, check, labels
from tests.serving import NOON

if TYPE_CHECKING:
    from bot.chat.store import Listing
    from bot.sandbox.people import Person

LISTING = "abcdefghij"
URL = "https://pay.example.com/pay/0123456789abcdef01234567"
CARD = Card(
    LISTING, "drop", "Sticker pack", "Ten", 250, "USD", 10, 7, 3, "active", URL,
    taken=((750, "USD"),),
)  # fmt: skip
SAM = Seller("en", zone="Europe/Berlin")


@pytest.fixture
def sam(relay: Relay) -> Person:
    return relay.joins("Sam")


@pytest.fixture
def pat(relay: Relay) -> Person:
    return relay.joins("Pat")


def test_all_that_the_interface_lets_one_edit_is_a_button() -> None:
    """And what it doesn't let is one too, that says why."""
    reply = menus.edit_menu(CARD, "en")
    check(reply)
    fields = ("name", "description", "picture", "redirect", "email", "end", "units", "postertext")
    assert actions(reply.rows) == [
        *(("edit", LISTING, field) for field in fields),
        ("edit-not", LISTING),
        ("refresh", LISTING),
    ]


def test_only_a_drop_has_units_to_take_out() -> None:
    reply = menus.edit_menu(replace(CARD, kind="donation"), "en")
    assert ("edit", LISTING, "units") not in actions(reply.rows)


def test_the_menu_leaves_what_the_card_says() -> None:
    assert menus.edit_menu(CARD, "en").text.startswith("<b>Sticker pack</b>")
    assert menus.edit_menu(CARD, "en").picture is None


def test_what_cannot_be_changed_is_said_with_why_and_what_to_do() -> None:
    reply = menus.fixed_menu(CARD, "en")
    text = check(reply)
    assert "The link is out in the world" in text
    assert actions(reply.rows) == [("duplicate", LISTING), ("edit", LISTING)]


def test_deleting_is_asked_about_saying_what_is_lost_and_what_stays() -> None:
    """Being paid right now: the seller hears that as well."""
    reply = menus.delete_question(replace(CARD, reserved_units=2), "en")
    text = check(reply)
    for part in (
        "Delete “Sticker pack”?",
        "link and QR code, its posters and the cards shared in other chats stop working",
        "Money that has come stays yours, and the payments stay in the records.",
        "The 3 payments already made stay paid.",
        "2 are being paid right now",
    ):
        assert part in text
    assert actions(reply.rows) == [("delete-yes", LISTING), ("refresh", LISTING)]
    assert "already made" not in check(menus.delete_question(replace(CARD, paid_count=0), "en"))


def test_the_poster_menu_names_both_links_and_has_each_design() -> None:
    reply = menus.poster_menu(CARD, None, "SomeBot", "en")
    text = check(reply)
    assert URL in text
    assert f"https://t.me/SomeBot?start=r_{LISTING}" in text
    designs = [action[2] for action in actions(reply.rows) if action[0] == "poster"]
    assert designs == [*FILES]
    assert "Add words" in "".join(labels(reply.rows))
    changed = menus.poster_menu(CARD, "Only <today>", "SomeBot", "en")
    assert "Only <today>" in check(changed)
    assert "Change the words" in "".join(labels(changed.rows))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Sticker pack", "sticker-pack"),
        ("Größe & Kaffee", "grosse-kaffee"),
        ("Œuvre øst łódź", "oeuvre-ost-lodz"),
        ("../../etc/passwd", "etc-passwd"),
        ("Кофе", "poster"),
        ("☕", "poster"),
        ("x" * 100, "x" * LONGEST_FILE_NAME),
        ("a" * 39 + " b", "a" * 39),
    ],
)
def test_a_file_is_named_safely_after_its_request(name: str, file: str) -> None:
    assert file_name(name) == file


@given(st.text(max_size=200))
def test_every_name_makes_a_file_name(name: str) -> None:
    made = file_name(name)
    assert 0 < len(made) <= LONGEST_FILE_NAME
    assert made.isascii()
    assert all(char.isalnum() or char == "-" for char in made)


def receipt(**given: Any) -> Receipt:
    fields: dict[str, Any] = {
        "amount": 250, "currency": "USD", "payer": {}, "oversold": False, "found": False,
        "in_doubt": False, "received_at": NOON,
    }  # fmt: skip
    return Receipt(**(fields | given))


def page(*receipts: Receipt, place: tuple[int, int] = (0, 1), seller: Seller = SAM) -> str:
    return check(menus.payments_page(CARD, receipts, place, seller))


def test_a_page_of_payments_says_when_how_much_and_from_whom() -> None:
    """In the seller's time, what the payer typed as they typed it."""
    text = page(
        receipt(payer={"email": "<b>pat</b>@x.test", "phoneNumber": ""}, oversold=True),
        receipt(found=True),
        receipt(in_doubt=True, amount=5, currency="JPY"),
    )
    assert text.splitlines() == [
        "Payments for Sticker pack",
        "Together: $7.50 from 3 payments",
        "Times: Berlin",
        "",
        "Fri, 15 Jan 2027, 09:00 · $2.50",
        "⚠️ Oversold: you owe it back",
        "E-mail: <b>pat</b>@x.test",
        "",
        "Fri, 15 Jan 2027, 09:00 · $2.50",
        "🔎 Found later",
        "",
        "Fri, 15 Jan 2027, 09:00 · ¥5",
        "🔎 Possibly told before",
    ]


def test_without_a_zone_times_are_said_to_be_utc() -> None:
    text = page(receipt(), seller=Seller("en"))
    assert "Times: UTC" in text
    assert "08:00" in text


def test_where_nobody_paid_that_is_said() -> None:
    assert "There are none yet" in page()


def test_one_turns_pages_as_far_as_there_are_any() -> None:
    reply = menus.payments_page(CARD, [receipt()], (1, 3), SAM)
    assert "(page 2 of 3)" in check(reply)
    assert actions(reply.rows) == [
        ("payments", LISTING, "0"),
        ("payments", LISTING, "2"),
        ("card", LISTING),
    ]


@settings(deadline=None, max_examples=60)
@given(
    st.text(max_size=4096),
    st.dictionaries(
        st.text(max_size=300), st.one_of(st.text(max_size=4096), st.integers(), st.none())
    ),
)
def test_nothing_that_a_person_typed_breaks_a_menu(name: str, payer: dict[str, Any]) -> None:
    shown = replace(CARD, name=name, url=f"{URL}?{name}")
    full = replace(shown, taken=tuple((10**17, code) for code in ("USD", "EUR", "BTC", "JPY")))
    worst = receipt(payer=payer, oversold=True, found=True, in_doubt=True, amount=10**17)
    for language in languages():
        seller = replace(SAM, language=language)
        check(menus.payments_page(full, [worst] * PAGE, (0, 2), seller))
        for reply in (
            menus.edit_menu(shown, language),
            menus.fixed_menu(shown, language),
            menus.delete_question(shown, language),
            menus.poster_menu(shown, name, BOT_NAME, language),
        ):
            check(replace(reply, picture=URL))  # a caption has the least room
        for field in ("name", "description", "redirect", "email", "postertext"):
            check(menus.saved(shown, Change(LISTING, field, name), seller, NOON))


# As use cases

WORDS = (
    *("edit", "edit-not", "duplicate", "poster", "alerts"),
    *("edit:{}:name", "edit:{}:units", "poster:{}:print-light", "payments:{}:0", "alerts:{}:off"),
)


def data(word: str, listing_id: str) -> str:
    return word.format(listing_id) if "{}" in word else f"{word}:{listing_id}"


@pytest.mark.parametrize("word", WORDS)
async def test_a_request_of_somebody_else_is_neither_seen_nor_touched(
    relay: Relay, sam: Person, pat: Person, word: str
) -> None:
    listing = relay.listed(sam, DROP, answer())
    await relay.presses(pat, data(word, listing.id))
    assert [one["text"] for one in relay.answers] == [t("en", "listing-gone")]
    assert (relay.calls, relay.said, relay.rows("drafts")) == ([], [], [])


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("state", [store.CREATING, store.DELETED])
async def test_what_is_not_there_yet_or_no_more_is_said_to_be(
    relay: Relay, sam: Person, word: str, state: str
) -> None:
    known = answer() if state == store.DELETED else None
    listing = relay.listed(sam, DROP, known, state=state)
    await relay.presses(sam, data(word, listing.id))
    key = "listing-gone" if state == store.DELETED else "listing-not-ready"
    assert [one["text"] for one in relay.answers] == [t("en", key)]
    assert (relay.calls, relay.said) == ([], [])


@pytest.mark.parametrize("word", WORDS)
async def test_every_press_is_answered_once_and_says_something(
    relay: Relay, sam: Person, word: str
) -> None:
    listing = relay.listed(sam, DROP, answer(remaining_units=4))
    query = await relay.presses(sam, data(word, listing.id))
    assert [one["callback_query_id"] for one in relay.answers] == [query.id]
    assert relay.said


async def test_a_field_that_nobody_knows_is_an_unknown_button(relay: Relay, sam: Person) -> None:
    listing = relay.listed(sam, DROP, answer())
    await relay.presses(sam, f"edit:{listing.id}:price")
    assert [one["text"] for one in relay.answers] == [t("en", "button-unknown")]


@pytest.mark.parametrize(
    ("wish", "told", "key"),
    [
        (COFFEE, {}, "toast-no-units"),
        (DROP, {"remaining_units": 0}, "toast-none-left"),
    ],
)
async def test_where_there_are_no_units_to_take_out_that_is_the_answer(
    relay: Relay, sam: Person, wish: Any, told: dict[str, int], key: str
) -> None:
    listing = relay.listed(sam, wish, answer(**told))
    await relay.presses(sam, f"edit:{listing.id}:units")
    assert [one["text"] for one in relay.answers] == [t("en", key)]
    assert relay.rows("drafts") == []


async def editing(relay: Relay, sam: Person, listing: Listing, field: str, said: str) -> None:
    await relay.presses(sam, f"edit:{listing.id}:{field}")
    relay.hear()
    await relay.says(sam, said)


async def test_an_edit_becomes_a_call(relay: Relay, sam: Person) -> None:
    listing = relay.listed(sam, COFFEE, answer())
    await editing(relay, sam, listing, "name", "Tea")
    assert [(call["call"], call["change"]) for call in relay.calls] == [
        ("edit", {"field": "name", "value": "Tea"})
    ]
    assert relay.listing(listing.id).wish == COFFEE


async def test_words_on_the_poster_are_kept_here(relay: Relay, sam: Person) -> None:
    """The service knows none."""
    listing = relay.listed(sam, COFFEE, answer())
    await editing(relay, sam, listing, "postertext", "Today only")
    assert (relay.listing(listing.id).poster_text, relay.calls) == ("Today only", [])
    assert "Today only" in relay.texts[0]


@pytest.mark.parametrize(
    ("said", "key"), [("4", "units-too-many"), ("9", "units-too-many"), ("3", None)]
)
async def test_no_more_units_are_taken_out_than_are_left(
    relay: Relay, sam: Person, said: str, key: str | None
) -> None:
    listing = relay.listed(sam, DROP, answer(remaining_units=3))
    await editing(relay, sam, listing, "units", said)
    assert bool(relay.calls) == (key is None)
    if key:
        assert relay.texts == [t("en", key, name="Stickers", left=3)]


async def test_an_edit_of_what_was_deleted_meanwhile_is_said_to_be_late(
    relay: Relay, sam: Person
) -> None:
    listing = relay.listed(sam, COFFEE, answer())
    await relay.presses(sam, f"edit:{listing.id}:name")
    relay.db.run(lambda tx: store.set_state(tx, listing.id, store.DELETED))
    relay.hear()
    await relay.says(sam, "Tea")
    assert (relay.calls, relay.texts) == ([], [t("en", "listing-gone")])


async def test_who_was_not_let_in_cannot_duplicate(relay: Relay, sam: Person) -> None:
    shop = Relay(relay.db, relay.clock, allowed=frozenset({1}))
    shop.world = relay.world
    listing = relay.listed(sam, COFFEE, answer())
    await shop.presses(sam, f"duplicate:{listing.id}")
    assert [one["text"] for one in shop.answers] == [t("en", "not-allowed")]
    assert shop.rows("drafts") == []


@pytest.mark.parametrize("design", FILES)
async def test_a_poster_comes_as_files_that_are_drawn_when_they_are_sent(
    relay: Relay, sam: Person, design: str
) -> None:
    listing = relay.listed(sam, COFFEE, answer())
    await relay.presses(sam, f"poster:{listing.id}:{design}")
    sent = [(body["method"], body["draw"], body["listing"]) for body in relay.said]
    assert sent == [("sendDocument", draw, listing.id) for draw in FILES[design]]
    assert [body["filename"] for body in relay.said] == [f"coffee-{draw}" for draw in FILES[design]]
    assert [one["text"] for one in relay.answers] == [t("en", "toast-poster")]


async def test_a_poster_is_on_its_way_once_however_often_it_is_pressed(
    relay: Relay, sam: Person
) -> None:
    """Another design or request is another poster; once it has come it can be had again."""
    listing, other = (relay.listed(sam, COFFEE, answer(id=name)) for name in "ab")
    for _ in range(5):
        await relay.presses(sam, f"poster:{listing.id}:print-light")
    assert len(relay.said) == 2
    coming = [one["text"] for one in relay.answers].count(t("en", "toast-poster-coming"))
    assert coming == 4
    await relay.presses(sam, f"poster:{listing.id}:square-dark")
    await relay.presses(sam, f"poster:{other.id}:print-light")
    assert len(relay.said) == 5
    relay.hear()
    await relay.presses(sam, f"poster:{listing.id}:print-light")
    assert len(relay.said) == 2


def paid(relay: Relay, listing: Listing, number: int, payer: dict[str, Any] | None = None) -> None:
    payment = store.Payment("r", f"t{number:06d}", number, "USD", payer or {})
    now = relay.clock() + number
    relay.db.run(lambda tx: store.add_payment(tx, listing.id, payment, now))


async def test_payments_are_paged_newest_first_with_what_they_come_to(
    relay: Relay, sam: Person
) -> None:
    listing = relay.listed(sam, COFFEE, answer())
    for number in range(1, PAGE + 3):
        paid(relay, listing, number)
    for press in (0, 1, 99):
        await relay.presses(sam, f"payments:{listing.id}:{press}")
    pages = [text.splitlines() for text in relay.texts]
    amounts = [[line.rpartition("<b>")[2] for line in page if " · " in line] for page in pages]
    assert amounts[0] == [f"$0.{number:02d}</b>" for number in range(PAGE + 2, 2, -1)]
    assert amounts[1] == amounts[2] == ["$0.02</b>", "$0.01</b>"]
    assert all("$0.78" in page[1] for page in pages)


def test_a_page_among_ten_thousand_payments_is_read_by_its_index(relay: Relay, sam: Person) -> None:
    listing = relay.listed(sam, COFFEE, answer())
    plan = relay.db.run(
        lambda tx: tx.query(
            f"EXPLAIN QUERY PLAN {shelf.RECEIPTS}", listing=listing.id, limit=10, start=0
        )
    )
    assert "received_payments_listing" in str(plan)
