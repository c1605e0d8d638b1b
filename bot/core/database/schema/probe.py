"""What is written to see that a payment can be stored."""

PROBE = (
    # One row, replaced each time; see core/database/write_check.py.
    "CREATE TABLE probe (number INTEGER PRIMARY KEY, filler TEXT NOT NULL)",
)
