"""Structural equations, noise channels and root distributions: one family a file."""
