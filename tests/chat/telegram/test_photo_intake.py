"""Sellers' photos: downloaded, prepared and stored with their form."""

from __future__ import annotations

import errno
import io
import subprocess
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from PIL import Image
from structlog.testing import capture_logs

from bot.chat.cards.image_route import image_router
from bot.chat.model.jobs import CreateRequest, ReplyTo
from bot.chat.model.request_spec import RequestSpec
from bot.chat.pictures import decoder_process
from bot.chat.store import seller_rows
from bot.chat.telegram.downloads import PHOTO_RETRIES, Downloads, PhotoIntake
from bot.core import exact_json
from bot.core.bounded_process import BoundedChild, Budget
from bot.core.database.database import Database
from bot.core.outbox.worker import QueueHandler
from bot.core.text.translations import t
from bot.sandbox.web import api
from bot.sandbox.world.errors import Fault
from bot.sandbox.world.people import Person
from tests.support.chat_harness import ChatHarness, telegram_of
from tests.support.outbox_queue import crash, handle_all
from tests.support.outbox_queue import work as until_dead
from tests.support.sample_pictures import photo
from tests.support.service_harness import Clock

WEEKS = 5 * 7 * 24 * 3600


class Studio:
    """A seller in the middle of a form, and the intake of photos."""

    def __init__(self, chat: ChatHarness, photos: PhotoIntake) -> None:
        self.chat = chat
        self.sam = chat.add_person("Sam")
        self.photos = photos

    async def settle(self) -> None:
        """Give the seller a payout address."""
        await self.chat.says(self.sam, "/start")
        save = partial(seller_rows.change, seller_id=self.sam.id, destination="$anna")
        self.chat.db.run(save)

    async def begin(self) -> None:
        await self.chat.says(self.sam, "/new")
        await self.chat.presses(self.sam, f"draft:{self.draft['id']}:kind:donation")

    async def send(self, data: bytes) -> None:
        self.sam.send_photo(data)
        await self.chat.take()
        await self.fetch()

    async def fetch(self) -> None:
        await handle_all(self.chat.db, self.chat.queues.photos, self.photos.take, self.chat.clock)

    @property
    def draft(self) -> dict[str, str]:
        (row,) = self.chat.rows("drafts")
        found: dict[str, str] = exact_json.loads(row["body"])
        return found

    @property
    def kept(self) -> list[str]:
        return [row["id"] for row in self.chat.rows("images")]


@pytest.fixture
async def studio(chat: ChatHarness) -> AsyncIterator[Studio]:
    async with telegram_of(chat.world) as bot:
        root = bot.base_url.removesuffix(f"/bot{bot.token}")
        downloads = Downloads(bot, root, chat.clock)
        yield Studio(chat, PhotoIntake(chat.db, downloads, chat.queues, chat.clock, chat.dialogue))
        await downloads.close()


async def served(db: Database, image_id: str) -> tuple[int, bytes, dict[str, str]]:
    app = FastAPI()
    app.include_router(image_router(db))
    async with AsyncClient(transport=ASGITransport(app), base_url="http://pay.test") as http:
        answer = await http.get(f"/images/{image_id}")
    return answer.status_code, answer.content, dict(answer.headers)


async def test_a_photo_becomes_the_picture_of_the_form_and_is_served(studio: Studio) -> None:
    """As a JPEG with headers for caching and against scripts."""
    await studio.begin()
    await studio.send(photo())
    assert studio.kept == [studio.draft["image"]]
    status, data, headers = await served(studio.chat.db, studio.draft["image"])
    with Image.open(io.BytesIO(data)) as shown:
        assert (status, shown.format, shown.size) == (200, "JPEG", (640, 480))
    assert headers["content-type"] == "image/jpeg"
    assert headers["x-content-type-options"] == "nosniff"
    assert "immutable" in headers["cache-control"]


async def test_a_photo_under_a_plain_line_becomes_the_picture_of_its_form(studio: Studio) -> None:
    """A seller who sends both at once loses neither."""
    studio.sam.send_photo(photo(), "5 USD Coffee")
    await studio.chat.take()
    await studio.fetch()
    assert studio.draft["name"] == "Coffee"
    assert studio.kept == [studio.draft["image"]]


async def test_a_complete_command_with_a_photo_becomes_a_request_with_that_picture(
    studio: Studio,
) -> None:
    """It is created once, when the photo is here, and offered a profile by the seller's name."""
    await studio.settle()
    studio.sam.send_photo(photo(), "/oneoff 120 EUR Painting")
    await studio.chat.take()
    assert studio.chat.rows("listings") == []
    await studio.fetch()
    (row,) = studio.chat.rows("listings")
    spec = RequestSpec.from_json(row["wish"])
    assert spec is not None
    assert (spec.name, [spec.image]) == ("Painting", studio.kept)
    reply_to = ReplyTo(studio.sam.id, "en")
    assert studio.chat.jobs == [CreateRequest(row["id"], reply_to, seller_name="Sam")]
    assert studio.chat.rows("images")[0]["kept"] == 1


async def test_a_command_whose_photo_is_useless_is_reviewed_and_makes_no_link(
    studio: Studio,
) -> None:
    """The form under way is paused."""
    await studio.settle()
    await studio.begin()
    studio.chat.clear_messages()
    studio.sam.send_photo(photo((800, 60)), "/oneoff 120 EUR Painting")
    await studio.chat.take()
    studio.chat.clear_messages()
    await studio.fetch()
    (told,) = studio.chat.texts
    assert "too small" in told
    assert "Painting" in told
    assert (studio.draft["step"], studio.draft["name"]) == ("review", "Painting")
    assert (studio.chat.rows("listings"), studio.chat.jobs, studio.kept) == ([], [], [])


async def test_a_command_whose_seller_may_no_longer_create_makes_no_link(studio: Studio) -> None:
    """ALLOWED_SELLERS may have changed by a restart while the photo was on its way."""
    await studio.settle()
    studio.sam.send_photo(photo(), "/oneoff 120 EUR Painting")
    await studio.chat.take()
    studio.chat.clear_messages()
    studio.chat.dialogue._allowed = frozenset([studio.sam.id + 1])
    await studio.fetch()
    assert studio.chat.texts == [t("en", "not-allowed")]
    assert (studio.chat.rows("listings"), studio.chat.jobs, studio.kept) == ([], [], [])


async def test_create_waits_for_a_photo_under_way(studio: Studio) -> None:
    await studio.settle()
    await studio.chat.says(studio.sam, "100 2.50 USD Pack")
    studio.sam.send_photo(photo())
    await studio.chat.take()
    create = studio.chat.said[-1].keyboard["inline_keyboard"][0][0]["callback_data"]
    await studio.chat.presses(studio.sam, create)
    assert studio.chat.answers[-1].text == t("en", "toast-photo-coming")
    assert studio.chat.rows("listings") == []
    await studio.fetch()
    create = studio.chat.said[-1].keyboard["inline_keyboard"][0][0]["callback_data"]
    await studio.chat.presses(studio.sam, create)
    (row,) = studio.chat.rows("listings")
    spec = RequestSpec.from_json(row["wish"])
    assert spec is not None
    assert [spec.image] == studio.kept


@pytest.mark.parametrize("sent", [photo(), photo((800, 60))], ids=["good", "useless"])
async def test_a_photo_of_a_paused_form_is_not_awaited_once_it_is_here(
    studio: Studio, sent: bytes
) -> None:
    """The form can be created once it goes on."""
    await studio.settle()
    await studio.chat.says(studio.sam, "100 2.50 USD Pack")
    studio.sam.send_photo(sent)
    await studio.chat.take()
    await studio.chat.presses(studio.sam, "settings:zone")
    await studio.fetch()
    await studio.chat.says(studio.sam, "/cancel")
    assert studio.draft["name"] == "Pack"
    create = studio.chat.said[-1].keyboard["inline_keyboard"][0][0]["callback_data"]
    await studio.chat.presses(studio.sam, create)
    (row,) = studio.chat.rows("listings")
    spec = RequestSpec.from_json(row["wish"])
    assert spec is not None
    assert ([spec.image] if spec.image else []) == studio.kept


async def test_a_useless_photo_of_a_paused_form_is_explained(studio: Studio) -> None:
    await studio.begin()
    studio.sam.send_photo(photo((800, 60)))
    await studio.chat.take()
    await studio.chat.presses(studio.sam, "settings:zone")
    studio.chat.clear_messages()
    await studio.fetch()
    (told,) = studio.chat.texts
    assert "too small" in told


async def test_an_unknown_picture_is_not_found(db: Database) -> None:
    assert (await served(db, "0" * 24))[0] == 404


async def test_a_second_photo_takes_the_place_of_the_first(studio: Studio) -> None:
    await studio.begin()
    await studio.send(photo())
    first = studio.draft["image"]
    await studio.send(photo(colour="red"))
    assert studio.draft["image"] != first
    assert studio.kept == [studio.draft["image"]]


async def test_a_useless_photo_is_explained_and_the_form_stays(studio: Studio) -> None:
    await studio.begin()
    before = studio.draft
    studio.chat.clear_messages()
    await studio.send(photo((800, 60)))
    assert any("too small" in text for text in studio.chat.texts)
    assert (studio.draft, studio.kept) == (before, [])


@pytest.mark.parametrize("megabytes", [12, 21])
async def test_a_file_is_too_large_for_us_or_for_telegram(studio: Studio, megabytes: int) -> None:
    """Telegram lets bots download 20 MB at most; the reply is the same."""
    await studio.begin()
    studio.chat.clear_messages()
    studio.sam.send_document("big.png", photo() + bytes(megabytes * 2**20))
    await studio.chat.take()
    await studio.fetch()
    assert any("too large" in text for text in studio.chat.texts), studio.chat.texts
    assert studio.kept == []


async def test_a_photo_whose_form_has_ended_is_not_stored(studio: Studio) -> None:
    await studio.begin()
    studio.sam.send_photo(photo())
    await studio.chat.take()
    await studio.chat.says(studio.sam, "/cancel")
    studio.chat.clear_messages()
    await studio.fetch()
    assert (studio.kept, studio.chat.texts) == ([], [])


async def test_a_failed_download_is_retried_and_then_the_seller_is_asked(
    studio: Studio, clock: Clock
) -> None:
    """After one more attempt than there are delays."""
    await studio.begin()
    studio.chat.clear_messages()
    studio.chat.world.faults.add(
        Fault("error", method="getFile", times=len(PHOTO_RETRIES.delays) + 1)
    )
    await studio.send(photo())
    for wait in PHOTO_RETRIES.delays:
        assert studio.chat.texts == []
        clock.advance(wait / 1000)
        await studio.fetch()
    (told,) = studio.chat.texts
    assert "send it again" in told
    assert studio.chat.states(studio.chat.queues.photos) == []


async def test_a_photo_is_downloaded_once_telegram_is_back(studio: Studio, clock: Clock) -> None:
    await studio.begin()
    studio.chat.world.faults.add(Fault("error", method="getFile"))
    await studio.send(photo())
    assert studio.kept == []
    clock.advance(PHOTO_RETRIES.delays[0] / 1000)
    await studio.fetch()
    assert studio.kept == [studio.draft["image"]]


async def test_a_photo_backs_off_while_no_child_process_can_be_started(
    studio: Studio, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is downloaded again at the delays of other retries, and never called damaged."""
    await studio.begin()
    studio.sam.send_photo(photo())
    await studio.chat.take()
    studio.chat.clear_messages()

    def start(*_args: object, **_more: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch, capture_logs() as logs:
        patch.setattr(subprocess, "Popen", start)
        await studio.fetch()
        for attempts, wait in enumerate(
            (*PHOTO_RETRIES.delays, PHOTO_RETRIES.delays[-1], PHOTO_RETRIES.delays[-1]), 1
        ):
            clock.advance(wait / 1000 - 0.001)
            await studio.fetch()
            assert len(logs) == attempts
            clock.advance(0.001)
            await studio.fetch()
    assert {line["event"] for line in logs} == {"photo not fetched"}
    assert "Too many open files" in logs[0]["reason"]
    assert (studio.kept, studio.chat.texts) == ([], [])
    clock.advance(PHOTO_RETRIES.delays[-1] / 1000)
    await studio.fetch()
    assert studio.kept == [studio.draft["image"]]


async def test_a_picture_that_takes_too_much_memory_is_explained(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply names a way out, and there is no retry."""
    await studio.begin()
    studio.chat.clear_messages()
    tight = Budget(memory=20_000_000, processor=5, seconds=20.0, answer=1_000_000)
    monkeypatch.setattr(studio.photos, "_child", BoundedChild(decoder_process.MODULE, tight))
    await studio.send(photo((3000, 3000)))
    (told,) = studio.chat.texts
    assert "save it as a regular JPEG" in told
    assert (studio.kept, studio.chat.states(studio.chat.queues.photos)) == ([], [])


@pytest.mark.parametrize("path", ["of the disk", None])
async def test_a_file_path_on_this_machine_is_no_photo(
    studio: Studio,
    path: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The file is not published, and the log has the reason."""
    secret = tmp_path / "secret.jpg"
    secret.write_bytes(photo())
    asked = {"file_id": "f", "file_unique_id": "u"} | ({"file_path": str(secret)} if path else {})

    async def get_file(*_given: object) -> dict[str, str]:
        return asked

    monkeypatch.setitem(api.METHODS, "getFile", get_file)
    await studio.begin()
    studio.chat.clear_messages()
    with capture_logs() as logs:
        await studio.send(photo())
    (told,) = studio.chat.texts
    assert "send it again" in told
    assert studio.kept == []
    assert [(line["event"], "exc_info" in line) for line in logs] == [("photo not fetched", False)]
    assert "file_path" in logs[0]["reason"]


async def test_the_seller_is_asked_for_another_photo_after_one_that_ends_the_process(
    studio: Studio, clock: Clock
) -> None:
    await studio.begin()
    studio.sam.send_photo(photo())
    studio.chat.clear_messages()
    await studio.chat.take()
    queue = studio.chat.queues.photos
    crash(studio.chat.db, queue, clock, queue.max_crashes)
    await until_dead(
        studio.chat.db,
        QueueHandler(queue, studio.photos.take, 2, studio.photos.on_dead_letter),
        clock,
    )
    (told,) = studio.chat.texts
    assert "save it as a regular JPEG" in told
    assert studio.kept == []


async def test_unused_pictures_are_swept_after_a_month(studio: Studio, clock: Clock) -> None:
    """A picture of a form or a request stays."""
    await studio.begin()
    await studio.send(photo())

    def add(data: bytes) -> str:
        return studio.chat.db.run(
            lambda tx: seller_rows.add_image(tx, studio.sam.id, data, clock())
        )

    request, loose = add(b"request"), add(b"loose")
    studio.chat.db.run(lambda tx: seller_rows.keep_image(tx, request, studio.sam.id))
    clock.advance(WEEKS)
    before = clock() - seller_rows.IMAGES_KEPT
    assert studio.chat.db.run(lambda tx: seller_rows.sweep_images(tx, before)) == 1
    assert set(studio.kept) == {studio.draft["image"], request}
    assert loose not in studio.kept


async def test_a_picture_of_another_seller_is_not_kept(studio: Studio, clock: Clock) -> None:
    pat: Person = studio.chat.add_person("Pat")
    made = studio.chat.db.run(lambda tx: seller_rows.add_image(tx, pat.id, b"p", clock()))
    assert not studio.chat.db.run(lambda tx: seller_rows.keep_image(tx, made, studio.sam.id))
