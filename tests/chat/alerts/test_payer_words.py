"""Alerts with what payers wrote keep to Telegram's limits, and nothing in them can be tapped."""

from __future__ import annotations

import html
from dataclasses import replace

import pytest

from bot.chat.alerts.alert_text import MAX_PAYMENTS, alert_reply, join_alerts
from bot.chat.model.payloads import Alert, AlertPayment
from bot.core.text.translations import languages
from bot.interface.parts import PayerWords
from tests.support.telegram_limits import check, labels
from tests.support.telegram_links import active_parts

PAID = AlertPayment("abcdefghij", "drop", "Stickers", 250, "USD", {}, 7, 10, at=1)
WORDS = [
    PayerWords("😀" * 80, "🥁" * 280),
    PayerWords("<b>&" * 20, "a.de" * 70),
    PayerWords("Z\u0301\u0301\u0301\u0301\u0301\u0301" * 11, "\n".join("@x/y" for _ in range(56))),
    PayerWords(None, "\u202eevil.example"),
    PayerWords("@evil_bot", None),
]


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("words", WORDS)
def test_one_alert_and_a_digest_fit_into_a_message(words: PayerWords, language: str) -> None:
    paid = replace(PAID, words=words, transaction_id="t1")
    for payments in ((paid,), (paid, replace(paid, transaction_id="t2", underpaid=True))):
        text = check(alert_reply(payments, language))
        assert active_parts(html.unescape(text)) == {}


@pytest.mark.parametrize(
    ("number", "more"), [(10, ""), (13, "💬 3 more messages are in /payments.")]
)
def test_a_digest_shows_no_words_that_it_has_no_button_to_hide(number: int, more: str) -> None:
    said = PayerWords("Mia", "for the drums")
    payments = [replace(PAID, words=said, transaction_id=f"t{n}") for n in range(number)]
    reply = alert_reply(payments, "en")
    check(reply)
    hides = [label for label in labels(reply.rows) if label.startswith("🙈")]
    assert reply.text.count("for the drums") == len(hides) == 10
    assert reply.text.endswith(more)


@pytest.mark.parametrize("words", WORDS)
def test_a_digest_takes_as_many_as_fit(words: PayerWords) -> None:
    many = [Alert((replace(PAID, words=words, transaction_id=f"t{n}"),), "en") for n in range(99)]
    joined = join_alerts(many)
    assert joined is not None
    count, digest = joined
    assert 1 < count <= MAX_PAYMENTS
    check(alert_reply(digest.payments, "en"))
