"""Where things lie on disk."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The top of the repository."""
