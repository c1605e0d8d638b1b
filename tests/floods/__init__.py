"""Floods: what strangers may do to the product for free, and what the sellers notice of it.

`python -m tests.floods NAME…` starts the product and a Bot API server as processes, pays at a
steady rate, lets a flood loose, and prints what became of the alerts, the payers and the memory.
"""
