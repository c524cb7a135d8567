"""CDIS: causal discovery from interventions under possible selection of the rows, written from its paper."""

import dataclasses
from typing import Any

import jax
import numpy as np

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.adjacency import Skeleton, search
from methods.base import ARROW, CIRCLE, TAIL, Capabilities, Estimate, Method
from methods.orient import from_pag
from methods.pag import orient, put
from methods.partial_correlation import FEWEST_ROWS, p_values


@dataclasses.dataclass(frozen=True)
class CDIS(Method):
    """CDIS with Fisher's z (Dai et al. 2025). The PAG is kept; its liberal reading is scored (paper B.4).

    Rows are grouped by their set of targets; those without any are the control group. It is taken for granted that no
    variable is latent, and not that the groups' targets are known: CDIS sees which rows belong together and finds out
    what changed. A table without interventions gives the PAG of the control group alone, which is FCI without latent
    variables; the paper's tables have such rows.

    Attributes:
        alpha: Level of the independence tests, in (0, 1).
        max_conditioning: Largest size of a conditioning set, None for no limit.

    Raises:
        MethodError: If a setting is out of range.
    """

    alpha: float = 0.05
    max_conditioning: int | None = None

    name = "cdis"
    title = "CDIS"
    reduced = {"max_conditioning": 1}
    capabilities = Capabilities(
        output="pag",
        distinct_columns=True,
        positional=True,
        citation="Dai, Ng, Sun, Tang, Luo, Dong, Spirtes and Zhang (2025). When Selection Meets Intervention: "
        "Additional Complexities in Causal Discovery. ICLR",
    )

    def __post_init__(self):
        if not 0 < self.alpha < 1:
            raise MethodError(f"cdis: alpha is {self.alpha}; it must lie between 0 and 1")
        if self.max_conditioning is not None and self.max_conditioning < 0:
            raise MethodError(f"cdis: max_conditioning is {self.max_conditioning}; it must not be negative")

    def fit(self, dataset: Dataset, key: jax.Array) -> Estimate:
        """Estimate the graph.

        Raises:
            MethodError: If there are fewer than 4 rows without an intervention.
        """
        values, mask = dataset.values, dataset.mask
        control = ~mask.any(axis=1)
        if control.sum() < FEWEST_ROWS:
            raise MethodError(
                f"cdis needs at least {FEWEST_ROWS} rows without an intervention, its control group, "
                f"found {control.sum()}"
            )
        targets, group = np.unique(mask[~control], axis=0, return_inverse=True)
        treated = values[~control]
        groups = [treated[group.ravel() == k] for k in range(len(targets))]

        native, rounds = self._pag(values[control], groups)
        adjacency, orientation = from_pag(native, key)
        info = {
            "groups": len(groups),
            "rounds": rounds,
            "orientation": orientation,
            "circles": int((native == CIRCLE).sum()),
            "selected": int(((native == TAIL) & (native.T == TAIL)).sum()) // 2,
            "reduced": self.max_conditioning is not None,
        }
        return Estimate(adjacency, native=native, info=info)

    def _pag(self, control: np.ndarray, groups: list[np.ndarray]) -> tuple[np.ndarray, int]:
        """The PAG of the control group, refined by those with each group, and the rounds that it took."""
        base = self.skeleton(control)
        marks = orient(base.adjacent, base.separators)
        contrasts = [_Contrast(self, base, control, group) for group in groups]
        rounds = 0
        while contrasts:
            rounds += 1
            seen = np.stack([contrast.update(marks) for contrast in contrasts])
            changed = np.stack([contrast.changed for contrast in contrasts])
            arrow = (seen == ARROW) & (seen.transpose(0, 2, 1) == TAIL)
            line = (seen == TAIL) & (seen.transpose(0, 2, 1) == TAIL)
            # Each way in another world: no causal direction does that, selection does.
            both = arrow.any(axis=0) & arrow.any(axis=0).T
            # An arrow out of what the intervention changed is one in the control group, too.
            cause = (arrow & changed[:, :, None]).any(axis=0)
            refined = marks.copy()
            _mark(refined, line.any(axis=0) | both, TAIL)
            _mark(refined, cause, ARROW)
            if (refined == marks).all():
                break
            marks = refined
        return marks, rounds

    def skeleton(self, values: np.ndarray, **known: Any) -> Skeleton:
        """The adjacency search on a table `[n, d]`; `known` as for `methods.adjacency.search`."""
        return search(correlation(values), len(values), alpha=self.alpha, largest=self.max_conditioning, **known)


class _Contrast:
    """The control group and one other, stacked, with a last column that tells them apart.

    Attributes:
        changed: `[d]` bool, the variables whose distribution differs between the two.
    """

    def __init__(self, method: CDIS, base: Skeleton, control: np.ndarray, group: np.ndarray):
        d = control.shape[1]
        treated = np.repeat([0.0, 1.0], [len(control), len(group)])
        values = np.column_stack([np.concatenate([control, group]), treated])
        fixed = np.pad(base.adjacent, (0, 1))
        # What is dependent in the control group is so in the mixture, whether the group is given or not.
        apart = {pair: sets for pair, sets in base.dependent.items() if not base.adjacent[pair]}
        dependent = {pair: sets | {(*chosen, d) for chosen in sets} for pair, sets in apart.items()}
        self._found = method.skeleton(values, fixed=fixed, dependent=dependent)
        self._marks = np.where(self._found.adjacent, CIRCLE, 0).astype(np.int8)
        whole, none = correlation(values), np.zeros((1, 0), int)
        p = np.array([p_values(whole, len(values), i, d, none)[0] for i in range(d)])
        self.changed = p <= method.alpha

    def update(self, control: np.ndarray) -> np.ndarray:
        """The marks `[d, d]` between the variables, given the directed edges of the control group's PAG."""
        known = self._marks.copy()
        _mark(known, np.pad((control == ARROW) & (control.T == TAIL), (0, 1)), ARROW)
        from_group = np.zeros_like(self._found.adjacent)
        from_group[-1] = self._found.adjacent[-1]
        _mark(known, from_group, ARROW)
        self._marks = orient(self._found.adjacent, self._found.separators, known)
        return self._marks[:-1, :-1]


def correlation(values: np.ndarray) -> np.ndarray:
    """The correlation matrix `[d, d]` of a table; a constant column is uncorrelated with everything."""
    centred = values - values.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    constant = size <= 1e-12 * np.sqrt(len(values))
    unit = np.where(constant, 0.0, centred / np.where(constant, 1.0, size))
    matrix = unit.T @ unit
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _mark(marks: np.ndarray, edges: np.ndarray, end: int) -> None:
    """Give the edges i, j of `edges` a tail at i and the mark `end` at j, as far as they have circles there."""
    for i, j in np.argwhere(edges).tolist():
        put(marks, j, i, TAIL)
        put(marks, i, j, end)
