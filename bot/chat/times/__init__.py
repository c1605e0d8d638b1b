"""Dates, clock times and time zones as people write them: pure."""
