"""What operators see of the running product: metrics, readiness, the audit log."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot import config
from bot.app.application import Application
from bot.sandbox.world.errors import Fault
from tests.support.free_ports import free_port
from tests.support.product_process import (
    Process,
    patient_client,
    run_command,
    running_product,
    status,
    until,
)
from tests.support.sellers_and_payers import link_of, pay, seller_with_destination

if TYPE_CHECKING:
    from bot.sandbox.world.world import World


BESIDE = pytest.mark.asyncio(loop_scope="module")


async def metrics(run: Process) -> dict[str, float]:
    """Return the samples above zero, by name and sorted labels."""
    async with patient_client() as http:
        answer = await http.get(f"{run.url}/metrics")
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
    async with patient_client() as http:
        answer = await http.get(f"{run.url}/readyz")
    return answer.status_code, answer.json()


async def answered(run: Process, name: str) -> tuple[int, dict[str, Any]]:
    """Wait until /readyz knows the answer of another server; return what it shows."""

    async def looked() -> bool:
        return bool((await ready(run))[1]["checks"][name] != "no answer yet")

    await until(looked)
    return await ready(run)


async def audited(folder: Path, *options: str) -> list[dict[str, Any]]:
    code, out, err = await run_command(folder, "audit", "--json", *options)
    assert (code, err) == (0, [])
    return [json.loads(line) for line in out]


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

    folder, request = run.database.parent, link_of(card).rpartition("/")[2]
    lines = await audited(folder, "--subject", request)
    person = f"seller {sam.person.id}"
    assert [(line["what"], line["name"] or line["who"]) for line in lines] == [
        ("request.edited", "bot"),
        ("request.stop-asked", person),
        ("request.made", person),
        ("request.created", "bot"),
    ]
    (asked,) = await audited(folder, "--subject", lines[2]["details"]["listing"])
    assert (asked["what"], asked["who"], asked["details"]["to"]) == (
        "request.asked", person, "$anna",
    )  # fmt: skip
    (changed,) = await audited(folder, "--subject", str(sam.person.id))
    assert (changed["what"], changed["details"]) == (
        "destination.changed", {"destination": [None, "$anna"]},
    )  # fmt: skip


@BESIDE
async def test_the_audit_log_is_a_table_for_people(run: Process) -> None:
    code, out, err = await run_command(run.database.parent, "audit", "--limit", "2")
    assert (code, err, len(out)) == (0, [], 3)
    assert out[0].split() == ["TIME", "WHO", "WHAT", "SUBJECT", "DETAILS"]
    (first,) = (await audited(run.database.parent))[-1:]
    assert (first["who"], first["what"], first["details"]) == (
        "system", "app.created", {"name": "bot"},
    )  # fmt: skip


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
    async with patient_client() as http:
        text = (await http.get(f"{run.url}/metrics")).text
    queues = (
        *("answers", "jobs", "looks", "messages", "openings", "photos", "updates"),
        *("webhooks", "own_webhooks"),
    )
    for queue in queues:
        assert f'outbox_messages{{queue="{queue}",state="dead"}} 0.0' in text
        assert f'outbox_oldest_due_seconds{{queue="{queue}"}} ' in text


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


async def test_it_stays_ready_but_degraded_while_telegram_is_away(tmp_path: Path) -> None:
    """Payers go on paying; what is to be told waits in the outbox."""
    async with running_product(tmp_path) as (stage, run):
        stage.world.faults.add(Fault("error", "getMe", code=502, times=9))

        async def noticed() -> bool:
            return bool((await ready(run))[1]["status"] == "degraded")

        await until(noticed)
        code, told = await ready(run)
        assert (code, told["status"]) == (200, "degraded")
        assert told["checks"] == {"database": "ok", "workers": "ok", "telegram": "NetworkError"}
        calls = len(stage.world.calls_of("getMe"))
        assert (await ready(run))[1] == told
        assert len(stage.world.calls_of("getMe")) == calls


async def test_readyz_names_a_mail_server_that_is_away(tmp_path: Path) -> None:
    """By the error's name alone: its address may have a password in it."""
    mail = {"SMTP_URL": "smtp://shop:geheim-pass@127.0.0.1:1", "SMTP_FROM": "a@example.org"}
    async with running_product(tmp_path, **mail) as (_, run):
        code, told = await answered(run, "mail")
    assert (code, told["checks"]["mail"]) == (200, "MailRefused")
    assert "geheim" not in json.dumps(told)


async def test_readyz_names_a_payment_server_that_is_away(tmp_path: Path) -> None:
    elsewhere = {"PAYMENTS_URL": "http://127.0.0.1:1", "APP_ID": "a", "APP_SECRET": "geheim-word"}
    async with running_product(tmp_path, **elsewhere) as (_, run):
        code, told = await answered(run, "payments")
    assert (code, told["status"]) == (200, "degraded")
    assert told["checks"]["payments"] == "NotReached"
