"""What the doctor says of the public address: whether it leads to this very bot, and safely."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio

from bot import config
from bot.wiring.doctor import address
from bot.wiring.doctor.examination import examine
from tests.support.certificates import certificate
from tests.support.product_process import Process, free_port, process, run_command
from tests.support.scripted_server import http_response, listening_peer
from tests.support.tcp_relay import relayed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bot.wiring.doctor.finding import Finding

REFUSED = "no connection (ConnectError); look at the proxy or the tunnel"
BESIDE = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Process]:
    """The payment service at work, with a database that the doctor looks into."""
    async with process(tmp_path_factory.mktemp("service"), "service") as run:
        yield await run.ready()


async def examined(service: Process, url: str, **given: object) -> dict[str, Finding]:
    settings = config.load(
        database_url=f"sqlite:///{service.database}",
        **{"port": int(service.port), "public_url": url, **given},
    )
    return {finding.name: finding for finding in await examine(settings)}


@BESIDE
async def test_an_address_that_leads_here_is_well(service: Process) -> None:
    port = free_port()
    async with relayed(service.port, port):
        found = await examined(service, f"http://127.0.0.1:{port}", metrics_token="t")
    assert (found["server"].well, found["PUBLIC_URL"].well) == (True, True)
    assert "METRICS_TOKEN" not in found


@BESIDE
async def test_another_site_that_answers_there_is_no_bot_of_ours(
    service: Process, tmp_path: Path
) -> None:
    """Though it says 200 to everything; nor is another bot, whose name is not ours."""
    everything = [http_response(200, {"status": "ok"})] * 2
    async with listening_peer(*everything) as other:
        found = await examined(service, other.url)
    text = f"runs, but {other.url} does not lead to it: something else answers there (200)"
    assert (found["server"].well, found["server"].text.startswith(text)) == (False, True)
    async with process(tmp_path, "service") as bot:
        await bot.ready()
        found = await examined(service, bot.url)
    assert "something else answers there" in found["server"].text


@BESIDE
async def test_another_program_at_our_own_port_is_told(service: Process) -> None:
    async with listening_peer(*[http_response(200, {"status": "ok"})] * 2) as other:
        found = await examined(service, other.url, port=other.port)
    assert not found["server"].well
    assert found["server"].text.startswith(f"another program answers at port {other.port}")


@BESIDE
async def test_an_address_where_nobody_answers_is_told(
    service: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    found = await examined(service, url)
    assert found["server"].text.endswith(REFUSED)
    monkeypatch.setattr(address, "PATIENCE", httpx.Timeout(3.0))
    async with listening_peer() as silent:
        found = await examined(service, silent.url)
    assert "no answer in time (ReadTimeout)" in found["server"].text


@BESIDE
async def test_figures_that_everybody_may_read_are_told(service: Process) -> None:
    """A proxy on this machine that adds no header looks like ourselves to the bot."""
    port = free_port()
    async with relayed(service.port, port):
        found = await examined(service, f"http://127.0.0.1:{port}")
    assert found["server"].well
    assert found["METRICS_TOKEN"].text.startswith(f"everybody may read http://127.0.0.1:{port}/me")


@BESIDE
async def test_a_certificate_is_held_to_who_trusts_it_and_how_long(
    service: Process, tmp_path: Path
) -> None:
    port = free_port()
    pem = await asyncio.to_thread(certificate, tmp_path)
    settings = {
        "DATABASE_URL": f"sqlite:///{service.database}", "PORT": service.port,
        "PUBLIC_URL": f"https://127.0.0.1:{port}", "METRICS_TOKEN": "a-token-of-the-test",
    }  # fmt: skip
    said = []
    async with relayed(service.port, port, pem):
        for trusted in ({}, {"SSL_CERT_FILE": str(pem)}):
            _, out, _ = await run_command(tmp_path, "doctor", **settings, **trusted)
            said += [line for line in out if " server: " in line]
    strange, short = said
    assert strange.startswith("MEND server: runs, but https://127.0.0.1")
    assert "its certificate is not trusted (self-signed certificate): renew" in strange
    assert short.endswith("ends in 0 days: see why it is not renewed")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://pay.example.org", "is not https"),
        ("http://8.8.8.8", "is not https"),
        ("http://10.1.2.3:8080", None),
        ("http://shop", "has no dot"),
        ("https://pay.example.invalid", "name servers know no pay.example.invalid"),
    ],
)
async def test_the_shape_of_the_public_address_is_judged(
    tmp_path: Path, url: str, told: str | None
) -> None:
    settings = config.load(
        database_url=f"sqlite:///{tmp_path}/bot.db", port=int(free_port()), public_url=url
    )
    (found,) = [one for one in await examine(settings) if one.name == "PUBLIC_URL"]
    assert (found.well, (told or url) in found.text) == (told is None, True)


async def test_the_key_beside_the_database_is_for_nobody_else(tmp_path: Path) -> None:
    settings = config.load(database_url=f"sqlite:///{tmp_path}/bot.db", port=int(free_port()))
    assert "SECRET_KEY" not in {one.name for one in await examine(settings)}
    os.chmod(tmp_path / "bot.key", 0o640)  # noqa: PTH101 - no wait for a file of the test
    found = {one.name: one for one in await examine(settings)}
    assert found["SECRET_KEY"].text.endswith(f"chmod 600 {tmp_path}/bot.key")
