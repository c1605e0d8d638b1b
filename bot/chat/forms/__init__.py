"""The step-by-step forms and their fields: pure functions from a draft and an input to a result."""
