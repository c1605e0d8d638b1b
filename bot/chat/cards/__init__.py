"""A request as a message: card, status, menus, list, and the calls that send or edit it."""
