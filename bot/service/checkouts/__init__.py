"""Checkouts, which are attempts to pay: the units they hold, opening, claiming, polling."""
