"""What API and pages share of HTTP: dependencies, bodies, rate limits, answers."""
