"""The menus of a request: edit, delete, poster and payments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.cards import menus
from bot.chat.cards.card_text import seller_card
from bot.chat.cards.payment_texts import payments_page
from bot.chat.cards.request_card import Card
from bot.chat.conversation import sharing
from bot.chat.conversation.sharing import FILES, LONGEST_FILE_NAME, file_name
from bot.chat.forms.flow import Change
from bot.chat.forms.request_fields import EDITS
from bot.chat.model.drafts import Seller
from bot.chat.model.replies import DANGER
from bot.chat.model.request_spec import CODES, TEXT, CodeCounts, Goods
from bot.chat.store.payment_marks import ListedPayment
from bot.chat.store.payment_rows import RevenueTotals
from bot.interface.parts import PayerWords
from tests.support.service_harness import NOON
from tests.support.telegram_limits import actions, check, labels

LINK = "abcdefghij"
URL = "https://pay.example.com/pay/0123456789abcdef01234567"
CARD = Card(
    LINK, "drop", "Sticker pack", "Ten", 250, "USD", 10, 7, 3, "active", URL,
    totals=RevenueTotals(((750, "USD"),), 3),
)  # fmt: skip
SAM = Seller("en", zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("status", "change"),
    [
        ("active", [("stop", LINK)]),
        ("scheduled", [("stop", LINK)]),
        ("stopped", [("resume", LINK)]),
        ("expired", [("resume", LINK)]),
        ("completed", []),
        ("soldOut", []),
    ],
)
def test_more_has_every_other_action_whatever_the_status(
    status: str, change: list[tuple[str, str]]
) -> None:
    """Duplicate too, and the change that the status allows; the text of the card stays."""
    card = replace(CARD, status=status)
    reply = menus.more_menu(card, "en")
    check(reply)
    assert actions(reply.rows) == [
        ("payments", LINK, "0"),
        *((word, LINK) for word in ("poster", "alerts", "refresh", "duplicate")),
        *change,
        ("delete", LINK),
        ("refresh", LINK),
    ]
    assert (reply.text, reply.picture) == (seller_card(card, "en").text, None)


def test_more_offers_no_poster_before_there_is_a_link() -> None:
    reply = menus.more_menu(replace(CARD, url=""), "en")
    assert ("poster", LINK) not in actions(reply.rows)


def test_deleting_is_red_in_the_menu_and_in_the_question() -> None:
    for reply in (menus.more_menu(CARD, "en"), menus.delete_question(CARD, "en")):
        styled = [button.label for row in reply.rows for button in row if button.style == DANGER]
        assert len(styled) == 1
        assert "elete" in styled[0]


def test_each_editable_field_is_a_button() -> None:
    """Fixed fields have a button too, which explains why."""
    reply = menus.edit_menu(CARD, "en")
    check(reply)
    fields = ("name", "description", "picture", "redirect", "email", "end", "units", "postertext")
    own = [name for name, field in EDITS.items() if field.needs_embedded and "drop" in field.kinds]
    assert {"perbuyer", "thanks"} <= {*own}
    assert actions(reply.rows) == [
        *(("edit", LINK, field) for field in (*fields, *own)),
        ("edit-not", LINK),
        ("refresh", LINK),
    ]


def test_a_request_of_another_server_offers_only_what_that_server_knows() -> None:
    reply = menus.edit_menu(replace(CARD, is_embedded=False), "en")
    offered = {action[2] for action in actions(reply.rows) if action[2:]}
    assert offered == {name for name, field in EDITS.items() if not field.needs_embedded} & offered
    assert {"name", "units"} <= offered


def test_only_a_drop_offers_to_take_out_units() -> None:
    reply = menus.edit_menu(replace(CARD, kind="donation"), "en")
    assert ("edit", LINK, "units") not in actions(reply.rows)


def test_the_edit_menu_keeps_the_text_of_the_card() -> None:
    assert menus.edit_menu(CARD, "en").text.startswith("<b>Sticker pack</b>")
    assert menus.edit_menu(CARD, "en").picture is None


def test_fixed_fields_are_explained_with_a_way_out() -> None:
    reply = menus.fixed_menu(CARD, "en")
    text = check(reply)
    assert "Your link is already out there" in text
    assert actions(reply.rows) == [("duplicate", LINK), ("edit", LINK)]


def test_the_delete_question_states_what_is_lost_and_what_stays() -> None:
    """Open checkouts are stated too."""
    reply = menus.delete_question(replace(CARD, reserved_units=2), "en")
    text = check(reply)
    for part in (
        "Delete “Sticker pack”?",
        "link, QR code, posters and the cards shared in other chats will stop working",
        "You keep any money you've received, and its payments stay on record.",
        "The 3 payments already made aren't affected.",
        "2 payments are in progress.",
    ):
        assert part in text
    assert actions(reply.rows) == [("delete-yes", LINK), ("refresh", LINK)]
    assert "already made" not in check(menus.delete_question(replace(CARD, paid_count=0), "en"))


def test_the_poster_menu_names_both_links_and_has_each_design() -> None:
    reply = menus.poster_menu(CARD, None, "SomeBot", "en")
    text = check(reply)
    assert URL in text
    assert f"https://t.me/SomeBot?start=r_{LINK}" in text
    designs = [action[2] for action in actions(reply.rows) if action[0] == "poster"]
    assert designs == [*FILES]
    assert "Add text" in "".join(labels(reply.rows))
    changed = menus.poster_menu(CARD, "Only <today>", "SomeBot", "en")
    assert "Only <today>" in check(changed)
    assert "Change text" in "".join(labels(changed.rows))


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


def receipt(**given: Any) -> ListedPayment:
    fields: dict[str, Any] = {
        "amount": 250, "currency": "USD", "payer": {}, "oversold": False, "found": False,
        "in_doubt": False, "received_at": NOON,
    }  # fmt: skip
    return ListedPayment(**(fields | given))


def page(*receipts: ListedPayment, place: tuple[int, int] = (0, 1), seller: Seller = SAM) -> str:
    return check(payments_page(CARD, receipts, place, seller))


def test_each_message_on_a_page_of_payments_can_be_hidden() -> None:
    said = PayerWords("Mia", "for the drums")
    ten = [
        receipt(words=said, transaction_id=f"t{number}") for number in range(sharing.PAYMENTS_PAGE)
    ]
    reply = payments_page(CARD, ten, (0, 1), SAM)
    assert check(reply).count("for the drums") == len(ten)
    assert len([label for label in labels(reply.rows) if label.startswith("🙈")]) == len(ten)


def test_oversold_payments_are_totalled_apart_in_the_list() -> None:
    mixed = replace(CARD, totals=RevenueTotals(((500, "USD"),), 2, ((250, "USD"),), 1))
    lines = check(payments_page(mixed, [receipt()], (0, 1), SAM)).splitlines()
    assert lines[1:3] == [
        "Total: $5.00 from 2 payments",
        "⚠️ To refund: $2.50 (1 payment)",
    ]
    owed = replace(CARD, totals=RevenueTotals((), 0, ((250, "USD"),), 1))
    lines = check(payments_page(owed, [receipt()], (0, 1), SAM)).splitlines()
    assert lines[1] == "⚠️ To refund: $2.50 (1 payment)"


def test_a_page_of_payments_shows_time_amount_and_payer() -> None:
    """In the seller's time, with the payer's data as typed."""
    text = page(
        receipt(payer={"email": "<b>pat</b>@x.example", "phoneNumber": ""}, oversold=True),
        receipt(found=True),
        receipt(in_doubt=True, amount=5, currency="JPY"),
    )
    assert text.splitlines() == [
        "Payments for Sticker pack",
        "Total: $7.50 from 3 payments",
        "Times: Berlin",
        "",
        "Fri, 15 Jan 2027, 09:00 · $2.50",
        "⚠️ Oversold: please refund it",
        "Email: <b>pat</b>@x.example",
        "",
        "Fri, 15 Jan 2027, 09:00 · $2.50",
        "🔎 Found later",
        "",
        "Fri, 15 Jan 2027, 09:00 · ¥5",
        "🔎 Possibly reported before",
    ]


def test_without_a_zone_times_are_in_utc() -> None:
    text = page(receipt(), seller=Seller("en"))
    assert "Times: UTC" in text
    assert "08:00" in text


def test_a_request_without_payments_has_a_page_of_its_own() -> None:
    assert "No payments yet" in page()


def test_payment_pages_have_buttons_only_to_existing_pages() -> None:
    reply = payments_page(CARD, [receipt()], (1, 3), SAM)
    assert "(page 2 of 3)" in check(reply)
    assert actions(reply.rows) == [
        ("payments", LINK, "0"),
        ("payments", LINK, "2"),
        ("card", LINK),
    ]


def test_a_new_poster_text_leads_back_to_the_poster() -> None:
    change = Change(LINK, "postertext", "Today only")
    assert ("poster", LINK) in actions(menus.saved_reply(CARD, change, SAM, NOON).rows)
    change = Change(LINK, "name", "Tea")
    assert ("poster", LINK) not in actions(menus.saved_reply(CARD, change, SAM, NOON).rows)


@pytest.mark.parametrize(
    ("field", "value", "is_notified"),
    [
        ("redirect", "https://a.example", True),
        ("thanks", "See you", True),
        ("goods", Goods(TEXT, text="4711"), True),
        ("redirect", None, False),
        ("name", "Tea", False),
    ],
)
def test_an_edit_that_brings_receipt_and_redirect_together_says_which_comes_first(
    field: str, value: str | None, *, is_notified: bool
) -> None:
    first = "Payers see their receipt first"
    both = replace(CARD, has_receipt_first=True)
    change = Change(LINK, field, value)
    assert (first in menus.saved_reply(both, change, SAM, NOON).text) is is_notified
    assert first not in menus.saved_reply(CARD, change, SAM, NOON).text


@pytest.mark.parametrize(
    ("left", "reserved", "waiting", "words"),
    [
        (3, 0, 0, "2 codes for 3 items: you'll need 1 more"),
        (1, 1, 0, "2 codes for 2 items: fits"),
        (1, 0, 0, "2 codes for 1 item: 1 to spare"),
        (3, 0, 1, "Buyers now get: 2 codes"),
    ],
)
def test_new_codes_are_compared_with_the_units_on_sale(
    left: int, reserved: int, waiting: int, words: str
) -> None:
    """Not while buyers wait, who get theirs first."""
    counts = CodeCounts(total=2, assigned=0, waiting=waiting)
    card = replace(CARD, remaining_units=left, reserved_units=reserved, codes=counts)
    change = Change(LINK, "goods", Goods(CODES, text="A-1\nB-2", count=2))
    assert menus.saved_reply(card, change, SAM, NOON).text.endswith(words)
