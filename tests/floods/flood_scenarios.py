"""The floods by name: the people, their acts and their rate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx

from tests.floods import drop_crowd, mail_bomb
from tests.floods.attack_commands import attack, hammer
from tests.floods.payer_clients import browser
from tests.floods.scenario_run import Found, Scenario, Stage

CHATTY_PEOPLE = 100
ROOMS = 200
EVERY = 1.0
QUERIES = 200.0
INLINE_ACCOUNTS = (1, 50)
ANSWER_SECONDS = 0.1
PIPELINES = 1000
PIPELINE_BYTES = 256 * 1024
LARGE_PIPELINES = 8
LARGE_PIPELINE_BYTES = 4_500_000
CONNECTIONS = 1500
POST = Path(__file__).with_name("wrk_post.lua")


async def _invite_people(stage: Stage) -> None:
    await stage.telegram.ask("invite", number=CHATTY_PEOPLE)


async def _invite_rooms(stage: Stage) -> None:
    await stage.telegram.ask("invite", number=1, groups=ROOMS)


async def told_of(stage: Stage, seconds: float, name: str, **given: object) -> Found:
    """Run a command of the Bot API server that floods, and count the calls meanwhile."""
    before = await stage.telegram.ask("counts")
    await stage.telegram.ask(name, **given)
    try:
        await asyncio.sleep(seconds)
    finally:
        await stage.telegram.ask("calm")
    after = await stage.telegram.ask("counts")
    methods = ("sendMessage", "answerInlineQuery", "refused")
    grown = {name: after.get(name, 0) - before.get(name, 0) for name in methods}
    return _counted(grown)


async def chatty(stage: Stage, seconds: float) -> Found:
    """Ask for help once a second as each of a hundred people."""
    return await told_of(stage, seconds, "chatty", every=EVERY)


async def groups(stage: Stage, seconds: float) -> Found:
    """Ask for help once a second in each of two hundred groups, as one person."""
    return await told_of(stage, seconds, "groups", every=EVERY)


def inline(accounts: int) -> Callable[[Stage, float], Coroutine[Any, Any, Found]]:
    """Return the flood of searches by so many accounts, while Telegram answers slowly."""

    async def flood(stage: Stage, seconds: float) -> Found:
        given = {"rate": QUERIES, "accounts": accounts, "answer_seconds": ANSWER_SECONDS}
        return await told_of(stage, seconds, "inline", **given)

    return flood


async def addresses(stage: Stage, seconds: float) -> Found:
    """Ask for every public address in turn, as fast as sixteen connections can."""
    paths = await public_addresses(stage)
    for path in paths:
        script = POST if path == "/v3/paymentRequests" else None
        await hammer(stage.server.url + path, seconds / len(paths), script)
    return Found(f"{len(paths)} addresses")


async def public_addresses(stage: Stage) -> list[str]:
    """Return the paths that anybody can ask for; a payment has to be made by then."""
    page = stage.pages[0]
    request_id = page.rpartition("/")[2]
    receipt = next(one.receipt for one in stage.payers.made if one.status == httpx.codes.SEE_OTHER)
    return [
        *("/docs", "/openapi.json", page, f"{page}/live", f"{page}/card.png"),
        *(f"/qr/{request_id}.png", f"/qr/{request_id}.svg", await _picture(stage)),
        *("/livez", "/readyz", "/", "/there/is/nothing", receipt),
        *(f"/v3/paymentRequests/public/{request_id}", "/v3/paymentRequests"),
    ]


async def _picture(stage: Stage) -> str:
    """Return the address of a seller's picture."""
    page = await stage.telegram.ask("guided")
    async with browser(stage.server.url, "127.8.0.1") as http:
        text = (await http.get(page)).text
    return "/images/" + text.partition("/images/")[2].partition('"')[0]


async def pipelines(stage: Stage, seconds: float) -> Found:
    """Open a thousand connections that send requests and never read."""
    url = stage.server.url + stage.pages[0]
    return _counted(await attack("pipelines", url, seconds, PIPELINES, PIPELINE_BYTES))


async def large_pipelines(stage: Stage, seconds: float) -> Found:
    """Open eight connections that send very many requests and never read."""
    url = f"{stage.server.url}/docs"
    found = await attack("pipelines", url, seconds, LARGE_PIPELINES, LARGE_PIPELINE_BYTES)
    return _counted(found)


async def connections(stage: Stage, seconds: float) -> Found:
    """Open many connections, silent or slow."""
    return _counted(await attack("idle", stage.server.url, seconds, CONNECTIONS))


def _counted(counts: dict[str, int]) -> Found:
    return Found(", ".join(f"{count} {name}" for name, count in counts.items() if count))


SCENARIOS: dict[str, tuple[Scenario, ...]] = {
    "chatty": (Scenario("chatty, 100 people", chatty, _invite_people),),
    "groups": (Scenario("groups, 200 of one person", groups, _invite_rooms),),
    "inline": tuple(
        Scenario(f"inline, 200/s, {accounts} accounts", inline(accounts), _invite_people)
        for accounts in INLINE_ACCOUNTS
    ),
    "addresses": (Scenario("addresses, 16 connections", addresses),),
    "pipelines": (
        Scenario("pipelines, 1,000", pipelines),
        Scenario("pipelines, 8 of 4.5 MB", large_pipelines),
    ),
    "connections": (Scenario("connections, 1,500", connections),),
    "crowd": (
        Scenario("crowd, 200 behind one address", drop_crowd.one_address),
        Scenario("crowd, 200 addresses", drop_crowd.many_addresses),
        Scenario("crowd, a script holds units", drop_crowd.script),
    ),
    "mail": (
        Scenario("mail, named in the chat", mail_bomb.by_chat, letters=True),
        Scenario("mail, named by an application", mail_bomb.by_application, letters=True),
    ),
}
