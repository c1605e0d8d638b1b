"""The commands of `python -m bot`, one file a group, and their output."""
