"""Mutable references."""
