"""Distributions of nodes without parents: one family a file (paper A.1, Root distributions)."""
