"""What lists need to be as quick among a million as among a hundred."""

LISTS: tuple[str, ...] = ()
