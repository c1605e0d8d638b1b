"""The commands of `python -m bot`, and their output."""
