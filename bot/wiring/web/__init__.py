"""The web server: process, protocol, connections and their turns."""
