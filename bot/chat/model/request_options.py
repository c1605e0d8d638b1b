"""The optional fields of a request, which a draft and a wish share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

PAYER_FIELDS = ("email", "phoneNumber", "paymail")
"""What payers can be asked for (interface, section 4: `requestedUserData`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """What a request may have beside its name, price and destination; None where it has none.

    `instrument` is the currency in which it is paid where the price is in another. `image` is the
    id of the picture, times are in epoch ms, `payer_fields` are of PAYER_FIELDS.
    """

    instrument: str | None = None
    image: str | None = None
    starts_at: int | None = None
    ends_at: int | None = None
    payer_fields: tuple[str, ...] = ()
    redirect_url: str | None = None
    email: str | None = None


def options_of(request: RequestOptions) -> dict[str, Any]:
    """Return the options of a draft or a wish, as keyword arguments of the other."""
    return {field.name: getattr(request, field.name) for field in fields(RequestOptions)}
