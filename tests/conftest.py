"""Shared by all tests: random specs, and compiled programs kept between runs of one machine."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
