"""What operators' commands take out of the service: exports, and erasures."""
