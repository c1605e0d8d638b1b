"""Which version this is, as `pyproject.toml` has it; a test holds the two together."""

VERSION = "0.1.0"
