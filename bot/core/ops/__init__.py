"""What operators see: health endpoints, metrics, readiness, the audit log."""
