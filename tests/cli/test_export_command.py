"""`export`: every payment once, exact to the last decimal, harmless in a spreadsheet."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import random
import stat
import subprocess
import sys
import tracemalloc
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bot.app.maintenance import exports
from bot.app.maintenance.exports import ExportFilter
from bot.chat.store import payment_rows, seller_rows
from bot.chat.store.payment_rows import Payment
from bot.cli.console import Csv, json_record
from bot.core.database.database import Transaction
from bot.core.database.opening import open_database
from bot.core.money import amounts
from bot.interface.parts import PayerWords
from tests.support import databases
from tests.support.chat_harness import STICKERS, ChatHarness, service_answer
from tests.support.command_line import run_bot
from tests.support.databases import open_quick
from tests.support.service_harness import DROP, NOON, Clock, open_service
from tests.support.source_tree import ROOT

if TYPE_CHECKING:
    from click.testing import Result


CURRENCIES = {"USD": 2, "JPY": 0, "BSV": 8, "KWD": 3}
REQUESTS = exports.EXPORTS["requests"]
PAYMENTS = 2_500
"""More than two pages."""


def export(*command: str, **env: str) -> Result:
    return run_bot("export", *command, env=env)


@pytest.fixture
async def paid(commands_url: str) -> str:
    """Create a request with a payment whose payer's name is a formula; return its id."""
    async with open_service(commands_url) as shop:
        made = await shop.create(requestedUserData=["email", "phoneNumber"])
        given = {"email": "=cmd@mail.example", "phoneNumber": "+44 20 7946 0958"}
        assert (await shop.pay(made["id"], **given)).status_code == 303
    return str(made["id"])


def fill(url: str) -> None:
    """Store requests in several currencies and many payments of random amounts."""
    with closing(open_quick(url)) as db:
        db.run(add_many)


def add_many(tx: Transaction) -> None:
    dice = random.Random(7)
    tx.execute(
        "INSERT INTO apps (id, name, secret_hash, webhook_secret, created_at)"
        " VALUES ('a', 'shop', '', '', 1)"
    )
    for number, currency in enumerate(CURRENCIES):
        tx.execute(
            "INSERT INTO payment_requests (id, app_id, created_at, name, instrument_currency,"
            " receivers, amount, requested_user_data, expiration_type)"
            " VALUES (:id, 'a', :at, :name, :currency, '[]', 1, '[]', 'never')",
            id=f"r{number}", at=NOON + number, name=f"Thing, {number}", currency=currency,
        )  # fmt: skip
    tx.execute(
        "INSERT INTO checkouts (id, request_id, token, state, user_data, created_at, lapses_at)"
        " VALUES ('c', 'r0', '', 'paid', '{}', 1, 1)"
    )
    for number in range(PAYMENTS):
        kind = dice.randrange(len(CURRENCIES))
        minor, currency = dice.randrange(1, 10**15), [*CURRENCIES][kind]
        tx.execute(
            "INSERT INTO payments (id, request_id, checkout_id, rail, external_id, state,"
            " amount, currency, receivers, instrument_amount, instrument_currency,"
            " instrument_shares, user_data, completed_at)"
            " VALUES (:id, :request, 'c', 'sandbox', :external, 'paid', :minor, :currency,"
            " :receivers, :minor, :currency, '[]', '{}', :at)",
            id=f"{dice.getrandbits(96):024x}", request=f"r{kind}", external=f"x{number}",
            minor=minor, currency=currency,
            receivers=f'[{{"destination":"anna","amount":{minor}}}]',
            at=NOON + dice.randrange(50),
        )  # fmt: skip


def sums(url: str) -> dict[str, Decimal]:
    found = databases.rows(url, "SELECT currency, SUM(amount) FROM payments GROUP BY currency")
    return {currency: amounts.from_minor(int(minor), currency) for currency, minor in found}


@pytest.mark.long
def test_the_sum_of_the_export_is_the_sum_of_the_table_in_every_currency(
    commands_url: str,
) -> None:
    """Page after page, in both forms: each payment once, to the last decimal."""
    fill(commands_url)
    lines = [*csv.DictReader(io.StringIO(export().stdout))]
    objects = [
        json.loads(line, parse_float=Decimal)
        for line in export("--format", "json").stdout.splitlines()
    ]
    for found in (lines, objects):
        assert len({one["transactionId"] for one in found}) == len(found) == PAYMENTS
        total: Counter[str] = Counter()
        for one in found:
            total[one["currencyCode"]] += Decimal(one["amount"])  # type: ignore[assignment]  # exact sums
        assert dict(total) == sums(commands_url)
    for one in lines:
        assert len(one["amount"].partition(".")[2]) == CURRENCIES[one["currencyCode"]]
        assert one["receivers"] == f"anna {one['amount']}"


def test_payments_are_sorted_by_request_and_then_by_time(commands_url: str) -> None:
    fill(commands_url)
    found = [*csv.DictReader(io.StringIO(export().stdout))]
    places = [(one["paymentRequestId"], one["completedAt"], one["transactionId"]) for one in found]
    assert places == sorted(places)


def test_times_and_a_request_narrow_the_export(commands_url: str) -> None:
    """The first moment is included, the last is not."""
    fill(commands_url)
    since, until = (datetime.fromtimestamp((NOON + at) / 1000, UTC) for at in (10, 20))
    found = export("--since", since.isoformat(), "--until", until.isoformat(), "--request", "r1")
    expected = databases.rows(
        commands_url,
        "SELECT id FROM payments WHERE request_id = 'r1'"
        f" AND completed_at >= {NOON + 10} AND completed_at < {NOON + 20}"
        " ORDER BY completed_at, id",
    )
    assert expected
    assert [
        (one["transactionId"],) for one in csv.DictReader(io.StringIO(found.stdout))
    ] == expected


def test_a_payment_has_all_its_fields(paid: str, commands_url: str) -> None:
    (line,) = export("--format", "json").stdout.splitlines()
    found = json.loads(line)
    assert (
        found.pop("transactionId") == databases.rows(commands_url, "SELECT id FROM payments")[0][0]
    )
    external = found["externalId"]
    assert external
    assert found == {
        "paymentRequestId": paid, "product": "Coffee", "completedAt": "2027-01-15T08:00:00.000Z",
        "amount": 5.0, "currencyCode": "USD", "paidAmount": 5.0, "paidCurrencyCode": "USD",
        "rate": None, "rateSource": None, "kind": "sandbox", "externalId": external,
        "settlement": "paid", "receivers": [{"destination": "alice", "amount": 5.0}],
        "quantity": 1, "sentAt": None, "sentNote": None, "paidBackAt": None, "paidBackNote": None,
        "name": None, "message": None, "messageHidden": False,
        "paymail": None, "email": "=cmd@mail.example", "phoneNumber": "+442079460958",
    }  # fmt: skip
    assert '"amount": 5.00' in line.replace(":", ": ").replace(":  ", ": ")


def test_names_messages_and_marks_are_exported_and_hidden_messages_are_not(
    paid: str, commands_url: str
) -> None:
    del paid
    values = "payer_name = 'Mia', message = '=Hello', sent_at = 0, sent_note = 'RR1', quantity = 3"
    with closing(open_database(commands_url)) as db:
        db.run(lambda tx: tx.execute(f"UPDATE payments SET {values}"))
        record = json.loads(export("--format", "json").stdout)
        db.run(lambda tx: tx.execute("UPDATE payments SET message_hidden = 1"))
    assert (record["name"], record["message"], record["quantity"]) == ("Mia", "=Hello", 3)
    assert (record["sentAt"], record["sentNote"]) == ("1970-01-01T00:00:00.000Z", "RR1")
    hidden = json.loads(export("--format", "json").stdout)
    assert (hidden["name"], hidden["message"], hidden["messageHidden"]) == (None, None, True)
    anonymous = export("--no-payers").stdout
    assert not [word for word in ("Mia", "Hello", "RR1") if word in anonymous]


def test_a_spreadsheet_computes_nothing(paid: str) -> None:
    del paid
    (line,) = csv.DictReader(io.StringIO(export().stdout))
    assert (line["email"], line["phoneNumber"]) == ("'=cmd@mail.example", "'+442079460958")


SEPARATORS = (",", ";", "\t", "|")
SIGNS = "=+-@\t\r\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b"
BLANK = ' \xa0\u3000\u200b\ufeff"'
"""What spreadsheets drop before a formula."""


def cells(text: str) -> list[str]:
    """Return every cell that any spreadsheet could make of a CSV file."""
    made: list[list[str]] = []
    for lines in ([*io.StringIO(text, newline="")], text.splitlines(keepends=True)):
        for at in SEPARATORS:
            made += csv.reader(lines, delimiter=at)
            made += csv.reader(lines, delimiter=at, quoting=csv.QUOTE_NONE)
    return [cell.lstrip(BLANK) for row in made for cell in row]


def line_of(text: str, *, for_people: bool = False) -> str:
    return Csv(["name"], for_people=for_people).line({"name": text})


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("Tea;=HYPERLINK(1)", "Tea;'=HYPERLINK(1)"),
        ("Tea; =1", "Tea; '=1"),
        ('Tea;"=1"', 'Tea;"\'=1"'),
        ("Tea\n@a", "Tea\n'@a"),
        ("\t=1", "'\t'=1"),
        ("\u3000\uff1d1", "\u3000'\uff1d1"),
        ("Coffee - large = 5+1 @ home", "Coffee - large = 5+1 @ home"),
    ],
)
def test_a_formula_behind_any_separator_is_defused(text: str, written: str) -> None:
    """Nothing else is changed."""
    (line,) = csv.reader(io.StringIO(line_of(text), newline=""))
    assert line == [written]


def test_no_cell_begins_a_formula_wherever_a_spreadsheet_splits() -> None:
    """Texts are drawn from all characters that matter. Amounts stay numbers."""
    dice = random.Random(7)
    parts = [*SIGNS, *BLANK, *SEPARATORS, "\n", "\r\n", "'", "a", "1", "=HYPERLINK(1)"]
    table, amount = Csv(["name", "to", "amount", "data"], for_people=True), Decimal("12.50")
    for _ in range(3_000):
        text, other = ("".join(dice.choices(parts, k=dice.randrange(9))) for _ in range(2))
        receivers = [{"destination": other, "amount": amount}, {"destination": text, "amount": 1}]
        line = table.line({"name": text, "to": receivers, "amount": amount, "data": {other: text}})
        assert not [cell for cell in cells(line) if cell.startswith(tuple(SIGNS))]
        assert ",12.50," in line


def test_csv_follows_its_standard() -> None:
    """Names come first, lines end in CRLF, quotes are doubled, amounts are never 1E-8."""
    record = {"a": 'x, "y"\nz', "b": None, "c": Decimal("0.00000001")}
    table = Csv([*record], for_people=False)
    assert table.head() + table.line(record) == 'a,b,c\r\n"x, ""y""\nz",,0.00000001\r\n'


IDS = ("1e5510293847561029384756", "123456789012345678901234", "00712", "1.5E3")
"""Texts that a spreadsheet would read as 1e5510…, 1.23e+23, 712 and 1500."""


@pytest.mark.parametrize("text", IDS)
def test_a_file_for_people_keeps_ids_from_being_read_as_numbers(text: str) -> None:
    """Programs get them as they are."""
    assert line_of(text, for_people=True) == f"'{text}\r\n"
    assert line_of(text) == f"{text}\r\n"


@pytest.mark.parametrize(
    "text", ["1f5510293847561029384756", "12.50", "4711", "0", "0.5", "e5", ""]
)
def test_other_texts_are_left_as_they_are(text: str) -> None:
    (cells,) = csv.reader(io.StringIO(line_of(text, for_people=True)))
    assert cells == [text]


def test_numbers_stay_numbers_in_a_file_for_people() -> None:
    record = {"a": Decimal("1000000000.00000001"), "b": 1234567890123456}
    assert (
        Csv([*record], for_people=True).line(record) == "1000000000.00000001,1234567890123456\r\n"
    )


def test_an_id_that_looks_like_a_number_is_exported_as_text(paid: str, commands_url: str) -> None:
    """A program gets it as it is."""
    with closing(open_database(commands_url)) as db:
        db.run(lambda tx: tx.execute("UPDATE payments SET id = :id", id=IDS[0]))
    export("--output", "out.csv")
    (found,) = csv.DictReader(io.StringIO(Path("out.csv").read_text("utf-8-sig")))
    assert (found["transactionId"], found["paymentRequestId"]) == (f"'{IDS[0]}", paid)
    (found,) = csv.DictReader(io.StringIO(export().stdout))
    assert found["transactionId"] == IDS[0]


KINDS = ("payments", "requests", "sellers", "receipts")


async def sell(url: str) -> None:
    """Create a request and pay it."""
    async with open_service(url) as shop:
        made = await shop.create()
        assert (await shop.pay(made["id"])).status_code == 303


@pytest.mark.parametrize("payers", ["--payers", "--no-payers"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_export_without_records_has_its_header(
    commands_url: str, kind: str, payers: str
) -> None:
    """It is the header of a full one, and has the names of its JSON objects."""
    open_database(commands_url).close()
    empty = export(kind, payers).stdout
    asyncio.run(sell(commands_url))
    with closing(open_database(commands_url)) as db:
        db.run(lambda tx: seller_rows.ensure_seller(tx, 1001, "en", NOON))
        db.run(
            lambda tx: tx.execute(
                "INSERT INTO kept_receipts (request_id, transaction_id, id, account_id, language,"
                " kept_at, name, amount, currency, status)"
                " VALUES ('r1', 't1', 'k1', 4711, 'en', 1, 'Coffee', 500, 'USD', 'paid')"
            )
        )
    full = export(kind, payers).stdout.splitlines(keepends=True)
    assert [empty] == full[:1]
    assert len(full) > 1
    (record,) = export(kind, payers, "--format", "json").stdout.splitlines()
    assert next(csv.reader([empty])) == [*json.loads(record)]


@pytest.mark.parametrize("payers", ["--payers", "--no-payers"])
def test_without_recorded_payments_their_header_is_exported(commands_url: str, payers: str) -> None:
    """The payments of another server have other columns."""
    env = {"PAYMENTS_URL": "https://pay.example", "APP_ID": "a", "APP_SECRET": "s"}
    with closing(open_database(commands_url)) as db:
        empty = export(payers, **env).stdout
        chat = ChatHarness(db, Clock())
        told = service_answer(total_units=3, remaining_units=3)
        link = chat.add_link(chat.add_person(), STICKERS, told)
        payment = Payment(link.request_id or "", "t1", 750, "USD", {})
        db.run(lambda tx: payment_rows.add_payment(tx, link.id, payment, NOON))
    (record,) = export(payers, "--format", "json", **env).stdout.splitlines()
    assert next(csv.reader([empty])) == [*json.loads(record)]
    assert export(payers, **env).stdout.splitlines(keepends=True)[0] == empty


def test_json_cannot_control_a_terminal() -> None:
    record = {"name": "é\x1b\x7f\u202e\U0001f600", "n": Decimal("0.10")}
    line = json_record(record)
    assert line.removesuffix("\n").isascii()
    assert line.removesuffix("\n").isprintable()
    assert json.loads(line) == {"name": "é\x1b\x7f\u202e\U0001f600", "n": 0.1}
    assert "0.10" in line


def test_without_payers_no_payer_is_named(paid: str) -> None:
    del paid
    for form in ("csv", "json"):
        found = export("--no-payers", "--format", form).stdout
        assert not [word for word in ("mail", "2079460958", "phoneNumber") if word in found]


def test_a_file_is_new_and_private_and_excel_recognizes_it(paid: str) -> None:
    """Standard output has no byte order mark, which programs would read as text."""
    del paid
    before = os.umask(0)
    assert export("--output", "out.csv").exit_code == 0
    os.umask(before)
    path = Path("out.csv")
    assert path.read_bytes().startswith(b"\xef\xbb\xbftransactionId,")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert export().stdout_bytes.startswith(b"transactionId,")
    again = export("--output", "out.csv")
    assert (again.exit_code, again.stderr) == (1, "out.csv: already exists: choose another name\n")


def test_requests_have_their_revenue(paid: str) -> None:
    (found,) = csv.DictReader(io.StringIO(export("requests").stdout))
    assert found["paymentRequestId"] == paid
    assert (found["amount"], found["payments"], found["volume"]) == ("5.00", "1", "5.00")
    assert found["createdAt"] == "2027-01-15T08:00:00.000Z"


async def test_units_are_those_of_the_interface(database_url: str) -> None:
    """A lapsed reservation has returned its unit. A one-off has no units."""
    async with open_service(database_url) as shop:
        drop = await shop.create(**DROP)
        await shop.pay(drop["id"], manner="never")
        await shop.create(expirationType="onPaymentCompleted")
        for seconds, reserved in ((0, 1), (901, None)):
            shop.clock.advance(seconds)
            wanted = ExportFilter(shop.clock())
            found = [one async for one in exports.read(shop.db, REQUESTS, wanted)]
            assert [one["reservedUnits"] for one in found if one["totalUnits"]] == [reserved]
            for one in found:
                answer = await shop.get(one["paymentRequestId"])
                assert [one[name] for name in exports.UNITS] == [
                    answer.get(name) for name in exports.UNITS
                ]


def test_with_another_server_the_recorded_payments_are_exported(commands_url: str) -> None:
    with closing(open_database(commands_url)) as db:
        chat = ChatHarness(db, Clock())
        link = chat.add_link(
            chat.add_person(), STICKERS, service_answer(total_units=3, remaining_units=3)
        )
        kind = Payment(
            link.request_id or "", "t1", 750, "USD", {"email": "=a@b.example"},
            quantity=3, words=PayerWords("Mia", "=1+1"),
        )  # fmt: skip
        rude = replace(kind, transaction_id="t2", words=PayerWords("Rude", "words"), is_hidden=True)

        def record(tx: Transaction) -> None:
            for one in (kind, rude):
                payment_rows.add_payment(tx, link.id, one, NOON)

        db.run(record)
    env = {"PAYMENTS_URL": "https://pay.example", "APP_ID": "a", "APP_SECRET": "s"}
    found, hidden = csv.DictReader(io.StringIO(export(**env).stdout))
    assert (hidden["name"], hidden["message"], hidden["messageHidden"]) == ("", "", "True")
    assert found == {
        "transactionId": "t1", "paymentRequestId": link.request_id, "product": "Stickers",
        "receivedAt": "2027-01-15T08:00:00.000Z", "amount": "7.50", "currencyCode": "USD",
        "settlement": "paid", "kind": "", "externalId": "", "paidAmount": "",
        "paidCurrencyCode": "", "rate": "", "rateSource": "", "quantity": "3", "sentAt": "",
        "paidBackAt": "", "paidBackNote": "", "messageHidden": "False",
        "userData": '{"email":"=a@b.example"}', "name": "Mia", "message": "'=1+1", "sentNote": "",
    }  # fmt: skip
    refused = export("requests", **env)
    assert (refused.exit_code, "PAYMENTS_URL" in refused.stderr) == (1, True)


@pytest.mark.process
def test_a_closed_pipe_ends_the_export_silently(commands_url: str) -> None:
    """As in `export | head -1`."""
    fill(commands_url)
    run = subprocess.Popen(
        [sys.executable, "-m", "bot", "export"], env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stdout
    assert run.stderr
    assert run.stdout.readline().startswith(b"transactionId,")
    run.stdout.close()
    assert run.stderr.read() == b""
    assert run.wait() == 1
    run.stderr.close()


@pytest.mark.long
async def test_memory_does_not_grow_with_the_number_of_payments(commands_url: str) -> None:
    """Ten times as many payments take no more of it."""
    fill(commands_url)
    peaks = []
    for times in (1, 10):
        with closing(open_quick(commands_url)) as db:
            db.run(partial(grow, times=times))
            tracemalloc.start()
            number = 0
            async for _ in exports.read(db, exports.EXPORTS["payments"], ExportFilter(NOON)):
                number += 1
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert number == times * PAYMENTS
    assert peaks[1] < 1.5 * peaks[0], peaks


def grow(tx: Transaction, times: int) -> None:
    columns = "request_id, checkout_id, rail, state, amount, currency, receivers"
    columns += ", instrument_amount, instrument_currency, instrument_shares, user_data"
    for number in range(1, times):
        tx.execute(
            f"INSERT INTO payments (id, external_id, completed_at, {columns})"
            f" SELECT id || '-{number}', id || '-{number}', completed_at, {columns}"
            " FROM payments WHERE id NOT LIKE '%-%'"
        )


def test_an_export_is_in_the_audit_log(paid: str, commands_url: str) -> None:
    del paid
    export("--no-payers")
    found = databases.rows(
        commands_url, "SELECT subject, details FROM audit WHERE action = 'data.exported'"
    )
    assert found == [("payments", '{"payers":false}')]


def test_sellers_are_exported_with_their_profiles(commands_url: str) -> None:
    with closing(open_database(commands_url)) as db:
        db.run(lambda tx: seller_rows.ensure_seller(tx, 1001, "en", NOON))
    (found,) = csv.DictReader(io.StringIO(export("sellers").stdout))
    assert (found["telegramId"], found["language"], found["name"]) == ("1001", "en", "")
    refused = export("sellers", "--request", "r1")
    assert refused.exit_code == 1
    assert refused.stderr == "export sellers: --request is for payments and requests\n"


async def test_a_request_is_exported_with_the_name_of_its_seller(database_url: str) -> None:
    """The last field, empty where nobody is named."""
    async with open_service(database_url) as shop:
        await shop.create(seller={"name": "Anna's Bakery"})
        await shop.create()
        wanted = ExportFilter(shop.clock())
        found = [one async for one in exports.read(shop.db, REQUESTS, wanted)]
    assert {[*one][-1] for one in found} == {"seller"}
    assert {one["seller"] for one in found} == {None, "Anna's Bakery"}
