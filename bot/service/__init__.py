"""The payment request service, a complete implementation of the published interface."""
