"""Text answers are compressed once, for clients that accept gzip; their secrets never are."""

from __future__ import annotations

import gzip
import re
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.service.http.responses import MIN_COMPRESSED, NO_WRAPPER, TextTemplate
from bot.service.pages import render
from tests.support.service_harness import ServiceHarness

if TYPE_CHECKING:
    import httpx


BROWSER = "gzip, deflate, br, zstd"
STAMP = re.compile(rb'data-now="\d+"|value="[0-9a-f]{32}"')
"""What differs between two answers with the same page."""


async def raw(
    service: ServiceHarness, path: str, accepted: str = BROWSER, **call: Any
) -> tuple[httpx.Response, bytes]:
    """Return an answer and its body as it was sent."""
    method, headers = call.pop("method", "GET"), {"Accept-Encoding": accepted}
    async with service.anyone.stream(method, path, headers=headers, **call) as answer:
        return answer, b"".join([part async for part in answer.aiter_raw()])


@pytest.mark.parametrize(
    "path",
    ["/pay/{id}", "/docs", "/openapi.json", "/qr/{id}.svg", render.asset("pay.css")[1],
     render.asset("pay.js")[1], render.asset("docs.css")[1]],
)  # fmt: skip
async def test_a_text_is_compressed_for_clients_that_accept_it(
    service: ServiceHarness, path: str
) -> None:
    path = path.format(id=(await service.create())["id"])
    as_is, plain = await raw(service, path, "identity")
    answer, packed = await raw(service, path)
    assert "content-encoding" not in as_is.headers
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) == len(packed) < len(plain) / 2
    assert STAMP.sub(b"", gzip.decompress(packed)) == STAMP.sub(b"", plain)
    for one in (as_is, answer):
        assert one.headers["vary"].split(", ")[-1] == "Accept-Encoding"


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [
        ("", False),
        ("br, deflate", False),
        ("gzip;q=0, br", False),
        ("gzip; q=0.000", False),
        ("x-gzip", False),
        ("GZIP", True),
        ("br;q=1.0, gzip;q=0.5", True),
    ],
)
async def test_the_client_chooses_the_coding(
    service: ServiceHarness,
    accepted: str,
    is_packed: bool,  # noqa: FBT001 - a case of the table
) -> None:
    answer, _ = await raw(service, "/docs", accepted)
    assert ("content-encoding" in answer.headers) == is_packed


async def test_head_has_the_headers_of_get(service: ServiceHarness) -> None:
    path = render.asset("pay.css")[1]
    found, _ = await raw(service, path)
    asked, _ = await raw(service, path, method="HEAD")
    assert asked.headers == found.headers


async def test_a_token_is_sent_as_it_is(service: ServiceHarness) -> None:
    """No guess beside it makes the answer shorter."""
    made = await service.create(product={"name": "0123456789abcdef" * 4})
    answers = [(await raw(service, f"/pay/{made['id']}"))[1] for _ in range(5)]
    tokens = [re.findall(rb'value="([0-9a-f]{32})"', gzip.decompress(one))[0] for one in answers]
    assert len(set(tokens)) == len(answers)
    assert all(token in answer for token, answer in zip(tokens, answers, strict=True))
    assert len({len(answer) for answer in answers}) == 1


async def test_an_answer_to_a_form_is_not_compressed(service: ServiceHarness) -> None:
    """It repeats what another site may have posted."""
    made = await service.create(requestedUserData=["email"])
    data = {"token": "t" * 32, "email": "guess"}
    answer, body = await raw(service, f"/pay/{made['id']}", method="POST", data=data)
    assert (answer.status_code, b'value="guess"' in body) == (400, True)
    assert len(body) > MIN_COMPRESSED


async def test_pictures_and_calls_are_not_compressed(service: ServiceHarness) -> None:
    made = await service.create()
    for path in (f"/qr/{made['id']}.png", "/v3/paymentRequests/public/" + made["id"]):
        answer, _ = await raw(service, path)
        assert answer.status_code == 200
        assert {"content-encoding", "vary"}.isdisjoint(answer.headers)


async def test_a_page_is_compressed_once_for_all_payers(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await service.create()
    started = []

    def start(**options: Any) -> Any:
        started.append(options)
        return compress(**options)

    compress = zlib.compressobj
    monkeypatch.setattr(zlib, "compressobj", start)
    for accepted in ("identity", BROWSER, "identity", BROWSER, "gzip"):
        await raw(service, f"/pay/{made['id']}", accepted)
    assert started == [{"wbits": NO_WRAPPER}]


@given(st.text(), st.text("\x02\x03 ab"), st.binary(max_size=40), st.binary(max_size=40))
def test_what_is_unpacked_is_the_text_with_its_values(
    before: str, slots: str, first: bytes, second: bytes
) -> None:
    template = TextTemplate(before.replace("\x02", "").replace("\x03", "") + slots, "\x02\x03")
    filled = template.fill({"\x02": first, "\x03": second})
    plain = template.plain(filled.values)
    assert gzip.decompress(template.gzip(filled.values, plain)) == plain
