"""Clients generated from `/openapi.json`, each playing a round against a real service."""
