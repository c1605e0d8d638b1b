"""The published interface as data: bodies, answers, webhooks, refusals, bounds of fields."""
