"""The step-by-step forms: pure functions from a draft and an input to an outcome."""
