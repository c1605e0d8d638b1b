"""Typed values stored as JSON: payloads of queued messages, and columns that hold whole objects.

A stored type is a frozen dataclass, or a tuple or dict of JSON values. Its annotations must be
importable at run time (`dict[str, Any]`, no name imported under TYPE_CHECKING), because they decide
how it is read; a limit in an annotation (`Whole`) is checked then. Numbers are exact. Default
values of dataclasses are not stored, so a field with a default can be added at any time. Unknown
fields are ignored, because a newer replica may have written them; whoever writes the value again
loses them (docs/decisions/replicas.md#0073).

A column holds one type: `write(Quote, quote)`, `read(Quote, row["quote"])`. A queue holds several,
each stored with its name: `Queue("photos", ..., payloads=PayloadKinds(photo=Photo))`. Then
`outbox.put` takes a `Photo`, and the `body` of a claimed message is a `Photo`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from bot.core import errors, exact_json
from bot.core.money import amounts

T = TypeVar("T")

Whole: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=amounts.MAX_MINOR)]
"""A positive integer that fits into a database column."""

KIND = "kind"
"""The field of a stored payload that names its kind, by default."""


def write(kind: type[T], value: T) -> str:
    """Write a value of this type as JSON."""
    return exact_json.dumps(_values(kind, value))


def read(kind: type[T], text: str) -> T:
    """Read a value that `write` wrote for the same type; raises Unreadable."""
    value: T = _validated(kind, _parsed(text))
    return value


class PayloadKinds:
    """The kinds of payload of a queue, by the names that are stored with them in the field `tag`.

    Raises TypeError if a payload has a field with this name.
    """

    def __init__(self, tag: str = KIND, /, **kinds: type) -> None:
        for payload in kinds.values():
            if tag in {field.name for field in fields(payload)}:
                raise TypeError(f"{payload.__name__}.{tag}: a payload can't have this field")
        self._tag = tag
        self._kinds = kinds
        self._names = {kind: name for name, kind in kinds.items()}

    def encode(self, payload: object) -> str:
        """Write a payload as JSON; raises KeyError if the queue has no such kind."""
        kind: type = type(payload)
        name = self._names[kind]
        return exact_json.dumps({self._tag: name, **_values(kind, payload)})

    def decode(self, text: str) -> Any:
        """Read a payload; raises Unreadable."""
        body = read_object(text)
        kind = self._kinds.get(str(body.get(self._tag)))
        if kind is None:
            raise errors.Unreadable("its kind is not known")
        return _validated(kind, body)


def read_object(text: str) -> Mapping[str, Any]:
    """Read a JSON object; raises Unreadable."""
    body = _parsed(text)
    if not isinstance(body, dict):
        raise errors.Unreadable("not a JSON object")
    return body


def _parsed(text: str) -> Any:
    try:
        return exact_json.loads(text, depth=exact_json.STORED_DEPTH)
    except (ValueError, TypeError):
        raise errors.Unreadable("not JSON") from None


def _values(kind: Any, value: object) -> Any:
    return _adapter(kind).dump_python(value, exclude_defaults=True)


def _validated(kind: Any, value: object) -> Any:
    """Return a value of a type; the text of an Unreadable contains no stored values."""
    try:
        return _adapter(kind).validate_python(value, extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise errors.Unreadable(f"{place}: {first['msg']}") from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
