"""Replicas: what holds when several processes work over one PostgreSQL, and some of them die.

`python -m tests.replicas NAME` starts a PostgreSQL server, replicas and a Bot API server, does its
worst to them, and holds what became of it to the promises of docs/replicas.md.
"""
