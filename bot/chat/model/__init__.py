"""The seller's request and the service's answer to it, as data: pure."""
