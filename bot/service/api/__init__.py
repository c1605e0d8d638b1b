"""The interface over HTTP: `/v3/paymentRequests` and the calls around it."""
