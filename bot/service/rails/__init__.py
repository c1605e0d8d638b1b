"""The ways to pay: rails and exchange rates."""
