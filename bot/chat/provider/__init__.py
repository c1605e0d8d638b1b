"""The payment service's client and what servers of the interface do differently."""
