"""`POST /v3/files`: stored in parts, whole or not at all, and deleted when nobody needs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.core.net import request_body
from bot.interface.answers import FileAnswer
from bot.service.goods import files
from bot.service.goods.files import AT_ONCE, MOST_BYTES
from tests.support.goods import ALBUM, FILES_PATH, random_bytes, upload, uploaded
from tests.support.service_harness import (
    NEW,
    REQUESTS_PATH,
    ServiceHarness,
    refusal_code,
    refused_fields,
)

OWNER = "Owner-Ref"

WEEK = 7 * 24 * 3600


async def in_pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def parts_of(service: ServiceHarness) -> list[int]:
    rows = await service.db.query("SELECT LENGTH(data) AS size FROM file_parts ORDER BY place")
    return [row["size"] for row in rows]


async def test_an_upload_answers_what_was_stored(service: ServiceHarness) -> None:
    answer = await upload(service, name="Für Dich.zip")
    FileAnswer.model_validate(answer.json())
    assert answer.json() == {
        "id": answer.json()["id"],
        "name": "Für Dich.zip",
        "mediaType": "application/zip",
        "size": len(ALBUM),
    }
    assert await parts_of(service) == [len(ALBUM)]


async def test_the_largest_file_is_stored_in_parts(service: ServiceHarness) -> None:
    answer = await upload(service, random_bytes(MOST_BYTES))
    assert answer.json()["size"] == MOST_BYTES == 20_971_520
    assert await parts_of(service) == [files.PART] * 80


async def test_a_part_holds_what_came_in_any_pieces(service: ServiceHarness) -> None:
    data = random_bytes(files.PART + 7)
    pieces = [data[:1], data[1:1000], data[1000:-3], data[-3:]]
    answer = await upload(service, in_pieces(*pieces))
    assert answer.json()["size"] == len(data)
    assert await parts_of(service) == [files.PART, 7]


@pytest.mark.parametrize("announced", [True, False])
async def test_a_larger_file_is_refused_and_leaves_nothing(
    service: ServiceHarness, *, announced: bool
) -> None:
    data = bytes(MOST_BYTES + 1)
    answer = await upload(service, data if announced else in_pieces(data[:-1], data[-1:]))
    assert refusal_code(answer) == (413, "bodyTooLarge")
    assert answer.json()["message"] == "The body is larger than 20 MiB."
    assert await parts_of(service) == []
    assert await service.rows("files") == []


async def test_a_name_is_required_and_is_no_path(service: ServiceHarness) -> None:
    for query in ({}, {"name": ""}, {"name": "../album.zip"}, {"name": "a\u202eb"}):
        answer = await service.seller.post(FILES_PATH, params=query, content=ALBUM)
        assert refusal_code(answer) == (400, "invalidBody"), query
        assert refused_fields(answer) == ["name"]
    assert await service.rows("files") == []


async def test_a_file_of_an_unknown_type_is_bytes(service: ServiceHarness) -> None:
    answer = await upload(service, content_type="application/x-www-form-urlencoded")
    assert answer.json()["mediaType"] == "application/octet-stream"


async def test_a_form_is_no_file(service: ServiceHarness) -> None:
    sent = {"file": ("album.zip", ALBUM)}
    answer = await service.seller.post(FILES_PATH, params={"name": "a"}, files=sent)
    assert refusal_code(answer) == (415, "unsupportedMediaType")


async def test_an_empty_file_is_refused(service: ServiceHarness) -> None:
    assert refusal_code(await upload(service, b"")) == (400, "invalidBody")
    assert await service.rows("files") == []


async def test_an_upload_that_stalls_leaves_nothing(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_body, "PART_SECONDS", 0.05)

    async def stalling() -> AsyncIterator[bytes]:
        yield bytes(files.PART + 1)
        await asyncio.Event().wait()

    answer = await upload(service, stalling())
    assert refusal_code(answer) == (400, "invalidBody")
    assert await parts_of(service) == []
    assert await service.rows("files") == []


async def test_what_a_killed_process_left_is_swept(service: ServiceHarness) -> None:
    file = files.NewFile("f" * 24, service.credentials.app_id, "", "a", "b/c", 5)
    service.db.run(lambda tx: files.begin(tx, file, service.clock()))
    service.db.run(lambda tx: files.add_part(tx, file.id, 0, b"12345"))
    await files.sweep_files(service.db, service.clock())
    assert await parts_of(service) == [5]
    service.clock.advance(2 * 3600)
    await files.sweep_files(service.db, service.clock())
    assert await parts_of(service) == []
    assert await service.rows("files") == []


async def test_a_file_that_is_not_whole_is_delivered_by_nobody(service: ServiceHarness) -> None:
    file = files.NewFile("f" * 24, service.credentials.app_id, "", "a", "b/c", 5)
    service.db.run(lambda tx: files.begin(tx, file, service.clock()))
    for field in ("fileId", "codesFileId"):
        answer = await service.seller.post(REQUESTS_PATH, json=NEW | {"delivery": {field: file.id}})
        assert refused_fields(answer) == [f"delivery.{field}"]


async def test_a_file_that_nobody_delivers_is_deleted_after_a_week(service: ServiceHarness) -> None:
    loose, kept = await uploaded(service, random_bytes(40 * files.PART)), await uploaded(service)
    await service.create(delivery={"fileId": kept})
    service.clock.advance(WEEK - 1)
    await files.sweep_files(service.db, service.clock())
    assert {row["id"] for row in await service.rows("files")} == {loose, kept}
    service.clock.advance(1)
    await files.sweep_files(service.db, service.clock())
    assert {row["id"] for row in await service.rows("files")} == {kept}
    assert await parts_of(service) == [len(ALBUM)]


async def test_a_file_that_a_request_delivers_is_never_chosen_for_deletion(
    service: ServiceHarness,
) -> None:
    """An edit that didn't see that request yet may have set its end, at any moment of a sweep."""
    await service.create(delivery={"fileId": await uploaded(service)})
    now = service.clock()
    sql = "UPDATE files SET expires_at = :now"
    await service.db.transaction(lambda tx: tx.execute(sql, now=now))
    assert await service.db.transaction(lambda tx: tx.query(files.NEXT_EXPIRED, now=now)) == []


async def test_another_applications_file_is_unknown(service: ServiceHarness) -> None:
    mine = await uploaded(service)
    wanted = NEW | {"delivery": {"fileId": mine}}
    answer = await service.seller.post(REQUESTS_PATH, json=wanted, headers=service.stranger())
    assert refusal_code(answer) == (400, "invalidBody")
    assert refused_fields(answer) == ["delivery.fileId"]


async def test_what_an_application_holds_unused_is_bounded(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_LOOSE", 2 * len(ALBUM))
    used = await uploaded(service)
    await service.create(delivery={"fileId": used})
    for _ in range(2):
        await uploaded(service)
    assert refusal_code(await upload(service)) == (409, "tooManyFiles")
    service.clock.advance(WEEK)
    await files.sweep_files(service.db, service.clock())
    await uploaded(service)


@pytest.mark.parametrize("bound", ["MOST_LOOSE_OF_SELLER", "MOST_OF_SELLER"])
async def test_one_seller_takes_no_room_of_others(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(files, bound, len(ALBUM))
    assert (await upload(service, **{OWNER: "anna"})).status_code == 200
    assert refusal_code(await upload(service, **{OWNER: "anna"})) == (
        409,
        "tooManyFiles",
    )
    assert (await upload(service, **{OWNER: "ben"})).status_code == 200
    assert (await upload(service)).status_code == 200


async def test_a_repeated_upload_needs_no_room(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one took the last room, and its answer was lost."""
    monkeypatch.setattr(files, "MOST_LOOSE", len(ALBUM))
    key = {"Idempotency-Key": "k1"}
    stored = (await upload(service, **key)).json()
    assert refusal_code(await upload(service)) == (409, "tooManyFiles")
    rows = await service.rows("files")
    again = await upload(service, **key)
    assert (again.status_code, again.json()) == (200, stored)
    assert await service.rows("files") == rows


async def test_an_application_has_few_uploads_at_once(service: ServiceHarness) -> None:
    """Each keeps a part in memory."""
    release = asyncio.Event()

    async def waiting() -> AsyncIterator[bytes]:
        yield ALBUM
        await release.wait()

    async with asyncio.TaskGroup() as group:
        under_way = [group.create_task(upload(service, waiting())) for _ in range(AT_ONCE)]
        while len(await service.rows("files")) < AT_ONCE:  # noqa: ASYNC110 - it awaits a read
            await asyncio.sleep(0)
        assert refusal_code(await upload(service)) == (429, "rateLimited")
        release.set()
    assert {task.result().status_code for task in under_way} == {200}
    assert (await upload(service)).status_code == 200
