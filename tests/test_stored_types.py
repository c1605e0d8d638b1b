"""Stored JSON during an upgrade: an older replica reads what a newer one wrote."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import find
from hypothesis import strategies as st

import bot
from bot.core import errors, exact_json, stored_json
from tests.support import source_tree

NEWER = {"of_a_newer_version": {"any": ["value"]}}
"""A field that no type of this version has."""

CALLS = ("stored_json.read", "stored_json.write")


def stored_by(module: types.ModuleType) -> Iterator[Any]:
    """Yield the types of the columns that a module reads or writes, and those of its queues."""
    names = vars(module)
    for _, call in source_tree.nodes(ast.Call, [Path(inspect.getfile(module))]):
        if source_tree.dotted(call.func) in CALLS:
            kind = ast.unparse(call.args[0])
            if kind.partition(".")[0] in names:  # no parameter; the callers name the type
                yield eval(kind, names)
    for value in names.values():
        payloads = getattr(value, "payloads", value)
        if isinstance(payloads, stored_json.PayloadKinds):
            yield from payloads._names


def parts_of(kind: Any, known: set[Any]) -> Iterator[Any]:
    """Yield the dataclasses in a stored type that aren't known, itself included."""
    for part in get_args(kind):
        yield from parts_of(part, known)
    made = get_origin(kind) or kind
    if isinstance(made, type) and dataclasses.is_dataclass(made) and kind not in known:
        known.add(kind)
        yield kind
        for hint in get_type_hints(made, include_extras=True).values():
            yield from parts_of(hint, known)


def stored_types() -> list[Any]:
    """Return all dataclasses that are stored as JSON, alone or within another."""
    known: set[Any] = set()
    found: list[Any] = []
    for module in pkgutil.walk_packages(bot.__path__, "bot."):
        if not module.name.endswith("__main__"):
            for kind in stored_by(importlib.import_module(module.name)):
                found += parts_of(kind, known)
    return found


def sample(kind: Any) -> Any:
    """Return a value of a type in JSON, without anything that can be left out."""
    made, parts = get_origin(kind) or kind, get_args(kind)
    if dataclasses.is_dataclass(made):
        hints = get_type_hints(made, include_extras=True)
        missing = dataclasses.MISSING
        return {
            field.name: sample(hints[field.name])
            for field in dataclasses.fields(made)
            if field.init and field.default is missing and field.default_factory is missing
        }
    if made is Annotated:
        rules = [rule for limits in kind.__metadata__ for rule in getattr(limits, "metadata", ())]
        patterns = [rule.pattern for rule in rules if getattr(rule, "pattern", None)]
        shapes = [st.from_regex(pattern, fullmatch=True) for pattern in patterns]
        return find(shapes[0], lambda _: True) if shapes else sample(parts[0])
    if made in (Union, types.UnionType):
        return None if types.NoneType in parts else sample(parts[0])
    if made is Literal:
        return parts[0]
    if made is tuple:
        return [] if ... in parts else [sample(part) for part in parts]
    if isinstance(made, type) and issubclass(made, Enum):
        return next(iter(made)).value
    if isinstance(made, type) and issubclass(made, (str, list, dict)):
        return "x" if made is str else made()
    return None if made is Any else 1


def test_an_older_replica_reads_every_stored_type_with_a_field_of_a_newer_version() -> None:
    """In a column, in a queue, and within another type; the field is ignored."""
    found = stored_types()
    unread = {}
    for kind in found:
        values = sample(kind)
        known = stored_json.read(kind, exact_json.dumps(values))
        try:
            read = stored_json.read(kind, exact_json.dumps(values | NEWER))
        except errors.Unreadable as error:
            read = error
        if read != known:
            unread[kind] = read
    assert unread == {}
    assert len(found) > 60
