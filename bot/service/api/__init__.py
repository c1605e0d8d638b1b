"""The interface over HTTP: its calls, their callers, limits, bodies and answers, OpenAPI."""
