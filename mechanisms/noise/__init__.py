"""How exogenous noise enters a structural node: one family a file (paper A.1, Structural noise)."""
