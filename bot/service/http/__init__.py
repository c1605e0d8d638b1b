"""HTTP code shared by the API and the pages: callers, rate limits, responses, OpenAPI."""
