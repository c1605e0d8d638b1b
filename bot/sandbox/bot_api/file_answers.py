"""Files as answers, in slices: a web server with bounded memory cuts one that comes at once."""

from collections.abc import AsyncIterator, Mapping

from starlette.responses import Response, StreamingResponse

from bot.sandbox.world.files import Upload

_SLICE = 64 * 1024


def file_answer(file: Upload, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer with a file's bytes, sent as the client takes them."""
    length = {"Content-Length": str(len(file.data))}
    return StreamingResponse(_slices(file.data), 200, {**(headers or {}), **length}, file.mime)


async def _slices(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _SLICE):
        yield data[start : start + _SLICE]
