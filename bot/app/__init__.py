"""The composition root, which builds the application from its settings, and the web server."""
