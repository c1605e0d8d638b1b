"""The interface over HTTP: `/v3/paymentRequests`."""
