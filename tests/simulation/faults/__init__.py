"""The whole product under faults: seeded schedules on a clock that skips what nobody waits for."""
