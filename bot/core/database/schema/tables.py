"""What a migration is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable


class Tables(Protocol):
    """What a step that needs more than SQL works with: the transaction of its migration."""

    def query(self, sql: str, **params: object) -> list[dict[str, Any]]:
        """All rows of a SELECT."""

    def execute(self, sql: str, **params: object) -> int:
        """Run a statement; the number of rows that it changed."""


Step: TypeAlias = "str | Callable[[Tables], None]"
