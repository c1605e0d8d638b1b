"""Rails: a rail moves the money of one kind of payout account.

It opens checkouts and looks whether their money has arrived (see model/rail_answers.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from bot.service.model.rail_answers import Manner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.service.model.rail_answers import Asked, Connected, Look, Opened, Unavailable


class Rail(Protocol):
    """A kind of money, and how it is asked for and found."""

    @property
    def kind(self) -> str:
        """Return the kind of its accounts, under which its payments are stored."""

    @property
    def test_money(self) -> bool:
        """Return whether its money is not real, which the page then writes."""

    async def connect(self, details: Mapping[str, Any]) -> Connected:
        """Validate what a seller typed, and probe the wallet.

        Raises InvalidBody with the problems of `details.<field>`.
        """

    def open_offline(self, asked: Asked) -> Opened | None:
        """Open a checkout without I/O, in the transaction that reserves its unit.

        None where a wallet has to be asked: `open` does.
        """

    async def open(self, asked: Asked) -> Opened | Unavailable:
        """Ask the wallet for an invoice, for at most ten seconds."""

    async def look(self, asked: Asked, opened: Opened) -> Look:
        """Ask the wallet for the money, for at most ten seconds.

        Raises nothing for what a peer does.
        """

    def host(self, details: Mapping[str, Any]) -> str:
        """Return the wallet's host, '' without one: a slow wallet delays no other."""

    async def close(self) -> None:
        """Close its connections."""


class Rails:
    """The rails of this installation: test money alone, or kinds of real money."""

    def __init__(self, *rails: Rail) -> None:
        self._rails = {rail.kind: rail for rail in rails}

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that are offered."""
        return tuple(self._rails)

    @property
    def test_money(self) -> bool:
        """Return whether payers pay with test money."""
        return any(rail.test_money for rail in self._rails.values())

    @property
    def manners(self) -> tuple[Manner, ...]:
        """Return how a payer may have the money arrive; nothing where it is real."""
        return tuple(Manner) if self.test_money else ()

    def of(self, kind: str) -> Rail:
        """Return the rail of a kind. Raises KeyError for one that is not offered."""
        return self._rails[kind]

    async def close(self) -> None:
        """Close the connections of all rails."""
        for rail in self._rails.values():
            await rail.close()
