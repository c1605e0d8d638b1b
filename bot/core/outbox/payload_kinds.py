"""Payloads: the contents of queued messages, frozen dataclasses that are stored as JSON objects.

A queue names the kinds of payload that it takes: `Queue("photos", ..., payloads=PayloadKinds(photo=
Photo))`. `outbox.put` then takes a `Photo` and a claimed message has one as its `body`; no other
code touches the JSON. A field may be anything that JSON has, a tuple or a dataclass of such, and
its annotation must be importable at run time (`dict[str, Any]`, not a name of TYPE_CHECKING).
A field that has its default is not stored, so a new field with a default can be added any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bot.core import errors, exact_json

KIND = "kind"
"""The field of the stored object that names the kind of payload; no payload has one of its own."""


class PayloadKinds:
    """The kinds of payload that a queue takes, each under the name that is stored with it."""

    def __init__(self, **kinds: type) -> None:
        """Raise TypeError for a payload whose own field would take the place of its kind."""
        for payload in kinds.values():
            if KIND in {field.name for field in fields(payload)}:
                raise TypeError(f"{payload.__name__}.{KIND}: a payload can't have this field")
        self._kinds = kinds
        self._names = {kind: name for name, kind in kinds.items()}

    def encode(self, payload: object) -> str:
        """Write a payload as JSON; raises KeyError for one of another queue."""
        kind: type = type(payload)
        name = self._names[kind]
        values = _adapter(kind).dump_python(payload, exclude_defaults=True)
        return exact_json.dumps({KIND: name, **values})

    def decode(self, text: str) -> Any:
        """Read a payload; raises Unreadable, which repeats none of its values."""
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
