"""The operator's commands, beside a running process and alone."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from click.testing import CliRunner

from bot.app.doctor.outside_checks import FEEDBACK_UNKNOWN
from bot.cli.commands import main
from bot.sandbox.world.world import TOKEN
from tests.support.free_ports import free_port
from tests.support.product_process import (
    Process,
    patient_client,
    run_command,
    running_product,
    sandbox_telegram,
    start_bot,
    until,
)
from tests.support.sellers_and_payers import link_of, pay, seller_with_destination
from tests.support.service_harness import NEW
from tests.support.webhook_receiver import empty_answer, open_receiver

if TYPE_CHECKING:
    import httpx


COMMANDS = [
    (),
    ("run",),
    ("demo",),
    ("service",),
    ("doctor",),
    ("audit",),
    ("apps",),
    *(("apps", name) for name in ("create", "list", "rotate", "revoke")),
    ("deliveries",),
    *(("deliveries", name) for name in ("list", "show", "retry")),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_answers_help_without_any_setting(command: tuple[str, ...]) -> None:
    for flag in ("--help", "-h"):
        answer = CliRunner().invoke(main, [*command, flag])
        assert (answer.exit_code, answer.output.startswith("Usage: ")) == (0, True)


def test_an_unknown_command_is_named() -> None:
    answer = CliRunner().invoke(main, ["fly"])
    assert (answer.exit_code, "No such command 'fly'" in answer.output) == (2, True)


ENDED = ("--now",)
FIELDS = ["id", "name", "created", "overlap", "revoked"]
BESIDE = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Process]:
    """Run the payment service alone while the commands run."""
    folder = tmp_path_factory.mktemp("service")
    async with start_bot(folder, "service", WEBHOOK_ALLOW="127.0.0.1") as run:
        yield await run.ready()


async def order(service: Process, *command: str) -> list[str]:
    """Run a command that must succeed without an error line; return its output."""
    code, out, err = await run_command(service.database.parent, *command)
    assert (code, err) == (0, [])
    return out


async def create(service: Process, name: str) -> dict[str, str]:
    keys = dict(line.split("=", 1) for line in await order(service, "apps", "create", name))
    service.secrets |= {keys["APP_SECRET"], keys["WEBHOOK_SECRET"]}
    return keys


async def rotate(service: Process, app_id: str, *options: str) -> dict[str, str]:
    """Rotate the credentials and return the new ones; a line names the overlap if there is one."""
    code, out, err = await run_command(service.database.parent, "apps", "rotate", app_id, *options)
    assert (code, len(err)) == (0, int(options != ENDED)), err
    keys = dict(line.split("=", 1) for line in out)
    service.secrets |= set(keys.values()) - {app_id}
    return keys


async def listed(service: Process, *command: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in await order(service, *command, "list", "--json")]


async def call(service: Process, keys: dict[str, str], **fields: Any) -> httpx.Response:
    headers = {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}
    async with patient_client(headers=headers) as http:
        address = f"{service.url}/v3/paymentRequests"
        return await http.post(address, json=NEW | fields) if fields else await http.get(address)


@BESIDE
async def test_apps_are_created_rotated_and_revoked_beside_the_service(service: Process) -> None:
    """Credentials are printed once, work at once, and stop working at once, or after an overlap."""
    keys = await create(service, "shop")
    assert list(keys) == ["APP_ID", "APP_SECRET", "WEBHOOK_SECRET"]
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{32}", keys["WEBHOOK_SECRET"])
    assert (await call(service, keys)).status_code == 200
    (entry,) = [app for app in await listed(service, "apps") if app["id"] == keys["APP_ID"]]
    assert (list(entry), entry["name"]) == (FIELDS, "shop")
    assert datetime.fromisoformat(entry["created"]).utcoffset() is not None
    table = await order(service, "apps", "list")
    assert table[0].split() == [name.upper() for name in FIELDS]
    assert keys["APP_SECRET"] not in "\n".join(table)

    rotated = await rotate(service, keys["APP_ID"])
    assert rotated["APP_ID"] == keys["APP_ID"]
    assert rotated["APP_SECRET"] != keys["APP_SECRET"]
    assert (await call(service, keys)).status_code == 200
    assert (await call(service, rotated)).status_code == 200
    newest = await rotate(service, keys["APP_ID"], *ENDED)
    assert [(await call(service, one)).status_code for one in (keys, rotated)] == [401, 401]
    assert (await call(service, newest)).status_code == 200

    revoke = ("apps", "revoke", keys["APP_ID"])
    assert (await run_command(service.database.parent, *revoke))[:2] == (2, [])
    assert (await call(service, newest)).status_code == 200
    assert await order(service, *revoke, "--yes") == [f"revoked {keys['APP_ID']}"]
    assert (await call(service, newest)).status_code == 401
    (entry,) = [app for app in await listed(service, "apps") if app["id"] == keys["APP_ID"]]
    assert entry["revoked"] is not None


@BESIDE
@pytest.mark.parametrize(
    "command",
    [
        ("apps", "rotate", "nobody"),
        ("apps", "revoke", "nobody"),
        ("apps", "create", ""),
        ("deliveries", "show", "nothing"),
        ("deliveries", "retry", "nothing"),
    ],
    ids=" ".join,
)
async def test_an_unknown_id_ends_with_1_and_one_line(
    service: Process, command: tuple[str, ...]
) -> None:
    code, out, err = await run_command(service.database.parent, *command)
    assert (code, out, len(err)) == (1, [], 1), (out, err)


@BESIDE
async def test_deliveries_are_listed_and_shown(service: Process) -> None:
    """A webhook that nobody took waits with its reason."""
    keys, port = await create(service, "market"), free_port()
    hook = {"webhookUrl": f"http://127.0.0.1:{port}/hook", "customParameters": {"a": 1}}
    made = (await call(service, keys, notifications={"webhook": hook})).json()
    paid = await pay(made["paymentRequestUrl"])

    async def failed() -> bool:
        return service.rows("SELECT note FROM outbox WHERE note LIKE 'ConnectError%'") != []

    await until(failed)
    (entry,) = await listed(service, "deliveries")
    assert list(entry)[:6] == ["id", "request", "address", "state", "attempts", "next"]
    assert list(entry)[6:] == ["channel", "transaction", "checkout", "created", "settled", "note"]
    assert entry["request"] == made["id"]
    assert (entry["address"], entry["state"]) == (f"http://127.0.0.1:{port}/hook", "waiting")
    assert entry["attempts"] >= 1
    table = await order(service, "deliveries", "list")
    assert table[0].split() == ["ID", "REQUEST", "ADDRESS", "STATE", "ATTEMPTS", "NEXT"]
    shown = dict(
        line.split(None, 1) for line in await order(service, "deliveries", "show", entry["id"])
    )
    assert shown["transaction:"] == paid.headers["location"].rpartition("/")[2]
    assert shown["note:"].startswith("ConnectError")
    assert shown["channel:"] == "webhook"
    assert re.fullmatch(r"\d at \S+\+00:00, no answer after \d+ ms", shown["attempt:"])
    assert shown["trouble:"] == shown["note:"]
    assert (await run_command(service.database.parent, "deliveries", "show", "x"))[0] == 1


@BESIDE
async def test_a_delivery_that_waits_for_its_next_attempt_is_sent_at_once(service: Process) -> None:
    keys = await create(service, "hurried")
    async with open_receiver() as receiver:
        receiver.answers = [empty_answer(503, "Retry-After: 3600")]
        hook = {"webhookUrl": receiver.url}
        made = (await call(service, keys, notifications={"webhook": hook})).json()
        await pay(made["paymentRequestUrl"])

        async def waits() -> bool:
            return service.rows("SELECT 1 FROM outbox WHERE note = 'answered 503'") != []

        await until(waits)
        delivery = await settled(service, made["id"], "waiting")
        assert await order(service, "deliveries", "retry", delivery) == [f"{delivery} is waiting"]
        assert await settled(service, made["id"], "done") == delivery


async def ids(service: Process, *options: str) -> list[str]:
    lines = await order(service, "deliveries", "list", "--json", *options)
    return [json.loads(line)["id"] for line in lines]


async def settled(service: Process, request_id: str, state: str) -> str:
    """Wait until the delivery of this request is in that state of the outbox; its id."""
    sql = (
        "SELECT d.id FROM deliveries d JOIN outbox o ON o.id = d.id"
        f" WHERE d.request_id = '{request_id}' AND o.state = '{state}'"
    )

    async def there() -> bool:
        return service.rows(sql) != []

    await until(there)
    ((delivery,),) = service.rows(sql)
    return str(delivery)


@BESIDE
async def test_an_answer_is_shown_without_terminal_control_characters(service: Process) -> None:
    """Its first lines, of every attempt; the list is narrowed to a state."""
    keys = await create(service, "rude")
    nasty = b"\x1b]0;owned\x07\r\n\r\n\x1b[2Jsecond\nthird\nfourth"
    async with open_receiver() as receiver:
        head = b"HTTP/1.1 410 X\r\nContent-Length: %d\r\n\r\n" % len(nasty)
        receiver.answers = [head + nasty]
        hook = {"webhookUrl": f"{receiver.url}?key=word"}
        made = (await call(service, keys, notifications={"webhook": hook})).json()
        await pay(made["paymentRequestUrl"])
        delivery = await settled(service, made["id"], "dead")
        assert await ids(service, "--state", "dead") == [delivery]
        assert delivery not in await ids(service, "--state", "waiting")
        assert await order(service, "deliveries", "retry", delivery) == [f"{delivery} is waiting"]
        assert await settled(service, made["id"], "done") == delivery
    lines = await order(service, "deliveries", "show", delivery)
    assert all(line.isprintable() for line in lines)
    assert f"address:      {receiver.url}?key=word" in lines
    tries = [line.split(maxsplit=1)[1] for line in lines if line.startswith("attempt:")]
    assert [line.split()[0] for line in tries] == ["1", "2"]
    assert ", 410 after " in tries[0]
    assert ", 200 after " in tries[1]
    answers = [line.removeprefix("answer:").strip() for line in lines if line.startswith("answer:")]
    assert answers == ["\ufffd]0;owned\ufffd", "\ufffd[2Jsecond", "third", "ok"]


@BESIDE
@pytest.mark.parametrize(
    "command",
    [
        ("deliveries", "list", "--state", "lost"),
        ("deliveries", "list", "--limit", "0"),
        ("apps", "rotate", "x", "--overlap", "-1"),
        ("apps", "rotate", "x", "--overlap", "721"),
    ],
    ids=" ".join,
)
async def test_an_option_that_makes_no_sense_is_refused(
    service: Process, command: tuple[str, ...]
) -> None:
    code, out, err = await run_command(service.database.parent, *command)
    assert (code, out) == (2, [])
    assert err[-1].startswith("Error: Invalid value for '--")


@BESIDE
@pytest.mark.parametrize(("options", "hours"), [((), 24), (("--overlap", "2"), 2)])
async def test_a_rotation_keeps_the_former_webhook_secret_for_its_overlap(
    service: Process, options: tuple[str, ...], hours: int
) -> None:
    keys = await create(service, "turning")
    before = int(time.time() * 1000)
    await rotate(service, keys["APP_ID"], *options)
    after = int(time.time() * 1000)
    ((until_,),) = service.rows(f"SELECT former_until FROM apps WHERE id = '{keys['APP_ID']}'")
    assert before <= until_ - hours * 3600 * 1000 <= after


@BESIDE
async def test_a_rotation_without_overlap_ends_the_former_secret_at_once(service: Process) -> None:
    keys = await create(service, "hasty")
    await rotate(service, keys["APP_ID"], *ENDED)
    found = service.rows(
        f"SELECT former_webhook_secret, former_until FROM apps WHERE id = '{keys['APP_ID']}'"
    )
    assert found == [(None, None)]


async def test_retry_sends_again_what_was_delivered(tmp_path: Path) -> None:
    """The bot's own receiver takes it twice and tells the seller once."""
    async with running_product(tmp_path) as (stage, run):
        sam = await seller_with_destination(stage.world)
        card = await sam.card("/donation 5 USD Coffee", "Coffee")
        await sam.alert(pay(link_of(card)))

        async def delivered() -> bool:
            return run.rows("SELECT state FROM outbox WHERE queue = 'own_webhooks'") == [("done",)]

        await until(delivered)
        (entry,) = await listed(run, "deliveries")
        assert entry["state"] == "delivered"
        assert await order(run, "deliveries", "retry", entry["id"]) == [f"{entry['id']} is waiting"]
        await run.line("fresh=False")
        await until(delivered)
        await sam.say("/help", "In one line")
        assert len(sam.alerts) == 1


async def test_doctor_has_nothing_to_fix_in_a_running_bot(tmp_path: Path) -> None:
    async with running_product(tmp_path) as (stage, run):
        port = run.url.rpartition(":")[2]
        code, out, err = await run_command(
            tmp_path, "doctor", **stage.settings, PORT=port, PUBLIC_URL=run.url
        )
    assert (code, err) == (0, [])
    assert out == [
        f"ok   database: sqlite:///{run.database}",
        "ok   BOT_TOKEN: @PaymentRequestBot",
        "ok   inline mode: on",
        f"ok   inline feedback: {FEEDBACK_UNKNOWN}",
        f"ok   PUBLIC_URL: {run.url}",
        f"ok   server: answers at {run.url}",
        "ok   RAILS: sandbox: payments are test money",
        "ok   SMTP_URL: not set, so email notifications are refused",
    ]


async def test_doctor_has_nothing_to_fix_in_a_service_that_runs_alone(tmp_path: Path) -> None:
    """Without the option, the missing token is its only finding, which names the option."""
    async with start_bot(tmp_path, "service") as run:
        await run.ready()
        given = {"PORT": run.port, "PUBLIC_URL": run.url}
        code, out, err = await run_command(tmp_path, "doctor", "--service", **given)
        assert (code, err) == (0, [])
        assert [line[:4] for line in out] == ["ok  "] * len(out)
        assert f"ok   server: answers at {run.url}" in out
        code, out, err = await run_command(tmp_path, "doctor", **given)
    (told,) = [line for line in out if line.startswith("FIX ")]
    assert (code, err, told.startswith("FIX  BOT_TOKEN: not set: ")) == (1, [], True)
    assert "doctor --service" in told


async def test_doctor_says_what_to_fix(tmp_path: Path) -> None:
    """No database, token or server, an address that nobody can reach: a line each, and exit 1."""
    code, out, err = await run_command(
        tmp_path, "doctor", PUBLIC_URL="http://localhost", PAYMENTS_URL="http://127.0.0.1:1",
        APP_ID="a", APP_SECRET="a secret of the test",
    )  # fmt: skip
    assert (code, err) == (1, [])
    assert [line.split(":", 1)[0] for line in out] == [
        "FIX  database",
        "FIX  BOT_TOKEN",
        "FIX  PUBLIC_URL",
        "ok   server",
        "FIX  PAYMENTS_URL",
    ]


async def test_doctor_distinguishes_a_refused_token_from_a_lost_network(tmp_path: Path) -> None:
    async with sandbox_telegram(tmp_path) as stage:
        wrong = {**stage.settings, "BOT_TOKEN": "43:not-the-one-of-the-sandbox"}
        _, refused, _ = await run_command(tmp_path, "doctor", **wrong)
    _, lost, _ = await run_command(
        tmp_path, "doctor", BOT_TOKEN=TOKEN, TELEGRAM_API_URL="http://127.0.0.1:1"
    )
    assert refused[1] == "FIX  BOT_TOKEN: Telegram rejects this token: copy it again"
    assert lost[1].startswith("FIX  BOT_TOKEN: Telegram at http://127.0.0.1:1 can't be reached")


@pytest.mark.parametrize(
    "command",
    [("apps", "create", "shop"), ("apps", "list"), ("deliveries", "list"), ("service",)],
    ids=" ".join,
)
async def test_a_wrong_secret_key_is_reported_before_anything_is_done(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Or else what is made under it could never be signed beside the rest."""
    right, wrong = {"SECRET_KEY": "the right key of a test"}, {"SECRET_KEY": "another key of it"}
    assert (await run_command(tmp_path, "apps", "create", "first", **right))[0] == 0
    code, out, err = await run_command(tmp_path, *command, **wrong)
    assert (code, out, len(err)) == (2, [], 1), err
    assert err[0].startswith("SECRET_KEY: ")
    _, kept, _ = await run_command(tmp_path, "apps", "list", "--json", **right)
    assert [json.loads(line)["name"] for line in kept] == ["first"]


async def test_an_upload_under_way_does_not_disturb_the_stop(tmp_path: Path) -> None:
    """Exit 0, and no traceback in the log, which every process of a test is searched for."""
    async with start_bot(tmp_path, "service") as run:
        await run.ready()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(run.port))
        head = "Host: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 99"
        writer.write(f"POST /pay/x HTTP/1.1\r\n{head}\r\nExpect: 100-continue\r\n\r\n".encode())
        assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert await run.stop() == 0
        assert b"HTTP/1.1 503 " in await reader.read()
        writer.close()
