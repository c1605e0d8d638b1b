"""Key files: the key to a database's secrets, beside its file, used where SECRET_KEY is not set."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from bot.core.database import snapshot
from bot.core.database.vault import Vault
from bot.core.errors import BotError, ConfigProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bot.config import Settings

KEY = ".key"
"""The ending of a key file."""


def kept_key(settings: Settings, path: Path) -> str | None:
    """Return the key in the file beside a database; None where SECRET_KEY opens it."""
    kept = path.with_suffix(KEY)
    if settings.secret_key is not None or not kept.exists():
        return None
    return _read(kept)


def new_key(settings: Settings, path: Path, own: str | None) -> str | None:
    """Return the key to store beside a database; None where there is one."""
    has_one = settings.secret_key is not None or path.with_suffix(KEY).exists()
    return None if has_one else own


@contextmanager
def beside(key: str | None, path: Path) -> Iterator[bool]:
    """Store a key at `path` before its database comes; delete it where that fails."""
    if key is None or (path.exists() and _read(path) == key):
        yield key is not None
        return
    with snapshot.temporary_file(path) as made:
        made.write_text(key)
        snapshot.publish(made, path)
    try:
        yield True
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def find_key(settings: Settings, made: Path, source: Path, *others: Path) -> str | None:
    """Return the key that opens `made`, a copy of `source`.

    It is the one beside `source`, SECRET_KEY, or one beside the `others`; None where the copy has
    no secrets. Raises ConfigProblem where no key opens it.
    """
    places = [one.with_suffix(KEY) for one in (source, *others)]
    keys = [_read(one) for one in places if one.exists()]
    if settings.secret_key is not None:
        keys.insert(1, settings.secret_key.get_secret_value())
    sealed = snapshot.read_sealed_secret(made)
    if sealed is None:
        return keys[0] if keys else None
    for key in keys:
        try:
            Vault(key).open(sealed)
        except ConfigProblem:
            continue
        return key
    raise ConfigProblem(
        f"SECRET_KEY: the secrets in {source} were sealed with another key: set SECRET_KEY to that"
        f" one, or put the key file that was made with it to {places[0]}"
    )


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BotError(f"{path}: can't be read: {error}") from error
