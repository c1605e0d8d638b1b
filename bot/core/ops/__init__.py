"""Operations: health endpoints, metrics, the audit log, the log."""
