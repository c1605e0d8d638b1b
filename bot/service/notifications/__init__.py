"""Webhooks and emails about payments: queued, limited, sent, settled."""
