"""Payments: how money that arrived is settled, stored, marked and reported."""
