"""The parameters of a Bot API call in any encoding, and file answers.

Source: core.telegram.org/bots/api#making-requests: query string, urlencoded, JSON or multipart.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bot.sandbox.world import errors, files

BODY_BYTES = files.DOCUMENT_BYTES + 1024 * 1024
FIELD_BYTES = 1024 * 1024

_TRUE = frozenset({"true", "yes", "1"})


class Params:
    """Values by name; unknown names are ignored, empty values count as missing."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)

    def text(self, name: str) -> str:
        """Return a string, "" if it is missing."""
        value = self.values.get(name)
        if isinstance(value, files.Upload):
            return value.data.decode(errors="replace")
        return "" if value is None else str(value)

    def number(self, name: str, default: int = 0) -> int:
        """Return an integer. Errors: 400 for other text."""
        text = self.text(name).strip()
        if not text:
            return default
        try:
            return int(text)
        except ValueError:
            raise errors.bad_request(f'parameter "{name}" is invalid: must be an Integer') from None

    def flag(self, name: str) -> bool:
        return self.text(name).strip().lower() in _TRUE

    def json(self, name: str, wording: str) -> Any:
        """Return a JSON value, decoded if it is text; None if it is missing. Errors: 400."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        if not value.strip():
            return None
        try:
            return _loaded(value)
        except ValueError:
            raise errors.bad_request(f"can't parse {wording} JSON object") from None

    def markup(self) -> Any:
        return self.json("reply_markup", "reply keyboard markup")

    def upload(self, name: str) -> files.Upload | None:
        value = self.values.get(name)
        return value if isinstance(value, files.Upload) else None

    @property
    def chat_id(self) -> int | None:
        """Return the id of the call's chat, for faults; None if it is not a number."""
        text = self.text("chat_id").strip()
        return int(text) if text.removeprefix("-").isdecimal() else None


async def params_of(request: Request) -> Params:
    """Read the query string and the body. Errors: 400 unreadable, 413 too large."""
    if int(request.headers.get("content-length") or 0) > BODY_BYTES:
        raise errors.ApiError(413, "Request Entity Too Large")
    values: dict[str, Any] = dict(request.query_params)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        values |= _decoded(await request.body())
    elif kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        try:
            async with request.form(max_part_size=FIELD_BYTES) as form:
                for name, value in form.multi_items():
                    values[name] = await _upload(value) if isinstance(value, UploadFile) else value
        except HTTPException as error:
            raise errors.bad_request(f"can't read the form: {error.detail}") from None
    return Params(values)


async def _upload(file: UploadFile) -> files.Upload:
    return files.Upload(file.filename or "file", await file.read(), file.content_type or "")


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        values = _loaded(body or b"{}")
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise errors.bad_request("can't parse request body as a JSON object")
    return values


def _loaded(source: str | bytes) -> Any:
    """Decode JSON. Errors: ValueError, including for lone surrogates, which UTF-8 can't encode."""
    value = json.loads(source)
    json.dumps(value, ensure_ascii=False).encode()
    return value


SLICE = 64 * 1024
"""Bytes of a file per chunk: a web server with bounded memory truncates larger answers."""


def file_answer(file: files.Upload, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer with a file's bytes, sent in slices as the client reads them."""
    length = {"Content-Length": str(len(file.data))}
    return StreamingResponse(_slices(file.data), 200, {**(headers or {}), **length}, file.mime)


async def _slices(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), SLICE):
        yield data[start : start + SLICE]
