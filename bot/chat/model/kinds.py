"""The kinds of requests."""

KINDS = ("donation", "oneoff", "drop")
