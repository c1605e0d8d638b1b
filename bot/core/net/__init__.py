"""HTTP in and out: addresses, dialling, request bodies, rates, Retry-After."""
