"""Queues in the database: put, claim, settle; lanes, rates, leases, fairness; the worker."""
