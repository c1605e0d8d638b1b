"""Proofs: what holds when strangers flood the product, and when parts of it die under load.

`python -m tests.proofs NAME` starts what it needs as processes, does its worst to them, and holds
what became of payers, sellers, alerts and memory to what the documents promise. It is run nightly.
"""
