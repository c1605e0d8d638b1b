"""What all tests in a browser share."""

from __future__ import annotations

from playwright.async_api import expect

SLOW = 15_000.0
"""Milliseconds that a page may take to show something on a busy machine; by default 5,000."""

expect.set_options(timeout=SLOW)
