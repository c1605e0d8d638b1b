"""Files and folders that only the user who runs the bot may read: they hold payers' data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FOLDER_MODE = 0o700


def make_folder(folder: Path) -> None:
    """Create a folder for its owner alone, with its parents; one that exists keeps its mode."""
    folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
