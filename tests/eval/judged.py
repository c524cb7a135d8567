"""The worlds of the judge's tests, padded to one size, so that all of them share the programs compiled for it."""

import functools
import runpy
from pathlib import Path

from hard_specs import CROSSED, HARD, HOPELESS

from arena.rooms import Room
from eval.hypotheses.worlds import ARCHETYPES, OUTCOMES, random_spec

SCRIPTS = Path(__file__).parents[2] / "scripts"
#: Units of each experiment; another number is another program.
N = 4000
SPECS = [random_spec(s, first=ARCHETYPES[s % 8], outcome=OUTCOMES[s % 3]) for s in range(16)]
NULL = [random_spec(10_000 + s, plants=0, outcome=OUTCOMES[s % 3], confounding=True) for s in range(5)]


@functools.cache
def example():
    """The example spec, not calibrated."""
    return runpy.run_path(str(SCRIPTS / "make_example_spec.py"))["example"]()


@functools.cache
def shared_room():
    """A room for all of them."""
    return Room.of([example(), *SPECS, *NULL, HARD, HOPELESS, CROSSED])
