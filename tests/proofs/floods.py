"""The floods: what strangers may do to the product for free, people, rates and promises.

Each proof plays one or several floods; `flood_stage` pays meanwhile and measures.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bench.stage import TOKEN
from tests.proofs import attacks, clusters, flood_stage, proof
from tests.support.raw_payers import REQUESTS_PATH

CHATTY_PEOPLE = 100
ROOMS = 200
EVERY_SECONDS = 1.0
QUERIES = 200.0
INLINE_ACCOUNTS = (1, 50)
ANSWER_SECONDS = 0.1
PIPELINES = 1000
PIPELINE_BYTES = 256 * 1024
LARGE_PIPELINES = 8
LARGE_PIPELINE_BYTES = 4_500_000
CONNECTIONS = 1500
POST = Path(__file__).with_name("wrk_post.lua")

UNITS = 100
BROWSERS = 200
DROP = f"/drop {UNITS} 2.50 USD Sticker pack"
WIFI = "127.2.0.1"
HOMES = ipaddress.IPv4Address("127.3.0.1")
SCRIPT = "127.4.0.1"
WANTED = 120
"""Units that the script tries to hold."""

PAYER_HOLDS = 5
"""Units that a payer without a cookie may hold, by the setting of this name."""

AGAIN_SECONDS = 1.0
"""After which a browser that was told to wait tries again, if it was not told how long."""

VICTIM = "victim@example.org"
VICTIM_HOMES = ipaddress.IPv4Address("127.5.0.1")
PAYMENTS = 180
AT_ONCE = 8
COUNTED_SECONDS = 10.0
MOST_LETTERS = 14
"""How many one mailbox may get in an hour (bot/service/notifications/recipients.py)."""


async def chatty(size: proof.Size) -> proof.Figures:
    """Ask for help once a second as each of a hundred people."""
    return await flood_stage.measure(
        size, flood_stage.Flood("chatty, 100 people", _chatty, _invite_people)
    )


async def groups(size: proof.Size) -> proof.Figures:
    """Ask for help once a second in each of two hundred groups, as one person."""
    return await flood_stage.measure(
        size, flood_stage.Flood("groups, 200 of one person", _groups, _invite_rooms)
    )


async def inline(size: proof.Size) -> proof.Figures:
    """Search from one account and from many, while Telegram answers slowly."""
    floods = [
        flood_stage.Flood(f"inline, 200/s, {accounts} accounts", _inline(accounts), _invite_people)
        for accounts in INLINE_ACCOUNTS
    ]
    return await flood_stage.measure(size, *floods)


async def addresses(size: proof.Size) -> proof.Figures:
    """Ask for every public address in turn, as fast as sixteen connections can."""
    return await flood_stage.measure(
        size, flood_stage.Flood("addresses, 16 connections", _addresses)
    )


async def pipelines(size: proof.Size) -> proof.Figures:
    """Open connections that send requests and never read: a thousand, and eight of very many."""
    return await flood_stage.measure(
        size,
        flood_stage.Flood("pipelines, 1,000", _pipelines),
        flood_stage.Flood("pipelines, 8 of 4.5 MB", _large_pipelines),
    )


async def connections(size: proof.Size) -> proof.Figures:
    """Open many connections, silent or slow."""
    return await flood_stage.measure(size, flood_stage.Flood("connections, 1,500", _connections))


async def drop(size: proof.Size) -> proof.Figures:
    """Send two hundred browsers to a drop of a hundred units, and a script that holds units."""
    return await flood_stage.measure(
        size,
        flood_stage.Flood("drop, 200 behind one address", _one_address),
        flood_stage.Flood("drop, 200 addresses", _many_addresses),
        flood_stage.Flood("drop, a script holds units", _script),
    )


async def mail(size: proof.Size) -> proof.Figures:
    """Name an address whose holder never asked, in the chat and as an application; then pay."""
    return await flood_stage.measure(
        size,
        flood_stage.Flood("mail, named in the chat", mail_by_chat, letters=True),
        flood_stage.Flood("mail, named by an application", _mail_by_application, letters=True),
    )


async def _invite_people(stage: flood_stage.Stage) -> None:
    await stage.telegram.ask("invite", number=CHATTY_PEOPLE)


async def _invite_rooms(stage: flood_stage.Stage) -> None:
    await stage.telegram.ask("invite", number=1, groups=ROOMS)


async def by_telegram(stage: flood_stage.Stage, seconds: float, name: str, **given: object) -> None:
    """Run a command of the Bot API server that floods, and count the calls meanwhile."""
    before = await stage.telegram.ask("counts")
    await stage.telegram.ask(name, **given)
    try:
        await asyncio.sleep(seconds)
    finally:
        await stage.telegram.ask("calm")
    after = await stage.telegram.ask("counts")
    methods = ("sendMessage", "answerInlineQuery", "refused")
    _note_counts(stage, {name: after.get(name, 0) - before.get(name, 0) for name in methods})


async def _chatty(stage: flood_stage.Stage, seconds: float) -> None:
    await by_telegram(stage, seconds, "chatty", every=EVERY_SECONDS)


async def _groups(stage: flood_stage.Stage, seconds: float) -> None:
    await by_telegram(stage, seconds, "groups", every=EVERY_SECONDS)


def _inline(accounts: int) -> flood_stage.Act:
    async def flood(stage: flood_stage.Stage, seconds: float) -> None:
        given = {"rate": QUERIES, "accounts": accounts, "answer_seconds": ANSWER_SECONDS}
        await by_telegram(stage, seconds, "inline", **given)

    return flood


async def _addresses(stage: flood_stage.Stage, seconds: float) -> None:
    paths = await public_addresses(stage)
    for path in paths:
        script = POST if path == REQUESTS_PATH else None
        await attacks.hammer(stage.server.url + path, seconds / len(paths), script)
    stage.figures.note("addresses", len(paths))


async def public_addresses(stage: flood_stage.Stage) -> list[str]:
    """Return the paths that anybody can ask for; a payment has to be made by then."""
    page = stage.pages[0]
    request_id = page.rpartition("/")[2]
    receipt = next(one.receipt for one in stage.payers.made if one.is_served)
    return [
        *("/docs", "/openapi.json", page, f"{page}/live", f"{page}/card.png"),
        *(f"/qr/{request_id}.png", f"/qr/{request_id}.svg", await _picture(stage)),
        *("/livez", "/readyz", "/", "/there/is/nothing", receipt),
        *(f"{REQUESTS_PATH}/public/{request_id}", REQUESTS_PATH),
    ]


async def _picture(stage: flood_stage.Stage) -> str:
    """Return the address of a seller's picture."""
    page = await stage.telegram.ask("guided")
    async with flood_stage.browser(stage.server.url, "127.8.0.1") as http:
        text = (await http.get(page)).text
    return "/images/" + text.partition("/images/")[2].partition('"')[0]


async def _pipelines(stage: flood_stage.Stage, seconds: float) -> None:
    url = stage.server.url + stage.pages[0]
    _note_counts(stage, await attacks.attack("pipelines", url, seconds, PIPELINES, PIPELINE_BYTES))


async def _large_pipelines(stage: flood_stage.Stage, seconds: float) -> None:
    size = (LARGE_PIPELINES, LARGE_PIPELINE_BYTES)
    found = await attacks.attack("pipelines", f"{stage.server.url}/docs", seconds, *size)
    _note_counts(stage, found)


async def _connections(stage: flood_stage.Stage, seconds: float) -> None:
    _note_counts(stage, await attacks.attack("idle", stage.server.url, seconds, CONNECTIONS))


def _note_counts(stage: flood_stage.Stage, counts: Mapping[str, int]) -> None:
    stage.figures.note(
        "counted", ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    )


@dataclass(slots=True)
class Drop:
    """A drop under way: what became of its payers, and when the last unit was sold."""

    stage: flood_stage.Stage
    path: str
    outcomes: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.monotonic)
    sold: float = 0.0
    waits: int = 0

    async def sell(self, sources: Sequence[str], seconds: float) -> None:
        """Send a browser from each of these addresses, and note what became of them."""
        buyers = [asyncio.create_task(self._buy(source)) for source in sources]
        _, late = await asyncio.wait(buyers, timeout=seconds)
        for buyer in late:
            buyer.cancel()
        await asyncio.gather(*buyers, return_exceptions=True)
        self.outcomes["still waiting"] += len(late)
        told = ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items()))
        self.stage.figures.note("browsers", f"{told}; {self.waits} waits")
        if self.sold:
            self.stage.figures.note("seconds of selling", self.sold - self.began)

    async def _buy(self, source: str) -> None:
        """Open the page, send its form, read the receipt; wait and try again if told to."""
        async with flood_stage.browser(self.stage.server.url, source) as http:
            outcome = ""
            while not outcome:
                try:
                    outcome = await self._try(http)
                except httpx.TransportError as error:
                    outcome = type(error).__name__
        self.outcomes[outcome] += 1

    async def _try(self, http: httpx.AsyncClient) -> str:
        page = await http.get(self.path)
        token = TOKEN.search(page.text)
        if page.is_success and token is None:
            return "sold out"
        answer = page
        if token:
            answer = await http.post(self.path, data={"token": token[1]})
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            self.waits += 1
            await asyncio.sleep(float(answer.headers.get("Retry-After", AGAIN_SECONDS)))
            return ""
        if answer.status_code != httpx.codes.SEE_OTHER:
            return "sold out" if answer.status_code == httpx.codes.CONFLICT else "refused"
        self.sold = time.monotonic()
        await http.get(answer.headers["location"])
        return "bought"


async def _one_address(stage: flood_stage.Stage, seconds: float) -> None:
    await rush(stage, seconds, [WIFI] * BROWSERS)


async def _many_addresses(stage: flood_stage.Stage, seconds: float) -> None:
    await rush(stage, seconds, [flood_stage.address(n, HOMES) for n in range(BROWSERS)])


async def rush(stage: flood_stage.Stage, seconds: float, sources: Sequence[str]) -> None:
    """Pay for one unit of a new drop from each of these addresses."""
    sale = Drop(stage, await stage.telegram.ask("offer", words=DROP))
    await sale.sell(sources, seconds)
    stage.figures.hold("units sold", sale.outcomes["bought"], min(UNITS, len(sources)))


async def _script(stage: flood_stage.Stage, seconds: float) -> None:
    """Hold units without cookies and without paying, then let a hundred browsers try to buy."""
    sale = Drop(stage, await stage.telegram.ask("offer", words=DROP))
    held = await _hold(stage, sale.path, seconds / 2)
    homes = [flood_stage.address(n, HOMES) for n in range(UNITS)]
    await sale.sell(homes, max(10.0, seconds / 2))
    stage.figures.at_most("units that the script held", held, PAYER_HOLDS)
    stage.figures.at_least("units sold", sale.outcomes["bought"], UNITS - held)


async def hold_some(stage: flood_stage.Stage, seconds: float) -> None:
    """Hold units of a new drop."""
    held = await _hold(stage, await stage.telegram.ask("offer", words=DROP), seconds)
    stage.figures.at_most("units that the script held", held, PAYER_HOLDS)


async def _hold(stage: flood_stage.Stage, path: str, seconds: float) -> int:
    """Open checkouts with money that never comes, as fast as the server allows; how many."""
    held, until = 0, time.monotonic() + seconds
    for _ in range(WANTED):
        if time.monotonic() > until:
            break
        async with flood_stage.browser(stage.server.url, SCRIPT) as http:
            form = {"token": secrets.token_hex(16), "manner": "never"}
            answer = await http.post(path, data=form)
        held += answer.status_code == httpx.codes.SEE_OTHER
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            await asyncio.sleep(AGAIN_SECONDS)
    return held


async def mail_by_chat(stage: flood_stage.Stage, seconds: float) -> None:
    """Name the address step by step in the chat, then pay."""
    try:
        path = await stage.telegram.ask("guided", email=VICTIM)
    except RuntimeError as error:
        stage.figures.note("the address could not be named", error)
        return
    await _pay_for_letters(stage, path, seconds)


async def _mail_by_application(stage: flood_stage.Stage, seconds: float) -> None:
    """Name the address as an application that the operator has made, then pay."""
    headers = clusters.app_headers(await stage.server.run("-m", "bot", "apps", "create", "shop"))
    body = {
        "product": {"name": "Letters"},
        "instrumentCurrencyCode": "USD",
        "receivers": [{"sendAmount": 5, "destination": "$shop"}],
        "expirationType": "never",
        "notifications": {"email": VICTIM},
    }
    async with httpx.AsyncClient(base_url=stage.server.url, headers=headers) as http:
        answer = await http.post(REQUESTS_PATH, json=body)
    if not answer.is_success:
        stage.figures.note("the address was refused", answer.text)
        return
    await _pay_for_letters(stage, f"/pay/{answer.json()['id']}", seconds)


async def _pay_for_letters(stage: flood_stage.Stage, path: str, seconds: float) -> None:
    before = (await stage.telegram.ask("counts"))["letters"]
    waiting = iter(range(PAYMENTS))
    paid = 0

    async def pay() -> None:
        nonlocal paid
        for number in waiting:
            home = flood_stage.address(number, VICTIM_HOMES)
            answer = await flood_stage.pay_once(stage.server.url, path, home)
            paid += answer.status_code == httpx.codes.SEE_OTHER

    async with asyncio.TaskGroup() as payers:
        for _ in range(AT_ONCE):
            payers.create_task(pay())
        await asyncio.sleep(min(COUNTED_SECONDS, seconds))
        letters = (await stage.telegram.ask("counts"))["letters"] - before
    stage.figures.note("payments", paid)
    stage.figures.at_most(f"letters in {COUNTED_SECONDS:.0f} s", letters, MOST_LETTERS)
