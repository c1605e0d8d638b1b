"""Between the interface's JSON and the model."""
