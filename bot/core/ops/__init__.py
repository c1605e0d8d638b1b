"""What operators see: health endpoints, metrics, the audit log, the log."""
