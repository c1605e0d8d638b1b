"""A request as a message: card, status, menus, list, rendering."""
