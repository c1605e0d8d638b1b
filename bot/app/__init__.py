"""The composition root: settings in, a running application out; its web server."""
