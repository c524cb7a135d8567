"""Shared by all tests: no accelerator, and compiled programs shared by the processes of one run."""

import os
import shutil
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
_OURS = "JAX_COMPILATION_CACHE_DIR" not in os.environ
if _OURS:  # inherited by the processes that pytest-xdist and the tests start
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="programs-")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"


def pytest_unconfigure():
    if _OURS:
        shutil.rmtree(os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
