"""Email from the payer's form to a real mail server, with the product as a process between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from tests.support.certificates import make_tls
from tests.support.free_ports import free_port
from tests.support.letters import SENDER
from tests.support.mail_servers import MailServerStub, mail_server
from tests.support.product_process import (
    PATIENCE,
    Process,
    patient_client,
    run_command,
    start_bot,
    until,
)
from tests.support.raw_payers import REQUESTS_PATH, posted

PASSWORD = "geheim p@ss:w/rd"
ACCOUNT = ("shop@example.org", PASSWORD)
SETTLED = "SELECT COUNT(*) FROM outbox WHERE queue = '{queue}' AND state = 'done'"
TRIED = "SELECT COUNT(*) FROM delivery_attempts"


def settings(post: MailServerStub) -> dict[str, str]:
    user = "shop%40example.org:geheim%20p%40ss%3Aw%2Frd"
    return {
        "SMTP_URL": f"smtp://{user}@127.0.0.1:{post.port}",
        "SMTP_FROM": SENDER,
        "PORT": free_port(),
        "PAYER_RATE": "0",
    }


async def made_by(folder: Path, run: Process, **fields: Any) -> dict[str, Any]:
    """Make a drop that reports its payments by email."""
    _, lines, _ = await run_command(folder, "apps", "create", "shop")
    keys = dict(line.split("=", 1) for line in lines)
    headers = {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}
    body = {
        "product": {"name": "Tee & Kuchen ☕"},
        "instrumentCurrencyCode": "EUR",
        "receivers": [{"sendAmount": 12.5, "destination": "anna"}],
        "expirationType": "limit",
        "totalUnits": 10,
        "notifications": {"email": "anna@example.org"},
    } | fields
    async with patient_client(run.url, headers) as seller:
        answer = await seller.post(REQUESTS_PATH, json=body)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def arrived(run: Process, number: int, queue: str = "mails") -> None:
    async def all_taken() -> bool:
        return run.rows(SETTLED.format(queue=queue)) == [(number,)]

    await until(all_taken, 2 * PATIENCE)


async def test_each_payment_is_one_letter_over_tls_with_a_login(tmp_path: Path) -> None:
    """Also the one whose process was killed before it was sent, and whose server was away."""
    sealed = make_tls(tmp_path)
    async with mail_server(starttls=sealed.server, account=ACCOUNT) as post:
        env = settings(post)
        async with start_bot(tmp_path, "service", unseen=[PASSWORD], **env) as run:
            await run.ready()
            made = await made_by(tmp_path, run)
            assert (await posted(run.url, made["id"], "a" * 32)).status == 303
            await arrived(run, 1)
            post.answers["MAIL"] = "451 4.3.0 come back later"
            paid = await posted(run.url, made["id"], "b" * 32)
            assert paid.status == 303
            await run.line("answered 451 to")
            await run.kill()
        post.answers.clear()
        async with start_bot(tmp_path, "service", unseen=[PASSWORD], **env) as run:
            await run.ready()
            await arrived(run, 2)
            attempts = run.rows(TRIED)
    first, second = post.letters
    assert attempts[0][0] >= 3
    assert first["Message-ID"] != second["Message-ID"]
    assert {letter["To"] for letter in post.letters} == {"anna@example.org"}
    assert first["Subject"] == "€12.50 for Tee & Kuchen ☕"
    text = second.get_body(("plain",))
    assert text
    assert paid.location.rpartition("/")[2] in text.get_content()
    assert all(post.over_tls)
    assert {login[1:] for login in post.logins} == {ACCOUNT}


async def test_a_payers_receipt_comes_once_over_tls_and_its_link_ends_them(
    tmp_path: Path,
) -> None:
    """Also where the form is posted twice and the process is killed before the letter is sent."""
    sealed = make_tls(tmp_path)
    async with mail_server(starttls=sealed.server, account=ACCOUNT) as post:
        env = settings(post)
        post.answers["MAIL"] = "451 4.3.0 come back later"
        async with start_bot(tmp_path, "service", **env) as run:
            await run.ready()
            made = await made_by(tmp_path, run, notifications={}, requestedUserData=["email"])
            form = {"token": "a" * 32, "email": "pat@payer.example"}
            async with patient_client(run.url) as payer:
                for _ in range(2):
                    paid = await payer.post(f"/pay/{made['id']}", data=form)
            assert paid.status_code == 303
            await run.line("answered 451 to")
            await run.kill()
        post.answers.clear()
        async with start_bot(tmp_path, "service", **env) as run:
            await run.ready()
            await arrived(run, 1, "receipts")
            async with patient_client(run.url) as payer:
                shown = await payer.get(paid.headers["location"])
                (letter,) = post.letters
                stop = str(letter["list-unsubscribe"]).strip("<>")
                stopped = await payer.post(httpx.URL(stop).raw_path.decode())
        _, listed, _ = await run_command(tmp_path, "deliveries", "list", "--json")
    assert (letter["To"], all(post.over_tls)) == ("pat@payer.example", True)
    assert letter["Subject"] == "Receipt for your test payment of €12.50"
    assert "Tee" not in letter.as_string()
    assert "We&#39;ve emailed a receipt to p•••@payer.example." in shown.text
    assert stopped.status_code == 200
    assert [('"channel": "receipt"' in line, "pat@payer.example" in line) for line in listed] == [
        (True, True)
    ]


async def test_without_a_mail_server_a_create_with_an_address_is_refused(tmp_path: Path) -> None:
    async with start_bot(tmp_path, "service", PORT=free_port()) as run:
        await run.ready()
        _, lines, _ = await run_command(tmp_path, "apps", "create", "shop")
        keys = dict(line.split("=", 1) for line in lines)
        headers = {"App-Id": keys["APP_ID"], "App-Secret": keys["APP_SECRET"]}
        body = {
            "product": {"name": "Tea"},
            "instrumentCurrencyCode": "EUR",
            "receivers": [{"sendAmount": 1, "destination": "anna"}],
            "expirationType": "never",
            "notifications": {"email": "anna@example.org"},
        }
        async with patient_client(run.url, headers) as seller:
            answer = await seller.post(REQUESTS_PATH, json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "emailUnavailable")
