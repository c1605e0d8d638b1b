"""`erase` and `export` of the receipts that payers keep in Telegram."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from bot.chat.model.jobs import KeepReceipt, ReplyTo
from bot.chat.model.payloads import BuyerNotice, ReceiptMessage
from bot.chat.model.queues import RECEIPTS, make_queues
from bot.chat.store import receipt_rows
from bot.chat.store.link_rows import PaymentLink
from bot.chat.store.payment_rows import Payment
from bot.chat.store.receipt_rows import Receipt, ReceiptKey, ReceiptOwner
from bot.core.database.database import Transaction
from bot.core.database.opening import open_database
from bot.core.outbox import outbox
from tests.support.chat_harness import COFFEE, ChatHarness, service_answer
from tests.support.command_line import run_bot
from tests.support.databases import rows, text_of
from tests.support.service_harness import NOON, Clock

ANN, BOB = 4711, 4712
KEYS = {ANN: ReceiptKey("0" * 24, "a" * 24), BOB: ReceiptKey("0" * 24, "b" * 24)}
TO_BUYERS = "lane NOT IN (SELECT CAST(seller_id AS TEXT) FROM listings)"


def keep(url: str) -> None:
    """Keep a receipt for each of two accounts, with messages and jobs about it in the queues."""
    queues = make_queues(None, None, None)

    def store(tx: Transaction) -> None:
        for who, key in KEYS.items():
            receipt = Receipt(f"Tea of {who}", 750, "EUR", "paid", "")
            receipt_rows.keep(tx, key, ReceiptOwner(who, "en"), receipt, NOON)
            for body in (ReceiptMessage(*key, "en"), BuyerNotice(*key, "en", "sent")):
                outbox.put(tx, queues.messages, str(who), body, NOON)
            job = KeepReceipt(*key, ReplyTo(who, "en"))
            outbox.put(tx, queues.jobs, f"{RECEIPTS}{who}", job, NOON)

    with closing(open_database(url)) as db:
        db.run(store)


def pay(url: str, entered: dict[int, dict[str, str]]) -> None:
    """Record the payments of the receipts in the chat, with what their payers entered."""
    with closing(open_database(url)) as db:
        chat = ChatHarness(db, Clock())
        link = chat.add_link(chat.add_person(), COFFEE, service_answer())
        for who, data in entered.items():
            payment = Payment(*KEYS[who], 750, "EUR", data)
            db.run(partial(record, chat=chat, link=link, payment=payment))


def record(tx: Transaction, chat: ChatHarness, link: PaymentLink, payment: Payment) -> None:
    chat.recorder.record(tx, link.id, payment, None)


def erase(*words: str) -> Any:
    done = run_bot("erase", *words, "--yes", "--json", code=0)
    return json.loads(done.stdout)


def stored(url: str) -> str:
    with closing(open_database(url)) as db:
        return asyncio.run(text_of(db))


def test_an_accounts_receipts_are_erased_with_what_the_queues_hold(commands_url: str) -> None:
    keep(commands_url)
    assert erase(f"buyer-{ANN}")["kept"] == 1
    whole = stored(commands_url)
    assert [word for word in (f"Tea of {ANN}", KEYS[ANN].transaction_id) if word in whole] == []
    assert f"Tea of {BOB}" in whole
    assert whole.count(KEYS[BOB].transaction_id) == 4
    assert "kept" not in erase(f"buyer-{ANN}")


def test_receipts_are_erased_by_their_request_and_by_age(commands_url: str) -> None:
    keep(commands_url)
    assert "kept" not in erase(f"buyer-{ANN}", "--before", "2000-01-01")
    assert erase("--before", "2100-01-01")["kept"] == 2


@pytest.mark.parametrize(
    ("entered", "word"),
    [
        ({"email": "ann@payer.example"}, "ann@payer.example"),
        ({"email": "ann@payer.example"}, KEYS[ANN].transaction_id),
        ({}, KEYS[ANN].transaction_id),
    ],
)
def test_the_receipt_of_an_erased_payment_goes_with_it(
    commands_url: str, entered: dict[str, str], word: str
) -> None:
    """By an address, and by the payment's id; receipts of other payments stay."""
    keep(commands_url)
    pay(commands_url, {ANN: entered, BOB: {"email": "bob@payer.example"}})
    assert erase(word)["kept"] == 1
    assert "kept" not in erase(word)
    with closing(open_database(commands_url)) as db:
        kept = db.run(lambda tx: tx.query("SELECT name FROM kept_receipts"))
        queued = str(db.run(lambda tx: tx.query(f"SELECT body FROM outbox WHERE {TO_BUYERS}")))
    assert kept == [{"name": f"Tea of {BOB}"}]
    assert KEYS[ANN].transaction_id not in queued
    assert queued.count(KEYS[BOB].transaction_id) == 3


def test_a_payer_of_another_payment_keeps_their_receipts(commands_url: str) -> None:
    keep(commands_url)
    pay(commands_url, {ANN: {"email": "ann@payer.example"}})
    assert "kept" not in erase("bob@payer.example")


def test_kept_receipts_are_exported(commands_url: str) -> None:
    keep(commands_url)
    lines = run_bot("export", "receipts", "--format", "json").stdout.splitlines()
    assert [json.loads(line)["telegramId"] for line in lines] == [ANN, BOB]
    assert json.loads(lines[0]) == {
        "telegramId": ANN,
        "keptAt": "2027-01-15T08:00:00.000Z",
        "transactionId": KEYS[ANN].transaction_id,
        "paymentRequestId": "0" * 24,
        "product": f"Tea of {ANN}",
        "amount": 7.5,
        "currencyCode": "EUR",
        "status": "paid",
    }


@pytest.mark.parametrize(("option", "payers"), [("--payers", True), ("--no-payers", False)])
def test_without_payers_no_account_is_exported(
    commands_url: str, option: str, *, payers: bool
) -> None:
    """The audit log says which it was."""
    keep(commands_url)
    lines = run_bot("export", "receipts", "--format", "json", option).stdout.splitlines()
    assert [json.loads(line)["product"] for line in lines] == [f"Tea of {ANN}", f"Tea of {BOB}"]
    assert ["telegramId" in json.loads(line) for line in lines] == [payers, payers]
    ((details,),) = rows(commands_url, "SELECT details FROM audit WHERE action = 'data.exported'")
    assert json.loads(details) == {"payers": payers}
