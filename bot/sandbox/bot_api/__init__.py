"""The Bot API's methods over the world."""
