"""An hour in which a hundred sellers press and type anything, drawn from a seed and played."""
