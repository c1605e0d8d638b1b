"""Files that the bot and people sent, and the rules for photos and for files of other kinds.

Source: core.telegram.org/bots/api#sending-files, sendPhoto, sendDocument, sendVideo, getFile.
"""

import mimetypes
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from bot.core import bounded_process, errors
from bot.sandbox.world import scaling
from bot.sandbox.world.errors import ApiError, bad_request

# Format and size of a picture, read from its first bytes (PNG, JPEG, WebP, GIF).

_SIZELESS = frozenset({0xC4, 0xC8, 0xCC})  # huffman tables, reserved, arithmetic coding


@dataclass(frozen=True, slots=True)
class Picture:
    """MIME type, width and height in pixels."""

    mime: str
    width: int
    height: int


def measure(data: bytes) -> Picture | None:
    """Return format and size; None if Telegram doesn't accept the bytes as a photo."""
    for magic, reader in _READERS.items():
        if data.startswith(magic):
            try:
                return reader(data)
            except IndexError:
                return None
    return None


def _png(data: bytes) -> Picture | None:
    if data[12:16] != b"IHDR" or len(data) < 33:  # noqa: PLR2004 - signature and one whole IHDR
        return None
    return Picture("image/png", _big(data, 16, 4), _big(data, 20, 4))


def _gif(data: bytes) -> Picture:
    return Picture("image/gif", _little(data, 6, 2), _little(data, 8, 2))


def _jpeg(data: bytes) -> Picture | None:
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:  # noqa: PLR2004 - each segment begins so
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _SIZELESS:  # noqa: PLR2004 - SOF0 to SOF15
            return Picture("image/jpeg", _big(data, at + 7, 2), _big(data, at + 5, 2))
        at += 2 + _big(data, at + 2, 2)
    return None


def _webp(data: bytes) -> Picture | None:
    kind = data[12:16]
    if data[8:12] != b"WEBP":
        return None
    if kind == b"VP8X":
        return Picture("image/webp", _little(data, 24, 3) + 1, _little(data, 27, 3) + 1)
    if kind == b"VP8L":
        bits = _little(data, 21, 4)
        return Picture("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        return Picture("image/webp", _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF)
    return None


def _number(order: Literal["big", "little"], data: bytes, at: int, size: int) -> int:
    part = data[at : at + size]
    if len(part) < size:
        raise IndexError
    return int.from_bytes(part, order)


_big, _little = partial(_number, "big"), partial(_number, "little")


_READERS: dict[bytes, Callable[[bytes], Picture | None]] = {
    b"\x89PNG\r\n\x1a\n": _png,
    b"\xff\xd8\xff": _jpeg,
    b"RIFF": _webp,
    b"GIF8": _gif,
}


PHOTO_BYTES = 10 * 1024 * 1024
DOCUMENT_BYTES = 50 * 1024 * 1024
DOWNLOAD_BYTES = 20 * 1024 * 1024
PHOTO_SIDES = 10_000
PHOTO_RATIO = 20
SIDES = (90, 320, 800)
"""The longer sides of a photo's smaller sizes, if the photo is larger."""
THUMBNAIL_SIDE = 320
PROFILE_SIDES = (160, 320, 640)
"""The sides of the sizes of a profile photo, which is square."""

Json = dict[str, Any]

_FRAME: Json = {"width": 320, "height": 240, "duration": 1}
OTHER_KINDS: dict[str, Json] = {
    "document": {},
    "video": _FRAME,
    "animation": _FRAME,
    "audio": {"duration": 1},
    "voice": {"duration": 1},
}
"""Kinds of files other than photos, with made-up values for the fields that Telegram measures."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was sent: name, bytes, declared MIME type."""

    name: str
    data: bytes = field(repr=False)
    mime: str = ""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the world."""

    file_id: str

    kind: str
    """`photo` or one of OTHER_KINDS."""

    path: str
    source: Upload = field(repr=False)

    json: Json = field(repr=False)
    """The Bot API's object: PhotoSize, Video and so on."""

    content: Json = field(repr=False)
    """The value of the Message field; for a photo a list of sizes, smallest first."""

    side: int | None = None
    """The longer side of a smaller size, which `Files.read` makes from the whole picture."""

    @property
    def data(self) -> bytes:
        return self.source.data


class Files:
    """Everything uploaded, by file_id and by download path."""

    def __init__(self) -> None:
        self._by_id: dict[str, StoredFile] = {}
        self._by_path: dict[str, StoredFile] = {}
        self._scaled: dict[str, Upload] = {}
        self._scaler = bounded_process.BoundedChild(scaling.SCALER, bounded_process.PICTURE_BUDGET)

    def get(self, file_id: str) -> StoredFile | None:
        return self._by_id.get(file_id)

    def at(self, path: str) -> StoredFile | None:
        return self._by_path.get(path)

    async def read(self, stored: StoredFile) -> Upload:
        """Return a file for download; the whole picture if a smaller size can't be made.

        A child process opens uploads, because a picture may be crafted to exhaust memory.
        """
        whole = stored.source
        if stored.side is None:
            return whole
        if stored.file_id not in self._scaled:
            try:
                small = await self._scaler.run(scaling.asked(stored.side, whole.data))
            except (errors.OverBudget, errors.StorageError):
                small = b""
            scaled = Upload(whole.name, small, scaling.SCALED_MIME) if small else whole
            self._scaled[stored.file_id] = scaled
        return self._scaled[stored.file_id]

    def add(self, kind: str, upload: Upload) -> StoredFile:
        """Check and keep an upload as `photo` or one of OTHER_KINDS. Errors: 400, 413."""
        if kind == "photo":
            return self._photo(upload)
        if len(upload.data) > DOCUMENT_BYTES:
            raise ApiError(413, "Request Entity Too Large")
        if not upload.data:
            raise bad_request("file must be non-empty")
        guessed = mimetypes.guess_type(upload.name)[0]
        mime = guessed or upload.mime or "application/octet-stream"
        body = _size_of(upload) | {"mime_type": mime} | OTHER_KINDS[kind]
        if kind != "voice":
            body["file_name"] = upload.name
        if picture := measure(upload.data):
            shown: Json = {"photo": []}
            small = self._smaller(upload, picture, THUMBNAIL_SIDE, shown)
            shown["photo"].append(small.json)
            body["thumbnail"] = small.json
        whole = Upload(upload.name, upload.data, mime)
        content: Json = {}
        stored = self._keep(kind, whole, body, content)
        content[kind] = stored.json
        if kind == "animation":
            content["document"] = stored.json  # as Telegram does, for older bots
        return stored

    def known(self, kind: str, file_id: str) -> StoredFile:
        """Return a previously sent file. Errors: 400 for an unknown id or a different kind."""
        stored = self._by_id.get(file_id)
        if not stored:
            raise bad_request("wrong file identifier/HTTP URL specified")
        if stored.kind != kind:
            have, want = stored.kind.capitalize(), kind.capitalize()
            raise bad_request(f"can't use file of type {have} as {want}")
        return stored

    def add_profile_photo(self, data: bytes) -> list[Json]:
        """Check and keep a profile photo; return its sizes. Errors: 400 unless it is square."""
        sizes: list[Json] = self._photo(Upload("photo", data), PROFILE_SIDES).content["photo"]
        if any(size["width"] != size["height"] for size in sizes):
            raise bad_request("PHOTO_CROP_SIZE_SMALL")
        return sizes[: len(PROFILE_SIDES)]

    def _photo(self, upload: Upload, smaller: Sequence[int] = SIDES) -> StoredFile:
        if len(upload.data) > PHOTO_BYTES:
            raise bad_request(f"file is too big for a photo: {len(upload.data)} bytes")
        picture = measure(upload.data)
        if not picture:
            raise bad_request("IMAGE_PROCESS_FAILED")
        sides = sorted((picture.width, picture.height))
        if sum(sides) > PHOTO_SIDES or sides[0] < 1 or sides[1] > sides[0] * PHOTO_RATIO:
            raise bad_request("PHOTO_INVALID_DIMENSIONS")
        whole = Upload(upload.name, upload.data, picture.mime)
        content: Json = {"photo": []}
        for side in smaller:
            if side < sides[1]:
                content["photo"].append(self._smaller(whole, picture, side, content).json)
        size = {"width": picture.width, "height": picture.height}
        stored = self._keep("photo", whole, _size_of(whole) | size, content)
        content["photo"].append(stored.json)
        return stored

    def _smaller(self, whole: Upload, picture: Picture, side: int, content: Json) -> StoredFile:
        width, height = scaling.fitted(picture.width, picture.height, side)
        return self._keep("photo", whole, {"width": width, "height": height}, content, side)

    def _keep(
        self, kind: str, upload: Upload, body: Json, content: Json, side: int | None = None
    ) -> StoredFile:
        file_id, unique = f"sandbox-{secrets.token_urlsafe(24)}", secrets.token_urlsafe(10)
        suffix = mimetypes.guess_extension(scaling.SCALED_MIME if side else upload.mime) or ""
        path = f"{kind}s/file_{unique}{suffix}"
        named = {"file_id": file_id, "file_unique_id": unique} | body
        stored = StoredFile(file_id, kind, path, upload, named, content, side)
        self._by_id[file_id] = self._by_path[path] = stored
        return stored


def _size_of(upload: Upload) -> Json:
    return {"file_size": len(upload.data)}
