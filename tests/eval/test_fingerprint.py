"""What changes a fingerprint, what does not, and that every process sees the same one."""

import functools
import os
import subprocess
import sys
import textwrap
import threading
import types
from itertools import count

import numpy as np
import pandas as pd
import pytest

from eval.fingerprint import fingerprint

NUMBER = count()


def made(source, name="f"):
    """What a user's file of that text defines under `name`; every call is another file, loaded as the same module."""
    module = types.ModuleType("user_file")
    exec(compile(textwrap.dedent(source), f"file-{next(NUMBER)}.py", "exec"), module.__dict__)
    return getattr(module, name)


STATE = """
class C:
    def __init__(self, k): self.k = k
    def __call__(self, t): return self.k
    def g(self, t): return self.k
"""
PARTIAL = """
import functools
def g(k, t): return k
"""
# A file, a text in it, and what an edit puts in its place.
EDITS = {
    "constant": ("def f(t): return t + 1", "1", "2"),
    "operator": ("def f(t): return t + 1", "+", "-"),
    "attribute": ("def f(t): return t.min()", "min", "max"),
    "type of a constant": ("def f(t): return 1", "1", "1.0"),
    "set of constants": ("def f(t): return t in {'a', 'b', 'c'}", "'c'", "'d'"),
    "nested function": ("def f(t):\n    def g(x): return x + 1\n    return g(t)", "x + 1", "x - 1"),
    "comprehension": ("def f(t): return [x + 1 for x in t]", "x + 1", "x + 2"),
    "what is caught": ("def f(t):\n    try: return t\n    except ValueError: pass", "ValueError", "TypeError"),
    "default": ("def f(t, k=1): return k", "k=1", "k=2"),
    "keyword default": ("def f(t, *, k=1): return k", "k=1", "k=2"),
    "name of an argument": ("def f(t, k=1): return k", "k", "m"),
    "order of arguments": ("def f(a, b): return a", "a, b", "b, a"),
    "global number": ("K = 1\ndef f(t): return K", "K = 1", "K = 2"),
    "global string": ("K = 'a'\ndef f(t): return K", "'a'", "'b'"),
    "global dict": ("K = {'a': [1, {2}]}\ndef f(t): return K", "{2}", "{3}"),
    "global array": ("import numpy\nK = numpy.arange(3)\ndef f(t): return K", "arange(3)", "arange(3.0)"),
    "global read in a nested function": ("K = 1\ndef f(t): return [x + K for x in t]", "K = 1", "K = 2"),
    "helper": ("def g(t): return t + 1\ndef f(t): return g(t)", "+ 1", "+ 2"),
    "helper of a helper": ("def h(t): return 1\ndef g(t): return h(t)\ndef f(t): return g(t)", "1", "2"),
    "helper in a list": ("def g(t): return 1\nALL = [g]\ndef f(t): return ALL[0](t)", "1", "2"),
    "helper with a cache": ("import functools\n@functools.cache\ndef g(): return 1\ndef f(t): return g()", "1", "2"),
    "jitted helper": ("import jax\n@jax.jit\ndef g(t): return t + 1\ndef f(t): return g(t)", "+ 1", "+ 2"),
    "jitted function": ("import jax\n@jax.jit\ndef f(t): return t + 1", "+ 1", "+ 2"),
    "which library function": ("import numpy\ng = numpy.sin\ndef f(t): return g(t)", "sin", "cos"),
    "which library": ("import math as m\ndef f(t): return m.sqrt(t)", "import math", "import cmath"),
    "decorated function": (
        "import functools\ndef d(g):\n    @functools.wraps(g)\n    def h(*a): return g(*a)\n    return h\n"
        "@d\ndef f(t): return 1",
        "return 1",
        "return 2",
    ),
    "decorator": (
        "import functools\ndef d(g):\n    @functools.wraps(g)\n    def h(*a): return g(*a) + 1\n    return h\n"
        "@d\ndef f(t): return 1",
        "+ 1",
        "+ 2",
    ),
    "closure": ("def g(k):\n    def f(t): return k\n    return f\nf = g(1)", "g(1)", "g(2)"),
    "closure of a lambda": ("f = (lambda k: lambda t: k)([1])", "[1]", "[2]"),
    "function in a closure": ("def g(k): return lambda t: k(t)\nf = g(lambda t: t + 1)", "+ 1", "+ 2"),
    "attribute of a function": ("def f(t): return f.k\nf.k = 1", "k = 1", "k = 2"),
    "argument of a partial": (PARTIAL + "f = functools.partial(g, 1)", "g, 1", "g, 2"),
    "keyword of a partial": (PARTIAL + "f = functools.partial(g, k=1)", "k=1", "k=2"),
    "function of a partial": (PARTIAL + "f = functools.partial(g, 1)", "return k", "return t"),
    "partial that looks like its function": (
        PARTIAL + "f = functools.update_wrapper(functools.partial(g, 1), g)",
        "g, 1",
        "g, 2",
    ),
    "state of an instance": (STATE + "f = C(1)", "C(1)", "C(2)"),
    "state in slots": (STATE.replace("C:", "C:\n    __slots__ = ['k']") + "f = C(1)", "C(1)", "C(2)"),
    "call of an instance": ("class C:\n    def __call__(self, t): return 1\nf = C()", "1", "2"),
    "bound method": (STATE + "f = C(1).g", "g(self, t): return self.k", "g(self, t): return 1"),
    "object of a bound method": (STATE + "f = C(1).g", "C(1)", "C(2)"),
    "which bound method": (STATE + "f = C(1).g", "C(1).g", "C(1).__call__"),
    "base class": (STATE + "class D(C): pass\nf = D(1)", "return self.k", "return -self.k"),
    "class attribute": (STATE + "    more = 1\nf = C(1)", "more = 1", "more = 2"),
    "property": (STATE + "    @property\n    def p(self): return 7\nf = C(1)", "7", "8"),
    "static method": ("class C:\n    @staticmethod\n    def g(t): return 1\nf = C.g", "1", "2"),
    "class method": ("class C:\n    @classmethod\n    def g(cls, t): return 1\nf = C.g", "1", "2"),
    "class in a global": (STATE + "def f(t): return C(1).g(t)", "return self.k", "return -self.k"),
    "instance in a global": (STATE + "c = C(1)\ndef f(t): return c(t)", "C(1)", "C(2)"),
    "command-line arguments": ("import argparse\nA = argparse.Namespace(k=1)\ndef f(t): return A.k", "k=1", "k=2"),
    "seed of a generator": ("import numpy\nR = numpy.random.default_rng(1)\ndef f(t): return R.random()", "(1)", "(2)"),
    "JAX array": ("import jax\nK = jax.numpy.arange(3)\ndef f(t): return K", "(3)", "(4)"),
    "JAX key": ("import jax\nK = jax.random.key(3)\ndef f(t): return K", "(3)", "(4)"),
    "compiled pattern": ("import re\nK = re.compile('a')\ndef f(t): return K", "'a'", "'b'"),
}


@pytest.mark.parametrize("source, old, new", EDITS.values(), ids=EDITS)
def test_an_edit_changes_it(source, old, new):
    edited = source.replace(old, new)
    assert edited != source
    assert fingerprint(made(source)) == fingerprint(made(source)) != fingerprint(made(edited))


# Two files that do the same.
HARMLESS = {
    "lines and comments": ("def f(t): return t + 1", "# why\n\n\ndef f(t):\n    # how\n    return t + 1"),
    "a global that is not read": ("K = 1\ndef f(t): return t", "K = 2\ndef f(t): return t"),
    "an attribute called as a global": ("mean = 1\ndef f(t): return t.mean", "mean = 2\ndef f(t): return t.mean"),
    "a function beside it": ("def g(t): return 1\ndef f(t): return t", "def g(t): return 2\ndef f(t): return t"),
    "lines above a class": (STATE + "f = C(1)", "\n\n" + STATE + "f = C(1)"),
    "order of a dict": ("K = dict(a=1, b=2)\ndef f(t): return K", "K = dict(b=2, a=1)\ndef f(t): return K"),
}


@pytest.mark.parametrize("before, after", HARMLESS.values(), ids=HARMLESS)
def test_what_does_not_matter(before, after):
    assert fingerprint(made(before)) == fingerprint(made(after))


def test_its_name_does_not_matter():
    assert fingerprint(made("def f(t): return 1")) == fingerprint(made("def g(t): return 1", "g"))


def test_long_values_count_to_the_last_entry():
    for make in (np.zeros, lambda n: [0.0] * n, lambda n: pd.DataFrame({"a": np.zeros(n)})):
        values = [make(10_000), make(10_000), make(10_001)]
        first, same, other = (fingerprint(functools.partial(max, value)) for value in values)
        assert first == same != other


def test_being_called_does_not_matter():
    function = made("def f(t):\n    x = 0\n    for i in range(t): x += i * 2\n    return x")
    before = fingerprint(function)
    function(100_000)  # by now the interpreter has specialised its instructions
    assert fingerprint(function) == before


def test_cycles_end():
    even = "def f(n): return n == 0 or g(n - 1)\ndef g(n): return n != 0 and f(n - 1)"
    assert fingerprint(made(even)) != fingerprint(made(even.replace("!= 0", "!= 1")))
    loop: list = [1]
    loop.append({"self": loop})
    assert fingerprint(loop) == fingerprint(loop)
    tied = "class C:\n    def __init__(self): self.me = {self: [self]}\n    def __call__(self, t): return 1\nf = C()"
    assert fingerprint(made(tied)) == fingerprint(made(tied)) != fingerprint(made(tied.replace("1", "2")))


def test_very_long_chains_are_no_error():
    chain: list = []
    for _ in range(10_000):
        chain = [chain]
    assert fingerprint(functools.partial(max, chain)) == fingerprint(functools.partial(max, [chain]))


def test_what_cannot_be_pickled_is_known_by_its_type():
    keep = [threading.Lock(), threading.Lock()]
    assert len({fingerprint(functools.partial(max, lock)) for lock in keep}) == 1
    assert fingerprint(keep[0]) != fingerprint(sys.stdout)
    assert fingerprint(os.environ) == fingerprint(os.environ)


def test_a_file_beside_is_read_and_an_installed_package_is_not(tmp_path, monkeypatch):
    for place in ("site-packages", "mine"):
        (tmp_path / place).mkdir()
        monkeypatch.syspath_prepend(tmp_path / place)
    for name, place in (("fp_installed", "site-packages"), ("fp_beside", "mine")):
        (tmp_path / place / f"{name}.py").write_text("def g(t): return 1\ndef h(t): return g(t)\n")
        user = f"from {name} import h\ndef f(t): return h(t)"
        before, own = fingerprint(made(user)), fingerprint(made(user).__globals__["h"])
        del sys.modules[name]
        (tmp_path / place / f"{name}.py").write_text("def g(t): return 1 + 1 + t\ndef h(t): return g(t)\n")
        assert (fingerprint(made(user)) == before) == (place == "site-packages")
        # A plug-in's own function is its content all the same.
        assert fingerprint(made(user).__globals__["h"]) != own
        del sys.modules[name]


SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from test_fingerprint import EDITS, fingerprint, made
for source, *_ in EDITS.values():
    print(fingerprint(made(source)))
import functools, test_fingerprint, toys, methods.pc, pandas
names = {{"a", "b", "c", ("d", frozenset("efg"))}}
for value in (names, {{name: 1 for name in names}}, functools.partial(max, names), test_fingerprint.made, toys.Toy,
              toys.Toy(), methods.pc.PC(), pandas.DataFrame({{"a": ["x", "y"]}})):
    print(fingerprint(value))
"""


def test_every_process_sees_the_same():
    code, seen = SCRIPT.format(here=os.path.dirname(__file__)), []
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout.splitlines())
    assert seen[0] == seen[1] == seen[2] and len(seen[0]) == len(EDITS) + 8
    assert seen[0][: len(EDITS)] == [fingerprint(made(source)) for source, *_ in EDITS.values()]
