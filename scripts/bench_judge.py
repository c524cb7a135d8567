"""Time to judge proposals on the example spec, beside numpy loops that do the same experiments, in one run.

    python scripts/bench_judge.py [--proposals 100] [--units 40000] [--rounds 3]

Proposals are drawn over all forms; the variable is a cause of the outcome in half of them, so that about half of the
experiments reach it. Both sides start from natural units that are drawn beforehand, and keep the same moments. One
numpy loop evaluates every variable that has causes in every world; the other one only what lies between the
interventions and the outcome, as ours does. Both use vectorised equations, and noise that is computed once. The best of
the rounds counts, of numpy a single one; the moments must agree.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

sys.path.insert(0, str(Path(__file__).parent))
from make_example_spec import PLANTS, example

from arena.dag import topological_order
from eval.hypotheses.designs import HELD, Design
from eval.hypotheses.evaluate import Judge
from eval.hypotheses.proposals import FORMS, Proposal
from eval.hypotheses.simulator import Simulator


def draw(judge: Judge, n: int, seed: int = 0) -> list[Proposal]:
    """Different valid claims."""
    rng, outcome = np.random.default_rng(seed), judge.simulator.outcome
    names = [name for name in judge.simulator.spec.names if name != outcome]
    causes = next(node.parents for node in judge.simulator.spec.nodes if node.name == outcome)
    found: dict[Proposal, None] = {}
    while len(found) < n:
        among = causes if rng.random() < 0.5 else names
        data = {
            "variable": str(rng.choice(among)),
            "form": str(rng.choice(FORMS)),
            "direction": str(rng.choice(["+", "-"])),
            "moderator": str(rng.choice(causes if rng.random() < 0.5 else names)),
        }
        (claim,) = judge.read([data])
        if isinstance(claim, Proposal):
            found[claim] = None
    return list(found)


class NumpyLoop:
    """The same experiments in plain numpy, float32; knows the families that the example uses."""

    def __init__(self, judge: Judge):
        simulator, laboratory = judge.simulator, judge.laboratory
        self.nodes = {node.name: node for node in simulator.spec.nodes}
        self.outcome, self.natural = simulator.outcome, {k: np.asarray(v) for k, v in laboratory.values.items()}
        self.order = [simulator.spec.nodes[j].name for j in topological_order(simulator.spec.adjacency)]
        u = np.asarray(simulator.scm.draw_noise(simulator.key("experiment"), judge.n))
        self.noise = {
            node.name: (node.noise.scale * ndtri(u[:, j])).astype(np.float32)  # type: ignore[union-attr]
            for j, node in enumerate(simulator.spec.nodes)
            if node.parents
        }
        self.below = {name: self._descendants(name) for name in self.nodes}
        self.above = {name for name in self.nodes if self.outcome in self.below[name]} | {self.outcome}

    def run(self, design: Design, everything: bool) -> tuple[np.ndarray, np.ndarray]:
        """Effects and covariances of the worlds, as `Moments` has them."""
        todo = [name for name in self.order if self.nodes[name].parents]
        if not everything:
            moved = self.below[design.variable] | (self.below[design.second] if design.second else set())
            needed = self.above | {design.variable, design.second}
            todo = [name for name in todo if name in moved and name in needed]
        shifts = []
        for world in design.worlds:
            x = dict(self.natural)
            fixed = {}
            if world.dose is not None:
                fixed[design.variable] = np.float32(world.dose)
            if world.level is not None:
                level = self.natural[design.second] if world.level == HELD else np.float32(world.level)  # type: ignore[index]
                fixed[design.second] = level
            for name, value in fixed.items():
                x[name] = np.broadcast_to(value, x[name].shape)  # type: ignore[index]
            for name in todo:
                if name not in fixed:
                    x[name] = self._equation(name, x) + self.noise[name]
            shifts.append(x[self.outcome] - self.natural[self.outcome])
        shifts = np.stack(shifts)
        effect = shifts.mean(axis=1)
        centred = shifts - effect[:, None]
        return effect, centred @ centred.T / shifts.shape[1] ** 2

    def _equation(self, name: str, x: dict[str, np.ndarray]) -> Any:
        node: Any = self.nodes[name]
        mechanism = node.mechanism
        if mechanism.family == "linear_additive":
            return mechanism.bias + sum(w * x[p] for w, p in zip(mechanism.weight, node.parents, strict=True))
        total = np.float32(mechanism.bias)
        for term in mechanism.terms:
            v = x[term.operand.of[0]]
            if term.operand.op == "product":
                v = v * x[term.operand.of[1]]
            z = v if term.scale is None else (v - np.float32(term.at)) / np.float32(term.scale)
            match term.op:
                case "threshold":
                    z = np.maximum(z, 0)
                case "bump":
                    z = np.exp(-0.5 * z * z)
                case "interaction":
                    z = z * (x[term.by.of[0]] - np.float32(term.by_at)) / np.float32(term.by_scale)
                case "gate":
                    z = z * (x[term.by.of[0]] == term.level)
            total = total + np.float32(term.weight) * z
        return total

    def _descendants(self, name: str) -> set[str | None]:
        found: set[str | None] = set()
        for other in self.order:
            if any(parent == name or parent in found for parent in self.nodes[other].parents):
                found.add(other)
        return found


def main(proposals: int, units: int, rounds: int) -> dict[str, float]:
    """Seconds of each side."""
    assert len(PLANTS) == 5
    judge = Judge(Simulator(example()).auto_calibrate(), n=units)
    claims = draw(judge, proposals)
    designs = [judge.design(claim) for claim in claims]
    distinct = list(dict.fromkeys(designs))
    worlds = sum(len(design.worlds) for design in distinct)
    print(f"{len(claims)} proposals, {len(distinct)} experiments of {worlds} worlds, {units} units")
    began = time.perf_counter()
    judge.verdicts(claims)
    first = time.perf_counter() - began
    ours = min(_timed(lambda: judge.verdicts(claims)) for _ in range(rounds))
    readings = judge.laboratory.run(distinct)
    loop, sd, out = NumpyLoop(judge), judge.laboratory.response.scale, {"ours": ours, "first": first}
    for name, everything in (("numpy loop", True), ("numpy loop, only what is moved", False)):
        began = time.perf_counter()
        found = [loop.run(design, everything) for design in distinct]
        out[name] = time.perf_counter() - began
        for reading, (effect, covariance) in zip(readings, found, strict=True):
            np.testing.assert_allclose(reading.effect, effect / sd, atol=2e-4)
            np.testing.assert_allclose(reading.covariance, covariance / sd**2, atol=1e-7)
    print(f"{'arena judge, first time (compiles)':40} {first:8.2f} s")
    print(f"{'arena judge':40} {ours:8.2f} s")
    for name in list(out)[2:]:
        print(f"{name:40} {out[name]:8.2f} s   {out[name] / ours:5.1f} times ours")
    return out


def _timed(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for option, default in (("proposals", 100), ("units", 40_000), ("rounds", 3)):
        parser.add_argument(f"--{option}", type=int, default=default)
    main(**vars(parser.parse_args()))
