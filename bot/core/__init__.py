"""The floor under both slices. It knows neither of them."""
