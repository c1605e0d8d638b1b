"""Where the bot listens, and the addresses that it names: HOST, PORT and PUBLIC_URL."""

from __future__ import annotations

import re
import socket
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.free_ports import free_port
from tests.support.product_process import (
    foreign_service,
    patient_client,
    run_command,
    start_bot,
    status,
)
from tests.support.service_harness import DROP, NEW, REQUESTS_PATH

V4, V6 = "127.0.0.1", "[::1]"


@pytest.mark.parametrize(
    ("host", "named", "answering"),
    [
        ("::", V4, (V4, V6)),
        ("::1", V6, (V6,)),
        ("[::1]", V6, (V6,)),
        ("localhost", "localhost", (V4, V6)),
        ("0.0.0.0", V4, (V4,)),
    ],
)
async def test_it_listens_at_each_address_of_host_and_names_one_of_them(
    tmp_path: Path, host: str, named: str, answering: tuple[str, ...]
) -> None:
    """A caller over IPv4 is one to `/metrics` and to trusted proxies, whatever HOST is."""
    async with start_bot(tmp_path, "service", HOST=host, PUBLIC_URL="") as run:
        await run.ready()
        assert f"address=http://{named}:{run.port} " in await run.line("money=") + " "
        for address in (V4, V6):
            expected = 200 if address in answering else 0
            assert await status(f"http://{address}:{run.port}/metrics") == expected
        given = {"HOST": host, "PORT": run.port}
        code, out, err = await run_command(tmp_path, "doctor", **given)
    assert (code, err) == (1, [])
    assert f"ok   server: answers at http://{named}:{run.port}" in out


@pytest.mark.parametrize(
    ("family", "taken", "host"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET, "127.0.0.1", "::"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET6, "::1", "localhost"),
    ],
)
async def test_a_taken_port_ends_it_with_2_and_a_fix(
    tmp_path: Path, family: int, taken: str, host: str
) -> None:
    port = int(free_port())
    with closing(socket.create_server((taken, port), family=family)):
        code, out, err = await run_command(tmp_path, "service", HOST=host, PORT=str(port))
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    reason = f"PORT: can't listen on {where} (Address already in use)"
    assert (code, out, err[-1:]) == (2, [], [f"{reason}: choose another port, such as PORT=8081"])


async def test_the_demo_works_over_ipv6_alone(tmp_path: Path) -> None:
    async with start_bot(tmp_path, "demo", "--no-browser", HOST="::1") as run:
        await run.ready()
        page = f"http://[::1]:{run.port}/chat"
        assert await run.line("Chat with the bot:") == f"  Chat with the bot: {page}"
        assert await status(page) == 200


async def test_a_slash_at_the_end_is_redirected_for_the_chats_addresses_too(tmp_path: Path) -> None:
    """They are added to the service's routes: sellers' pictures, and the demo's page."""
    async with start_bot(tmp_path, "demo", "--no-browser") as run:
        await run.ready()
        async with patient_client(run.url) as http:
            for path in ("/images/7", "/chat"):
                answer = await http.get(f"{path}/")
                assert (answer.status_code, answer.headers["location"]) == (308, path)


async def test_a_public_url_in_capitals_is_https_to_links_and_cookies(tmp_path: Path) -> None:
    async with foreign_service(tmp_path, PUBLIC_URL="HTTPS://Pay.Example.ORG/") as (run, keys):
        named = {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}
        async with patient_client(run.url) as http:
            made = await http.post(REQUESTS_PATH, json=NEW | DROP, headers=named)
            link = made.json()["paymentRequestUrl"]
            assert re.fullmatch(r"https://pay\.example\.org/pay/[0-9a-f]{24}", link)
            page = await http.get(link.removeprefix("https://pay.example.org"))
        assert page.headers["set-cookie"].endswith("; Secure")


@pytest.mark.parametrize("command", ["service", "run", "doctor"])
async def test_a_path_in_public_url_is_refused(tmp_path: Path, command: str) -> None:
    """Behind a proxy that strips it, pages and pictures would be 404."""
    given = {"BOT_TOKEN": "42:token-of-a-test", "PUBLIC_URL": "https://example.org/shop"}
    code, out, err = await run_command(tmp_path, command, **given)
    assert (code, out, len(err)) == (2, [], 1)
    assert err[0].startswith("PUBLIC_URL: write the address without a path: ")
