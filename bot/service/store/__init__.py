"""SQL of the service; nothing else of it speaks to the database."""
