"""Queues in the database: lanes, leases, retries, rates, and the worker that performs jobs."""
