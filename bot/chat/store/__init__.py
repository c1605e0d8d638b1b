"""SQL of the chat, one module per concept."""
