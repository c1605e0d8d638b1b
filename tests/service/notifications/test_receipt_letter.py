"""A payer's receipt as a letter: its text, its headers, and its way over the network."""

from __future__ import annotations

from dataclasses import replace
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any

import pytest

from bot.core.errors import MailRefused
from bot.core.text.translations import languages
from bot.service.notifications.letter_texts import LetterOrigin, LetterTarget
from bot.service.notifications.receipt_letter import receipt_letter, rejection_letter
from bot.service.notifications.smtp_sender import Mailer
from tests.service.notifications.test_letter_text import HEADERS, Page, html, text
from tests.support.certificates import make_tls
from tests.support.letters import PAY, SENDER, parse_letter
from tests.support.mail_servers import mail_server
from tests.support.payment_reports import RECEIPT_REPORT, REJECTION_NOTICE

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


async def test_across_the_network_a_receipt_goes_by_starttls(tmp_path: Path) -> None:
    sealed = make_tls(tmp_path)
    async with mail_server(starttls=sealed.server, account=("shop", "sesame")) as post:
        await Mailer(post.server(is_local=False), context=sealed.client).send(composed())
    assert (post.over_tls, [one["to"] for one in post.letters]) == ([True], ["pat@payer.example"])
