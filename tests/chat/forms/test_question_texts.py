"""The words of forms' questions; other tests name them by their keys (form_questions.py)."""

from __future__ import annotations

from tests.support.form_questions import question_of

QUESTIONS = {
    "ask-amount-donation": "How much is each donation?",
    "ask-amount-drop": "How much does one item cost?",
    "ask-asks": "What do you need from payers?",
    "ask-description": "Describe it in a sentence or two",
    "ask-destination": "Where should the money go?",
    "ask-destination-settings": "Where should your money go from now on?",
    "ask-email": "Who should get an email about each payment?",
    "ask-ends": "When does it end?",
    "ask-file": "Do buyers get this file?",
    "ask-goal": "How much do you want to raise?",
    "ask-goods": "What does the buyer get after paying?",
    "ask-kind": "What kind of payment link is it?",
    "ask-name": "What's it called?",
    "ask-options": "Anything else?",
    "ask-paidback": "Marked as paid back.",
    "ask-perbuyer": "How many items can a buyer take at once?",
    "ask-picture": "Send a photo of it.",
    "ask-redirect": "Where should payers go after paying?",
    "ask-sent": "Marked as sent.",
    "ask-thanks": "What would you like to say to everyone who pays?",
    "ask-units": "How many items are there?",
    "ask-units-out": "How many items do you want to remove?",
    "ask-which-goods": "How should buyers get this?",
    "ask-zone": "Which time zone are you in?",
    "payout-ask-bank-sepa-iban": "What's your IBAN?",
    "payout-ask-bank-sepa-name": "Who's the account holder?",
    "payout-ask-lnbits-key": "What's the invoice key of your wallet?",
    "payout-ask-lnbits-url": "Where's your LNbits?",
    "payout-ask-nwc-connection": "What's your connection string?",
    "payout-first": "Where should the money go?",
    "payout-found": "This works. Should I save it?",
    "review": "Does everything look right?",
}


def test_the_forms_ask_in_these_words() -> None:
    assert {key: question_of(key) for key in QUESTIONS} == QUESTIONS
