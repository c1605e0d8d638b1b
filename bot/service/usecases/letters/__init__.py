"""Letters: who may get one, what it reports, and the limits that it waits for."""
