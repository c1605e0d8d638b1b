"""What operators see and do beside the running product: metrics, readiness, audit log, commands."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import stat
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from bot import config
from bot.app.application import Application
from bot.app.doctor.outside_checks import FEEDBACK_UNKNOWN
from bot.core.ops.readiness import FRESH_SECONDS
from bot.sandbox.world.errors import Fault
from tests.support.free_ports import free_port
from tests.support.http_peers import empty_answer, open_receiver
from tests.support.product_process import (
    PATIENCE,
    Process,
    ProductSetup,
    app_headers,
    create_application,
    patient_client,
    run_command,
    running_product,
    start_bot,
    started_bot,
    status,
    until,
)
from tests.support.rate_sources import coinbase, kraken, serve_sources, yadio
from tests.support.sellers_and_payers import link_of, pay, seller_with_destination
from tests.support.service_harness import NEW

if TYPE_CHECKING:
    import httpx

    from bot.sandbox.world.world import World


BESIDE = pytest.mark.asyncio(loop_scope="module")
HEAP = 64 * 1024 * 1024
"""What glibc reserves for the heap of a thread, at a multiple of it."""

FIELDS = ["id", "name", "created", "overlap", "revoked"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[ProductSetup, Process]]:
    """Start the whole product, whose log is JSON."""
    async with running_product(tmp_path_factory.mktemp("running"), LOG_FORMAT="json") as both:
        yield both


async def metrics(run: Process) -> dict[str, float]:
    """Return the samples above zero, by name and sorted labels."""
    async with patient_client(run.url) as http:
        answer = await http.get("/metrics")
    assert answer.status_code == 200
    return {
        " ".join(
            [sample.name, *(value for _, value in sorted(sample.labels.items()))]
        ): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.value
    }


async def ready(run: Process) -> tuple[int, dict[str, Any]]:
    async with patient_client(run.url) as http:
        answer = await http.get("/readyz")
    return answer.status_code, answer.json()


async def order(run: Process, *command: str) -> list[str]:
    """Run a command that must succeed without an error line; return its output."""
    code, out, err = await run_command(run.database.parent, *command)
    assert (code, err) == (0, [])
    return out


async def listed(run: Process, *command: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in await order(run, *command, "--json")]


@BESIDE
async def test_it_is_ready_with_its_profile_set_and_its_files_for_their_owner_only(
    world: World, run: Process
) -> None:
    checks = {"database": "ok", "telegram": "ok", "workers": "ok"}
    told = {"status": "ok", "checks": checks, "role": "all", "lead": True}
    assert await ready(run) == (200, told)
    await world.wait_for(lambda: world.calls_of("setMyShortDescription"), PATIENCE)
    names = {"bot.db", "bot.db-shm", "bot.db-wal", "bot.key"}
    assert modes(run.database.parent) == dict.fromkeys(names, 0o600)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@BESIDE
async def test_a_sale_is_in_the_metrics_and_in_the_audit_log(world: World, run: Process) -> None:
    """Each change by who made it: the seller asked, the bot's application did."""
    before = await metrics(run)
    sam = await seller_with_destination(world)
    card = await sam.card("/drop 3 5 USD Mug", "Mug")
    await sam.alert(pay(link_of(card)))
    await sam.press(card, "Pause", "Paused")
    found = await metrics(run)

    def since(name: str) -> float:
        return found.get(name, 0) - before.get(name, 0)

    for name, times in {
        "payment_requests_total created limit": 1,
        "payments_total paid": 1,
        "delivery_attempts_total webhook delivered": 1,
        "payments_told_total webhook": 1,
        "telegram_messages_total alert sendMessage sent": 1,
        "telegram_messages_total reply sendPhoto sent": 1,
    }.items():
        assert since(name) == times, (name, found)
    assert since("http_requests_total GET 200") >= 2
    assert since("telegram_updates_total message") == 3
    assert since("telegram_updates_total callback_query") == 3
    assert since("telegram_updates_handled_total done") == 6

    request, person = link_of(card).rpartition("/")[2], f"seller {sam.person.id}"
    lines = await listed(run, "audit", "--subject", request)
    assert [(line["what"], line["name"] or line["who"]) for line in lines] == [
        ("request.edited", "bot"),
        ("request.stop-asked", person),
        ("request.made", person),
        ("request.created", "bot"),
    ]
    (asked,) = await listed(run, "audit", "--subject", lines[2]["details"]["listing"])
    assert (asked["what"], asked["who"], asked["details"]["to"]) == (
        "request.asked", person, "$anna",
    )  # fmt: skip
    (changed,) = await listed(run, "audit", "--subject", str(sam.person.id))
    assert (changed["what"], changed["details"]) == (
        "destination.changed", {"destination": [None, "$anna"]},
    )  # fmt: skip
    table = await order(run, "audit", "--limit", "2")
    assert len(table) == 3
    assert table[0].split() == ["TIME", "WHO", "WHAT", "SUBJECT", "DETAILS"]


@BESIDE
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Fault("error", "sendMessage", code=429, retry_after=1), "throttled"),
        (Fault("cut", "sendMessage"), "unclear"),
        (Fault("drop", "sendMessage"), "unclear"),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
async def test_calls_that_telegram_refuses_are_counted_by_outcome(
    world: World, run: Process, fault: Fault, outcome: str
) -> None:
    before = await metrics(run)
    sam = await seller_with_destination(world)
    world.faults.add(fault)
    await sam.say("/help", "In one line")
    failed = f"telegram_messages_total reply sendMessage {outcome}"
    repeated = "telegram_messages_total reply sendMessage repeated"

    async def counted() -> bool:
        found = await metrics(run)
        news = [found.get(name, 0) - before.get(name, 0) for name in (failed, repeated)]
        return news == [1, float(outcome == "unclear")]

    await until(counted)


@BESIDE
async def test_every_queue_is_in_the_metrics_even_while_empty(run: Process) -> None:
    """Or an alarm for one that grows would have nothing to begin with."""
    async with patient_client(run.url) as http:
        text = (await http.get("/metrics")).text
    queues = (
        *("answers", "jobs", "looks", "messages", "openings", "photos", "updates"),
        *("webhooks", "own_webhooks"),
    )
    for queue in queues:
        assert f'outbox_messages{{queue="{queue}",state="dead"}} 0.0' in text
        assert f'outbox_oldest_due_seconds{{queue="{queue}"}} ' in text


@BESIDE
async def test_retry_sends_again_what_was_delivered(world: World, run: Process) -> None:
    """The bot's own receiver takes it twice and tells the seller once."""
    sam = await seller_with_destination(world)
    link = link_of(await sam.card("/donation 5 USD Coffee", "Coffee"))
    await sam.alert(pay(link))
    request = link.rpartition("/")[2]
    await in_state(run, request, "done")
    (entry,) = [one for one in await listed(run, "deliveries", "list") if one["request"] == request]
    assert entry["state"] == "delivered"
    retried = await order(run, "deliveries", "retry", entry["id"])
    assert retried == [f"{entry['id']} is waiting"]
    await run.line('"fresh": false')
    await in_state(run, request, "done")
    await sam.say("/help", "In one line")
    assert len(sam.alerts) == 1


async def in_state(run: Process, request_id: str, state: str) -> str:
    """Wait until the delivery of this request is in that state of the outbox; its id."""
    sql = (
        "SELECT d.id FROM deliveries d JOIN outbox o ON o.id = d.id"
        f" WHERE d.request_id = '{request_id}' AND o.state = '{state}'"
    )

    async def there() -> bool:
        return run.rows(sql) != []

    await until(there)
    ((delivery,),) = run.rows(sql)
    return str(delivery)


@BESIDE
async def test_doctor_has_nothing_to_fix_in_a_running_bot(
    running: tuple[ProductSetup, Process],
) -> None:
    stage, run = running
    settings = {**stage.settings, "PORT": run.port, "PUBLIC_URL": run.url}
    code, out, err = await run_command(stage.folder, "doctor", **settings)
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


@BESIDE
async def test_it_stays_ready_but_degraded_while_telegram_is_away(
    world: World, run: Process
) -> None:
    """Payers go on paying; what is to be told waits in the outbox.

    A success of the start is believed first, for `FRESH_SECONDS`.
    """
    fault = world.faults.add(Fault("error", "getMe", code=502, times=10_000))

    async def noticed() -> bool:
        return bool((await ready(run))[1]["status"] == "degraded")

    await until(noticed, FRESH_SECONDS + PATIENCE)
    code, told = await ready(run)
    assert (code, told["status"]) == (200, "degraded")
    assert told["checks"] == {"database": "ok", "workers": "ok", "telegram": "NetworkError"}
    calls = len(world.calls_of("getMe"))
    assert (await ready(run))[1] == told
    assert len(world.calls_of("getMe")) == calls
    assert fault in world.faults.planned
    world.faults.clear()


def heaps_of_threads(pid: int) -> int:
    """Count the heaps beside the process's own: a used part, and behind it the reserved rest."""
    maps = Path(f"/proc/{pid}/maps").read_text("utf-8")
    ends: dict[int, int] = {}
    found = 0
    for line in maps.splitlines():
        first, mode, *_, inode = line.split()[:5]
        begin, end = (int(one, 16) for one in first.split("-"))
        if inode == "0" and mode == "rw-p" and begin % HEAP == 0:
            ends[end] = begin
        elif mode == "---p" and begin in ends:
            found += end == ends[begin] + HEAP
    return found


@BESIDE
async def test_all_threads_share_one_heap(run: Process) -> None:
    """Each would keep the most that its thread ever needed: 55 MiB after six minutes of floods."""
    assert heaps_of_threads(run.child.pid) == 0


@BESIDE
async def test_json_logs_are_one_object_a_line(
    running: tuple[ProductSetup, Process],
) -> None:
    """Foreseen trouble included: what Telegram refused in the tests above are lines as well."""
    _, run = running
    assert await run.stop() == 0
    entries: list[dict[str, Any]] = [json.loads(line) for line in run.err]
    assert {"event", "level", "timestamp"} <= set.intersection(*map(set, entries))
    events = {entry["event"] for entry in entries}
    assert {"ready", "telegram call failed", "payment received", "stopped"} <= events
    assert [it["money"] for it in entries if it["event"] == "ready"] == ["sandbox"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Process]:
    """Run the payment service alone while the commands run."""
    folder = tmp_path_factory.mktemp("service")
    async with start_bot(folder, "service", WEBHOOK_ALLOW="127.0.0.1") as run:
        yield await run.ready()


async def create(service: Process) -> dict[str, str]:
    keys = await create_application(service.database.parent)
    service.secrets |= {keys["APP_SECRET"], keys["WEBHOOK_SECRET"]}
    return keys


async def rotate(service: Process, app_id: str, *options: str) -> dict[str, str]:
    code, out, _ = await run_command(service.database.parent, "apps", "rotate", app_id, *options)
    assert code == 0
    keys = dict(line.split("=", 1) for line in out)
    service.secrets |= set(keys.values()) - {app_id}
    return keys


async def call(service: Process, keys: dict[str, str], **fields: Any) -> httpx.Response:
    async with patient_client(service.url, app_headers(keys)) as http:
        address = "/v3/paymentRequests"
        return await http.post(address, json=NEW | fields) if fields else await http.get(address)


@BESIDE
async def test_apps_are_created_rotated_and_revoked_beside_the_service(service: Process) -> None:
    """Credentials are printed once, work at once, and stop working at once, or after an overlap."""
    keys = await create(service)
    assert list(keys) == ["APP_ID", "APP_SECRET", "WEBHOOK_SECRET"]
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{32}", keys["WEBHOOK_SECRET"])
    assert (await call(service, keys)).status_code == 200
    entry = (await listed(service, "apps", "list"))[-1]
    assert (list(entry), entry["id"], entry["name"]) == (FIELDS, keys["APP_ID"], "shop")
    assert datetime.fromisoformat(entry["created"]).utcoffset() is not None
    table = await order(service, "apps", "list")
    assert table[0].split() == [name.upper() for name in FIELDS]
    assert keys["APP_SECRET"] not in "\n".join(table)

    rotated = await rotate(service, keys["APP_ID"])
    assert rotated["APP_ID"] == keys["APP_ID"]
    assert rotated["APP_SECRET"] != keys["APP_SECRET"]
    assert [(await call(service, one)).status_code for one in (keys, rotated)] == [200, 200]
    newest = await rotate(service, keys["APP_ID"], "--now")
    assert [(await call(service, one)).status_code for one in (keys, rotated)] == [401, 401]
    assert (await call(service, newest)).status_code == 200

    revoke = ("apps", "revoke", keys["APP_ID"])
    assert await order(service, *revoke, "--yes") == [f"revoked {keys['APP_ID']}"]
    assert (await call(service, newest)).status_code == 401
    entry = (await listed(service, "apps", "list"))[-1]
    assert (entry["id"], entry["revoked"] is not None) == (keys["APP_ID"], True)


@BESIDE
async def test_a_delivery_that_waits_for_its_next_attempt_is_sent_at_once(service: Process) -> None:
    """It is listed and shown with its reason."""
    keys = await create(service)
    async with open_receiver() as receiver:
        receiver.answers = [empty_answer(503, "Retry-After: 3600")]
        hook = {"webhookUrl": receiver.url, "customParameters": {"a": 1}}
        made = (await call(service, keys, notifications={"webhook": hook})).json()
        paid = await pay(made["paymentRequestUrl"])

        await until_noted(service, "answered 503")
        (entry,) = await listed(service, "deliveries", "list")
        assert list(entry)[:6] == ["id", "request", "address", "state", "attempts", "next"]
        assert list(entry)[6:] == [
            *("channel", "transaction", "checkout", "created", "settled", "note")
        ]
        assert (entry["request"], entry["address"]) == (made["id"], receiver.url)
        assert (entry["state"], entry["attempts"]) == ("waiting", 1)
        table = await order(service, "deliveries", "list")
        assert table[0].split() == ["ID", "REQUEST", "ADDRESS", "STATE", "ATTEMPTS", "NEXT"]
        lines = await order(service, "deliveries", "show", entry["id"])
        shown = dict(line.split(None, 1) for line in lines)
        assert shown["transaction:"] == paid.headers["location"].rpartition("/")[2]
        assert shown["channel:"] == "webhook"
        assert re.fullmatch(r"1 at \S+\+00:00, 503 after \d+ ms", shown["attempt:"])
        assert shown["note:"] == "answered 503"
        retried = await order(service, "deliveries", "retry", entry["id"])
        assert retried == [f"{entry['id']} is waiting"]
        assert await in_state(service, made["id"], "done") == entry["id"]
    await order(service, "deliveries", "retry", entry["id"])  # nobody listens there any more
    await until_noted(service, "ConnectError%")
    lines = await order(service, "deliveries", "show", entry["id"])
    assert re.search(r"3 at \S+, no answer after \d+ ms", "\n".join(lines))
    (trouble,) = [line.split(None, 1)[1] for line in lines if line.startswith("trouble:")]
    assert trouble.startswith("ConnectError")


async def until_noted(service: Process, note: str) -> None:
    """Wait until a message of the outbox has a note like this."""

    async def noted() -> bool:
        return service.rows(f"SELECT 1 FROM outbox WHERE note LIKE '{note}'") != []

    await until(noted)


@BESIDE
async def test_an_answer_is_shown_without_terminal_control_characters(service: Process) -> None:
    """Its first lines, of every attempt; the list is narrowed to a state."""
    keys = await create(service)
    nasty = b"\x1b]0;owned\x07\r\n\r\n\x1b[2Jsecond\nthird\nfourth"
    async with open_receiver() as receiver:
        head = b"HTTP/1.1 410 X\r\nContent-Length: %d\r\n\r\n" % len(nasty)
        receiver.answers = [head + nasty]
        hook = {"webhookUrl": f"{receiver.url}?key=word"}
        made = (await call(service, keys, notifications={"webhook": hook})).json()
        await pay(made["paymentRequestUrl"])
        delivery = await in_state(service, made["id"], "dead")
        for state in ("dead", "waiting"):
            entries = await listed(service, "deliveries", "list", "--state", state)
            assert (delivery in {one["id"] for one in entries}) == (state == "dead")
        await order(service, "deliveries", "retry", delivery)
        await in_state(service, made["id"], "done")
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
async def test_doctor_has_nothing_to_fix_in_a_service_that_runs_alone(service: Process) -> None:
    """Without the option, the missing token is its only finding, which names the option."""
    folder, given = service.database.parent, {"PORT": service.port, "PUBLIC_URL": service.url}
    code, out, err = await run_command(folder, "doctor", "--service", **given)
    assert (code, err) == (0, [])
    assert [line[:4] for line in out] == ["ok  "] * len(out)
    assert f"ok   server: answers at {service.url}" in out
    code, out, err = await run_command(folder, "doctor", **given)
    (told,) = [line for line in out if line.startswith("FIX ")]
    assert (code, err, told.startswith("FIX  BOT_TOKEN: not set: ")) == (1, [], True)
    assert "doctor --service" in told


async def test_a_queue_without_a_worker_makes_it_not_ready(tmp_path: Path) -> None:
    settings = config.load(database_url=f"sqlite:///{tmp_path}/bot.db", port=int(free_port()))
    application = Application(settings, chat=False)
    serving = asyncio.create_task(application.serve())
    url = f"http://127.0.0.1:{settings.port}"

    async def answers() -> bool:
        return await status(f"{url}/readyz") == 200

    await until(answers)
    application._parts.working["webhooks"].cancel()
    await asyncio.gather(application._parts.working["webhooks"], return_exceptions=True)
    async with patient_client() as http:
        answer = await http.get(f"{url}/readyz")
    assert (answer.status_code, answer.json()["checks"]["workers"]) == (503, "ended: webhooks")
    application.stop()
    await serving


async def test_exchange_rates_are_there_at_once_and_outlive_a_kill_and_their_sources(
    tmp_path: Path,
) -> None:
    bodies = (coinbase(EUR="72000", USD="80000"), kraken(EUR="72100"), yadio(EUR="72200"))
    async with serve_sources(*bodies) as found:
        settings = {
            "RAILS": "lightning,bank",
            "RATES_URLS": ",".join(one.url for one in found),
            "PUBLIC_URL": "https://pay.example.org",
        }

        async def usable(service: Process) -> bool:
            return (await metrics(service)).get("exchange_rates_usable_currencies") == 1

        async with started_bot(tmp_path, "service", **settings) as service:
            await until(lambda: usable(service))
            assert [one.asked for one in found] == [1, 1, 1]
            await service.stop(signal.SIGKILL)
        for one in found:
            one.status = 503
        async with started_bot(tmp_path, "service", **settings) as again:
            assert await usable(again)
