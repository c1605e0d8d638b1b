"""Exempt the objects of imported modules from garbage collection: they are never freed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_frozen() -> Iterator[None]:
    """Exempt objects created in the block; collecting them takes a tenth of the startup time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
