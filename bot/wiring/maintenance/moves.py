"""The move of an installation from its SQLite file to a PostgreSQL server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.core.database import snapshot
from bot.core.database.database import existing_file, is_postgres, safe_url
from bot.core.database.sqlite.files import MOVED
from bot.core.database.transfer import copies
from bot.core.errors import BotError, ConfigProblem
from bot.service.usecases.applications import EMBEDDED
from bot.wiring.maintenance import key_files, prepared_copies
from bot.wiring.maintenance.key_files import KEY
from bot.wiring.maintenance.server_restores import workplace

if TYPE_CHECKING:
    from pathlib import Path

    from bot.config import Settings
    from bot.core.database.snapshot import Contents

HOLDS_DATA = "name an empty database; after a move that was complete, set DATABASE_URL to it"


@dataclass(frozen=True, slots=True)
class Moved:
    """A moved installation: `place` names its server, `former` is the file it came from."""

    place: str
    former: Path
    contents: Contents


def move(settings: Settings, url: str, moment: int) -> Moved:
    """Load the database of DATABASE_URL, a file, into the empty server `url`; rename the file.

    The bot is stopped; nothing is marked as doubtful, since no time is lost. Raises BotError and
    ConfigProblem: then the file is as it was, and the server empty.
    """
    source = _source(settings, url)
    own = _secret_key(settings, source)
    stamp = prepared_copies.stamp(moment)
    former = source.with_name(MOVED.format(source.stem, stamp, source.suffix))
    with (
        snapshot.held(source) as file,
        workplace(source) as made,
        copies.unused(url, EMBEDDED, HOLDS_DATA) as destination,
    ):
        snapshot.copy_held(file, made)
        snapshot.check_foreign(made, source)
        found = snapshot.read_contents(made)
        keys = key_files.find_key(settings, made, source), own
        with prepared_copies.refusing_strange_rows(source):
            prepared_copies.prepare_moved(made, moment, keys)
            destination.load(made, stamp)
        _rename(source, former)
    return Moved(safe_url(url), former, found)


def _source(settings: Settings, url: str) -> Path:
    if not is_postgres(url):
        raise BotError("write the address as postgresql://user@host/database")
    if is_postgres(settings.database_url):
        raise BotError(
            "DATABASE_URL: names a server already: set it to the SQLite file to move from"
        )
    return existing_file(settings.database_url)


def _secret_key(settings: Settings, source: Path) -> str:
    if settings.secret_key is not None:
        return settings.secret_key.get_secret_value()
    key = source.with_suffix(KEY)
    raise ConfigProblem(
        "SECRET_KEY: PostgreSQL needs it, since no key file lies beside a server: set it to the"
        f" content of {key} or to a long random text of your own"
    )


def _rename(source: Path, former: Path) -> None:
    """Move the file away with its key, so that nothing starts on it by mistake."""
    try:
        key = source.with_suffix(KEY)
        if key.exists():
            key.rename(former.with_suffix(KEY))
        source.rename(former)
    except OSError as error:
        raise BotError(
            f"The move is complete, but {source} can't be renamed ({error.strerror}): move it away"
            " yourself before you start the bot"
        ) from error
