"""Downloads of what payers bought."""
