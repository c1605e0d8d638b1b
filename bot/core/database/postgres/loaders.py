"""Values as Python gets them, equal to those that SQLite returns for the same statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.adapt import AdaptersMap, Loader

if TYPE_CHECKING:
    from psycopg.abc import Buffer


class NumberLoader(Loader):
    """Load a numeric as an int where it is whole: the SUM of bigints is a numeric."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        try:
            return int(text)
        except ValueError:
            return float(text)


class BoolLoader(Loader):
    """Load a comparison as 1 or 0."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


def register(adapters: AdaptersMap) -> None:
    """Make a connection load values so."""
    adapters.register_loader("numeric", NumberLoader)
    adapters.register_loader("bool", BoolLoader)
