"""The composition root: Settings in, a running application out."""
