"""Lighthouse over the pages that payers see, in Chromium as on a phone; `make lighthouse`."""
