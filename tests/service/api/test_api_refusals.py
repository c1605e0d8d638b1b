"""Refusals of `/v3/paymentRequests`: their codes and messages; they change nothing."""

from __future__ import annotations

import asyncio
import base64
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import HTTPException

from bot.core import exact_json
from bot.core.errors import NotFound, StorageError
from bot.core.net import request_body
from bot.core.net.rates import Rate
from bot.service.pages.app import create_app
from bot.service.requests import applications
from tests.support.raw_http import endless_body
from tests.support.service_harness import (
    DROP,
    HOOK,
    LOOPBACK,
    NEW,
    REQUESTS_PATH,
    ServiceHarness,
    client,
    headers_of,
    make_service,
    open_service,
    refusal_code,
    refused_fields,
)


async def test_missing_and_wrong_credentials_get_one_answer(service: ServiceHarness) -> None:
    """Nothing is created."""
    right = headers_of(service.credentials)
    app_id, secret = right["App-Id"].encode(), right["App-Secret"].encode()
    for headers in (
        [],
        [(b"App-Id", app_id)],
        [(b"App-Secret", secret)],
        [(b"App-Id", app_id), (b"App-Secret", b"wrong")],
        [(b"App-Id", b"0" * 24), (b"App-Secret", secret)],
        [(b"App-Id", app_id), (b"App-Secret", b"")],
        [(b"App-Id", app_id), (b"App-Secret", b"\xe9")],
    ):
        answer = await service.anyone.post(REQUESTS_PATH, json=NEW, headers=headers)
        assert answer.status_code == 401
        assert answer.json() == {
            "code": "unauthorized",
            "message": "The App-Id and App-Secret headers are missing or wrong.",
            "info": [],
        }
    assert await service.rows("payment_requests") == []


async def calls_with_credentials(service: ServiceHarness) -> list[tuple[str, str]]:
    """Return the method and the path of each call that is not public."""
    spec = (await service.anyone.get("/openapi.json")).json()
    return [
        (method.upper(), path)
        for path, operations in spec["paths"].items()
        for method, call in operations.items()
        if call["security"]
    ]


async def test_every_call_that_is_not_public_needs_credentials(service: ServiceHarness) -> None:
    calls = await calls_with_credentials(service)
    assert len(calls) == 19
    for method, path in calls:
        where = re.sub(r"{\w+}", "0" * 24, path)
        answer = await service.anyone.request(method, where, json={})
        assert refusal_code(answer) == (401, "unauthorized"), (method, path)


BODIES = {
    "/v3/paymentRequests/{id}": {"product": {"name": "x"}},
    "/v3/paymentRequests/{id}/payments/{transactionId}": {"paidBack": {}},
    "/v3/paymentRequests/{id}/codes": {"codes": ["x"]},
}
"""What calls send that change something, by path."""


async def test_what_belongs_to_another_application_is_not_found(service: ServiceHarness) -> None:
    """By any call that names it, whatever is there; so is what nobody has. Nothing changes."""
    made = await service.create(**DROP, notifications={"webhook": HOOK}, delivery={"codes": ["a"]})
    waiting = await service.pay(made["id"], "w" * 32, manner="claimed")
    paid = await service.pay(made["id"])
    checkout, payment = (one.headers["location"].rpartition("/")[2] for one in (waiting, paid))
    (delivery, *_) = await service.rows("deliveries")
    await service.db.transaction(lambda tx: tx.execute("UPDATE outbox SET state = 'dead'"))
    ids = {"paymentRequests": made["id"], "checkouts": checkout, "deliveries": delivery["id"]}
    tables = ("payment_requests", "checkouts", "payments", "outbox", "codes", "audit")
    other = service.stranger()
    before = [await service.rows(table) for table in tables]
    called = []
    for method, path in await calls_with_credentials(service):
        kind = path.split("/")[2]
        if "{" not in path or kind not in ids:
            continue
        called.append(kind)
        body = None if method == "GET" else BODIES.get(path, {})
        for of, headers in ((ids[kind], other), ("0" * 24, headers_of(service.credentials))):
            where = path.replace("{id}", of).replace("{transactionId}", payment)
            answer = await service.anyone.request(method, where, headers=headers, json=body)
            assert refusal_code(answer) == (404, "notFound"), (method, path)
    assert Counter(called) == {"paymentRequests": 7, "checkouts": 3, "deliveries": 2}
    assert [await service.rows(table) for table in tables] == before


async def test_a_revoked_application_is_unauthorized(service: ServiceHarness) -> None:
    service.db.run(lambda tx: applications.revoke(tx, service.vault, service.credentials.app_id, 1))
    assert refusal_code(await service.seller.get(REQUESTS_PATH)) == (401, "unauthorized")


async def test_header_names_are_read_in_any_case(service: ServiceHarness) -> None:
    headers = {name.lower(): value for name, value in headers_of(service.credentials).items()}
    assert (await service.anyone.get(REQUESTS_PATH, headers=headers)).status_code == 200


async def test_bodies_are_json(service: ServiceHarness) -> None:
    for kind, answer in (
        ("text/plain", (415, "unsupportedMediaType")),
        ("application/x-www-form-urlencoded", (415, "unsupportedMediaType")),
        ("", (415, "unsupportedMediaType")),
        ("Application/JSON; charset=utf-8", None),
    ):
        sent = await service.seller.post(
            REQUESTS_PATH, content=exact_json.dumps(NEW), headers={"Content-Type": kind}
        )
        assert sent.status_code == 200 if answer is None else refusal_code(sent) == answer, kind


async def test_a_large_body_is_refused_while_it_is_read(service: ServiceHarness) -> None:
    """With a Content-Length and in chunks; no more than 64 KiB are read."""
    json = {"Content-Type": "application/json"}
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 8192
            yield b" " * 8192

    for content in (b" " * 65_537, chunks()):
        answer = await service.seller.post(REQUESTS_PATH, content=content, headers=json)
        assert refusal_code(answer) == (413, "bodyTooLarge")
    fits = exact_json.dumps(NEW).encode().ljust(65_536)
    assert (await service.seller.post(REQUESTS_PATH, content=fits, headers=json)).status_code == 200


async def test_bytes_that_are_no_utf8_are_a_400(service: ServiceHarness) -> None:
    json = {"Content-Type": "application/json"}
    for content in (b'{"product":"\xff"}', b"", b"\xef\xbb\xbf{}"):
        answer = await service.seller.post(REQUESTS_PATH, content=content, headers=json)
        assert refusal_code(answer) == (400, "invalidBody")


async def test_unknown_addresses_and_methods_answer_in_the_same_form(
    service: ServiceHarness,
) -> None:
    assert refusal_code(await service.anyone.get("/nowhere")) == (404, "notFound")
    assert refusal_code(await service.anyone.get("/v3/paymentRequests/a/b/c")) == (404, "notFound")
    wrong = await service.seller.patch(f"{REQUESTS_PATH}/{'0' * 24}")
    assert refusal_code(wrong) == (405, "methodNotAllowed")
    assert wrong.headers["allow"] == "DELETE, GET, PUT"
    assert (await service.seller.put(REQUESTS_PATH)).headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotFound(), 404, "notFound"),
        (StorageError("disk"), 503, "unavailable"),
        (KeyError("a secret detail"), 500, "internal"),
        (HTTPException(403, "Not for you"), 403, "invalidBody"),
    ],
)
async def test_an_exception_is_answered_in_the_form_of_a_refusal(
    service: ServiceHarness, error: Exception, status: int, code: str
) -> None:
    """As a page where payers look; a bug shows no details."""

    async def fail() -> None:
        raise error

    app = create_app(make_service(service.db, service.clock))
    app.add_api_route("/fails", fail)
    app.add_api_route("/pay/fails/here", fail)
    async with client(app) as http:
        answer, page = await http.get("/fails"), await http.get("/pay/fails/here")
    assert refusal_code(answer) == (status, code)
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert "secret" not in answer.text + page.text
    assert status != 403 or answer.json()["message"] == "Not for you"


async def test_email_is_refused_while_no_server_sends_it(service: ServiceHarness) -> None:
    answer = await service.seller.post(
        REQUESTS_PATH, json=NEW | {"notifications": {"email": "a@b.example"}}
    )
    assert refusal_code(answer) == (400, "emailUnavailable")
    assert refused_fields(answer) == ["notifications.email"]
    made = await service.create()
    edit = await service.edit(made["id"], {"notifications": {"email": "a@b.example"}})
    assert refusal_code(edit) == (400, "emailUnavailable")
    assert (await service.edit(made["id"], {"notifications": {"email": None}})).status_code == 200


FORBIDDEN = [
    "http://127.0.0.1/",
    "http://2130706434/",
    "http://[::ffff:10.0.0.1]/",
    "http://localhost/",
    "ftp://h.example/",
    "https://user:pass@h.example/",
    "http://bot.internal/webhooks",
    "http://BOT.INTERNAL./webhooks",
    "http://bot。internal/any/path",
    "http://xn--a.example/",
    "http://h.example/\x85",
    "nonsense",
]
"""Of each kind of address that no webhook may go to, one; tests/core/net has the others."""


async def test_a_forbidden_webhook_address_is_refused(service: ServiceHarness) -> None:
    """At create and at edit, with the name of the field; nothing is created or changed."""
    made = await service.create()
    for url in FORBIDDEN:
        webhook = {"notifications": {"webhook": {"webhookUrl": url}}}
        for answer in (
            await service.seller.post(REQUESTS_PATH, json=NEW | webhook),
            await service.edit(made["id"], webhook),
        ):
            assert refusal_code(answer) == (400, "invalidBody"), url
            assert refused_fields(answer) == ["notifications.webhook.webhookUrl"]
    assert [one["webhook_url"] for one in await service.rows("payment_requests")] == [None]


async def test_the_operator_may_allow_private_addresses(database_url: str) -> None:
    async with open_service(database_url, allow=LOOPBACK) as service:
        hook = {"webhookUrl": "http://127.0.0.1:9/h"}
        made = await service.create(notifications={"webhook": hook})
        assert made["notifications"]["webhook"]["webhookUrl"] == hook["webhookUrl"]


OPENED = ("ms-msdt:/id", "SEARCH-MS:query=a", "shell:startup", "myapp://paid", "tg://resolve")
RUN = ("javascript:alert(1)", "data:text/html,a", "file:///etc/passwd")


async def test_redirects_lead_to_the_web_or_to_an_allowed_scheme(service: ServiceHarness) -> None:
    """At create and at edit; nothing is created or changed."""
    made = await service.create(redirectUrl="https://t.example/")
    for url in (*OPENED, *RUN):
        for answer in (
            await service.seller.post(REQUESTS_PATH, json=NEW | {"redirectUrl": url}),
            await service.edit(made["id"], {"redirectUrl": url}),
        ):
            assert refusal_code(answer) == (400, "invalidBody"), url
            assert refused_fields(answer) == ["redirectUrl"]
    assert await service.get(made["id"]) == made
    assert len(await service.rows("payment_requests")) == 1


async def test_an_allowed_scheme_is_accepted_in_any_case(database_url: str) -> None:
    """Schemes that run code are refused even then; the settings refuse them too."""
    async with open_service(
        database_url, schemes=frozenset({"myapp", *(url.partition(":")[0] for url in RUN)})
    ) as service:
        made = await service.create(redirectUrl="MyApp://paid")
        assert (await service.edit(made["id"], {"redirectUrl": "myapp://x"})).status_code == 200
        for url in (*RUN, "myapp2://paid"):
            refused = await service.seller.post(REQUESTS_PATH, json=NEW | {"redirectUrl": url})
            assert (refusal_code(refused), refused_fields(refused)) == (
                (400, "invalidBody"),
                ["redirectUrl"],
            )


async def test_only_the_bots_own_application_may_name_its_receiver(database_url: str) -> None:
    async with open_service(database_url) as service:
        own = service.db.run(lambda tx: applications.ensure_embedded_app(tx, service.vault, 0))
        app = create_app(make_service(service.db, service.clock, embedded_app_id=own.app_id))
        body = NEW | {"notifications": {"webhook": {"webhookUrl": "http://bot.internal/w/1"}}}
        async with client(app) as calls:
            mine = await calls.post(REQUESTS_PATH, json=body, headers=headers_of(own))
            theirs = await calls.post(
                REQUESTS_PATH, json=body, headers=headers_of(service.credentials)
            )
        assert mine.status_code == 200
        assert refusal_code(theirs) == (400, "invalidBody")


async def test_an_application_beyond_the_rate_gets_a_time_to_wait(database_url: str) -> None:
    """Each application has its own count."""
    async with open_service(database_url, api_rate=Rate(3, 60)) as service:
        other = service.stranger()
        answers = [await service.seller.get(REQUESTS_PATH) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert refusal_code(answers[-1]) == (429, "rateLimited")
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
        assert (await service.seller.get(REQUESTS_PATH, headers=other)).status_code == 200


@pytest.mark.parametrize(
    ("path", "kind"),
    [(REQUESTS_PATH, b"application/json"), ("/pay/x", b"application/x-www-form-urlencoded")],
)
async def test_a_caller_that_hangs_up_is_no_bug(
    service: ServiceHarness, path: str, kind: bytes
) -> None:
    """The call ends without an exception, so that no traceback is logged."""
    credentials = headers_of(service.credentials)
    given = [(name.lower().encode(), value.encode()) for name, value in credentials.items()]
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [*given, (b"content-type", kind)],
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    app = create_app(make_service(service.db, service.clock))
    await app(scope, receive, send)
    assert sent[0]["status"] == 400
    assert await service.rows("payment_requests") == []


async def test_answers_are_not_cacheable(service: ServiceHarness) -> None:
    made = await service.create()
    for path in (
        REQUESTS_PATH,
        f"{REQUESTS_PATH}?limit=1",
        f"{REQUESTS_PATH}/{made['id']}",
        f"{REQUESTS_PATH}/nowhere",
    ):
        answer = await service.seller.get(path)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_wrong_query_is_a_400_that_names_it(service: ServiceHarness) -> None:
    """In every list; the largest time of a column is a place like any other."""
    made = await service.create()
    payments = f"{REQUESTS_PATH}/{made['id']}/payments"
    wrong: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": 101},
        {"limit": "x"},
        {"limit": 5, "cursor": "x"},
        {"limit": 5, "cursor": "é"},
        {"limit": 5, "cursor": "MS4x"},
        {"limit": 5, "cursor": cursor(str(2**63))},
        {"cursor": cursor("9999999999999999999")},
        {"cursor": "a" * 101},
    ]
    for path, queries in (
        (REQUESTS_PATH, [*wrong, {"status": "gone"}]),
        (payments, wrong),
        ("/v3/deliveries", [*wrong, {"state": "lost"}, {"cursor": cursor("1800000000000")}]),
    ):
        for query in queries:
            answer = await service.seller.get(path, params=query)
            assert refusal_code(answer) == (400, "invalidBody"), (path, query)
            assert refused_fields(answer) == [list(query)[-1]]
    for path in (REQUESTS_PATH, payments):
        right = await service.seller.get(path, params={"cursor": cursor(str(2**63 - 1))})
        assert right.status_code == 200


def cursor(at: str) -> str:
    return base64.urlsafe_b64encode(f"{at}.{'a' * 24}".encode()).decode().rstrip("=")


async def test_an_unreadable_list_is_an_error_from_its_first_byte(service: ServiceHarness) -> None:
    service.db.run(lambda tx: tx.execute("ALTER TABLE payment_requests RENAME TO elsewhere"))
    assert refusal_code(await service.seller.get(REQUESTS_PATH)) == (500, "internal")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (REQUESTS_PATH, "application/json"),
        ("/pay/" + "0" * 24, "application/x-www-form-urlencoded"),
    ],
)
async def test_a_body_that_stalls_is_refused(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch, path: str, kind: str
) -> None:
    monkeypatch.setattr(request_body, "BODY_SECONDS", 0.01)

    async with asyncio.timeout(5):
        answer = await service.seller.post(
            path, content=endless_body(), headers={"Content-Type": kind}
        )
    assert answer.status_code == 400
    assert path != REQUESTS_PATH or answer.json()["message"] == "The body did not arrive in time."
    assert await service.rows("payment_requests") == []
