"""The settings about payers reach the service; their browsers are recognized after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.product_process import foreign_service, patient_client, run_command, start_bot
from tests.support.service_harness import DROP, NEW, REQUESTS_PATH, form_token

if TYPE_CHECKING:
    import httpx


def named(keys: dict[str, str]) -> dict[str, str]:
    return {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}


async def made(url: str, keys: dict[str, str], **fields: Any) -> httpx.Response:
    async with patient_client(url, named(keys)) as seller:
        return await seller.post(REQUESTS_PATH, json=NEW | DROP | {"totalUnits": 9} | fields)


async def form(http: httpx.AsyncClient, path: str) -> dict[str, str]:
    return {"token": form_token((await http.get(path)).text), "manner": "never"}


async def test_payer_holds_and_redirect_schemes_come_from_the_settings(tmp_path: Path) -> None:
    env = {"PAYER_HOLDS": "2", "REDIRECT_SCHEMES": "myapp, other"}
    async with foreign_service(tmp_path, **env) as (run, keys):
        assert (await made(run.url, keys, redirectUrl="ms-msdt:/id")).status_code == 400
        answer = await made(run.url, keys, redirectUrl="myapp://paid")
        path = f"/pay/{answer.json()['id']}"
        async with patient_client(run.url) as script:
            posts = [
                await script.post(path, data={"token": f"{n:032x}", "manner": "never"})
                for n in range(3)
            ]
        assert [post.status_code for post in posts] == [303, 303, 429]
        assert await run.stop() == 0


async def test_a_payers_browser_is_recognized_after_a_restart(tmp_path: Path) -> None:
    """Its cookie is signed with a key that the database keeps, sealed."""
    async with patient_client() as browser:
        async with foreign_service(tmp_path) as (run, keys):
            path = f"/pay/{(await made(run.url, keys)).json()['id']}"
            sent = await form(browser, run.url + path)
            first = await browser.post(run.url + path, data=sent)
            assert await run.stop() == 0
        folder = run.database.parent
        async with start_bot(folder, "service", PORT=run.port) as again:
            await again.ready()
            sent = await form(browser, again.url + path)
            second = await browser.post(again.url + path, data=sent)
            assert second.headers["location"] == first.headers["location"]
            assert await again.stop() == 0


async def test_a_scheme_that_runs_code_ends_the_start_with_2(tmp_path: Path) -> None:
    code, _, lines = await run_command(tmp_path, "service", REDIRECT_SCHEMES="myapp,javascript")
    assert (code, len(lines)) == (2, 1)
    assert "REDIRECT_SCHEMES: javascript opens no application" in lines[0]
