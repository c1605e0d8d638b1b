"""The floor under the service and the chat. It knows neither of them."""
