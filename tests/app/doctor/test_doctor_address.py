"""The doctor checks that the public address leads to this very bot, and safely."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot import config
from bot.app.doctor import outside_checks
from bot.app.doctor.examination import examine
from bot.app.doctor.findings import Finding
from tests.support.asgi_server import make_certificate, open_tcp_relay
from tests.support.command_line import start_once
from tests.support.free_ports import free_port
from tests.support.http_peers import http_response, open_scripted_server
from tests.support.product_process import Process, run_command, start_bot, started_bot

REFUSED = "no connection (ConnectError); check the proxy or the tunnel"
SHARED_LOOP = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Process]:
    """A running payment service, whose database the doctor opens too."""
    async with start_bot(tmp_path_factory.mktemp("service"), "service") as run:
        yield await run.ready()


async def examined(service: Process, url: str, **given: object) -> dict[str, Finding]:
    settings = config.load(
        database_url=f"sqlite:///{service.database}",
        **{"port": int(service.port), "public_url": url, **given},
    )
    return {finding.name: finding for finding in await examine(settings)}


@pytest.mark.long
@SHARED_LOOP
async def test_an_address_that_leads_here_is_ok(service: Process) -> None:
    port = free_port()
    async with open_tcp_relay(service.port, port):
        found = await examined(service, f"http://127.0.0.1:{port}", metrics_token="t")
    assert (found["server"].ok, found["PUBLIC_URL"].ok) == (True, True)
    assert "METRICS_TOKEN" not in found


@pytest.mark.long
@SHARED_LOOP
async def test_another_site_at_the_address_is_recognized(service: Process, tmp_path: Path) -> None:
    """One that answers 200 to everything, and another bot, whose deployment has another name."""
    everything = [http_response(200, {"status": "ok"})] * 2
    async with open_scripted_server(*everything) as other:
        found = await examined(service, other.url)
    text = f"running, but {other.url} doesn't lead to it: something else answers there (200)"
    assert (found["server"].ok, found["server"].text.startswith(text)) == (False, True)
    async with started_bot(tmp_path, "service") as bot:
        found = await examined(service, bot.url)
    assert "something else answers there" in found["server"].text


@SHARED_LOOP
async def test_another_program_at_our_own_port_is_reported(service: Process) -> None:
    async with open_scripted_server(*[http_response(200, {"status": "ok"})] * 2) as other:
        found = await examined(service, other.url, port=other.port)
    assert not found["server"].ok
    assert found["server"].text.startswith(f"another program answers at port {other.port}")


@SHARED_LOOP
async def test_an_address_without_an_answer_is_reported(
    service: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    found = await examined(service, url)
    assert found["server"].text.endswith(REFUSED)
    monkeypatch.setattr(outside_checks, "ASK_SECONDS", 0.3)
    async with open_scripted_server() as silent:
        found = await examined(service, silent.url)
    assert "no answer in time (ReadTimeout)" in found["server"].text


@SHARED_LOOP
async def test_metrics_that_anyone_can_read_are_reported(service: Process) -> None:
    """To the bot, a proxy on this machine that adds no header looks like the operator."""
    port = free_port()
    async with open_tcp_relay(service.port, port):
        found = await examined(service, f"http://127.0.0.1:{port}")
    assert found["server"].ok
    assert found["METRICS_TOKEN"].text.startswith(f"anyone can read http://127.0.0.1:{port}/me")


@pytest.mark.long
@SHARED_LOOP
async def test_a_certificate_must_be_trusted_and_valid_for_some_days(
    service: Process, tmp_path: Path
) -> None:
    port = free_port()
    pem = await asyncio.to_thread(make_certificate, tmp_path)
    settings = {
        "DATABASE_URL": f"sqlite:///{service.database}", "PORT": service.port,
        "PUBLIC_URL": f"https://127.0.0.1:{port}", "METRICS_TOKEN": "a-token-of-the-test",
    }  # fmt: skip
    lines = []
    async with open_tcp_relay(service.port, port, pem):
        for trusted in ({}, {"SSL_CERT_FILE": str(pem)}):
            _, out, _ = await run_command(tmp_path, "doctor", **settings, **trusted)
            lines += [line for line in out if " server: " in line]
    untrusted, expiring = lines
    assert untrusted.startswith("FIX  server: running, but https://127.0.0.1")
    assert "its certificate isn't trusted (self-signed certificate): renew" in untrusted
    assert expiring.endswith("expires in 0 days: check its renewal")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://pay.example.org", "isn't https"),
        ("http://8.8.8.8", "isn't https"),
        ("http://10.1.2.3:8080", None),
        ("http://shop", "has no dot"),
        ("https://pay.example.invalid", "pay.example.invalid isn't in the DNS"),
    ],
)
async def test_the_form_of_the_public_address_is_checked(
    tmp_path: Path, url: str, problem: str | None
) -> None:
    settings = config.load(
        database_url=f"sqlite:///{tmp_path}/bot.db", port=int(free_port()), public_url=url
    )
    (found,) = [one for one in await examine(settings) if one.name == "PUBLIC_URL"]
    assert (found.ok, (problem or url) in found.text) == (problem is None, True)


async def test_a_key_that_other_users_can_read_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "my shop"
    settings = config.load(database_url=f"sqlite:///{folder}/bot.db", port=int(free_port()))
    start_once(settings.database_url)
    assert "SECRET_KEY" not in {one.name for one in await examine(settings)}
    os.chmod(folder / "bot.key", 0o640)  # noqa: PTH101 - no wait for a file of the test
    found = {one.name: one for one in await examine(settings)}
    assert found["SECRET_KEY"].text.endswith(f"chmod 600 '{folder}/bot.key'")
