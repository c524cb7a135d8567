"""IGSP: its tests against closed forms, its search, and linear-Gaussian tables."""

import dataclasses
import itertools

import jax
import numpy as np
import pytest
from scipy import stats

from arena.dataset import Dataset
from methods import environments
from methods.base import Status
from methods.fit import fit
from methods.gauss_tests import Independence, Invariance, Moments, mask_of
from methods.gies_graph import EssentialGraph, members
from methods.igsp import IGSP
from methods.orient import is_acyclic
from methods.partial_correlation import p_values
from methods.sparsest_permutation import Interventions, Search, starting_order

KEY = jax.random.key(0)


def linear_gaussian(seed: int, d: int = 10, n_obs: int = 800, n_int: int = 400) -> Dataset:
    """A table with about `d` edges, and as many rows in which each variable alone is drawn anew."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    graph = np.zeros((d, d), np.int8)
    graph[np.ix_(order, order)] = np.triu(rng.random((d, d)) < 2 / (d - 1), k=1)
    weights = graph * rng.uniform(0.5, 1.5, (d, d)) * rng.choice([-1, 1], (d, d))
    mask = np.zeros((n_obs + n_int, d), bool)
    mask[np.arange(n_obs, n_obs + n_int), np.arange(n_int) % d] = True
    values = np.zeros(mask.shape)
    for j in order:
        values[:, j] = values @ weights[:, j] + rng.normal(size=len(values))
        values[mask[:, j], j] = rng.normal(2.0, 0.5, mask[:, j].sum())
    return Dataset(tuple(f"x{j}" for j in range(d)), values, mask, graph)


def f1(truth: np.ndarray, found: np.ndarray) -> float:
    return 2 * (truth & found).sum() / (truth.sum() + found.sum())


def estimate(dataset: Dataset, key: jax.Array = KEY, **settings):
    outcome = fit(IGSP(**settings), dataset, key)
    assert outcome.estimate is not None, (outcome.reason, outcome.detail)
    return outcome.estimate


def test_linear_gaussian_tables_with_single_targets():
    scores = [f1(data.truth, estimate(data).adjacency) for data in map(linear_gaussian, range(20))]
    assert np.mean(scores) >= 0.85, scores


def test_interventions_help():
    tables = [linear_gaussian(seed) for seed in range(10)]
    plain = [
        dataclasses.replace(data, values=data.values[:800], intervention_mask=None, split="obs") for data in tables
    ]
    with_them = np.mean([f1(data.truth, estimate(data).adjacency) for data in tables])
    without = np.mean([f1(data.truth, estimate(data).adjacency) for data in plain])
    assert with_them > without + 0.1
    skeletons = [f1(data.truth | data.truth.T, (a := estimate(data).adjacency) | a.T) for data in plain]
    assert np.mean(skeletons) > 0.95


def test_targets_orient_an_edge(intervened_pair):
    for seed in range(10):
        found = estimate(intervened_pair, jax.random.key(seed))
        np.testing.assert_array_equal(found.adjacency, intervened_pair.truth)
        np.testing.assert_array_equal(found.native, intervened_pair.truth)
        assert found.info["contradicting"] == 0 and len(found.info["targets"]) == 1


def test_the_mask_changes_the_answer(intervened_pair):
    without = dataclasses.replace(intervened_pair, intervention_mask=None, split="obs")
    found = [estimate(without, jax.random.key(seed)) for seed in range(20)]
    assert {int(answer.adjacency[0, 1]) for answer in found} == {0, 1}
    assert all((answer.native == [[0, 1], [1, 0]]).all() for answer in found)


def test_two_targets_at_once():
    """x -> y <- z with x and y set together: that x moves z is excluded, and z has to be a cause of y."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 2000))
    y = x + z + rng.normal(size=2000)
    mask = np.zeros((2000, 3), bool)
    mask[1000:, :2] = True
    x[1000:], y[1000:] = rng.normal(3, 1, 1000), rng.normal(-3, 1, 1000)
    found = estimate(Dataset(("x", "y", "z"), np.stack([x, y, z], 1), mask))
    np.testing.assert_array_equal(found.adjacency, [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert found.info["targets"] == [["x", "y"]]


def test_a_chain_with_two_targets_is_oriented_by_conditional_invariance():
    """a -> b -> c; a and b are set together, so c differs, but not given b."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=3000)
    b = a + rng.normal(size=3000)
    mask = np.zeros((3000, 3), bool)
    mask[1500:, :2] = True
    a[1500:], b[1500:] = rng.normal(2, 1, 1500), rng.normal(2, 0.5, 1500)
    c = b + rng.normal(size=3000)
    data = Dataset(("a", "b", "c"), np.stack([a, b, c], 1), mask)
    for seed in range(5):
        found = estimate(data, jax.random.key(seed)).adjacency
        assert found[1, 2] == 1 and found[2, 1] == 0, found


def test_rows_that_are_too_few():
    rng = np.random.default_rng(0)
    mask = np.ones((50, 2), bool)
    mask[:, 0] = False
    outcome = fit(IGSP(), Dataset(("x", "y"), rng.normal(size=(50, 2)), mask), KEY)
    assert outcome.status is Status.unsupported and "rows in which nothing is set, found 0" in outcome.reason
    mask[:48] = False
    assert estimate(Dataset(("x", "y"), rng.normal(size=(50, 2)), mask)).info["too_few_rows"] == [["y"]]


def test_settings_are_checked():
    outcome = [{"alpha": 0.0}, {"alpha_inv": 1.0}, {"depth": 0}, {"runs": 0}]
    for settings in outcome:
        with pytest.raises(Exception, match=f"igsp: {next(iter(settings))} is"):
            IGSP(**settings)


def test_needed_is_fishers_z_of_each_given_the_others():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))
    correlation = np.corrcoef(values.T)
    for alpha in (0.001, 0.05, 0.5):
        tests = Independence(values, alpha)
        for candidates in ([1], [1, 2], [1, 2, 3, 4, 5], [4, 2]):
            expected = []
            for c in candidates:
                rest = np.array([[other for other in candidates if other != c]], np.intp)
                if p_values(correlation, 300, 0, c, rest)[0] < alpha:
                    expected.append(c)
            assert members(tests.needed(0, mask_of(candidates))) == sorted(expected)
    assert tests.needed(0, 0) == 0


def test_needed_where_columns_determine_each_other():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 3))
    values = np.concatenate([values, values.sum(1, keepdims=True)], 1)
    tests = Independence(values, 1e-3)
    assert tests.needed(0, mask_of([1, 2])) == 0
    assert tests.needed(3, mask_of([0])) == 1
    assert tests.needed(3, mask_of([0, 1, 2])) == mask_of([0, 1, 2])
    copied = Independence(np.concatenate([values[:, :2], values[:, :1]], 1), 1e-3)
    assert copied.needed(1, mask_of([0, 2])) == 0  # a constant given its copy


def test_invariance_is_welch_and_f_without_a_condition():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(200, 1)), rng.normal(0.2, 1.1, size=(60, 1))
    ratio = first.var(ddof=1) / second.var(ddof=1)
    p_variance = 2 * min(stats.f.cdf(ratio, 199, 59), stats.f.sf(ratio, 199, 59))
    welch = (first.mean() - second.mean()) ** 2 / (first.var(ddof=1) / 200 + second.var(ddof=1) / 60)
    p_mean = stats.f.sf(welch, 1, 258)
    smallest = float(min(p_mean, p_variance))
    moments = [Moments.of(first), Moments.of(second)]
    assert Invariance(moments, 2 * smallest * 0.999).same(1, 0) is True
    assert Invariance(moments, 2 * smallest * 1.001).same(1, 0) is False


def test_invariance_keeps_its_level_and_has_power():
    rng = np.random.default_rng(1)
    verdicts = {"same": [], "slope": [], "noise": []}
    for _ in range(300):
        x, other = rng.normal(size=150), rng.normal(1, 2, size=50)
        first = np.stack([x, x + rng.normal(size=150)], 1)
        for kind, slope, noise in (("same", 1, 1), ("slope", 2, 1), ("noise", 1, 2)):
            second = np.stack([other, slope * other + noise * rng.normal(size=50)], 1)
            verdicts[kind].append(Invariance([Moments.of(first), Moments.of(second)], 0.05).same(1, 1, (0,)))
    shares = {kind: np.mean(found) for kind, found in verdicts.items()}
    assert 0.9 < shares["same"] < 0.99 and shares["slope"] < 0.05 and shares["noise"] < 0.05, shares


def test_invariance_where_nothing_can_be_told():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, 3))
    few = Invariance([Moments.of(table), Moments.of(table[:2])], 0.05)
    assert few.same(1, 0) is not None and few.same(1, 0, (1, 2)) is None
    still = Invariance([Moments.of(table), Moments.of(np.zeros((9, 3)))], 0.05)
    assert still.same(1, 0) is False
    assert Invariance([Moments.of(np.zeros((9, 3)))] * 2, 0.05).same(1, 0) is True


def test_a_step_leads_to_the_sparsest_dag_of_the_swapped_order():
    """Where i stands just before j and i -> j is covered, reversing it is what swapping them in the order gives."""
    data = linear_gaussian(3, d=6, n_obs=20_000, n_int=0)
    search = Search(Independence(data.values, 1e-3), None, 4, np.random.default_rng(0))
    steps = 0
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(6).tolist()
        dag = search.start(order)
        moves = search._moves(dag)
        for place in range(5):
            i, j = order[place : place + 2]
            if dag[j] >> i & 1 and dag[j] & ~(1 << i) == dag[i]:
                swapped = search.start([*order[:place], j, i, *order[place + 2 :]])
                assert swapped in moves
                steps += 1
    assert steps > 20


def test_a_starting_order_eliminates_the_least_connected_last():
    rng = np.random.default_rng(0)
    hub = rng.normal(size=2000)
    leaves = hub[:, None] + rng.normal(size=(2000, 4))
    tests = Independence(np.concatenate([hub[:, None], leaves], 1), 1e-3)
    orders = {tuple(starting_order(tests, 5, np.random.default_rng(seed))) for seed in range(10)}
    assert all(order.index(0) <= 1 for order in orders) and len(orders) > 1


def test_what_contradicts_with_single_targets():
    """x -> y: setting x moves y, setting y does not move x; so y -> x contradicts twice over and x -> y does not."""
    rng = np.random.default_rng(0)

    def table(x=None, y=None):
        first = rng.normal(size=500) if x is None else np.full(500, x) + 0.1 * rng.normal(size=500)
        second = first + rng.normal(size=500) if y is None else np.full(500, y) + 0.1 * rng.normal(size=500)
        return Moments.of(np.stack([first, second], 1))

    known = Interventions((0, 1, 2), Invariance([table(), table(x=3.0), table(y=3.0)], 1e-3))
    forward, backward = (0, 1), (2, 0)
    assert not known.contradict(0, 1, forward) and known.contradict(1, 0, backward)
    assert not known.allow(0, 1) and known.allow(1, 0)


@pytest.mark.parametrize("targets", [[], [[], [0]], [[], [1, 2]], [[], [0], [3]]])
def test_the_native_graph_is_the_union_of_the_class(targets):
    """All DAGs of four variables: the same edges, colliders, and directions where a target tells the ends apart."""
    slots = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    classes: dict[tuple, list[np.ndarray]] = {}
    for choice in itertools.product((0, 1, 2), repeat=len(slots)):
        dag = np.zeros((4, 4), np.int8)
        for (i, j), kind in zip(slots, choice, strict=True):
            dag[i, j], dag[j, i] = kind == 1, kind == 2
        if not is_acyclic(dag):
            continue
        edges = dag | dag.T
        apart = np.zeros((4, 4), bool)
        for group in targets:
            inside = np.isin(np.arange(4), group)
            apart |= inside[:, None] != inside[None, :]
        colliders = [(i, j, k) for k in range(4) for i in range(4) for j in range(i)
                     if dag[i, k] and dag[j, k] and not edges[i, j]]  # fmt: skip
        classes.setdefault((edges.tobytes(), tuple(colliders), (dag & apart).tobytes()), []).append(dag)
    assert sum(map(len, classes.values())) == 543
    for members_of_class in classes.values():
        union = np.bitwise_or.reduce(members_of_class)
        np.testing.assert_array_equal(EssentialGraph.of(members_of_class[0], targets).matrix(), union)


@pytest.mark.skipif(not environments.get("igsp").ready, reason="needs environment 'igsp'; run: arena env build igsp")
def test_same_graphs_as_the_package():
    from methods.call import SCRIPTS, call

    tables = [linear_gaussian(seed, d=6) for seed in range(6)]
    arrays = {}
    for place, data in enumerate(tables):
        values = (data.values - data.values.mean(axis=0)) / data.values.std(axis=0)
        arrays |= {f"{place}.values": values, f"{place}.mask": data.mask}
    settings = {"alpha": 1e-3, "alpha_inv": 1e-3, "depth": 4, "runs": 5}
    theirs, _ = call(environments.get("igsp"), SCRIPTS / "igsp_package.py", arrays, settings, seed=0)
    for place, data in enumerate(tables):
        np.testing.assert_array_equal(estimate(data).adjacency, theirs[str(place)])
