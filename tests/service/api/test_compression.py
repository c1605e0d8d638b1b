"""Public texts are compressed for clients that take gzip; pages with a form never are (BREACH)."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

from bot.service.pages import render
from tests.support.service_harness import ServiceHarness

if TYPE_CHECKING:
    import httpx


BROWSER = "gzip, deflate, br, zstd"
PUBLIC = [
    *("/privacy", "/docs", "/openapi.json"),
    *(render.asset(file)[1] for file in ("pay.css", "pay.js", "docs.css")),
]


async def raw(
    service: ServiceHarness, path: str, accepted: str = BROWSER, **call: Any
) -> tuple[httpx.Response, bytes]:
    """Return an answer and its body as it was sent."""
    method, headers = call.pop("method", "GET"), {"Accept-Encoding": accepted}
    async with service.anyone.stream(method, path, headers=headers, **call) as answer:
        return answer, b"".join([part async for part in answer.aiter_raw()])


async def test_a_public_text_is_compressed_for_clients_that_accept_it(
    service: ServiceHarness,
) -> None:
    for path in PUBLIC:
        as_is, plain = await raw(service, path, "identity")
        answer, packed = await raw(service, path)
        assert "content-encoding" not in as_is.headers, path
        assert answer.headers["content-encoding"] == "gzip", path
        assert int(answer.headers["content-length"]) == len(packed) < len(plain) * 2 / 3, path
        assert gzip.decompress(packed) == plain, path
        for one in (as_is, answer):
            assert one.headers["vary"].split(", ")[-1] == "Accept-Encoding", path


async def test_the_client_chooses_the_coding(service: ServiceHarness) -> None:
    for accepted, is_packed in (
        ("", False),
        ("br, deflate", False),
        ("gzip", True),
        ("br;q=1.0, gzip;q=0.5", True),
    ):
        answer, _ = await raw(service, "/docs", accepted)
        assert ("content-encoding" in answer.headers) == is_packed, accepted


async def test_head_has_the_headers_of_get(service: ServiceHarness) -> None:
    for path in PUBLIC:
        found, _ = await raw(service, path)
        asked, _ = await raw(service, path, method="HEAD")
        assert asked.headers == found.headers, path


async def test_a_token_is_sent_as_it_is(service: ServiceHarness) -> None:
    """No guess beside it makes the answer shorter."""
    made = await service.create(product={"name": "0123456789abcdef" * 4})
    answers = [(await raw(service, f"/pay/{made['id']}")) for _ in range(5)]
    assert all("content-encoding" not in answer.headers for answer, _ in answers)
    tokens = {re.findall(rb'value="([0-9a-f]{32})"', body)[0] for _, body in answers}
    assert len(tokens) == len(answers)
    assert len({len(body) for _, body in answers}) == 1


async def test_an_answer_to_a_form_is_not_compressed(service: ServiceHarness) -> None:
    """It repeats what another site may have posted."""
    made = await service.create(requestedUserData=["email"])
    data = {"token": "t" * 32, "email": "guess"}
    answer, body = await raw(service, f"/pay/{made['id']}", method="POST", data=data)
    assert (answer.status_code, b'value="guess"' in body) == (400, True)
    assert "content-encoding" not in answer.headers


async def test_what_belongs_to_one_payer_is_not_compressed(service: ServiceHarness) -> None:
    """A receipt has what was bought, and a checkout's page has its secret address."""
    made = await service.create(delivery={"text": "The password is swordfish."})
    paid = await service.pay(made["id"])
    waiting = await service.pay(made["id"], "w" * 32, manner="never")
    for path in (paid.headers["location"], waiting.headers["location"], f"/pay/{made['id']}/live"):
        answer, _ = await raw(service, path)
        assert answer.status_code == 200
        assert "content-encoding" not in answer.headers


async def test_pictures_and_calls_are_not_compressed(service: ServiceHarness) -> None:
    made = await service.create()
    qr, public = f"/qr/{made['id']}", f"/v3/paymentRequests/public/{made['id']}"
    for path in (f"{qr}.png", f"{qr}.svg", public):
        answer, _ = await raw(service, path)
        assert answer.status_code == 200
        assert {"content-encoding", "vary"}.isdisjoint(answer.headers)
