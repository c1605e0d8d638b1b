"""SQL of the service: its other rooms use the database through these functions only."""
