"""The step-by-step forms and their fields: from a draft and an input to a result; pure."""
