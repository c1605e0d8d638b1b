"""`erase` and `export` of the receipts that payers keep in Telegram."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from bot.chat.messages.jobs import KeepReceipt, ReplyTo
from bot.chat.messages.payloads import BuyerNotice, ReceiptMessage
from bot.chat.messages.queues import RECEIPTS, make_queues
from bot.chat.model.receipt import Receipt, ReceiptKey
from bot.chat.store import kept_receipts
from bot.chat.store.kept_receipts import Keeper
from bot.core.database.database import open_database
from bot.core.outbox import outbox
from tests.support.command_line import DATABASE, run_bot
from tests.support.databases import SQLITE, text_of
from tests.support.service_harness import NOON

if TYPE_CHECKING:
    from bot.core.database.database import Transaction

ANN, BOB = 4711, 4712
KEYS = {ANN: ReceiptKey("0" * 24, "a" * 24), BOB: ReceiptKey("0" * 24, "b" * 24)}


def keep(url: str) -> None:
    """Keep a receipt for each of two accounts, with messages and jobs about it in the queues."""
    queues = make_queues(None, None, None)

    def store(tx: Transaction) -> None:
        for who, key in KEYS.items():
            receipt = Receipt(f"Tea of {who}", 750, "EUR", "paid", "")
            kept_receipts.keep(tx, key, Keeper(who, "en"), receipt, NOON)
            for body in (ReceiptMessage(*key, "en"), BuyerNotice(*key, "en", "sent")):
                outbox.put(tx, queues.messages, str(who), body, NOON)
            job = KeepReceipt(*key, ReplyTo(who, "en"), NOON)
            outbox.put(tx, queues.jobs, f"{RECEIPTS}{who}", job, NOON)

    with closing(open_database(url)) as db:
        db.run(store)


def erase(*words: str) -> Any:
    done = run_bot("erase", *words, "--yes", "--json")
    assert done.exit_code == 0, done.stderr
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


@pytest.mark.only(SQLITE, "a file")
def test_no_erased_byte_is_left(commands_url: str) -> None:
    keep(commands_url)
    erase(f"buyer-{ANN}")
    whole = DATABASE.read_bytes()
    assert f"Tea of {ANN}".encode() not in whole
    assert KEYS[ANN].transaction_id.encode() not in whole


def test_receipts_are_erased_by_their_request_and_by_age(commands_url: str) -> None:
    keep(commands_url)
    assert "kept" not in erase(f"buyer-{ANN}", "--before", "2000-01-01")
    assert erase("--before", "2100-01-01")["kept"] == 2


def test_a_payer_who_is_named_otherwise_keeps_their_receipts(commands_url: str) -> None:
    keep(commands_url)
    assert "kept" not in erase("ann@example.org")


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
