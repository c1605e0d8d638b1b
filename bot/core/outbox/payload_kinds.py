"""Payloads: the contents of queued messages, as frozen dataclasses that are stored as JSON objects.

A queue names its kinds of payload: `Queue("photos", ..., payloads=PayloadKinds(photo=Photo))`.
Then `outbox.put` takes a `Photo`, the `body` of a claimed message is a `Photo`, and no other code
touches the JSON. A field holds a JSON value, or a tuple or dataclass of such values. Its annotation
must be importable at run time (`dict[str, Any]`, no name imported under TYPE_CHECKING). Default
values are not stored, so a field with a default can be added at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bot.core import errors, exact_json

KIND = "kind"
"""The field of the stored object that names the kind of payload."""


class PayloadKinds:
    """The kinds of payload of a queue, by the names that are stored with them.

    Raises TypeError if a payload has a field with the name KIND.
    """

    def __init__(self, **kinds: type) -> None:
        for payload in kinds.values():
            if KIND in {field.name for field in fields(payload)}:
                raise TypeError(f"{payload.__name__}.{KIND}: a payload can't have this field")
        self._kinds = kinds
        self._names = {kind: name for name, kind in kinds.items()}

    def encode(self, payload: object) -> str:
        """Write a payload as JSON; raises KeyError if the queue has no such kind."""
        kind: type = type(payload)
        name = self._names[kind]
        values = _adapter(kind).dump_python(payload, exclude_defaults=True)
        return exact_json.dumps({KIND: name, **values})

    def decode(self, text: str) -> Any:
        """Read a payload; raises Unreadable, whose text never contains payload values."""
        body = read_object(text)
        kind = self._kinds.get(str(body.get(KIND)))
        if kind is None:
            raise errors.Unreadable("its kind is not known")
        try:
            return _adapter(kind).validate_python(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise errors.Unreadable(f"{place}: {first['msg']}") from None


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def read_object(text: str) -> Mapping[str, Any]:
    """Read a JSON object; raises Unreadable."""
    try:
        body = exact_json.loads(text, depth=exact_json.STORED_DEPTH)
    except (ValueError, TypeError):
        body = None
    if not isinstance(body, dict):
        raise errors.Unreadable("not a JSON object")
    return body
