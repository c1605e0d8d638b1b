"""`python -m bench.peers.arrivals PORT`: the endpoint that takes webhooks of ours and of LNbits.

It says on a GET which payments were told since the last one, and when by the monotonic clock.
"""

from __future__ import annotations

import json
import re
import sys
import time

import uvloop

from bench.endpoint import Arrivals, main

PAYMENT = re.compile(rb"(?:transactionId|payment_hash)\W+(\w+)")
"""LNbits sends a JSON text that has JSON in it, with its quotes escaped."""


class Named(Arrivals):
    """When each payment was told, by its id."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}

    def add(self, body: bytes) -> None:
        """Note a webhook."""
        if found := PAYMENT.search(body):
            self._times.setdefault(found[1].decode(), time.monotonic())

    def taken(self) -> bytes:
        """Return them as JSON, and begin again."""
        said, self._times = json.dumps(self._times).encode(), {}
        return said


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), Named()))
