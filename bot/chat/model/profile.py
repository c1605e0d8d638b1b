"""The profile of a seller: what payers see of the person they pay."""

from __future__ import annotations

from dataclasses import dataclass, fields

MAX_ABOUT = 160
"""Characters of the line about a seller (the service has the same bound)."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What payers see of a seller: nothing while there is no `name`.

    `image` is the id of the picture, `about` a line about them, `contact` an @username, an email
    address or a link, `accent` a name in core/accents.py.
    """

    name: str | None = None
    image: str | None = None
    about: str | None = None
    contact: str | None = None
    accent: str | None = None


@dataclass(frozen=True, slots=True)
class ProfileHints:
    """What the profile's forms offer beside the stored profile; none of it is stored.

    `name` is the person's at Telegram, `contacts` are their @username and the address of their
    email notifications, `page` is their newest pay page.
    """

    name: str | None = None
    contacts: tuple[str, ...] = ()
    page: str | None = None


NO_PROFILE, NO_HINTS = Profile(), ProfileHints()

PROFILE_FIELDS = tuple(field.name for field in fields(Profile))

PROFILE_STEPS = {f"seller{name}": name for name in PROFILE_FIELDS}
"""The attribute of the profile that each step of the settings asks for."""
