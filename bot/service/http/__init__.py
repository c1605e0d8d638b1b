"""What API and pages share of HTTP: callers, rate limits, responses, OpenAPI."""
