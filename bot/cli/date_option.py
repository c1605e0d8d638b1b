"""The dates and ages that options of commands take."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from bot.core.clock import now

if TYPE_CHECKING:
    from click import Context, Parameter

UNITS = {"d": 24 * 3600 * 1000, "h": 3600 * 1000}
AGE = re.compile(r"(\d{1,5})([dh])")


class Moment(click.ParamType[int]):
    """A date, a time in ISO 8601 (UTC where no zone is named), or an age: 90d, 12h; epoch ms."""

    name = "date"

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> int:
        """Parse the argument; end the command with the allowed forms where that fails."""
        if isinstance(value, int):
            return value
        if age := AGE.fullmatch(value):
            return now() - int(age[1]) * UNITS[age[2]]
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            known = "write 2026-01-31, 2026-01-31T12:00:00Z or 90d"
            self.fail(f"{value!r} is not a date or an age: {known}", param, ctx)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
