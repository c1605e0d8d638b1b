"""Alerts say how a payment was paid, what it is worth in both currencies, and how to refund it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.cards.alert_text import alert_reply, join_alerts
from bot.chat.model.payloads import Alert, AlertPayment
from bot.chat.model.payment import PaidBy
from bot.chat.model.replies import TEXT_LIMIT, shown_units

THREE = "median of coinbase.com, kraken.com and yadio.io"
BY_LIGHTNING = PaidBy("lnbits", 4812, "SAT", "f" * 64, "962.4", THREE, 1)
BY_BANK = PaidBy("bank", 1230, "EUR", "K7F290XM")
LINK = "listing000"
COFFEE = AlertPayment(
    LINK, "donation", "Coffee", 500, "USD", paid_by=BY_LIGHTNING, at=1, transaction_id="t1"
)
MUG = replace(COFFEE, name="Mug", amount=1230, currency="EUR", paid_by=BY_BANK)


def lines(payment: AlertPayment, language: str = "en") -> list[str]:
    return alert_reply([payment], language).text.replace("\u00a0", " ").splitlines()


def test_a_converted_payment_is_worth_both_amounts_by_its_sources() -> None:
    assert lines(COFFEE) == [
        "💰 <b>$5.00</b> received for <b>Coffee</b>",
        "Paid by Lightning",
        "$5.00 = 4,812 sat (median of coinbase.com, kraken.com and yadio.io)",
        "🧾 <code>t1</code>",
    ]
    assert lines(COFFEE, "de")[1:3] == [
        "Bezahlt über Lightning",
        "5,00 $ = 4.812 sat (Median aus coinbase.com, kraken.com und yadio.io)",
    ]


def test_a_bank_transfer_has_its_reference() -> None:
    assert lines(MUG)[1] == "Paid by bank transfer, reference <code>K7F290XM</code>"
    assert lines(MUG, "de")[1] == (
        "Bezahlt per Überweisung, Verwendungszweck <code>K7F290XM</code>"
    )


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("kind", ["lightning", "lnbits", "nwc", "bank", "<stars>"])
def test_every_kind_is_named_and_escaped(kind: str, language: str) -> None:
    _, said, *_ = lines(replace(MUG, paid_by=replace(BY_BANK, kind=kind)), language)
    assert "<stars>" not in said
    assert said.startswith(("Paid by ", "Bezahlt "))


def test_more_than_the_price_is_named_with_how_to_pay_it_back() -> None:
    more = replace(COFFEE, paid_by=replace(BY_LIGHTNING, amount=5000))
    surplus, refund = lines(more)[3:5]
    assert surplus == "⚠️ 188 sat more than the price arrived."
    assert refund.startswith("To pay it back, ask the payer for an invoice")
    assert refund.endswith("Then tap Details and mark it as paid back.")


def test_an_oversold_payment_says_how_to_pay_it_back() -> None:
    text = "\n".join(lines(replace(MUG, oversold=True)))
    assert "OVERSOLD" in text
    assert "make a transfer to the account it came from" in text


def test_too_little_money_sold_nothing_and_is_in_no_total() -> None:
    short = replace(
        COFFEE,
        amount=12,
        currency="SAT",
        paid_by=replace(BY_LIGHTNING, amount=12),
        underpaid=True,
        price=(20, "SAT"),
        count=4,
        together=((500, "USD"),),
        remaining_units=3,
    )
    assert lines(short)[:3] == [
        "⚠️ <b>Underpaid:</b> only 12 sat of 20 sat arrived for <b>Coffee</b>",
        "That doesn't count as a sale. Please sort it out with the payer.",
        "Paid by Lightning",
    ]
    assert not any("Total" in line or "left" in line for line in lines(short))


def test_a_digest_names_the_place_of_the_buttons_that_it_has_not() -> None:
    few = replace(BY_LIGHTNING, amount=12)
    short = replace(COFFEE, paid_by=few, underpaid=True, claim_id="c" * 10)
    alone, joined = alert_reply([short], "en"), alert_reply([short, MUG], "en")
    assert "tap Accept as paid" in alone.text
    assert "Then tap Details" in alone.text
    assert "accept it as paid in /payments" in joined.text
    assert "Then mark it as paid back in /payments." in joined.text
    assert "tap" not in joined.text
    labels = [[button.label for row in reply.rows for button in row] for reply in (alone, joined)]
    assert ["✅ Accept as paid" in those for those in labels] == [True, False]


def test_a_digest_tells_a_payment_of_too_little_once_as_it_is_now() -> None:
    """Underpaid, raised and accepted are one payment: nobody refunds what is told once."""
    few = replace(BY_LIGHTNING, amount=12)
    short = replace(COFFEE, amount=12, currency="SAT", paid_by=few, underpaid=True)
    raised, other = replace(short, amount=20), replace(short, transaction_id="t2")
    sold, unnumbered = replace(COFFEE, paid_by=few), replace(short, transaction_id=None)
    elsewhere = replace(sold, link_id="another")
    for told, left in (
        ((short, raised), (raised,)),
        ((short, other, sold), (other, sold)),
        ((short, elsewhere), (short, elsewhere)),
        ((unnumbered, unnumbered), (unnumbered, unnumbered)),
    ):
        joined = join_alerts([Alert((one,), "en") for one in told])
        assert joined is not None
        assert (joined[0], joined[1].payments) == (len(told), left)


def test_only_a_single_payment_has_a_button_to_its_facts() -> None:
    """Test money too: there the seller marks it paid back, and shows again what was hidden."""
    for one in (COFFEE, replace(COFFEE, paid_by=None)):
        rows = alert_reply([one], "en").rows
        assert [button.label for row in rows for button in row] == [
            "🧾 Details",
            "Show payment link",
        ]
    labels = [button.label for row in alert_reply([COFFEE, MUG], "en").rows for button in row]
    assert "🧾 Details" not in labels


def test_an_alert_in_the_place_of_a_claim_is_joined_to_no_other() -> None:
    own = Alert((COFFEE,), "en", is_single=True, message_id=7)
    assert join_alerts([own, Alert((MUG,), "en")]) is None


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_digest_of_real_money_fits_into_one_message(language: str) -> None:
    many = [Alert((replace(COFFEE, transaction_id=f"{n}" * 60),), language) for n in range(100)]
    joined = join_alerts(many)
    assert joined is not None
    assert shown_units(alert_reply(joined[1].payments, language).text) <= TEXT_LIMIT


@pytest.mark.parametrize(
    ("price", "currency", "paid", "asked"),
    [
        (500, "USD", BY_LIGHTNING, 4812),
        (20, "SAT", replace(BY_LIGHTNING, rate=None), 20),
        (500, "USD", replace(BY_LIGHTNING, rate=None), None),
        (500, "USD", replace(BY_LIGHTNING, rate="1e999999"), None),
        (500, "???", BY_LIGHTNING, None),
    ],
)
def test_what_was_asked_follows_from_the_rate(
    price: int, currency: str, paid: PaidBy, asked: int | None
) -> None:
    assert asked == paid.asked(price, currency)
