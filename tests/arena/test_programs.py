"""One compilation a program, whoever asks."""

import concurrent.futures
import threading

import jax.numpy as jnp
import numpy as np
import pytest

from arena import programs

TRACED = []


def double(x, *, times):
    TRACED.append(times)
    return {"out": x * times}


def broken(x):
    raise ArithmeticError("no")


def test_threads_share_a_compilation():
    TRACED.clear()
    barrier = threading.Barrier(4)

    def ask(_):
        barrier.wait()
        return programs.call(double, np.ones(3, np.float32), times=2)["out"]

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        results = list(threads.map(ask, range(4)))
    assert TRACED == [2]
    assert all((np.asarray(result) == 2).all() for result in results)


def test_shapes_types_and_settings_each_have_a_program():
    TRACED.clear()
    before = programs.count()
    for x, times in ((jnp.ones(4), 5), (jnp.ones(5), 5), (jnp.ones(4, int), 5), (jnp.ones(4), 6), (jnp.zeros(4), 5)):
        programs.call(double, x, times=times)
    assert TRACED == [5, 5, 5, 6] and programs.count() == before + 4


def test_an_error_is_raised_each_time():
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="no"):
            programs.call(broken, np.ones(2))
