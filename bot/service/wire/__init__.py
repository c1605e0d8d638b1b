"""The interface's JSON: bodies into the model, the model into answers."""
