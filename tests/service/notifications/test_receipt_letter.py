"""A payer's receipt as a letter: its text, its headers, and what of the seller's it may carry."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.core.errors import MailRefused
from bot.core.text.contacts import mailbox_digest
from bot.core.text.translations import languages
from bot.service.notifications.letter_texts import LetterOrigin, LetterTarget
from bot.service.notifications.notification import LONGEST_CODE, is_code, is_deep_link
from bot.service.notifications.receipt_letter import receipt_letter, rejection_letter
from tests.service.notifications.test_letter_text import HEADERS, Page, html, text
from tests.support.databases import SQLITE
from tests.support.mail import (
    PAY,
    RECEIPT_REPORT,
    REJECTION_NOTICE,
    SENDER,
    open_receipt_harness,
    parse_letter,
)

RECEIPT = f"{PAY}/pay/0123456789abcdef01234567/receipt/a1b2c3"
WHY = (
    "You're getting this email because your address was entered for a receipt at pay.example.org."
    " If that wasn't you, just ignore it: this isn't a bill."
)
UNFOUND = (
    "If you've sent the money, give the seller the reference below and ask them to check again."
    " If you haven't, you don't need to do anything."
)
STOP = f"{PAY}/email/stop/receipts/token-7"


def composed(**changes: Any) -> EmailMessage:
    report = replace(RECEIPT_REPORT, **changes)
    target = LetterTarget("receipt-7", report.address, "receipts/token-7")
    return receipt_letter(report, target, LetterOrigin(SENDER, PAY))


def rejection(**changes: Any) -> EmailMessage:
    """Return the letter about a payment that was not found, as it arrives."""
    notice = replace(REJECTION_NOTICE, **changes)
    target = LetterTarget("receipt-8", notice.address, "receipts/token-7")
    message = rejection_letter(notice, target, LetterOrigin(SENDER, PAY))
    return parse_letter(message.as_bytes(policy=SMTP))


def letter(**changes: Any) -> EmailMessage:
    """Return the receipt as it arrives."""
    return parse_letter(composed(**changes).as_bytes(policy=SMTP))


def test_the_receipt_of_a_payment() -> None:
    message = letter()
    assert message.keys() == HEADERS
    assert message["subject"] == "Receipt for your payment of $5.00"
    assert (message["from"], message["to"]) == (SENDER, "pat@payer.example")
    assert message["date"] == "Mon, 21 Sep 2026 14:13:20 +0000"
    assert message["message-id"] == "<receipt-7@pay.example.org>"
    assert message["auto-submitted"] == "auto-generated"
    assert message["list-unsubscribe"] == f"<{STOP}>"
    assert text(message).splitlines() == [
        "You paid $5.00",
        "",
        "Amount: $5.00",
        "Date: September 21, 2026, 2:13\u202fPM UTC",
        "Paid at: pay.example.org",
        "Transaction number: a1b2c3",
        "",
        f"View receipt: {RECEIPT}",
        "",
        "-- ",
        WHY,
        f"Stop receipts to this address: {STOP}",
    ]


def test_the_letter_about_a_payment_that_was_not_found() -> None:
    message = rejection()
    assert message.keys() == HEADERS
    assert message["subject"] == "Your payment of $5.00 hasn't been found"
    assert text(message).splitlines() == [
        "The seller hasn't found your payment of $5.00",
        "",
        UNFOUND,
        "",
        "Amount: $5.00",
        "Reference: K7M2-Q9TX",
        "",
        f"Open your payment: {PAY}/pay/0123456789abcdef01234567/checkout/c0ffee",
        "",
        "-- ",
        WHY,
        f"Stop receipts to this address: {STOP}",
    ]
    german = rejection(language="de")
    assert '<html lang="de">' in html(german)
    assert not {*text(german).splitlines()[:4]} & {*text(message).splitlines()[:1]}


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("oversold", [False, True])
def test_every_word_is_in_the_payers_language(language: str, *, oversold: bool) -> None:
    message = letter(
        language=language, oversold=oversold, paid_amount=5_000_000, paid_currency="BSV",
        test_money=True,
    )  # fmt: skip
    english = letter(oversold=oversold, paid_amount=5_000_000, paid_currency="BSV", test_money=True)
    assert f'<html lang="{language}">' in html(message)
    if language != "en":
        same = {*text(message).splitlines()} & {*text(english).splitlines()}
        assert same == {"", "-- "}
        assert message["subject"] != english["subject"]


def test_the_page_loads_nothing_and_links_to_the_receipt() -> None:
    page = Page(html(letter(oversold=True, test_money=True)))
    assert page.addresses == [RECEIPT, STOP]
    assert not {"script", "img", "link", "iframe", "form"} & set(page.tags)


@pytest.mark.parametrize(
    "address",
    [
        *("pat@payer.example\r\nBcc: thief@mail.example", "=?utf-8?q?=0D=0ABcc:_x@y?=@b.example"),
        *("pat@payer.example>, <thief@mail.example", "", "pat", "a b@payer.example"),
    ],
)
def test_an_address_that_is_none_is_refused_for_good(address: str) -> None:
    with pytest.raises(MailRefused) as caught:
        letter(address=address)
    assert caught.value.final


@pytest.mark.parametrize(
    "text",
    ["7", "ABCD-1234-EFGH", "RR123456785DE", "a1+b/c==", "1Z999AA10123456784", "9" * LONGEST_CODE],
)
def test_codes_and_numbers_travel(text: str) -> None:
    assert is_code(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "CALL-ME-NOW", "two words 7", "a1 b2", "line1\nline2", "9" * (LONGEST_CODE + 1)),
        *(
            "https://x1",
            "x1://y",
            "www.x1",
            "WWW.x1",
            "a1@b",
            "evil1.example",
            "t.me/x1",
            "1.2.3.4",
        ),
        *("加微信123", "1٣", "x\u200b1", "1\u00a02", "1\x00", "\N{FULLWIDTH DIGIT ONE}"),
    ],
)
def test_what_could_be_a_message_or_a_link_does_not(text: str) -> None:
    assert not is_code(text)


def test_only_links_that_start_a_bot_travel() -> None:
    assert is_deep_link("https://t.me/shop_bot?start=r-0123-4567")
    for other in (
        *("https://t.me/some_channel", "https://t.me/shop_bot?start=a%20b"),
        *("http://t.me/b?start=1", "https://t.me/shop_bot?start=1&text=Hello"),
        *("https://t.me.evil.example/shop?start=1",),
        *("https://t.me/share/url?start=1", "https://evil.example/?start=1"),
    ):
        assert not is_deep_link(other)


HOSTS = st.sampled_from(
    [
        *("mail.example", "EXAMPLE.org", "münchen.de", "例え.jp", "faß.de", "a_b.example"),
        *("shop.test", "printer.local", "xn--a.example", "foo-.example", "a..b.example"),
        *("[127.0.0.1]", "1.2", "host"),
    ]
)
NAMES = st.text("aZ09é字.+-_'=?\"\\ ,;:<>()@%!/\t\n\x01\u200e", min_size=1, max_size=66)
ADDRESSES = st.lists(
    st.emails() | st.builds("{}@{}".format, NAMES, HOSTS),
    min_size=10,
    max_size=10,
    unique_by=mailbox_digest,
)


@pytest.mark.only(SQLITE, "the rule of addresses knows no database")
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(addresses=ADDRESSES)
async def test_what_the_pay_page_takes_the_mailer_sends(
    new_database: Callable[[], str], addresses: list[str]
) -> None:
    async with open_receipt_harness(new_database()) as post:
        request_id = await post.ask()
        answers = [await post.pay(request_id, address) for address in addresses]
        assert {answer.status_code for answer in answers} <= {303, 400}
        paid = await post.service.rows("payments")
        assert len(paid) == sum(answer.status_code == 303 for answer in answers)
        await post.work()
        stored = sorted(json.loads(row["user_data"])["email"] for row in paid)
        assert sorted(letter["to"] for letter in post.letters) == stored
        assert {state for state, _ in await post.states()} <= {"done"}
