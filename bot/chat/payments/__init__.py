"""The payment service: its calls as queued jobs, its webhooks; payments recorded and reconciled."""
